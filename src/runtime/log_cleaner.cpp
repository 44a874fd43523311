#include "millrace/runtime/log_cleaner.h"

#include <algorithm>
#include <charconv>

#include "millrace/metadata/config_entries.h"

namespace millrace::runtime {
namespace {

constexpr std::string_view kArea = "cleaner";

// Values were checked when they were accepted.
template <class T>
void set_number(T& field, metadata::Image const& image, BrokerId node, std::string_view key, SettingType type) {
  for (auto const& name : {fmt::format("{}", node), std::string()}) {
    auto const* text = image.find_config(metadata::ConfigResourceType::broker, name, key);
    if (text == nullptr) continue;
    auto const digits = metadata::canonical_value(type, *text);
    std::from_chars(digits.data(), digits.data() + digits.size(), field);
    return;
  }
}

}  // namespace

LogCleanerOptions cleaner_options_with_cluster_configs(LogCleanerOptions of_file, metadata::Image const& image,
                                                       BrokerId node) {
  auto backoff_ms = to_ms(of_file.backoff);
  set_number(backoff_ms, image, node, "log.cleaner.backoff.ms", SettingType::int64);
  of_file.backoff = from_ms(backoff_ms);
  set_number(of_file.pass_count_max, image, node, "log.cleaner.threads", SettingType::int32);
  set_number(of_file.key_map_bytes_max, image, node, "log.cleaner.dedupe.buffer.size", SettingType::int64);
  set_number(of_file.bytes_per_second_max, image, node, "log.cleaner.io.max.bytes.per.second", SettingType::real);
  return of_file;
}

// The answers of one look around.
struct LogCleaner::Look {
  struct Candidate {
    std::shared_ptr<PartitionDriver> partition;
    storage::CompactionNeed need;
  };
  size_t left = 0;
  std::vector<Candidate> due;
};

LogCleaner::LogCleaner(env::Env& env, RunLists& run_lists, Partitions partitions, LogCleanerOptions options)
    : env_(env), run_lists_(run_lists), partitions_(std::move(partitions)), options_(options) {
  auto random = env.random("cleaner");
  rules_.secret = {random.next(), random.next()};
  divide_memory();
}

void LogCleaner::divide_memory() {
  rules_.key_map_bytes_max =
      options_.key_map_bytes_max / static_cast<int64_t>(std::max<size_t>(options_.pass_count_max, 1));
}

LogCleaner::~LogCleaner() = default;

void LogCleaner::start() {
  if (!options_.is_enabled) return;
  is_started_ = true;
  arm(options_.backoff);
}

void LogCleaner::set_options(LogCleanerOptions const& options) {
  auto const is_enabled = options_.is_enabled;
  options_ = options;
  options_.is_enabled = is_enabled;
  divide_memory();
  if (is_started_) look();  // there may be room for another pass, or less to wait for
}

void LogCleaner::arm(Duration wait) {
  if (std::exchange(is_armed_, true)) return;
  reactor().call_at(reactor().now() + std::max(wait, kBackoffMin), [this] {
    is_armed_ = false;
    look();
  });
}

void LogCleaner::look() {
  if (is_stopping_ || is_looking_ || running_.size() >= options_.pass_count_max) return;
  auto look = std::make_shared<Look>();
  auto const wall = clock_.observe(env_.wall_now(), reactor().now());
  std::vector<std::shared_ptr<PartitionDriver>> asked;
  for (auto& partition : partitions_()) {
    auto const& id = partition->identity().id;
    if (!partition->may_need_compaction() || running_.contains(id) || uncleanable_.contains(id)) continue;
    asked.push_back(std::move(partition));
  }
  if (asked.empty()) return arm(options_.backoff);
  is_looking_ = true;
  look->left = asked.size();
  for (auto const& partition : asked) {
    partition->compaction_need(
        wall,
        [this, look, partition](Result<storage::CompactionNeed> need) mutable {
          reactor().post([this, look, partition = std::move(partition), need = std::move(need)]() mutable {
            if (need.ok() && need->is_due(partition->config()->log)) look->due.push_back({std::move(partition), *need});
            if (--look->left == 0) choose(*look);
          });
        },
        run_lists_.control());
  }
}

void LogCleaner::choose(Look& look) {
  is_looking_ = false;
  if (is_stopping_) return;
  if (look.due.empty()) return arm(options_.backoff);
  auto const rank = [](Look::Candidate const& c) { return std::pair(c.need.is_overdue, c.need.dirty_ratio()); };
  std::stable_sort(look.due.begin(), look.due.end(), [&](auto const& a, auto const& b) { return rank(a) > rank(b); });
  for (auto& candidate : look.due) {
    if (running_.size() >= options_.pass_count_max) break;
    running_.insert(candidate.partition->identity().id);
    begin(std::move(candidate.partition));
  }
}

void LogCleaner::begin(std::shared_ptr<PartitionDriver> partition) {
  auto pass = std::make_shared<Pass>();
  pass->partition = std::move(partition);
  pass->begun = reactor().now();
  auto const wall = clock_.observe(env_.wall_now(), reactor().now());
  pass->partition->begin_compaction(
      rules_, wall,
      [this, pass](Result<std::unique_ptr<storage::Compaction>> begun) mutable {
        reactor().post([this, pass, begun = std::move(begun)]() mutable {
          if (!begun.ok()) return end(pass, std::move(begun).error());
          pass->compaction = *std::move(begun);
          step(pass);
        });
      },
      run_lists_.control());
}

void LogCleaner::step(std::shared_ptr<Pass> const& pass) {
  if (is_stopping_) return;
  auto const& stats = pass->compaction->stats();
  auto const before = stats.bytes_read + stats.bytes_written;
  env_.pool(pass->compaction->log().directory().path())
      .run(
          reactor(), [pass] { pass->next = pass->compaction->step(kStepBytes); },
          [this, pass, before] { on_step(pass, before); });
}

void LogCleaner::on_step(std::shared_ptr<Pass> const& pass, int64_t bytes_before) {
  if (is_stopping_) return;
  using Next = storage::Compaction::Next;
  if (!pass->next.ok()) return end(pass, pass->next.error());
  if (*pass->next == Next::done) return end(pass, {});
  auto const& stats = pass->compaction->stats();
  auto const bytes = static_cast<double>(stats.bytes_read + stats.bytes_written - bytes_before);
  auto const wait_s = bytes * static_cast<double>(running_.size()) / options_.bytes_per_second_max;
  auto const go_on = [this, pass] { *pass->next == Next::install ? install(pass) : step(pass); };
  if (wait_s < 0.001) return go_on();
  reactor().call_at(reactor().now() + from_ms(static_cast<int64_t>(std::min(wait_s, 60.0) * 1000)), go_on);
}

void LogCleaner::install(std::shared_ptr<Pass> const& pass) {
  if (is_stopping_) return;
  pass->partition->install_compaction(
      pass->compaction,
      [this, pass](Status status) mutable {
        reactor().post([this, pass, status = std::move(status)]() mutable {
          if (!status.ok()) return end(pass, std::move(status));
          step(pass);
        });
      },
      run_lists_.control());
}

void LogCleaner::end(std::shared_ptr<Pass> const& pass, Status status) {
  auto const& identity = pass->partition->identity();
  running_.erase(identity.id);
  if (is_stopping_) return;
  if (status.ok()) {
    auto const& stats = pass->compaction->stats();
    env_.log().info(kArea, "{}: {} keys, {} bytes became {}, {} read and {} written in {} ms", identity.text,
                    stats.key_count, stats.bytes_before, stats.bytes_after, stats.bytes_read, stats.bytes_written,
                    to_ms(reactor().now() - pass->begun));
    return look();  // there may be more
  }
  auto const& error = status.error();
  if (error.kind == ErrorKind::corrupt) {
    uncleanable_.insert(identity.id);
    env_.log().error(kArea, "{} is not compacted any more: {}", identity.text, error.message);
  } else if (error.kind != ErrorKind::cancelled && error.kind != ErrorKind::not_found) {
    env_.log().warn(kArea, "{}: {}; tried again later", identity.text, error.message);
  }
  if (pass->compaction != nullptr) {
    env_.pool(pass->compaction->log().directory().path())
        .run(
            reactor(), [compaction = pass->compaction] { compaction->drop(); }, [] {});
  }
  arm(options_.backoff);
}

}  // namespace millrace::runtime
