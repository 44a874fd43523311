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

// How to reach a cluster. What is left empty comes from the properties file, else is a default.
struct ClusterOptions {
  std::string bootstrap;        // host:port[,host:port...]
  std::string client_id;
  int64_t timeout_ms = 0;       // of a request; 0: not given
  std::string properties_file;  // Kafka's client properties; empty: none
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

struct TopicAlterOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
  std::optional<int32_t> partition_count;
  std::vector<std::string> configs;          // key=value
  std::vector<std::string> configs_deleted;  // keys
  bool only_validate = false;
};
int alter_topics(TopicAlterOptions const& options);

struct TopicOffsetsOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;   // empty: all
  std::vector<int32_t> partitions;  // empty: all
  std::string at;                   // empty: earliest and latest; else which offset, see the help
  bool read_committed = false;
};
int list_topic_offsets(TopicOffsetsOptions const& options);

struct GroupListOptions {
  ClusterOptions cluster;
  std::vector<std::string> states;  // empty: all
  std::vector<std::string> types;   // empty: all
};
int list_groups(GroupListOptions const& options);

struct GroupDescribeOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;  // empty: all
  bool with_members = false;       // in place of offsets
  bool only_state = false;
};
int describe_groups(GroupDescribeOptions const& options);

struct TopicHotOptions {
  std::string name;                // empty: all that carry anything
  std::vector<std::string> admin;  // HOST:PORT of nodes' admin listeners
  size_t partition_count_max = 10; // shown of each topic
  bool as_json = false;
  int64_t timeout_ms = 30'000;
};
int show_hot_topics(TopicHotOptions const& options);

struct GroupLagOptions {
  std::string name;                // empty: all
  std::vector<std::string> admin;  // HOST:PORT of nodes' admin listeners
  bool only_stuck = false;
  bool as_json = false;
  int64_t timeout_ms = 30'000;
};
int show_group_lag(GroupLagOptions const& options);

struct GroupDeleteOptions {
  ClusterOptions cluster;
  std::vector<std::string> names;
};
int delete_groups(GroupDeleteOptions const& options);

struct GroupDeleteOffsetsOptions {
  ClusterOptions cluster;
  std::string name;
  std::vector<std::string> topics;  // TOPIC or TOPIC:0,1
};
int delete_group_offsets(GroupDeleteOffsetsOptions const& options);

struct GroupResetOptions {
  ClusterOptions cluster;
  std::string name;
  std::vector<std::string> topics;     // TOPIC or TOPIC:0,1
  bool all_topics = false;             // those with committed offsets
  std::string to;                      // earliest, latest, current, an offset, or a moment
  std::string back;                    // a length of time before now
  std::optional<int64_t> shift;
  std::string file;                    // lines TOPIC,PARTITION,OFFSET
  bool as_csv = false;                 // print such lines
  bool is_dry_run = false;             // what happens anyway without `execute`
  bool execute = false;
};
int reset_group(GroupResetOptions const& options);

// `kind` is topic, broker, group, logger or client-metrics; the broker `default` stands for all brokers.
struct ConfigListOptions {
  ClusterOptions cluster;
  std::vector<std::string> kinds;  // empty: all
};
int list_config_resources(ConfigListOptions const& options);

struct ConfigDescribeOptions {
  ClusterOptions cluster;
  std::string kind;
  std::string name;
  std::vector<std::string> keys;  // empty: all
  bool with_defaults = false;
};
int describe_configs(ConfigDescribeOptions const& options);

struct ConfigSetOptions {
  ClusterOptions cluster;
  std::string kind;
  std::string name;
  std::vector<std::string> pairs;      // key=value
  std::vector<std::string> appended;   // key=value, for lists
  std::vector<std::string> subtracted;
  bool only_validate = false;
};
int set_configs(ConfigSetOptions const& options);

struct ConfigDeleteOptions {
  ClusterOptions cluster;
  std::string kind;
  std::string name;
  std::vector<std::string> keys;
  bool only_validate = false;
};
int delete_configs(ConfigDeleteOptions const& options);

// Whom a quota is for. A part is absent, a name, or the default of its kind.
struct QuotaEntityOptions {
  std::optional<std::string> user;
  std::optional<std::string> client_id;
  std::optional<std::string> ip;
  bool default_user = false;
  bool default_client_id = false;
  bool default_ip = false;
};

struct QuotaListOptions {
  ClusterOptions cluster;
  QuotaEntityOptions entity;
  bool is_exact = false;  // without those that have further parts
};
int list_quotas(QuotaListOptions const& options);

struct QuotaSetOptions {
  ClusterOptions cluster;
  QuotaEntityOptions entity;
  std::vector<std::string> pairs;  // key=value
  bool only_validate = false;
};
int set_quotas(QuotaSetOptions const& options);

struct QuotaRemoveOptions {
  ClusterOptions cluster;
  QuotaEntityOptions entity;
  std::vector<std::string> keys;
  bool only_validate = false;
};
int remove_quotas(QuotaRemoveOptions const& options);

struct ClusterCommandOptions {
  ClusterOptions cluster;
};
int show_cluster_status(ClusterCommandOptions const& options);
int list_cluster_nodes(ClusterCommandOptions const& options);
int show_quorum(ClusterCommandOptions const& options);
int list_features(ClusterCommandOptions const& options);

struct ElectLeadersOptions {
  ClusterOptions cluster;
  std::vector<std::string> topics;  // TOPIC or TOPIC:0,1; empty: all
  bool is_unclean = false;
};
int elect_leaders(ElectLeadersOptions const& options);

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

struct LogDirsOptions {
  ClusterOptions cluster;
  std::vector<int32_t> nodes;       // empty: all
  std::vector<std::string> topics;  // empty: all
  bool with_partitions = false;
};
int list_log_dirs(LogDirsOptions const& options);

// A command with its options and subcommands, as completion and the reference need it.
struct CommandTree {
  struct Option {
    std::vector<std::string> names;    // with dashes; empty: an argument without a name
    std::string value;                 // what it takes, empty: nothing
    std::string sentence;
    std::vector<std::string> choices;  // of the value
    bool takes_file = false;
    bool is_common = false;            // many commands have it
  };
  std::string name;
  std::string sentence;
  std::vector<Option> options;
  std::vector<CommandTree> commands;
};
int print_completion(CommandTree const& tree, std::string_view shell);  // bash, zsh or fish
int print_reference(CommandTree const& tree);                           // Markdown

}  // namespace millrace::cli
