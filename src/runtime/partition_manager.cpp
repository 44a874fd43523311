#include "millrace/runtime/partition_manager.h"

#include <algorithm>
#include <mutex>

#include "millrace/base/assert.h"
#include "millrace/metadata/features.h"

namespace millrace::runtime {
namespace {

// Of which nothing was ever synced, and nobody knows which topic it was made for.
bool is_nobodys(storage::PartitionDirectory const& entry) { return !entry.topic_id && !entry.was_synced; }

// What of two directories has the records that were acknowledged nobody here can tell. Kafka does not start either.
bool may_be_the_same(storage::PartitionDirectory const& a, storage::PartitionDirectory const& b) {
  if (is_nobodys(a) || is_nobodys(b)) return false;
  return !a.topic_id || !b.topic_id || a.topic_id == b.topic_id;
}

Error is_in_both(std::string const& name, storage::LogDirectory const& a, storage::LogDirectory const& b) {
  return {ErrorKind::invalid, fmt::format("{} lies in both {} and {}: move the one that is not wanted out of its log directory",
                                          name, a.path(), b.path())};
}

}  // namespace

PartitionManager::PartitionManager(env::Env& env, RunLists& run_lists, std::vector<storage::LogDirectory*> directories,
                                   PartitionManagerOptions options)
    : env_(env), run_lists_(run_lists), directories_(std::move(directories)), options_(std::move(options)),
      file_topic_defaults_(options_.topic_defaults),
      file_cleaner_options_(options_.cleaner),
      topic_defaults_(options_.topic_defaults),
      cleaner_(env, run_lists, [this] { return all(); }, options_.cleaner),
      replication_(env, run_lists, options_.node_id, options_.replication),
      assignments_(env, options_.node_id, replication_.broker_epoch()),
      random_(env.random("partition manager")) {}

PartitionManager::~PartitionManager() {
  for (auto const& driver : all()) driver->abandon();
  // Who was to run holds its log, whose files belong to directories that may go next.
  run_lists_.abandon();
}

std::shared_ptr<PartitionDriver> PartitionManager::find(TopicIdPartition const& id) const {
  std::shared_lock lock(table_mutex_);
  auto const found = table_.find(id);
  return found == table_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<PartitionDriver>> PartitionManager::all() const {
  std::vector<std::shared_ptr<PartitionDriver>> out;
  {
    std::shared_lock lock(table_mutex_);
    out.reserve(table_.size());
    for (auto const& [id, driver] : table_) out.push_back(driver);
  }
  std::sort(out.begin(), out.end(), [](auto const& a, auto const& b) { return a->identity().id < b->identity().id; });
  return out;
}

void PartitionManager::start(Callback<void(Status)> ready) {
  struct State {
    std::vector<Result<std::vector<storage::PartitionDirectory>>> lists;
    size_t left{};
    Callback<void(Status)> ready;
  };
  auto state = std::make_shared<State>();
  state->left = directories_.size();
  state->ready = std::move(ready);
  for (size_t i = 0; i < directories_.size(); ++i) state->lists.emplace_back(Error{});
  for (size_t i = 0; i < directories_.size(); ++i) {
    auto* directory = directories_[i];
    env_.pool(directory->path())
        .run(reactor(),
             [state, directory, i] {
               static_cast<void>(directory->check_space());
               state->lists[i] = directory->partitions();
             },
             [this, state] {
               if (--state->left > 0) return;
               for (size_t d = 0; d < directories_.size(); ++d) {
                 auto& list = state->lists[d];
                 if (!list.ok()) return std::move(state->ready)(list.error());
                 for (auto& entry : *list) {
                   if (entry.is_future) continue;
                   auto const name = entry.topic_partition;
                   for (auto [other, end] = found_.equal_range(name); other != end; ++other) {
                     if (!may_be_the_same(other->second.entry, entry)) continue;
                     return std::move(state->ready)(is_in_both(entry.name, *other->second.directory, *directories_[d]));
                   }
                   found_.emplace(name, Found{directories_[d], std::move(entry)});
                 }
                 arm_flush(*directories_[d], reactor().now() + kFlushTickMin);
                 schedule_unlink(*directories_[d], Duration::zero());
               }
               arm_space_check();
               arm_retention();
               arm_producer_check();
               cleaner_.start();
               std::move(state->ready)(Status{});
             });
  }
}

void PartitionManager::on_directory_offline(storage::LogDirectory& directory) {
  for (auto const& driver : all()) {
    auto const place = placed_.find(driver->identity().id);
    if (place != placed_.end() && place->second == &directory) {
      driver->fail(directory.offline_reason(), run_lists_.control());
    }
  }
}

void PartitionManager::on_publication(metadata::Publication const& publication) {
  auto const& image = *publication.after;
  image_ = publication.after;
  bool const has_new_defaults = update_topic_defaults(publication);
  bool const must_tell_all = !may_tell_roles_ && is_registered_in(image);
  may_tell_roles_ = may_tell_roles_ || must_tell_all;
  // As early as can be: from the first heartbeat on, who is killed and knows an earlier registration only counts as
  // unclean.
  if (must_tell_all && !is_stopping_) tell_directories(&storage::LogDirectory::registered);
  for (auto const& [id, topic] : publication.delta.topics) {
    if (topic.is_deleted) {
      for (auto const index : topic.partitions) remove({id, index});
      continue;
    }
    auto const* topic_image = image.find_topic(id);
    if (topic_image == nullptr) continue;
    for (auto const index : topic.partitions) {
      auto const* partition = topic_image->find_partition(index);
      if (partition == nullptr) continue;
      TopicIdPartition const key{id, index};
      auto const driver = find(key);
      bool const is_here = partition->has_replica(options_.node_id);
      if (driver == nullptr && is_here) {
        add(key, topic_image->name, *partition, image);
      } else if (driver != nullptr && is_here) {
        tell_role(driver, *partition, image);
        if (driver->status() != PartitionStatus::opening) compare_directory(key, image);
      } else if (driver != nullptr) {
        remove(key);
      }
    }
  }
  if (must_tell_all) tell_all_roles(image);
  replication_.on_brokers(publication);
  // After the roles, or a leader that was deposed before them would count by rules that were not made for it.
  for (auto const& resource : publication.delta.configs) {
    if (resource.type == metadata::ConfigResourceType::topic) reconfigure(image, resource.name);
  }
  // What the first one brings was made with the defaults that it brings.
  if (has_new_defaults && !is_first_publication_) reconfigure_all();
  if (std::exchange(is_first_publication_, false)) set_strays_aside(image);
  open_next();
}

void PartitionManager::add(TopicIdPartition const& id, std::string const& topic,
                           metadata::PartitionImage const& partition, metadata::Image const& image) {
  auto config = resolve_topic_config(topic_defaults_,
                                     image.find_configs(metadata::ConfigResourceType::topic, topic));
  auto driver = std::make_shared<PartitionDriver>(env_, PartitionIdentity{id, {topic, id.partition}, fmt::format("{}-{}", topic, id.partition)}, std::move(config));
  {
    std::unique_lock lock(table_mutex_);
    table_.emplace(id, driver);
  }
  Opening opening{.driver = driver};
  for (auto [at, end] = found_.equal_range({topic, id.partition}); at != end;) {
    auto found = std::move(at->second);
    at = found_.erase(at);
    bool const is_damaged = !found.entry.topic_id && found.entry.was_synced;
    if (opening.directory == nullptr && (found.entry.topic_id == id.topic_id || is_damaged)) {
      opening.directory = found.directory;
      opening.existing = std::move(found.entry);
    } else {
      // Of another topic with the same name, or nobody's. Kafka renames a directory without the file, too.
      set_aside(found.entry, *found.directory);
    }
  }
  if (opening.directory == nullptr) opening.directory = choose_directory(partition);
  placed_[id] = opening.directory;
  ++partition_counts_[opening.directory];
  opening_.push_back(std::move(opening));
  tell_role(driver, partition, image);
}

storage::LogDirectory* PartitionManager::choose_directory(metadata::PartitionImage const& partition) {
  auto const wanted = partition.directory_of(options_.node_id);
  storage::LogDirectory* best = nullptr;
  for (auto* directory : directories_) {
    if (directory->directory_id() == wanted) return directory;
    if (directory->is_offline()) continue;
    if (best == nullptr || partition_counts_[directory] < partition_counts_[best]) best = directory;
  }
  return best != nullptr ? best : directories_.front();
}

bool PartitionManager::is_registered_in(metadata::Image const& image) const {
  if (!options_.incarnation_id) return true;
  auto const* self = image.find_broker(options_.node_id);
  return self != nullptr && self->incarnation_id == *options_.incarnation_id;
}

void PartitionManager::tell_all_roles(metadata::Image const& image) {
  for (auto const& driver : all()) {
    auto const& id = driver->identity().id;
    tell_role(driver, *image.find_partition(id.topic_id, id.partition), image);
  }
}

// The roles of an earlier life are not taken up: its leaderships have passed to others, or will with the registration,
// and what it had told may be gone.
void PartitionManager::tell_role(std::shared_ptr<PartitionDriver> const& driver, metadata::PartitionImage const& partition,
                                 metadata::Image const& image) {
  if (!may_tell_roles_) return;
  if (partition.leader == options_.node_id) {
    auto const* settings = image.find_configs(metadata::ConfigResourceType::topic, driver->identity().name.topic);
    replication_.lead(driver, partition, image, resolve_topic_config(topic_defaults_, settings)->min_in_sync);
  } else {
    replication_.follow(driver, placed_.at(driver->identity().id), partition, image);
  }
}

// The controller must not have a replica led that cannot be served.
void PartitionManager::compare_directory(TopicIdPartition const& id, metadata::Image const& image) {
  auto const* partition = image.find_partition(id.topic_id, id.partition);
  if (partition == nullptr || image.metadata_version() < metadata::kMetadataVersion37Iv2) return;
  auto const actual = lost_.contains(id) ? metadata::kDirectoryLost : placed_.at(id)->directory_id();
  assignments_.compare(id, actual, partition->directory_of(options_.node_id));
}

void PartitionManager::remove(TopicIdPartition const& id) {
  std::shared_ptr<PartitionDriver> driver;
  {
    std::unique_lock lock(table_mutex_);
    auto const found = table_.find(id);
    if (found == table_.end()) return;
    driver = std::move(found->second);
    table_.erase(found);
  }
  replication_.forget(id);
  assignments_.forget(id);
  lost_.erase(id);
  auto* directory = placed_[id];
  placed_.erase(id);
  --partition_counts_[directory];
  auto const name = driver->identity().name;
  removing_.insert(name);
  auto const delay = from_ms(driver->config()->file_delete_delay_ms);
  driver->remove(
      env_.random_uuid(),
      // Runs where the driver runs; the bookkeeping is ours.
      [this, name, directory, delay] {
        reactor().post([this, name, directory, delay] {
          removing_.erase(name);
          schedule_unlink(*directory, delay);
          open_next();
        });
      },
      run_lists_.control());
}

// What belongs to no topic of the cluster is not thrown away: the topic may have been deleted just before a crash, but
// the metadata log may have been lost as well. Kafka renames such directories too.
void PartitionManager::set_strays_aside(metadata::Image const& image) {
  for (auto it = found_.begin(); it != found_.end();) {
    auto const& entry = it->second.entry;
    // Without an id nothing is certain, and it stays where it is.
    if (!entry.topic_id || image.find_partition(*entry.topic_id, entry.topic_partition.partition) != nullptr) {
      env_.log().warn("partitions", "{} in {} belongs to no topic of the cluster and stays", entry.name,
                      it->second.directory->path());
      ++it;
      continue;
    }
    set_aside(entry, *it->second.directory);
    it = found_.erase(it);
  }
}

void PartitionManager::set_aside(storage::PartitionDirectory const& entry, storage::LogDirectory& directory) {
  removing_.insert(entry.topic_partition);
  auto renamed = std::make_shared<Result<std::string>>(Error{});
  env_.pool(directory.path())
      .run(reactor(),
           [directory = &directory, entry, id = env_.random_uuid(), renamed] { *renamed = directory->set_stray_aside(entry, id); },
           [this, entry, directory = &directory, renamed] {
             if (renamed->ok()) {
               auto const* const why = entry.topic_id ? "belongs to no topic of the cluster" : "does not tell its topic";
               env_.log().warn("partitions", "{} in {} {}: it is now called {}; remove it when nobody needs it",
                               entry.name, directory->path(), why, **renamed);
             } else {
               env_.log().error("partitions", "set {} aside: {}", entry.name, renamed->error().message);
             }
             removing_.erase(entry.topic_partition);
             open_next();
           });
}

void PartitionManager::open_next() {
  for (auto& blocked : std::exchange(blocked_, {})) opening_.push_back(std::move(blocked));
  while (!opening_.empty() && opening_in_flight_ < kOpeningMax) {
    auto opening = std::move(opening_.front());
    opening_.pop_front();
    if (opening.driver->status() == PartitionStatus::deleted) continue;
    if (removing_.contains(opening.driver->identity().name)) {
      blocked_.push_back(std::move(opening));
      continue;
    }
    ++opening_in_flight_;
    auto result = std::make_shared<Result<std::shared_ptr<storage::PartitionLog>>>(Error{});
    auto shared = std::make_shared<Opening>(std::move(opening));
    auto& pool = env_.pool(shared->directory->path());
    auto const now = env_.wall_now();
    pool.run(reactor(),
             [shared, result, now] {
               auto const& identity = shared->driver->identity();
               auto const config = shared->driver->config();
               if (shared->existing && !shared->existing->topic_id) {
                 *result = Error{ErrorKind::corrupt, fmt::format("{}/{} does not tell its topic though its records were synced; "
                                                                 "restore its partition.metadata (version: 0, topic_id: {}) or move it away",
                                                                 shared->directory->path(), shared->existing->name, identity.id.topic_id)};
                 return;
               }
               if (!config->is_flush_before_acknowledge()) {
                 if (auto withdrawn = shared->directory->withdraw_flush_promise(); !withdrawn) {
                   *result = std::move(withdrawn).error();
                   return;
                 }
               }
               *result = shared->existing
                             ? shared->directory->open_log(*shared->existing, config->log, now)
                             : shared->directory->create_log(identity.name, identity.id.topic_id, config->log, now);
             },
             [this, shared, result] {
               --opening_in_flight_;
               on_opened(std::move(*shared), std::move(*result));
               open_next();
             });
  }
  if (opening_.empty() && blocked_.empty() && opening_in_flight_ == 0) {
    if (!is_first_publication_ && !std::exchange(are_found_opened_, true)) maybe_recovered();
    for (auto& task : std::exchange(when_all_open_, {})) reactor().post(std::move(task));
  }
}

void PartitionManager::on_opened(Opening opening, Result<std::shared_ptr<storage::PartitionLog>> log) {
  auto& driver = *opening.driver;
  auto const& name = driver.identity().name;
  bool const is_here = placed_.contains(driver.identity().id);  // not removed meanwhile
  if (!log.ok()) {
    env_.log().error("partitions", "open {}-{} in {}: {}", name.topic, name.partition, opening.directory->path(),
                     log.error().message);
    with_unrecovered_.insert(opening.directory);
    driver.fail(log.error().message, run_lists_.control());
    if (is_here && !opening.directory->is_offline()) lost_.insert(driver.identity().id);
    if (is_here) compare_directory(driver.identity().id, *image_);
    return;
  }
  auto const& report = (*log)->recovery();
  if (report.cut_bytes > 0) {
    env_.log().warn("partitions", "{}-{}: {} bytes cut from offset {} on", name.topic, name.partition, report.cut_bytes,
                    report.first_cut_offset.value_or(Offset(-1)));
  }
  driver.open(std::move(*log), run_lists_.control());
  if (is_here) compare_directory(driver.identity().id, *image_);
}

void PartitionManager::set_broker_epoch(int64_t epoch) {
  replication_.set_broker_epoch(epoch);
  assignments_.registered();
  if (!std::exchange(is_registered_, true)) maybe_recovered();
}

void PartitionManager::tell_directories(Status (storage::LogDirectory::*what)()) {
  for (auto* directory : directories_) {
    if (directory->is_offline()) continue;
    auto status = std::make_shared<Status>();
    run_on(
        *directory, [directory, status, what] { *status = (directory->*what)(); },
        [this, directory, status] {
          if (!status->ok()) env_.log().error("partitions", "{}: {}", directory->path(), status->error().message);
        });
  }
}

// From now on a killed process is only that, whatever the machine had lost before. Not earlier: until the controller
// has heard of the loss, these replicas count as complete.
void PartitionManager::maybe_recovered() {
  if (are_found_opened_ && is_registered_) tell_directories(&storage::LogDirectory::recovery_done);
}

void PartitionManager::when_all_open(Task task) {
  if (opening_.empty() && blocked_.empty() && opening_in_flight_ == 0) return std::move(task)();
  when_all_open_.push_back(std::move(task));
}

// Broker keys that were set in the cluster go before those of the node's file.
bool PartitionManager::update_topic_defaults(metadata::Publication const& publication) {
  auto const is_ours = [this](metadata::ConfigResource const& resource) {
    return resource.type == metadata::ConfigResourceType::broker &&
           (resource.name.empty() || resource.name == fmt::format("{}", options_.node_id));
  };
  if (!std::ranges::any_of(publication.delta.configs, is_ours)) return false;
  apply_cluster_configs();
  return true;
}

void PartitionManager::apply_cluster_configs() {
  topic_defaults_ = topic_defaults_with_cluster_configs(file_topic_defaults_, *image_, options_.node_id);
  cleaner_.set_options(cleaner_options_with_cluster_configs(file_cleaner_options_, *image_, options_.node_id));
}

void PartitionManager::reload(PartitionManagerOptions of_file) {
  file_topic_defaults_ = std::move(of_file.topic_defaults);
  file_cleaner_options_ = of_file.cleaner;
  if (image_ == nullptr) {
    topic_defaults_ = file_topic_defaults_;
    return cleaner_.set_options(file_cleaner_options_);
  }
  apply_cluster_configs();
  reconfigure_all();
}

void PartitionManager::reconfigure_all() {
  image_->topics.for_each([&](std::string const& name, metadata::TopicImagePtr const&) { reconfigure(*image_, name); });
}

void PartitionManager::reconfigure(metadata::Image const& image, std::string const& topic) {
  auto const* topic_image = image.find_topic(topic);
  if (topic_image == nullptr) return;
  auto const config = resolve_topic_config(topic_defaults_,
                                           image.find_configs(metadata::ConfigResourceType::topic, topic));
  topic_image->partitions.for_each([&](int32_t index, metadata::PartitionImagePtr const&) {
    if (auto const driver = find({topic_image->id, index})) driver->set_config(config, run_lists_.control());
  });
}

// ---- Background work

void PartitionManager::arm_flush(storage::LogDirectory& directory, Mono when) {
  reactor().call_at(when, [this, directory = &directory] {
    if (is_stopping_ || directory->is_offline()) return;
    auto next = std::make_shared<Result<Mono>>(Error{});
    auto const now = reactor().now();
    run_on(
        *directory, [directory, next, now] { *next = directory->flush_step(now); },
        [this, directory, next] {
          if (!next->ok()) {
            env_.log().error("partitions", "flush of {}: {}", directory->path(), next->error().message);
            return;
          }
          auto const after = reactor().now();
          arm_flush(*directory, std::clamp(**next, after + kFlushTickMin, after + kFlushTickMax));
        });
  });
}

void PartitionManager::arm_space_check() {
  reactor().call_at(reactor().now() + kSpaceCheckInterval, [this] {
    if (is_stopping_) return;
    for (auto* directory : directories_) {
      if (directory->is_offline()) continue;
      run_on(
          *directory, [directory] { static_cast<void>(directory->check_space()); },
          [this, directory] {
            // What was deleted is needed now, not after its delay.
            if (directory->is_low_on_space()) schedule_unlink(*directory, Duration::zero());
          });
    }
    arm_space_check();
  });
}

void PartitionManager::arm_retention() {
  reactor().call_at(reactor().now() + options_.retention_check_interval, [this] {
    if (is_stopping_) return;
    auto const wall = retention_clock_.observe(env_.wall_now(), reactor().now());
    for (auto const& driver : all()) driver->apply_retention(wall, run_lists_.control());
    arm_retention();
  });
}

void PartitionManager::arm_producer_check() {
  reactor().call_at(reactor().now() + options_.producer_check_interval, [this] {
    if (is_stopping_) return;
    auto const wall = env_.wall_now();
    for (auto const& driver : all()) driver->expire_producers(wall, run_lists_.control());
    arm_producer_check();
  });
}

void PartitionManager::schedule_unlink(storage::LogDirectory& directory, Duration delay) {
  reactor().call_at(reactor().now() + delay, [this, directory = &directory] {
    if (is_stopping_ || directory->is_offline()) return;
    auto is_more = std::make_shared<Result<bool>>(false);
    run_on(
        *directory, [directory, is_more] { *is_more = directory->remove_deleted_step(); },
        [this, directory, is_more] {
          if (is_more->ok() && **is_more) schedule_unlink(*directory, Duration::zero());
        });
  });
}

// ---- The end

void PartitionManager::stop(int64_t broker_epoch, Callback<void(Status)> done) {
  is_stopping_ = true;
  cleaner_.stop();
  replication_.stop();
  assignments_.stop();
  std::set<PartitionDriver const*> unopened;
  bool const was_clean = std::ranges::all_of(directories_, [](auto const* directory) {
    auto const stop = directory->previous_stop();
    return stop == storage::PreviousStop::clean || stop == storage::PreviousStop::first_start;
  });
  if (was_clean) {
    for (auto const& opening : std::exchange(opening_, {})) unopened.insert(opening.driver.get());
    for (auto const& opening : std::exchange(blocked_, {})) unopened.insert(opening.driver.get());
  }
  when_all_open([this, unopened = std::move(unopened), broker_epoch, done = std::move(done)]() mutable {
    close_logs(unopened, broker_epoch, std::move(done));
  });
}

void PartitionManager::close_logs(std::set<PartitionDriver const*> const& unopened, int64_t broker_epoch,
                                  Callback<void(Status)> done) {
  struct State {
    size_t left{};
    Status status;
    Callback<void(Status)> done;
  };
  auto state = std::make_shared<State>();
  state->done = std::move(done);
  auto drivers = all();
  std::erase_if(drivers, [&](auto const& driver) { return unopened.contains(driver.get()); });
  state->left = drivers.size() + 1;
  auto const one_less = [this, state, broker_epoch](Status status) {
    if (!status.ok()) {
      env_.log().error("partitions", "close: {}", status.error().message);
      state->status = std::move(status);
    }
    if (--state->left > 0) return;
    // Without a clean close of every log there is no clean-stop mark: the next start recovers.
    if (!state->status.ok()) return std::move(state->done)(std::move(state->status));
    // Nor may anything be written after the mark.
    when_idle([this, state, broker_epoch] { stop_directories(broker_epoch, std::move(state->done)); });
  };
  for (auto const& driver : drivers) driver->close(one_less, run_lists_.control());
  reactor().post([one_less] { one_less(Status{}); });
}

void PartitionManager::run_on(storage::LogDirectory& directory, Task job, Task done) {
  ++job_count_;
  env_.pool(directory.path()).run(reactor(), std::move(job), [this, done = std::move(done)]() mutable {
    std::move(done)();
    if (--job_count_ > 0) return;
    for (auto& task : std::exchange(when_idle_, {})) std::move(task)();
  });
}

void PartitionManager::when_idle(Task task) {
  if (job_count_ == 0) return std::move(task)();
  when_idle_.push_back(std::move(task));
}

// A mark vouches for every log, and lets the node register as one that has lost nothing.
bool PartitionManager::may_leave_mark(storage::LogDirectory const& directory) const {
  if (with_unrecovered_.contains(&directory)) return false;
  switch (directory.previous_stop()) {
    case storage::PreviousStop::first_start:
    case storage::PreviousStop::clean: return true;
    case storage::PreviousStop::process_killed: return are_found_opened_;
    case storage::PreviousStop::machine_lost: return are_found_opened_ && is_registered_;
  }
  return false;
}

void PartitionManager::stop_directories(int64_t broker_epoch, Callback<void(Status)> done) {
  struct State {
    std::vector<Status> results;
    size_t left{};
    Callback<void(Status)> done;
  };
  bool const tells_epoch = broker_epoch >= 0 || !options_.is_broker;
  auto const marked_epoch = tells_epoch ? std::optional(broker_epoch) : storage::oldest_marked_epoch(directories_);
  auto state = std::make_shared<State>();
  state->results.resize(directories_.size());
  state->left = directories_.size();
  state->done = std::move(done);
  for (size_t i = 0; i < directories_.size(); ++i) {
    auto* directory = directories_[i];
    env_.pool(directory->path())
        .run(
            reactor(),
            [directory, state, i, marked_epoch, may_mark = may_leave_mark(*directory)] {
              if (directory->is_offline()) return;
              state->results[i] = may_mark && marked_epoch ? directory->stop_cleanly(*marked_epoch) : directory->flush_all();
            },
            [state] {
              if (--state->left > 0) return;
              for (auto& result : state->results) {
                if (!result.ok()) return std::move(state->done)(std::move(result));
              }
              std::move(state->done)(Status{});
            });
  }
}

}  // namespace millrace::runtime
