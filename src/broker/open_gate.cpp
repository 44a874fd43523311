#include "open_gate.h"

#include <atomic>

namespace millrace::broker {
namespace {

// Held by the partitions that it waits for, and by nobody else: it goes with them when the node does.
class Gate final : public Deadline, public std::enable_shared_from_this<Gate> {
 public:
  explicit Gate(Task then) : then_(std::move(then)) {}
  void one_more() { ++left_; }
  void one_less() {
    if (--left_ == 0) pass();
  }

 private:
  void on_deadline() override { pass(); }
  void pass() {
    auto const keep = shared_from_this();
    Deadlines::remove(*this);
    if (then_) std::move(then_)();
  }

  size_t left_ = 1;
  Task then_;
};

}  // namespace

bool is_opening(std::shared_ptr<runtime::PartitionDriver> const& partition) {
  return partition != nullptr && partition->status() == runtime::PartitionStatus::opening;
}

void when_open(RequestContext& context, std::vector<std::shared_ptr<runtime::PartitionDriver>> const& partitions,
               Duration wait_max, Task then) {
  if (std::none_of(partitions.begin(), partitions.end(), is_opening)) return std::move(then)();
  auto& thread = context.thread();
  auto gate = std::make_shared<Gate>(std::move(then));
  thread.deadlines.add(*gate, thread.reactor.now() + wait_max);
  for (auto const& partition : partitions) {
    if (!is_opening(partition)) continue;
    gate->one_more();
    partition->when_open(thread.reactor, [gate] { gate->one_less(); });
  }
  gate->one_less();
}

}  // namespace millrace::broker
