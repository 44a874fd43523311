// TCP listeners and outgoing connections.
#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "millrace/base/log.h"
#include "millrace/env/network.h"
#include "pools.h"
#include "reactor.h"

namespace millrace::env_os {

class OsNetwork final : public env::Network {
 public:
  // The first reactor accepts; connections are dealt out over all of them.
  OsNetwork(std::vector<OsReactor*> reactors, OsPools& pools, Logger& log);

  Result<std::unique_ptr<env::Listener>> listen(env::ListenOptions const& options, env::AcceptHandler handler) override;
  void connect(env::Reactor& reactor, std::string const& host, uint16_t port, Mono deadline,
               Callback<void(Result<std::unique_ptr<env::Connection>>)> done) override;

 private:
  std::vector<OsReactor*> const reactors_;
  OsPools& pools_;
  Logger& log_;
  std::atomic<size_t> next_reactor_{0};
};

}  // namespace millrace::env_os
