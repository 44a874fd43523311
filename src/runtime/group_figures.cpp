#include "millrace/runtime/group_figures.h"

namespace millrace::runtime {

void CoordinatorFigures::add(CoordinatorFigures other) {
  std::move(other.groups.begin(), other.groups.end(), std::back_inserter(groups));
  coordinators += other.coordinators;
  coordinators_loading += other.coordinators_loading;
  offset_count += other.offset_count;
  offsets_left_out += other.offsets_left_out;
  requests += other.requests;
  requests_queued += other.requests_queued;
  rebalances += other.rebalances;
}

void CoordinatorFigures::finish(size_t offset_count_max) {
  std::sort(groups.begin(), groups.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
  size_t left = offset_count_max;
  for (auto& group : groups) {
    auto const kept = std::min(left, group.offsets.size());
    offsets_left_out += static_cast<int64_t>(group.offsets.size() - kept);
    group.offsets.resize(kept);
    left -= kept;
  }
}

}  // namespace millrace::runtime
