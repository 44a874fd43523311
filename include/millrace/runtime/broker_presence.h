// Keeps this node's registration as a broker: runs its lifecycle against the active controller, wherever that is.
// Lives on the control reactor.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "millrace/env/env.h"
#include "millrace/metadata/image.h"
#include "millrace/runtime/broker_lifecycle.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::runtime {

// This node as a broker.
struct LocalBroker {
  Uuid incarnation_id;                       // of this process life
  std::vector<metadata::Endpoint> endpoints; // as advertised
  std::optional<std::string> rack;
  std::vector<DirectoryId> directories;
  std::optional<int64_t> previous_epoch;     // as in BrokerLifecycleConfig
};

struct BrokerPresenceEvents {
  std::function<void(int64_t epoch)> on_registered;
  std::function<void()> on_unfenced;  // once
  std::function<void(Mono asked_at)> on_alive;  // the controller takes it for alive, by the heartbeat sent then
  std::function<void(Error const&)> on_failed;  // it never was registered
};

class BrokerPresence {
 public:
  // `controller` outlives it.
  BrokerPresence(env::Env& env, ControllerClient& controller, BrokerId id, std::string cluster_id, LocalBroker local,
                 BrokerLifecycleConfig config, BrokerPresenceEvents events);

  void start();
  void on_published(metadata::Image const& image);
  void set_offline_directories(std::vector<DirectoryId> directories);
  // Asks the controller whether it is taken for alive.
  void ask_soon() { feed(lifecycle::event::NewsToTell{}); }
  // Controlled shutdown; `done` once nothing is led here any more, or after the time that it may take.
  void shut_down(Task done);
  // Nothing more is sent.
  void stop();

  int64_t epoch() const { return lifecycle_.epoch(); }
  metadata::RegisterBroker registration() const;

 private:
  void feed(lifecycle::Event const& event);
  void perform(lifecycle::Effects const& effects);

  env::Env& env_;
  env::Reactor& reactor_;
  ControllerClient& controller_;
  BrokerId const id_;
  std::string const cluster_id_;
  LocalBroker const local_;
  BrokerPresenceEvents events_;
  BrokerLifecycle lifecycle_;
  std::vector<DirectoryId> offline_directories_;
  env::TimerId timer_ = env::kNoTimer;
  Task shut_down_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::runtime
