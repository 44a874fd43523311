#include "sim/world.h"

#include "sim/network.h"
#include "sim/node.h"

namespace millrace::sim {
namespace {

constexpr int64_t kWallStartMs = 1'750'000'000'000;

}  // namespace

uint64_t Trace::hash_of(ByteView bytes) {
  uint64_t hash = 0xcbf29ce484222325ULL ^ bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  for (; i < bytes.size(); ++i) hash = (hash ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3ULL;
  return hash;
}

bool Chaos::hit(std::string_view point) {
  if (!is_on_) return false;
  auto found = points_.find(point);
  if (found == points_.end()) {
    auto random = random_.fork(point);
    double const choices[] = {0.0, 0.01, 0.1, 0.5};
    auto const probability = choices[random.below(4)];
    found = points_.emplace(std::string(point), Point{random, probability}).first;
  }
  return found->second.random.chance(found->second.probability);
}

World::World(WorldOptions options)
    : options_(std::move(options)),
      root_(Random(options_.seed).fork("world")),
      ties_(root_.fork("ties")),
      chaos_(root_.fork("chaos"), options_.has_chaos),
      network_(std::make_unique<Network>(*this)) {
  if (options_.trace != nullptr) trace_.print_to(options_.trace);
}

World::~World() {
  for (auto const& machine : machines_) {
    machine->on_end(nullptr);
    machine->kill(CrashKind::process);
  }
  finish_burials();
  for (auto& slot : slots_) {
    if (slot.is_used) slot.task = {};
  }
}

Machine& World::add_machine(std::string const& name, size_t reactors) {
  machines_.push_back(std::make_unique<Machine>(*this, static_cast<uint32_t>(machines_.size() + 1), name, reactors));
  return *machines_.back();
}

int64_t World::wall_ms() const { return kWallStartMs + to_ms(now_); }

EventId World::schedule(Duration at, LifeId owner, std::string_view kind, Task task) {
  uint32_t index = 0;
  if (free_slots_.empty()) {
    index = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    index = free_slots_.back();
    free_slots_.pop_back();
  }
  auto& slot = slots_[index];
  slot.is_used = true;
  slot.owner = owner;
  slot.kind = kind;
  slot.task = std::move(task);
  queue_.push_back({std::max(at, now_), ties_.below(4), next_sequence_++, index});
  std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
  return (static_cast<uint64_t>(slot.generation) << 32) | index;
}

// The slot's heap entry stays behind, empty, and is dropped when its time comes.
Task World::take(uint32_t index) {
  auto& slot = slots_[index];
  slot.is_used = false;
  ++slot.generation;
  return std::move(slot.task);
}

void World::cancel(EventId id) {
  auto const index = static_cast<uint32_t>(id);
  if (id == kNoEvent || index >= slots_.size()) return;
  auto& slot = slots_[index];
  if (!slot.is_used || slot.generation != static_cast<uint32_t>(id >> 32)) return;
  auto dropped = take(index);
}

bool World::step() {
  finish_burials();
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
    auto const event = queue_.back();
    queue_.pop_back();
    free_slots_.push_back(event.slot);
    auto& slot = slots_[event.slot];
    if (!slot.is_used) continue;
    now_ = event.at;
    ++events_run_;
    last_owner_ = slot.owner;
    trace_.note(now_, "event", slot.kind, slot.owner);
    auto task = take(event.slot);
    std::move(task)();
    finish_burials();
    return true;
  }
  return false;
}

void World::run_until(Duration until) {
  finish_burials();
  while (!queue_.empty() && queue_.front().at <= until) step();
  now_ = std::max(now_, until);
}

bool World::run_while_not(std::function<bool()> const& condition, Duration limit) {
  auto const until = now_ + limit;
  finish_burials();
  while (!condition()) {
    if (queue_.empty() || queue_.front().at > until) {
      now_ = std::max(now_, until);
      return condition();
    }
    step();
  }
  return true;
}

size_t World::destroy_events(LifeId owner) {
  size_t count = 0;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is_used || slots_[i].owner != owner) continue;
    auto dropped = take(i);
    ++count;
  }
  return count;
}

void World::bury(NodeEnv& node) { to_bury_.push_back(&node); }

void World::finish_burials() {
  while (!to_bury_.empty()) {
    auto* node = to_bury_.back();
    to_bury_.pop_back();
    node->machine().take_apart(*node);
  }
}

}  // namespace millrace::sim
