#include "placement.h"

#include <algorithm>
#include <map>

namespace millrace::metadata {
namespace {

void shuffle(std::vector<BrokerId>& list, Random& random) {
  for (auto i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
}

// Gives its brokers in turn, each once a round; each round begins one further on.
class Turn {
 public:
  std::vector<BrokerId> brokers;

  std::optional<BrokerId> next(int64_t round) {
    if (brokers.empty()) return std::nullopt;
    if (round != round_) {
      round_ = round;
      given_ = 0;
      start_ = (start_ + 1) % brokers.size();
    }
    if (given_ >= brokers.size()) return std::nullopt;
    return brokers[(start_ + given_++) % brokers.size()];
  }

 private:
  int64_t round_ = 0;
  size_t start_ = 0, given_ = 0;
};

struct Rack {
  Turn unfenced, fenced;
  std::optional<BrokerId> next(int64_t round) {
    if (auto found = unfenced.next(round)) return found;
    return fenced.next(round);
  }
};

bool takes_replicas(BrokerImage const& broker) {
  if (broker.is_in_controlled_shutdown && !broker.is_fenced) return false;
  if (!broker.cordoned_directories || broker.directories.empty()) return true;
  auto const& cordoned = *broker.cordoned_directories;
  return std::any_of(broker.directories.begin(), broker.directories.end(), [&](DirectoryId const& directory) {
    return std::find(cordoned.begin(), cordoned.end(), directory) == cordoned.end();
  });
}

class Striped {
 public:
  Striped(Image const& image, Random random) : random_(random) {
    std::map<std::optional<std::string>, Rack> racks;  // no rack is a rack, and the first
    image.brokers.for_each([&](BrokerId id, std::shared_ptr<BrokerImage const> const& broker) {
      if (!takes_replicas(*broker)) return;
      auto& rack = racks[broker->rack];
      (broker->is_fenced ? rack.fenced : rack.unfenced).brokers.push_back(id);
      ++broker_count;
      if (!broker->is_fenced) ++unfenced_count;
    });
    for (auto& [name, rack] : racks) racks_.push_back(std::move(rack));
    shuffle_all();
    if (!racks_.empty()) first_rack_ = random_.below(racks_.size());
  }

  std::vector<BrokerId> place(int16_t replication_factor) {
    // Every broker has been first once: the next ones should meet other neighbours.
    if (round_ == static_cast<int64_t>(unfenced_count) && unfenced_count > 1) {
      shuffle_all();
      round_ = 0;
    }
    std::vector<BrokerId> replicas;
    auto leader_rack = first_rack_;
    for (; replicas.empty(); leader_rack = (leader_rack + 1) % racks_.size()) {
      if (auto id = racks_[leader_rack].unfenced.next(round_)) {
        replicas.push_back(*id);
        break;
      }
    }
    bool is_leader_rack_skipped = false;  // once: its turn was the first replica
    for (auto rack = first_rack_; replicas.size() < static_cast<size_t>(replication_factor); rack = (rack + 1) % racks_.size()) {
      if (rack == leader_rack && !is_leader_rack_skipped) {
        is_leader_rack_skipped = true;
        continue;
      }
      if (auto id = racks_[rack].next(round_)) replicas.push_back(*id);
    }
    ++round_;
    first_rack_ = (first_rack_ + 1) % racks_.size();
    return replicas;
  }

  size_t broker_count = 0, unfenced_count = 0;

 private:
  void shuffle_all() {
    for (auto& rack : racks_) {
      shuffle(rack.fenced.brokers, random_);
      shuffle(rack.unfenced.brokers, random_);
    }
  }

  Random random_;
  std::vector<Rack> racks_;
  size_t first_rack_ = 0;
  int64_t round_ = 0;
};

}  // namespace

DirectoryId default_directory(Image const& image, BrokerId id) {
  auto const* broker = image.find_broker(id);
  if (broker == nullptr) return kDirectoryUnassigned;
  if (broker->directories.empty()) return kDirectoryMigrating;
  return broker->directories.size() == 1 ? broker->directories.front() : kDirectoryUnassigned;
}

Result<std::vector<std::vector<BrokerId>>> place_replicas(Image const& image, int32_t count, int16_t replication_factor,
                                                          Random random) {
  auto const fail = [&](std::string_view why) {
    return Error{ErrorKind::invalid, fmt::format("Unable to replicate the partition {} time(s): {}", replication_factor, why)};
  };
  Striped striped(image, random);
  if (striped.unfenced_count == 0) return fail("All brokers are currently fenced, or have all their log directories cordoned.");
  if (static_cast<size_t>(replication_factor) > striped.broker_count) {
    return fail(fmt::format("The target replication factor of {} cannot be reached because only {} broker(s) are registered.",
                            replication_factor, striped.broker_count));
  }
  std::vector<std::vector<BrokerId>> out;
  for (int32_t i = 0; i < count; ++i) out.push_back(striped.place(replication_factor));
  return out;
}

}  // namespace millrace::metadata
