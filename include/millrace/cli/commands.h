// The commands of `millrace` other than `serve`: plain functions of their options, so that parsing stays in one file.
// Each returns the exit code of the process.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,       // the cluster, or a part of what was asked, said no
  kUsage = 2,        // the arguments make no sense
  kUnreachable = 3,  // no broker answered
};

struct ClusterOptions {
  std::string bootstrap = "localhost:9092";  // host:port[,host:port...]
  int64_t timeout_ms = 30'000;
  bool as_json = false;
};

struct TopicCreateOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
  int32_t partition_count = -1;       // -1: the broker's default
  int16_t replication_factor = -1;    // -1: the broker's default
  std::vector<std::string> configs;   // key=value
  bool only_validate = false;
  bool may_exist = false;
};
int create_topics(TopicCreateOptions const& options);

struct TopicListOptions {
  ClusterOptions cluster;
  bool with_internal = false;
};
int list_topics(TopicListOptions const& options);

struct TopicDescribeOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;  // empty: all
};
int describe_topics(TopicDescribeOptions const& options);

struct TopicDeleteOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
  bool may_be_missing = false;
};
int delete_topics(TopicDeleteOptions const& options);

struct ProduceOptions {
  ClusterOptions cluster;
  std::string topic;
  std::string file;                    // empty: standard input; one record a line
  int32_t partition = -1;              // -1: by the key's hash, without a key in turn
  std::string key_separator;           // empty: no keys
  std::vector<std::string> headers;    // name=value, on every record
  std::string codec = "none";
  int16_t acks = -1;
  int64_t batch_bytes_max = 512 << 10;
};
int produce(ProduceOptions const& options);

struct ConsumeOptions {
  ClusterOptions cluster;
  std::string topic;
  std::vector<int32_t> partitions;     // empty: all
  std::string from = "latest";         // earliest, latest, an offset, or @milliseconds since 1970
  int64_t record_count_max = -1;       // -1: no limit
  bool stop_at_end = false;
  bool read_committed = false;
  std::string key_separator;           // empty: keys are not shown
};
int consume(ConsumeOptions const& options);

struct LogDumpOptions {
  std::vector<std::string> files;
  std::string payload;                 // text, cluster-metadata, offsets, transactions, share-state; empty: by directory
};
int dump_log(LogDumpOptions const& options);

}  // namespace millrace::cli
