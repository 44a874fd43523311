// librdkafka as a client of a run under faults. It writes down what it does and sees (history_file.h), says on standard output
// once a second how many records that were, and goes on until SIGTERM.
//
//   librdkafka produce BOOTSTRAP TOPIC PARTITIONS CLIENT FILE RECORDS_PER_SECOND VALUE_BYTES [SETTING=VALUE...]
//   librdkafka read    BOOTSTRAP TOPIC PARTITIONS CLIENT FILE [SETTING=VALUE...]           every partition from its start
//   librdkafka final   BOOTSTRAP TOPIC PARTITIONS CLIENT FILE [SETTING=VALUE...]           the same up to the end, and ends
//   librdkafka group   BOOTSTRAP TOPIC PARTITIONS CLIENT FILE GROUP NUMBER [SETTING=VALUE...]   as a member that commits
#include <librdkafka/rdkafka.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chaos/clients/history_writer.h"
#include "checker/history.h"

namespace {

using namespace millrace::chaos;
using millrace::checker::Outcome;
using millrace::checker::Value;

constexpr int kFlushMsMax = 130'000;
constexpr size_t kBatchRecordsMax = 2'000;
constexpr int64_t kReportNanos = 1'000'000'000;
constexpr int kCommittedMsMax = 20'000;
constexpr int64_t kCommitEveryNanos = 200'000'000;

volatile std::sig_atomic_t is_stopping = 0;

[[noreturn]] void die(std::string const& what, char const* why) {
  std::fprintf(stderr, "%s: %s\n", what.c_str(), why);
  std::_Exit(1);
}

struct Arguments {
  std::string bootstrap, topic, file;
  int partitions = 0;
  uint32_t client = 0;
  std::vector<std::string> rest, settings;
};

Arguments parse(int argc, char** argv, int own) {
  if (argc < 7 + own) die("librdkafka", "too few arguments; see the head of the source");
  Arguments out{argv[2], argv[3], argv[6], std::atoi(argv[4]), static_cast<uint32_t>(std::atoi(argv[5])), {}, {}};
  out.rest.assign(argv + 7, argv + 7 + own);
  out.settings.assign(argv + 7 + own, argv + argc);
  return out;
}

rd_kafka_conf_t* configuration(Arguments const& arguments, std::vector<std::string> settings) {
  auto* const conf = rd_kafka_conf_new();
  settings.push_back("bootstrap.servers=" + arguments.bootstrap);
  settings.insert(settings.end(), arguments.settings.begin(), arguments.settings.end());
  for (auto const& setting : settings) {
    auto const at = setting.find('=');
    char error[512];
    if (rd_kafka_conf_set(conf, setting.substr(0, at).c_str(), setting.substr(at + 1).c_str(), error, sizeof error) !=
        RD_KAFKA_CONF_OK) {
      die(setting, error);
    }
  }
  return conf;
}

rd_kafka_t* make(rd_kafka_type_t type, rd_kafka_conf_t* conf) {
  char error[512];
  auto* const client = rd_kafka_new(type, conf, error, sizeof error);
  if (client == nullptr) die("client", error);
  return client;
}

// "records 12" for the driver, once a second.
class Progress {
 public:
  void add(size_t count) { count_ += count; }
  void tell() {
    auto const now = now_nanos();
    if (now < next_) return;
    next_ = now + kReportNanos;
    tell_now();
  }
  void tell_now() const {
    std::printf("records %zu\n", count_);
    std::fflush(stdout);
  }

 private:
  size_t count_ = 0;
  int64_t next_ = 0;
};

// ---- producing

struct Pending {
  uint32_t partition;
  uint64_t sequence;
  int64_t start;
};

struct Producer {
  HistoryWriter history;
  Progress progress;
  size_t pending = 0;

  void done(Pending const& sent, Outcome outcome, int64_t offset) {
    history.write(SendRow{RowKind::send, static_cast<uint8_t>(outcome), 0, sent.partition, sent.sequence, sent.start,
                          now_nanos(), offset});
    --pending;
    if (outcome == Outcome::ok) progress.add(1);
  }
};

void on_delivery(rd_kafka_t*, rd_kafka_message_t const* message, void* opaque) {
  auto& producer = *static_cast<Producer*>(opaque);
  std::unique_ptr<Pending const> const sent(static_cast<Pending*>(message->_private));
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    std::fprintf(stderr, "partition %u sequence %lu: %s\n", sent->partition, sent->sequence, rd_kafka_err2str(message->err));
  }
  // Whatever is not surely there may yet be there.
  auto const outcome = message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? Outcome::ok : Outcome::unknown;
  producer.done(*sent, outcome, message->err == RD_KAFKA_RESP_ERR_NO_ERROR ? message->offset : -1);
}

int produce(Arguments const& arguments) {
  auto const rate = std::stoll(arguments.rest[0]);
  auto const bytes = std::max(std::stoul(arguments.rest[1]), Value::kBytes);
  Producer producer{.history{arguments.file.c_str(), arguments.client}, .progress{}};
  auto* const conf = configuration(arguments, {"enable.idempotence=true", "acks=all", "linger.ms=5", "message.timeout.ms=120000"});
  rd_kafka_conf_set_opaque(conf, &producer);
  rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  auto* const client = make(RD_KAFKA_PRODUCER, conf);
  auto* const topic = rd_kafka_topic_new(client, arguments.topic.c_str(), nullptr);
  std::vector<uint64_t> next(static_cast<size_t>(arguments.partitions), 0);
  std::vector<char> payload(bytes);
  auto const began = now_nanos();
  int64_t sent = 0;
  while (is_stopping == 0) {
    auto const wanted = static_cast<int64_t>(static_cast<double>(now_nanos() - began) / 1e9 * static_cast<double>(rate));
    bool is_full = false;
    for (; sent < wanted && !is_full; sent += is_full ? 0 : 1) {
      auto const partition = static_cast<uint32_t>(sent % arguments.partitions);
      Value const value{arguments.client, partition, next[partition]};
      auto const head = value.bytes();
      std::memcpy(payload.data(), head.data(), head.size());
      std::memset(payload.data() + head.size(), static_cast<int>(value.sequence & 0xff), bytes - head.size());
      auto sending = std::make_unique<Pending>(partition, value.sequence, now_nanos());
      if (rd_kafka_produce(topic, static_cast<int32_t>(partition), RD_KAFKA_MSG_F_COPY, payload.data(), bytes, nullptr, 0,
                           sending.get()) != 0) {
        if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) die("produce", rd_kafka_err2str(rd_kafka_last_error()));
        is_full = true;
        continue;
      }
      static_cast<void>(sending.release());
      ++next[partition];
      ++producer.pending;
    }
    rd_kafka_poll(client, 1);
    producer.progress.tell();
  }
  rd_kafka_flush(client, kFlushMsMax);
  producer.progress.tell_now();
  if (producer.pending != 0) std::fprintf(stderr, "%zu without an answer\n", producer.pending);
  return producer.pending == 0 ? 0 : 1;
}

// ---- consuming

using List = std::unique_ptr<rd_kafka_topic_partition_list_t, decltype(&rd_kafka_topic_partition_list_destroy)>;
List make_list(int count) { return {rd_kafka_topic_partition_list_new(count), rd_kafka_topic_partition_list_destroy}; }

class Consumer {
 public:
  Consumer(Arguments const& arguments, uint8_t flags)
      : topic_(arguments.topic), history_(arguments.file.c_str(), arguments.client), flags_(flags),
        position_(static_cast<size_t>(arguments.partitions), -1), mark_(position_.size(), -1), log_start_(position_.size(), -1),
        gathered_(position_.size()) {}

  HistoryWriter& history() { return history_; }
  Progress& progress() { return progress_; }
  int64_t position(uint32_t partition) const { return position_[partition]; }
  bool has_ended(uint32_t partition) const { return position_[partition] >= mark_[partition]; }

  // The next record of the partition is that at the offset; -1: the first that comes.
  void start_at(uint32_t partition, int64_t offset) { position_[partition] = offset; }
  void new_assignment() { ++assignment_; }
  void set_marks(uint32_t partition, int64_t log_start, int64_t mark) {
    mark_[partition] = mark;
    log_start_[partition] = log_start;
    note(partition);  // an empty partition is a reading, too
  }

  // Takes what there is, for at most `wait_ms` until the first record.
  void poll(rd_kafka_t* client, int wait_ms) {
    poll_start_ = now_nanos();
    size_t count = 0;
    for (; count < kBatchRecordsMax; ++count) {
      auto* const message = rd_kafka_consumer_poll(client, count == 0 ? wait_ms : 0);
      if (message == nullptr) break;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        take(*message);
      } else if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) {
        go_back(client, *message);
      } else if (message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        std::fprintf(stderr, "poll: %s\n", rd_kafka_message_errstr(message));
      }
      rd_kafka_message_destroy(message);
    }
    flush();
    progress_.tell();
  }

  // Notes what the running poll has brought so far.
  void flush() {
    for (uint32_t p = 0; p < gathered_.size(); ++p) {
      if (!gathered_[p].empty()) note(p);
    }
  }

 private:
  void take(rd_kafka_message_t const& message) {
    auto const partition = static_cast<uint32_t>(message.partition);
    auto const value = parse(message);
    gathered_[partition].push_back({message.offset, value ? value->sequence : 0, value ? value->client : kUnreadable, -1});
    progress_.add(1);
  }

  // Out of range, said a replica that does not have yet what its leader has: this client does not tell which epoch it means, so
  // that one that leads no longer may answer it. What is truly gone stays out of range, and the run fails.
  void go_back(rd_kafka_t* client, rd_kafka_message_t const& message) {
    std::fprintf(stderr, "partition %d: %s\n", message.partition, rd_kafka_message_errstr(&message));
    flush();
    auto const list = make_list(1);
    auto const position = position_[static_cast<size_t>(message.partition)];
    rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), message.partition)->offset =
        position < 0 ? RD_KAFKA_OFFSET_BEGINNING : position;
    if (auto* const error = rd_kafka_seek_partitions(client, list.get(), kCommittedMsMax)) {
      std::fprintf(stderr, "seek: %s\n", rd_kafka_error_string(error));
      rd_kafka_error_destroy(error);
    }
  }

  static std::optional<Value> parse(rd_kafka_message_t const& message) {
    std::span const bytes(static_cast<std::byte const*>(message.payload), message.len);
    auto const value = Value::parse(bytes);
    if (!value || value->partition != static_cast<uint32_t>(message.partition) || message.key != nullptr) return std::nullopt;
    for (auto byte : bytes.subspan(Value::kBytes)) {
      if (byte != static_cast<std::byte>(value->sequence & 0xff)) return std::nullopt;
    }
    return value;
  }

  void note(uint32_t partition) {
    auto& records = gathered_[partition];
    auto& position = position_[partition];
    if (position < 0 && !records.empty()) position = records.front().offset;
    PollRow const row{RowKind::poll, flags_, 0, partition, assignment_, 0, poll_start_, now_nanos(), position,
                      mark_[partition], -1, log_start_[partition]};
    history_.write(row, records);
    if (!records.empty()) position = records.back().offset + 1;
    records.clear();
  }

  std::string topic_;
  HistoryWriter history_;
  Progress progress_;
  uint8_t flags_;
  uint32_t assignment_ = 0;
  int64_t poll_start_ = 0;
  std::vector<int64_t> position_, mark_, log_start_;  // by partition
  std::vector<std::vector<RecordRow>> gathered_;
};

int read(Arguments const& arguments, bool is_final) {
  Consumer consumer(arguments, is_final ? kFinalRead : 0);
  auto* const client = make(RD_KAFKA_CONSUMER, configuration(arguments, {"group.id=unused", "enable.auto.commit=false",
                                                                          "check.crcs=true", "fetch.wait.max.ms=100", "auto.offset.reset=error"}));
  rd_kafka_poll_set_consumer(client);
  auto const list = make_list(arguments.partitions);
  for (int p = 0; p < arguments.partitions; ++p) {
    rd_kafka_topic_partition_list_add(list.get(), arguments.topic.c_str(), p)->offset = RD_KAFKA_OFFSET_BEGINNING;
    if (!is_final) continue;
    int64_t low = 0, high = 0;
    auto const error = rd_kafka_query_watermark_offsets(client, arguments.topic.c_str(), p, &low, &high, kCommittedMsMax);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) die("watermarks", rd_kafka_err2str(error));
    consumer.start_at(static_cast<uint32_t>(p), low);
    consumer.set_marks(static_cast<uint32_t>(p), low, high);
  }
  rd_kafka_assign(client, list.get());
  auto const is_done = [&] {
    if (!is_final) return false;
    for (int p = 0; p < arguments.partitions; ++p) {
      if (!consumer.has_ended(static_cast<uint32_t>(p))) return false;
    }
    return true;
  };
  while (is_stopping == 0 && !is_done()) consumer.poll(client, 100);
  consumer.progress().tell_now();
  return is_final && !is_done() ? 1 : 0;
}

// A member of a group: commits what it was given, and goes on where the group was.
class Member {
 public:
  Member(Arguments const& arguments, uint32_t group)
      : consumer(arguments, 0), topic_(arguments.topic), group_(group), partitions_(arguments.partitions) {}

  Consumer consumer;

  void on_assigned(rd_kafka_t* client, rd_kafka_topic_partition_list_t* list) {
    consumer.flush();
    consumer.new_assignment();
    auto const start = now_nanos();
    auto const error = rd_kafka_committed(client, list, kCommittedMsMax);
    auto const end = now_nanos();
    owned_.clear();
    for (int i = 0; i < list->cnt; ++i) {
      auto& each = list->elems[i];
      auto const partition = static_cast<uint32_t>(each.partition);
      bool const is_known = error == RD_KAFKA_RESP_ERR_NO_ERROR && each.err == RD_KAFKA_RESP_ERR_NO_ERROR;
      if (is_known) {
        consumer.history().write(row(RowKind::committed, Outcome::ok, partition, start, end, std::max<int64_t>(each.offset, -1)));
      } else {
        std::fprintf(stderr, "committed: %s, %s\n", rd_kafka_err2str(error), rd_kafka_err2str(each.err));
      }
      if (is_known && each.offset < 0) each.offset = RD_KAFKA_OFFSET_BEGINNING;
      if (!is_known) each.offset = RD_KAFKA_OFFSET_STORED;
      consumer.start_at(partition, !is_known ? -1 : each.offset == RD_KAFKA_OFFSET_BEGINNING ? 0 : each.offset);
      committed_[partition] = consumer.position(partition);
      note_owned(kAssigned, partition);
      owned_.push_back(partition);
    }
    rd_kafka_assign(client, list);
  }

  void on_revoked(rd_kafka_t* client) {
    consumer.flush();
    bool const is_lost = rd_kafka_assignment_lost(client) != 0;
    if (!is_lost) commit(client);
    for (auto partition : owned_) note_owned(is_lost ? kLost : kRevoked, partition);
    owned_.clear();
    rd_kafka_assign(client, nullptr);
  }

  void commit(rd_kafka_t* client) {
    auto const list = make_list(partitions_);
    for (auto partition : owned_) {
      auto const position = consumer.position(partition);
      if (position < 0 || position == committed_[partition]) continue;
      rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), static_cast<int32_t>(partition))->offset = position;
    }
    if (list->cnt == 0) return;
    auto const start = now_nanos();
    auto const error = rd_kafka_commit(client, list.get(), 0);
    auto const end = now_nanos();
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) std::fprintf(stderr, "commit: %s\n", rd_kafka_err2str(error));
    for (int i = 0; i < list->cnt; ++i) {
      auto const& each = list->elems[i];
      auto const partition = static_cast<uint32_t>(each.partition);
      bool const is_ok = error == RD_KAFKA_RESP_ERR_NO_ERROR && each.err == RD_KAFKA_RESP_ERR_NO_ERROR;
      consumer.history().write(row(RowKind::commit, is_ok ? Outcome::ok : Outcome::unknown, partition, start, end, each.offset));
      if (is_ok) committed_[partition] = each.offset;
    }
  }

 private:
  CommitRow row(RowKind kind, Outcome outcome, uint32_t partition, int64_t start, int64_t end, int64_t offset) const {
    return {kind, static_cast<uint8_t>(outcome), 0, partition, group_, -1, start, end, offset};
  }

  void note_owned(uint8_t what, uint32_t partition) {
    consumer.history().write(OwnedRow{RowKind::owned, what, 0, partition, group_, -1, now_nanos()});
  }

  std::string topic_;
  uint32_t group_;
  int partitions_;
  std::vector<uint32_t> owned_;
  std::map<uint32_t, int64_t> committed_;
};

void on_rebalance(rd_kafka_t* client, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* list, void* opaque) {
  auto& member = *static_cast<Member*>(opaque);
  if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    member.on_assigned(client, list);
  } else {
    member.on_revoked(client);
  }
}

int group(Arguments const& arguments) {
  Member member(arguments, static_cast<uint32_t>(std::stoul(arguments.rest[1])));
  auto* const conf = configuration(arguments, {"group.id=" + arguments.rest[0], "enable.auto.commit=false", "check.crcs=true",
                                               "auto.offset.reset=error", "fetch.wait.max.ms=100", "session.timeout.ms=10000",
                                               "partition.assignment.strategy=range"});
  rd_kafka_conf_set_opaque(conf, &member);
  rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
  auto* const client = make(RD_KAFKA_CONSUMER, conf);
  rd_kafka_poll_set_consumer(client);
  auto const topics = make_list(1);
  rd_kafka_topic_partition_list_add(topics.get(), arguments.topic.c_str(), RD_KAFKA_PARTITION_UA);
  rd_kafka_subscribe(client, topics.get());
  auto next_commit = now_nanos();
  while (is_stopping == 0) {
    member.consumer.poll(client, 100);
    if (now_nanos() < next_commit) continue;
    member.commit(client);
    next_commit = now_nanos() + kCommitEveryNanos;
  }
  rd_kafka_consumer_close(client);
  member.consumer.progress().tell_now();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  for (int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { is_stopping = 1; });
  std::string_view const verb = argc > 1 ? argv[1] : "";
  if (verb == "produce") return produce(parse(argc, argv, 2));
  if (verb == "read" || verb == "final") return read(parse(argc, argv, 0), verb == "final");
  if (verb == "group") return group(parse(argc, argv, 2));
  die("librdkafka", "produce, read, final or group; see the head of the source");
}
