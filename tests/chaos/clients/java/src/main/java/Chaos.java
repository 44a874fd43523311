import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's own client in a run under faults. It writes down what it does and sees (history_file.h), says on standard output
 * once a second how many records that were, and goes on until SIGTERM.
 *
 *     Chaos produce BOOTSTRAP TOPIC PARTITIONS CLIENT FILE RECORDS_PER_SECOND VALUE_BYTES
 *     Chaos read    BOOTSTRAP TOPIC PARTITIONS CLIENT FILE
 *     Chaos group   BOOTSTRAP TOPIC PARTITIONS CLIENT FILE GROUP NUMBER
 */
public final class Chaos {
  private static final Duration FLUSH_MAX = Duration.ofSeconds(130);
  private static final Duration CALL_MAX = Duration.ofSeconds(20);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final long COMMIT_NANOS = 200_000_000;
  private static final long ASK_MS = 200;

  private final String bootstrap, topic;
  private final int partitions, client;
  private final History history;
  private final AtomicLong records = new AtomicLong();
  private volatile boolean isStopping;

  private Chaos(String[] arguments) throws Exception {
    bootstrap = arguments[1];
    topic = arguments[2];
    partitions = Integer.parseInt(arguments[3]);
    client = Integer.parseInt(arguments[4]);
    history = new History(arguments[5], client);
  }

  public static void main(String[] arguments) throws Exception {
    var program = new Chaos(arguments);
    Runtime.getRuntime().addShutdownHook(new Thread(program::stop));
    var teller = new Thread(program::tellAlways);
    teller.setDaemon(true);
    teller.start();
    boolean isWell = false;
    try {
      isWell = program.run(arguments);
    } catch (RuntimeException error) {
      error.printStackTrace();
    }
    program.history.close();
    program.tell();
    // The exit code of a program that ends by SIGTERM is the system's, so it is given from here.
    Runtime.getRuntime().halt(isWell ? 0 : 1);
  }

  private boolean run(String[] arguments) throws InterruptedException {
    switch (arguments[0]) {
      case "produce" -> { return produce(Long.parseLong(arguments[6]), Integer.parseInt(arguments[7])); }
      case "read" -> read();
      case "group" -> new Member(arguments[6], Integer.parseInt(arguments[7])).run();
      default -> throw new IllegalArgumentException("produce, read or group; see the head of the source");
    }
    return true;
  }

  private void stop() {
    isStopping = true;
    try {
      Thread.sleep(Long.MAX_VALUE);  // main ends the process itself
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private void tell() {
    System.out.println("records " + records.get());
  }

  private void tellAlways() {
    try {
      for (;;) {
        Thread.sleep(1000);
        tell();
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  /** Whether every record was answered. */
  private boolean produce(long rate, int bytes) throws InterruptedException {
    Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", true, "acks", "all", "linger.ms", 5,
        "delivery.timeout.ms", 120_000, "max.block.ms", 170_000, "key.serializer", ByteArraySerializer.class, "value.serializer",
        ByteArraySerializer.class);
    var pending = new AtomicLong();
    var producer = new KafkaProducer<byte[], byte[]>(settings);
    var next = new long[partitions];
    long began = System.nanoTime();
    for (long sent = 0; !isStopping; ) {
      long wanted = (long) ((System.nanoTime() - began) / 1e9 * rate);
      for (; sent < wanted && !isStopping; ++sent) {
        int partition = (int) (sent % partitions);
        long sequence = next[partition]++;
        long start = System.nanoTime();
        pending.incrementAndGet();
        producer.send(new ProducerRecord<>(topic, partition, null, History.value(client, partition, sequence, bytes)), (data, error) -> {
          if (error == null) {
            history.send(History.OK, partition, sequence, start, System.nanoTime(), data.hasOffset() ? data.offset() : -1);
            records.incrementAndGet();
          } else {
            System.err.println("partition " + partition + " sequence " + sequence + ": " + error);
            history.send(History.UNKNOWN, partition, sequence, start, System.nanoTime(), -1);
          }
          pending.decrementAndGet();
        });
      }
      Thread.sleep(1);
    }
    producer.close(FLUSH_MAX);
    if (pending.get() != 0) System.err.println(pending + " without an answer");
    return pending.get() == 0;
  }

  private Map<String, Object> consumerSettings() {
    return new HashMap<>(Map.of("bootstrap.servers", bootstrap, "enable.auto.commit", false, "auto.offset.reset", "earliest",
        "fetch.max.wait.ms", 100, "max.poll.records", 2000, "key.deserializer", ByteArrayDeserializer.class, "value.deserializer",
        ByteArrayDeserializer.class));
  }

  private final Map<Integer, Long> position = new HashMap<>();
  private final Map<Integer, Integer> assignment = new HashMap<>();

  private void poll(KafkaConsumer<byte[], byte[]> consumer) {
    long start = System.nanoTime();
    var polled = consumer.poll(POLL);
    long end = System.nanoTime();
    for (var partition : polled.partitions()) {
      var rows = new ArrayList<History.Row>();
      for (var each : polled.records(partition)) {
        boolean isPlain = each.key() == null && !each.headers().iterator().hasNext();
        rows.add(History.row(each.offset(), each.value(), each.partition(), isPlain, each.leaderEpoch().orElse(-1)));
      }
      int number = partition.partition();
      position.putIfAbsent(number, rows.get(0).offset());
      history.poll(number, assignment.getOrDefault(number, 0), start, end, position.get(number), rows);
      position.put(number, rows.get(rows.size() - 1).offset() + 1);
      records.addAndGet(rows.size());
    }
  }

  private Set<TopicPartition> all() {
    var out = new HashSet<TopicPartition>();
    for (int partition = 0; partition < partitions; ++partition) out.add(new TopicPartition(topic, partition));
    return out;
  }

  private void read() {
    var asking = new Thread(this::askForEnds);
    asking.setDaemon(true);
    asking.start();
    try (var consumer = new KafkaConsumer<byte[], byte[]>(consumerSettings())) {
      consumer.assign(all());
      consumer.seekToBeginning(all());
      while (!isStopping) poll(consumer);
    }
  }

  private void askForEnds() {
    try (var admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      var questions = new HashMap<TopicPartition, OffsetSpec>();
      for (var partition : all()) questions.put(partition, OffsetSpec.latest());
      while (!isStopping) {
        long start = System.nanoTime();
        var answer = admin.listOffsets(questions);
        for (var partition : questions.keySet()) noteEnd(partition.partition(), start, answer.partitionResult(partition));
        Thread.sleep(ASK_MS);
      }
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
    }
  }

  private void noteEnd(int partition, long start, org.apache.kafka.common.KafkaFuture<ListOffsetsResultInfo> answer)
      throws InterruptedException {
    try {
      var end = answer.get();
      if (!isStopping) history.latest(partition, end.leaderEpoch().orElse(-1), start, System.nanoTime(), end.offset());
    } catch (java.util.concurrent.ExecutionException error) {
      System.err.println("latest offset of partition " + partition + ": " + error.getCause());
    }
  }

  /** A member of a group: commits what it was given, and goes on where the group was. */
  private final class Member implements ConsumerRebalanceListener {
    final KafkaConsumer<byte[], byte[]> consumer;
    final int group;
    final Map<Integer, Long> committed = new HashMap<>();
    final Set<Integer> owned = new HashSet<>();

    Member(String name, int group) {
      var settings = consumerSettings();
      settings.putAll(Map.of("group.id", name, "session.timeout.ms", 10_000, "heartbeat.interval.ms", 500,
          "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));
      consumer = new KafkaConsumer<>(settings);
      this.group = group;
      consumer.subscribe(List.of(topic), this);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
      if (added.isEmpty()) return;
      long start = System.nanoTime();
      Map<TopicPartition, OffsetAndMetadata> offsets = Map.of();
      boolean isKnown = true;
      try {
        offsets = consumer.committed(Set.copyOf(added), CALL_MAX);
      } catch (KafkaException error) {
        System.err.println("committed: " + error);
        isKnown = false;
      }
      long end = System.nanoTime();
      for (var each : added) {
        int partition = each.partition();
        var offset = offsets.get(each);
        if (isKnown) {
          history.groupOffset(History.COMMITTED, History.OK, partition, group, generation(), start, end, offset == null ? -1 : offset.offset());
          position.put(partition, offset == null ? 0 : offset.offset());
          committed.put(partition, position.get(partition));
        } else {
          position.remove(partition);
        }
        assignment.merge(partition, 1, Integer::sum);
        owned.add(partition);
        history.owned(History.ASSIGNED, partition, group, generation());
      }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> gone) {
      if (gone.isEmpty()) return;
      commit();
      release(gone, History.REVOKED);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> gone) {
      release(gone, History.LOST);
    }

    private void release(Collection<TopicPartition> gone, byte what) {
      for (var each : gone) {
        history.owned(what, each.partition(), group, generation());
        owned.remove(each.partition());
      }
    }

    private int generation() { return consumer.groupMetadata().generationId(); }

    void commit() {
      var offsets = new HashMap<TopicPartition, OffsetAndMetadata>();
      for (int partition : owned) {
        var at = position.get(partition);
        if (at != null && !at.equals(committed.get(partition))) offsets.put(new TopicPartition(topic, partition), new OffsetAndMetadata(at));
      }
      if (offsets.isEmpty()) return;
      int generation = generation();
      byte outcome = History.OK;
      long start = System.nanoTime();
      try {
        consumer.commitSync(offsets, CALL_MAX);
      } catch (KafkaException error) {
        System.err.println("commit: " + error);
        outcome = History.UNKNOWN;
      }
      long end = System.nanoTime();
      for (var each : offsets.entrySet()) {
        int partition = each.getKey().partition();
        long offset = each.getValue().offset();
        history.groupOffset(History.COMMIT, outcome, partition, group, generation, start, end, offset);
        if (outcome == History.OK) committed.put(partition, offset);
      }
    }

    void run() {
      long nextCommit = System.nanoTime();
      while (!isStopping) {
        poll(consumer);
        if (System.nanoTime() < nextCommit) continue;
        commit();
        nextCommit = System.nanoTime() + COMMIT_NANOS;
      }
      consumer.close();
    }
  }
}
