// What the cluster knows about groups: listed, described, with their committed offsets.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coordinators.h"
#include "millrace/base/ids.h"

namespace millrace::cli {

struct ListedGroup {
  std::string name;
  std::string type;      // classic, consumer, share or streams; brokers before 3.8 know classic ones only
  std::string protocol;  // "consumer", "connect" and the like
  std::string state;     // empty: the broker is too old to tell
  int32_t coordinator = -1;
};

struct Assigned {
  std::string topic;  // of a streams group: a subtopology
  std::vector<int32_t> partitions;
};

struct GroupMember {
  std::string id;
  std::optional<std::string> instance;
  std::string client_id;
  std::string host;
  std::optional<int32_t> epoch;
  std::vector<Assigned> assignment;
};

struct CommittedOffset {
  int64_t offset = -1;
  int32_t leader_epoch = -1;
  std::string metadata;
};

struct GroupView {
  ListedGroup listed;
  std::string assignor;
  std::optional<int32_t> epoch;
  std::vector<GroupMember> members;
  std::map<TopicPartition, CommittedOffset> committed;
  std::map<TopicPartition, int64_t> lag;  // told by the broker: share groups only
};

// By name. Asks every broker, since each lists what it coordinates. Filters are empty or Kafka's names, case aside.
Result<std::vector<ListedGroup>> find_groups(Cluster& cluster, std::vector<std::string> const& states,
                                             std::vector<std::string> const& types);

// What is known of each of `names`; those that do not exist or may not be seen go to `refuse`.
Result<std::vector<GroupView>> view_groups(Cluster& cluster, std::vector<std::string> const& names,
                                           RefuseGroup const& refuse);

}  // namespace millrace::cli
