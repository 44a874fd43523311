#include "millrace/runtime/group_coordinators.h"

#include "millrace/bytes/hash.h"

namespace millrace::runtime {

GroupCoordinators::GroupCoordinators(env::Env& env, RunLists& run_lists, PartitionManager& partitions, BrokerId node_id,
                                     CoordinatorOptions options)
    : env_(env), run_lists_(run_lists), partitions_(partitions), node_id_(node_id), options_(options) {}

GroupCoordinators::~GroupCoordinators() {
  for (auto const& [index, one] : coordinators_) one->abandon();
}

void GroupCoordinators::on_publication(metadata::Publication const& publication) {
  auto& here = run_lists_.control();
  std::vector<std::pair<std::string, Uuid>> deleted;
  bool is_touched = publication.delta.is_from_snapshot;
  for (auto const& [id, topic] : publication.delta.topics) {
    if (topic.name == kGroupTopicName)
      is_touched = true;
    else if (topic.is_deleted)
      deleted.emplace_back(topic.name, id);
  }
  if (is_touched) {
    auto const* const topic = publication.after->find_topic(kGroupTopicName);
    if (topic == nullptr || topic->id != topic_id_) {
      Coordinators former;
      {
        std::unique_lock lock(mutex_);
        former.swap(coordinators_);
        partition_count_ = 0;
      }
      for (auto const& [index, one] : former) one->resign(here);
      topic_id_ = topic == nullptr ? TopicId{} : topic->id;
    }
    if (topic != nullptr) {
      int32_t count = 0;
      topic->partitions.for_each([&](int32_t index, auto const& partition) {
        count = std::max(count, index + 1);
        auto const at = coordinators_.find(index);
        if (partition->leader != node_id_) {
          if (at != coordinators_.end()) at->second->resign(here);
          return;
        }
        auto one = at == coordinators_.end() ? nullptr : at->second;
        if (one == nullptr) {
          auto driver = partitions_.find({topic->id, index});
          if (driver == nullptr) return;
          one = std::make_shared<CoordinatorDriver>(env_, run_lists_, std::move(driver), options_);
          std::unique_lock lock(mutex_);
          coordinators_.emplace(index, one);
        }
        one->lead(partition->leader_epoch, here);
      });
      std::unique_lock lock(mutex_);
      partition_count_ = count;
    }
  }
  if (deleted.empty()) return;
  for (auto const& [index, one] : coordinators_) one->topics_deleted(deleted, here);
}

void GroupCoordinators::resign_all() {
  for (auto const& [index, one] : coordinators_) one->resign(run_lists_.control());
}

std::shared_ptr<CoordinatorDriver> GroupCoordinators::find(std::string_view group_id) const {
  std::shared_lock lock(mutex_);
  if (partition_count_ == 0) return nullptr;
  auto const at = coordinators_.find(coordinator_partition(group_id, partition_count_));
  return at == coordinators_.end() ? nullptr : at->second;
}

void GroupCoordinators::submit(std::string_view group_id, coordinator::Event request, env::Reactor& back,
                               Callback<void(coordinator::Answer)> done, RunList& here) {
  if (auto const coordinator = find(group_id)) {
    return coordinator->submit(std::move(request), back, std::move(done), here);
  }
  // What is wrong with the request itself comes before that nobody coordinates it here, as with a coordinator.
  coordinator::GroupCoordinator nobody(options_.groups);
  coordinator::Effects effects;
  nobody.on_event(std::move(request), {here.reactor().now(), env_.wall_now()}, effects);
  MR_ASSERT(effects.replies.size() == 1);
  back.post([answer = std::move(effects.replies[0].answer), done = std::move(done)]() mutable {
    std::move(done)(std::move(answer));
  });
}

void GroupCoordinators::submit_to_all(coordinator::ListGroups const& request, env::Reactor& back,
                                      Callback<void(std::vector<coordinator::ListAnswer>)> done, RunList& here) {
  std::vector<std::shared_ptr<CoordinatorDriver>> all;
  {
    std::shared_lock lock(mutex_);
    for (auto const& [index, one] : coordinators_) all.push_back(one);
  }
  struct Gathering {
    Callback<void(std::vector<coordinator::ListAnswer>)> done;
    std::vector<coordinator::ListAnswer> answers;
    size_t left = 0;
  };
  auto gathering = std::make_shared<Gathering>();
  gathering->done = std::move(done);
  gathering->left = all.size();
  if (all.empty()) return back.post([gathering] { std::move(gathering->done)({}); });
  for (auto const& one : all) {
    one->submit(
        request, back,
        [gathering](coordinator::Answer answer) {
          gathering->answers.push_back(std::get<coordinator::ListAnswer>(std::move(answer)));
          if (--gathering->left == 0) std::move(gathering->done)(std::move(gathering->answers));
        },
        here);
  }
}

void GroupCoordinators::figures(FiguresRequest const& request, env::Reactor& back,
                                Callback<void(CoordinatorFigures)> done, RunList& here) {
  std::vector<std::shared_ptr<CoordinatorDriver>> all;
  if (request.group_id) {
    if (auto one = find(*request.group_id)) all.push_back(std::move(one));
  } else {
    std::shared_lock lock(mutex_);
    for (auto const& [index, one] : coordinators_) all.push_back(one);
  }
  struct Gathering {
    std::mutex mutex;
    Callback<void(CoordinatorFigures)> done;
    CoordinatorFigures figures;
    size_t left = 0;
  };
  auto gathering = std::make_shared<Gathering>();
  gathering->done = std::move(done);
  gathering->left = all.size();
  if (all.empty()) return back.post([gathering] { std::move(gathering->done)({}); });
  for (auto const& one : all) {
    one->figures(
        request,
        [gathering, &back, offset_count_max = request.offset_count_max](CoordinatorFigures figures) {
          std::lock_guard lock(gathering->mutex);
          gathering->figures.add(std::move(figures));
          if (--gathering->left > 0) return;
          back.post([gathering, offset_count_max] {
            gathering->figures.finish(offset_count_max);
            std::move(gathering->done)(std::move(gathering->figures));
          });
        },
        here);
  }
}

}  // namespace millrace::runtime
