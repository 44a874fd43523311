"""confluent-kafka for Python as a client of e2e.py: an idempotent producer, assigned partitions.

    confluent.py create BOOTSTRAP TOPIC PARTITIONS
    confluent.py write  BOOTSTRAP TOPIC PARTITIONS CODEC DATASET
    confluent.py read   BOOTSTRAP TOPIC PARTITIONS COUNT OUT
    confluent.py group  BOOTSTRAP TOPIC GROUP ASSIGNOR INSTANCE
"""
import os
import signal
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


def create(bootstrap, topic, partitions):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        future.result(30)


def write(bootstrap, topic, partitions, codec, path):
    producer = Producer({"bootstrap.servers": bootstrap, "compression.codec": codec, "enable.idempotence": True,
                         "linger.ms": 5})
    problems = []
    with open(path, "rb") as lines:
        for index, line in enumerate(lines):
            key, headers, value = line.rstrip(b"\n").split(b"\t")
            pairs = [one.split("=") for one in headers.decode().split(",")]
            while True:
                try:
                    producer.produce(topic, value, key or None, index % partitions,
                                     headers=[(name, None if text == "NULL" else text) for name, text in pairs],
                                     on_delivery=lambda error, _: problems.append(error) if error else None)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
    left = producer.flush(120)
    if problems or left:
        sys.exit(f"{len(problems)} failed ({problems[:1]}), {left} not delivered")


def read(bootstrap, topic, partitions, count, path):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False,
                         "enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    got, ended, until = 0, 0, time.time() + 300
    with open(path, "wb") as out:
        while ended < partitions and time.time() < until:
            for message in consumer.consume(1000, 0.5):
                if message.error():
                    ended += message.error().code() == KafkaError._PARTITION_EOF
                    continue
                key, value = message.key(), message.value()
                headers = b",".join(name.encode() + b"=" + (b"NULL" if text is None else text)
                                    for name, text in message.headers() or [])
                out.write(b"%d|%d|%d|%s|%s|%d|%s\n" % (message.partition(), message.offset(),
                                                       -1 if key is None else len(key), key or b"", headers,
                                                       len(value), value))
                got += 1
    if got != count:
        print(f"{got} of {count} records read", file=sys.stderr, flush=True)
    os._exit(got != count)  # closing would wait for a group coordinator


def group(bootstrap, topic, name, assignor, instance):
    """Commits what it has written, and nothing else; leaves on SIGTERM, a static member without telling the group."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": name, "enable.auto.commit": False,
                         "auto.offset.reset": "earliest", "partition.assignment.strategy": assignor, "session.timeout.ms": 10000,
                         "heartbeat.interval.ms": 500, **({"group.instance.id": instance} if instance != "-" else {})})
    written, stops = {}, []
    signal.signal(signal.SIGTERM, lambda *_: stops.append(True))

    out = open(1, "wb", closefd=False)  # sys.stdout may be unbuffered, and then a signal cuts what is being written

    def say(line):
        out.write(line + b"\n")

    def commit():
        out.flush()
        offsets = [TopicPartition(topic, p, o) for p, o in written.items()]
        try:
            if offsets:
                consumer.commit(offsets=offsets, asynchronous=False)
            written.clear()
        except KafkaException as error:
            print(error, file=sys.stderr, flush=True)

    def on_assign(_, partitions):
        say(b"#assigned %d" % len(partitions))

    def on_revoke(_, partitions):
        commit()  # while members join and sync a commit is refused: what is left is given another try here
        for one in partitions:
            written.pop(one.partition, None)
        say(b"#revoked %d" % len(partitions))

    def on_lost(_, partitions):
        for one in partitions:
            written.pop(one.partition, None)
        say(b"#lost %d" % len(partitions))

    consumer.subscribe([topic], on_assign=on_assign, on_revoke=on_revoke, on_lost=on_lost)
    count = 0
    while not stops:
        message = consumer.poll(0.2)
        if message is not None and message.error():
            print(message.partition(), message.offset(), message.error(), file=sys.stderr, flush=True)
        elif message is not None:
            say(b"%d|%d|%s" % (message.partition(), message.offset(), message.value()))
            written[message.partition()] = message.offset() + 1
            count += 1
        if message is None or count % 200 == 0:
            commit()
    commit()
    consumer.close()
    out.flush()


verb, bootstrap, topic, partitions, *rest = sys.argv[1:]
if verb == "group":
    group(bootstrap, topic, partitions, *rest)
elif verb == "create":
    create(bootstrap, topic, int(partitions))
elif verb == "write":
    write(bootstrap, topic, int(partitions), *rest)
else:
    read(bootstrap, topic, int(partitions), int(rest[0]), rest[1])
