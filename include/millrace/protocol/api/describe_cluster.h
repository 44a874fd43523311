#pragma once
#include "millrace/protocol/api_key.h"
#include "millrace/protocol/errors.h"

namespace millrace::protocol {

struct DescribeClusterRequest {
  static constexpr ApiKey kKey = ApiKey::describe_cluster;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  bool include_cluster_authorized_operations{};
  int8_t endpoint_type = 1;
  bool include_fenced_brokers{};
  static void describe(auto& m, auto& v) {
    v(m.include_cluster_authorized_operations, {"IncludeClusterAuthorizedOperations", since(0)});
    v(m.endpoint_type, {"EndpointType", since(1)});
    v(m.include_fenced_brokers, {"IncludeFencedBrokers", since(2)});
  }
  static MessageTable const& table();
};

struct DescribeClusterResponse {
  static constexpr ApiKey kKey = ApiKey::describe_cluster;
  static constexpr Versions kValid{0, 2}, kFlexible{0, kLatest};

  struct DescribeClusterBroker {
    int32_t broker_id{};
    Str host;
    int32_t port{};
    std::optional<Str> rack;
    bool is_fenced{};
    static void describe(auto& m, auto& v) {
      v(m.broker_id, {"BrokerId", since(0)});
      v(m.host, {"Host", since(0)});
      v(m.port, {"Port", since(0)});
      v(m.rack, {"Rack", since(0), nullable_since(0)});
      v(m.is_fenced, {"IsFenced", since(2)});
    }
  };

  int32_t throttle_time_ms{};
  ErrorCode error_code{};
  std::optional<Str> error_message;
  int8_t endpoint_type = 1;
  Str cluster_id;
  int32_t controller_id = -1;
  Array<DescribeClusterBroker> brokers;
  int32_t cluster_authorized_operations = INT32_MIN;
  static void describe(auto& m, auto& v) {
    v(m.throttle_time_ms, {"ThrottleTimeMs", since(0)});
    v(m.error_code, {"ErrorCode", since(0)});
    v(m.error_message, {"ErrorMessage", since(0), nullable_since(0)});
    v(m.endpoint_type, {"EndpointType", since(1)});
    v(m.cluster_id, {"ClusterId", since(0)});
    v(m.controller_id, {"ControllerId", since(0)});
    v(m.brokers, {"Brokers", since(0)});
    v(m.cluster_authorized_operations, {"ClusterAuthorizedOperations", since(0)});
  }
  static MessageTable const& table();
};

}  // namespace millrace::protocol
