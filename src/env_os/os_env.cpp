#include "millrace/env_os/os_env.h"

#include <sys/random.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "disk.h"
#include "logger.h"
#include "memory.h"
#include "network.h"
#include "pools.h"
#include "reactor.h"

namespace millrace::env_os {

namespace {

constexpr size_t kReactorCountMax = 64;

void fill_random(MutableByteView into) {
  while (!into.empty()) {
    auto const count = ::getrandom(into.data(), into.size(), 0);
    if (count > 0) into = into.subspan(static_cast<size_t>(count));
    else MR_ASSERT(errno == EINTR);  // nothing else is possible with these flags
  }
}

uint64_t random_seed() {
  uint64_t seed = 0;
  fill_random(std::as_writable_bytes(std::span(&seed, 1)));
  return seed;
}

class OsEnvImpl final : public OsEnv {
 public:
  OsEnvImpl(size_t reactor_count, size_t pool_threads, std::unique_ptr<Logger> log)
      : log_(std::move(log)), pools_(pool_threads, epoch_), random_(random_seed()) {
    std::signal(SIGPIPE, SIG_IGN);  // sendfile knows no MSG_NOSIGNAL
    std::vector<OsReactor*> pointers;
    for (size_t i = 0; i < reactor_count; ++i) {
      reactors_.push_back(std::make_unique<OsReactor>(fmt::format("mr-loop-{}", i), epoch_));
      pointers.push_back(reactors_.back().get());
    }
    control_ = std::make_unique<OsReactor>("mr-control", epoch_);
    network_ = std::make_unique<OsNetwork>(std::move(pointers), pools_, *log_);
    for (auto& reactor : reactors_) reactor->start();
    control_->start();
  }
  ~OsEnvImpl() override { stop(); }

  void stop() override {
    pools_.stop();
    for (auto& reactor : reactors_) reactor->stop();
    control_->stop();
    for (auto& reactor : reactors_) reactor->join();
    control_->join();
    // What is queued may hold objects of the node, so it goes before them; its destructors may queue anew.
    bool had_some = true;
    while (had_some) {
      had_some = pools_.drop_queued() || control_->drop_queued();
      for (auto& reactor : reactors_) had_some |= reactor->drop_queued();
    }
  }

  size_t reactor_count() const override { return reactors_.size(); }
  env::Reactor& reactor(size_t index) override { return *reactors_.at(index); }
  env::Reactor& control_reactor() override { return *control_; }
  env::Pool& pool(std::string_view directory) override { return pools_.of_directory(directory); }
  env::Disk& disk() override { return disk_; }
  env::Network& network() override { return *network_; }

  Wall wall_now() const override {
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  }
  Random random(std::string_view purpose) override { return random_.fork(purpose); }

  // Version 4, and as Kafka draws them: never one whose text begins with a dash, which a command line would take for
  // an option.
  Uuid random_uuid() override {
    while (true) {
      Uuid id;
      fill_random(std::as_writable_bytes(std::span(id.bytes)));
      id.bytes[6] = static_cast<uint8_t>((id.bytes[6] & 0x0f) | 0x40);
      id.bytes[8] = static_cast<uint8_t>((id.bytes[8] & 0x3f) | 0x80);
      if (!id.text().starts_with('-')) return id;
    }
  }
  std::string boot_id() override {
    auto content = disk_.read_file("/proc/sys/kernel/random/boot_id", 64);
    if (!content) return {};
    auto text = *std::move(content);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }
  env::Limits limits() const override {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return {.descriptors_max = static_cast<size_t>(limit.rlim_cur), .memory_bytes = memory_bytes_max("/")};
  }
  Logger& log() override { return *log_; }
  Hooks& hooks() override { return Hooks::none(); }

 private:
  std::chrono::steady_clock::time_point const epoch_ = std::chrono::steady_clock::now();
  std::unique_ptr<Logger> log_;
  OsPools pools_;
  OsDisk disk_;
  Random const random_;
  std::vector<std::unique_ptr<OsReactor>> reactors_;
  std::unique_ptr<OsReactor> control_;
  std::unique_ptr<OsNetwork> network_;
};

}  // namespace

Result<std::unique_ptr<OsEnv>> make_os_env(OsEnvOptions const& options) {
  MR_TRY_ASSIGN(auto log, make_logger(options.log_level, options.log_file));
  auto count = options.reactor_count;
  if (count == 0) count = std::max<size_t>(1, std::thread::hardware_concurrency() / 2);
  return std::unique_ptr<OsEnv>(std::make_unique<OsEnvImpl>(
      std::min(count, kReactorCountMax), std::max<size_t>(1, options.pool_threads_per_directory), std::move(log)));
}

}  // namespace millrace::env_os
