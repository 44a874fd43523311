// What a configuration means for one node: its roles, listeners, quorum and directories, with Kafka's rules between the
// keys, and the defaults that let a sole node start from nothing.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/server/configuration.h"

namespace millrace::server {

struct ListenerSetting {
  std::string name;      // "PLAINTEXT", upper case
  std::string host;      // empty: every address of the machine
  uint16_t port{};       // 0: any free one
  std::string protocol;  // PLAINTEXT
  bool is_controller = false;
};

struct AdvertisedSetting {
  std::string name;
  std::string host;
  uint16_t port{};
};

struct QuorumVoter {
  BrokerId id;
  std::string host;
  uint16_t port{};
};

struct NodeOptions {
  BrokerId node_id{1};
  bool is_broker = true;
  bool is_controller = true;
  std::vector<ListenerSetting> listeners;
  std::vector<AdvertisedSetting> advertised;   // of the broker's listeners that are advertised under another address
  std::string inter_broker_listener;           // a name
  std::vector<std::string> controller_listeners;
  std::vector<QuorumVoter> voters;             // of controller.quorum.voters; empty: none are named
  std::vector<std::string> bootstrap_servers;  // of controller.quorum.bootstrap.servers
  std::vector<std::string> log_directories;
  std::string metadata_directory;

  // Nobody else has a say in its quorum.
  bool is_sole_voter() const {
    return is_controller && bootstrap_servers.empty() && (voters.empty() || (voters.size() == 1 && voters[0].id == node_id));
  }
};

// Every problem that there is, one a line, in the error.
Result<NodeOptions> plan_node(Configuration const& configuration);

// `NAME://host:port`; the host may be empty or in brackets.
Result<ListenerSetting> parse_endpoint(std::string_view text);

}  // namespace millrace::server
