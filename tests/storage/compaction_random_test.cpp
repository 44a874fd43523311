// RC-04. A log that is written, rolled, compacted a step at a time, cut short by kills and lost machines, in any order: the
// newest value of each key stays, where it was; a tombstone is there for its whole time, and for as long as anything that
// it deletes is; nothing else appears. In the end nothing is left but the newest. MR_SEED=n runs that seed only.
#include <cstdlib>
#include <map>

#include "keyed.h"
#include "millrace/base/random.h"

namespace millrace::storage {
namespace {

constexpr int64_t kMinute = 60'000;

struct Written {
  std::string key;
  std::optional<std::string> value;
  int64_t at_ms{};
};

class CompactedLife {
 public:
  // `told_ms`: how long the log is told to keep tombstones.
  CompactedLife(uint64_t seed, int64_t told_ms) : random_(seed), machine_(seed) {
    config_ = kCompacted;
    config_.segment_bytes = static_cast<int32_t>(600 + random_.below(3000));
    config_.delete_retention_ms = told_ms;
    key_count_ = 3 + random_.below(30);
    key_map_bytes_ = random_.chance(0.3) ? 600 : 1 << 20;  // some keys of a segment are left for the next pass
  }

  // What is wrong first; empty: nothing.
  std::string run(int steps = 150) {
    EXPECT_TRUE(machine_.start().ok());
    log_ = *machine_.create(config_);
    for (int i = 0; i < steps && fault_.empty(); ++i) {
      step();
      if (fault_.empty()) check();
    }
    if (fault_.empty()) finish();
    end_pass();
    log_.reset();
    return fault_;
  }
  int64_t tombstones_gone() const { return tombstones_gone_; }

 private:
  void step() {
    now_ += static_cast<int64_t>(random_.below(4 * kMinute));
    auto const kind = random_.below(100);
    if (kind < 45) return write();
    if (kind < 50) return expect(log_->roll(Wall{now_}), "roll");
    if (kind < 53) return expect(machine_.flush(), "flush");
    if (kind < 55) return come_back(random_.chance(0.5));
    if (kind < 57) now_ += static_cast<int64_t>(random_.below(2 * kHour));
    pass_on();
  }
  void expect(Status status, std::string_view what) {
    if (!status) fault_ = fmt::format("{}: {}", what, status.error().message);
  }

  void write() {
    KeyedSpec spec;
    spec.timestamp_ms = now_;
    spec.codec = static_cast<Codec>(random_.below(5));
    auto const base = log_->end().offset.value;
    auto const count = 1 + random_.below(4);
    for (uint64_t k = 0; k < count; ++k) {
      Item item{fmt::format("key-{}", random_.below(key_count_)), fmt::format("value-{}-{}", base, k)};
      if (random_.chance(0.25)) item.value.reset();
      spec.items.push_back(item);
    }
    expect(put(*log_, spec, Wall{now_}).ok() ? Status() : Error{ErrorKind::io, "refused"}, "write");
    for (size_t k = 0; k < count; ++k) {
      written_.push_back({spec.items[k].key, spec.items[k].value, now_});
    }
    log_->on_high_watermark(log_->end().offset);
  }

  // One more step of a pass, or a new one.
  void pass_on() {
    if (pass_ == nullptr) {
      CompactionRules const rules{.key_map_bytes_max = key_map_bytes_, .secret = {1, 2}};
      auto begun = log_->begin_compaction(rules, Wall{now_}, log_->end().offset);
      if (begun) pass_ = *std::move(begun);
      return;
    }
    if (random_.chance(0.03)) return end_pass();
    auto const next = pass_->step(500 + static_cast<int64_t>(random_.below(3000)));
    if (!next) return fail_pass(next.error().message);
    if (*next == Compaction::Next::done) return pass_.reset();
    if (*next != Compaction::Next::install) return;
    auto files = log_->install(*pass_);
    if (!files) return fail_pass(files.error().message);
    expect(PartitionLog::unlink(**files), "unlink");
  }
  void fail_pass(std::string const& why) {
    fault_ = "compaction: " + why;
    end_pass();
  }
  void end_pass() {
    if (pass_ != nullptr) pass_->drop();
    pass_.reset();
  }

  void come_back(bool is_power_loss) {
    pass_.reset();  // its files stay for the start to find
    log_.reset();
    if (is_power_loss) machine_.lose_power();
    else machine_.kill();
    expect(machine_.start(), "start");
    auto opened = machine_.open(config_);
    bool const was_never_synced = !opened && is_power_loss && opened.error().kind == ErrorKind::not_found;
    if (was_never_synced) opened = machine_.create(config_);
    if (!opened) return expect(opened.error(), "open");
    log_ = *std::move(opened);
    auto const end = static_cast<size_t>(log_->end().offset.value);
    if (end > written_.size() || (end < written_.size() && !is_power_loss)) {
      fault_ = fmt::format("the log ends at {} of {}", end, written_.size());
    }
    written_.resize(end);
    log_->on_high_watermark(log_->end().offset);
  }

  std::map<std::string, size_t> newest() const {
    std::map<std::string, size_t> out;
    for (size_t i = 0; i < written_.size(); ++i) out[written_[i].key] = i;
    return out;
  }

  void check() {
    auto const content = content_of(*log_);
    std::map<int64_t, Seen const*> present;
    std::map<std::string, int64_t> oldest;  // that is left of a key
    for (auto const& one : content.records) {
      if (one.offset >= static_cast<int64_t>(written_.size())) {
        fault_ = fmt::format("a record at {} of {}", one.offset, written_.size());
        return;
      }
      auto const& was = written_[static_cast<size_t>(one.offset)];
      if (was.key != one.key || was.value != one.value) fault_ = fmt::format("another record at {}", one.offset);
      present[one.offset] = &one;
      oldest.try_emplace(one.key, one.offset);
    }
    for (auto const& [key, at] : newest()) {
      auto const& was = written_[at];
      if (present.contains(static_cast<int64_t>(at))) continue;
      if (was.value) fault_ = fmt::format("the newest value of {}, at {}, is gone", key, at);
      else if (now_ < was.at_ms + kHour) fault_ = fmt::format("the tombstone of {}, at {}, is gone after {} ms", key, at, now_ - was.at_ms);
      else if (oldest.contains(key)) fault_ = fmt::format("{} comes back: its tombstone at {} is gone, {} is not", key, at, oldest[key]);
      else ++tombstones_gone_;
    }
  }

  // Passes until nothing is left to do, with the times of all tombstones over.
  void finish() {
    end_pass();
    for (int round = 0; round < 3 && fault_.empty(); ++round) {
      write();
      expect(log_->roll(Wall{now_}), "roll");
      now_ += 2 * kHour;
      key_map_bytes_ = 1 << 20;
      do pass_on();
      while (pass_ != nullptr && fault_.empty());
      if (fault_.empty()) check();
    }
    if (!fault_.empty()) return;
    auto const clean_to = log_->first_dirty_offset().value;
    std::map<std::string, size_t> left;
    for (auto const& one : content_of(*log_).records) {
      if (one.offset < clean_to) ++left[one.key];
    }
    for (auto const& [key, count] : left) {
      if (count > 1) fault_ = fmt::format("{} of {} are left", count, key);
    }
  }

  Random random_;
  Machine machine_;
  LogConfig config_;
  uint64_t key_count_ = 1;
  int64_t key_map_bytes_ = 1 << 20;
  int64_t now_ = kNow.ms;
  std::shared_ptr<PartitionLog> log_;
  std::unique_ptr<Compaction> pass_;
  std::vector<Written> written_;  // by offset
  int64_t tombstones_gone_ = 0;
  std::string fault_;
};

TEST(RandomCompaction, RC_04_keeps_the_newest_and_tombstones_for_their_time) {
  auto const* const chosen = std::getenv("MR_SEED");
  auto const first = chosen ? std::strtoull(chosen, nullptr, 10) : 1;
  int64_t gone = 0;
  for (auto seed = first; seed < first + (chosen ? 1 : 60); ++seed) {
    CompactedLife life(seed, kHour);
    ASSERT_EQ(life.run(), "") << "MR_SEED=" << seed;
    gone += life.tombstones_gone();
  }
  EXPECT_TRUE(chosen || gone > 100) << gone;
}

TEST(RandomCompaction, a_tombstone_that_goes_early_is_noticed) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    if (!CompactedLife(seed, 5 * kMinute).run().empty()) return;
  }
  ADD_FAILURE() << "not noticed";
}

}  // namespace
}  // namespace millrace::storage
