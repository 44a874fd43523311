// Storage alone on the simulated disk: one log is appended to, synced, rolled, cut, deleted from the front and closed,
// while the process is killed or the machine loses power in the middle of any disk call, syncs fail and the disk fills
// up. What was synced is there afterwards, what was written survives a mere kill, and no batch follows a hole.
#include <set>

#include "millrace/record/builder.h"
#include "millrace/storage/log_directory.h"
#include "millrace/storage/partition_log.h"
#include "sim/disk.h"
#include "sim/run/scenario.h"
#include "sim/trace.h"

namespace millrace::sim {
namespace {

using storage::LogDirectory;
using storage::PartitionLog;
using storage::PreviousStop;

constexpr char const* kPath = "/data/log";
constexpr Wall kNow{1'750'000'000'000};

struct Written {
  int64_t base{};
  int64_t last{};
  std::string bytes;
};

enum class Ending { none, clean, killed, power_lost };

class StorageRun final : DiskHost, Hooks {
 public:
  explicit StorageRun(ScenarioInput const& input)
      : input_(input), random_(Random(input.seed).fork("storage")), image_(random_.fork("image")) {
    trace_.print_to(input.trace);
    segment_bytes_ = static_cast<int64_t>(1024 << random_.below(5));
    index_interval_ = random_.chance(0.5) ? 1 : static_cast<int64_t>(1 + random_.below(4096));
    lives_ = 2 + random_.below(6);
    has_faults_ = random_.chance(0.3);
    has_full_disk_ = random_.chance(0.2);
    has_truncation_ = random_.chance(0.5);
    result_.options = fmt::format("scenario=storage segment_bytes={} index_interval={} lives={} faults={} full_disk={} truncation={}",
                                  segment_bytes_, index_interval_, lives_, has_faults_, has_full_disk_, has_truncation_);
    note_options(result_.options);
  }

  ScenarioResult run() {
    for (life_ = 0; life_ < lives_ && result_.failure.empty(); ++life_) one_life();
    result_.hash = trace_.hash();
    result_.events = trace_.count();
    return std::move(result_);
  }

 private:
  void on_disk_call(DiskCall call, std::string_view path, int64_t detail, ByteView bytes) override {
    trace_.note(Duration(static_cast<int64_t>(trace_.count()) * 1000), name_of(call), path, detail, bytes.size(),
                Trace::hash_of(bytes));
  }
  void on_crash_point() override { has_crashed_ = true; }
  bool mutant(std::string_view name) override { return name == input_.mutant; }

  template <class... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (result_.failure.empty()) result_.failure = fmt::format(format, std::forward<Args>(args)...);
  }

  storage::LogConfig config() const {
    storage::LogConfig config;
    config.segment_bytes = segment_bytes_;
    config.index_interval_bytes = index_interval_;
    config.index_bytes_max = 1 << 16;
    return config;
  }

  void one_life() {
    has_crashed_ = false;
    forgets_pages_ = is_told_ = false;
    image_.clear_faults();
    image_.set_capacity(int64_t{1} << 40);
    auto disk = image_.attach(*this);
    auto const plan = random_.below(4);
    auto const how = random_.chance(0.6) ? Ending::power_lost : Ending::killed;
    if (plan != 0) disk->crash_at_call(1 + static_cast<int64_t>(random_.below(plan == 1 ? 60 : 600)));
    if (has_faults_ && random_.chance(0.4)) {
      DiskCall const calls[] = {DiskCall::sync, DiskCall::write, DiskCall::rename, DiskCall::sync_directory,
                                DiskCall::sync_file_system};
      auto const call = calls[random_.below(5)];
      is_told_ = call == DiskCall::sync_file_system;
      bool const is_in_log = random_.chance(0.5) && call != DiskCall::sync_file_system;
      forgets_pages_ = (call == DiskCall::sync || call == DiskCall::sync_file_system) && random_.chance(0.3);
      image_.add_fault({.call = call,
                        .path_part = is_in_log ? ".log" : "",
                        .skip = static_cast<int>(random_.below(call == DiskCall::sync_file_system ? 4 : 60)),
                        .forgets_pages = forgets_pages_});
    }
    trace_.say(Duration{}, "life", fmt::format("{}", life_));
    Ending ended = Ending::none;
    {
      storage::FileCache files(*disk, 16 + random_.below(32));
      ended = live(*disk, files);
    }
    if (ended == Ending::none) ended = how;
    disk->freeze();
    if (disk->open_count() != 0) return fail("{} files or locks are left open", disk->open_count());
    disk.reset();
    if (ended == Ending::power_lost) {
      image_.power_loss();
      has_lost_power_ = may_count_as_lost_ = is_loss_unseen_ = true;
      ++boot_;
    }
    last_ending_ = ended;
  }

  // Returns Ending::clean after an orderly stop; none: the process ends as the plan says.
  Ending live(SimDisk& disk, storage::FileCache& files) {
    storage::LogDirectoryOptions options;
    options.path = kPath;
    options.cluster_id = "sim-cluster";
    options.node_id = BrokerId(1);
    options.fresh_directory_id.bytes.fill(7);
    options.boot_id = fmt::format("boot-{}", boot_);
    options.now = kNow;
    options.low_space_bytes = 0;
    options.hooks = this;
    options.preallocate_bytes = random_.chance(0.5) ? 0 : 8192;
    auto opened = LogDirectory::open(disk, files, options);
    if (!opened.ok()) return excuse("open the directory", opened.error());
    auto directory = *std::move(opened);
    check_previous_stop(directory->previous_stop());
    if (!result_.failure.empty()) return Ending::none;
    auto const ending = use(*directory);
    if (directory->is_offline()) {
      // From here on the page cache may hold what the disk does not, or have lost what was never synced.
      has_disk_failed_ = true;
      must_be_noted_ = !has_crashed_;
      was_told_ = is_told_;
      is_loss_unseen_ = is_loss_unseen_ || forgets_pages_;
      may_be_damaged_ = forgets_pages_ && has_crashed_;
    }
    return ending;
  }

  Ending use(LogDirectory& opened_directory) {
    auto* const directory = &opened_directory;
    auto listed = directory->partitions();
    if (!listed.ok()) return excuse("list partitions", listed.error());
    std::shared_ptr<PartitionLog> log;
    for (auto const& each : *listed) {
      if (each.topic_partition.topic != "orders") continue;
      auto made = directory->open_log(each, config(), kNow);
      if (!made.ok()) return excuse("open the log", made.error());
      log = *made;
    }
    if (!log) {
      if (durable_ > 0 || (!is_loss_unseen_ && end_ > 0)) {
        fail("the partition's directory is gone, offsets below {} were durable", durable_);
        return Ending::none;
      }
      reset_model();
      auto made = directory->create_log({"orders", 0}, topic_id(), config(), kNow);
      if (!made.ok()) return excuse("create the log", made.error());
      log = *made;
    }
    may_be_damaged_ = false;
    verify(*log);
    if (!result_.failure.empty()) return Ending::none;
    if (!has_crashed_ && random_.chance(0.7)) {
      if (auto done = directory->recovery_done(); !done.ok()) return excuse("tell that recovery is done", done.error());
      may_count_as_lost_ = false;
    }
    if (has_full_disk_ && random_.chance(0.5)) {
      image_.set_capacity(image_.used_bytes() + static_cast<int64_t>(random_.below(40'000)));
    }
    auto const operations = 1 + random_.below(random_.chance(0.3) ? 6 : 120);
    for (uint64_t i = 0; i < operations && !has_crashed_ && result_.failure.empty(); ++i) {
      if (!operate(*directory, *log)) return Ending::none;
    }
    if (has_crashed_ || !result_.failure.empty() || random_.chance(0.5)) return Ending::none;
    if (auto closed = log->close_cleanly(); !closed.ok()) return excuse("close the log", closed.error());
    may_be_clean_ = true;
    if (auto stopped = directory->stop_cleanly(42); !stopped.ok()) return excuse("stop cleanly", stopped.error());
    may_be_clean_ = false;
    durable_ = end_;
    is_uncertain_ = has_written_ = may_count_as_lost_ = false;
    return Ending::clean;
  }

  // A call failed: only a crash or an injected fault excuses it.
  Ending excuse(std::string_view what, Error const& error) {
    trace_.say(Duration{}, "refused", fmt::format("{}: {}", what, error.message));
    bool const is_injected = (error.kind == ErrorKind::io && has_faults_) ||
                             (error.kind == ErrorKind::no_space && has_full_disk_) ||
                             (error.kind == ErrorKind::corrupt && may_be_damaged_);
    if (!has_crashed_ && !is_injected) fail("{}: {}", what, error.message);
    return Ending::none;
  }

  void check_previous_stop(PreviousStop stop) {
    // A life that ended before it could open the directory left the older state as it was.
    if (last_ending_ == Ending::clean && stop != PreviousStop::clean) fail("a clean stop is not seen as one");
    // One that ended while it left the mark has stopped cleanly if the mark is there: all else was synced before it.
    bool const is_clean = std::exchange(may_be_clean_, false) && stop == PreviousStop::clean;
    if (is_clean) {
      durable_ = end_;
      is_uncertain_ = has_written_ = has_lost_power_ = is_loss_unseen_ = may_count_as_lost_ = false;
    }
    // The failure is noted, unless the process ended in the middle of that.
    if (std::exchange(has_disk_failed_, false)) {
      may_count_as_lost_ = !is_clean;
      // The file system has told whom it failed, and that process was killed before it could begin a note of it:
      // nothing can tell any more what the cache holds.
      if (stop == PreviousStop::process_killed && was_told_) life_ = lives_;
      if (stop != PreviousStop::machine_lost && !is_clean && must_be_noted_) fail("the page cache is trusted after the disk had failed");
    }
    // After a power loss the directory counts as such until a recovery has been made durable, also over kills.
    if (has_written_ && has_lost_power_ && stop != PreviousStop::machine_lost) {
      fail("a power loss is taken for stop kind {}", static_cast<int>(stop));
    }
    if (has_written_ && !has_lost_power_ && stop != PreviousStop::process_killed &&
        !(stop == PreviousStop::machine_lost && may_count_as_lost_)) {
      fail("a kill is taken for stop kind {}", static_cast<int>(stop));
    }
    has_written_ = has_lost_power_ = false;
  }

  static TopicId topic_id() {
    TopicId id;
    id.bytes.fill(3);
    return id;
  }

  void reset_model() {
    log_.clear();
    end_ = durable_ = log_start_ = 0;
    is_uncertain_ = false;
  }

  // Reads the whole log and compares it with what was written; afterwards the model is what is there.
  void verify(PartitionLog& log) {
    auto const end = log.end();
    auto const start = log.log_start();
    if (start.value < log_start_) return fail("log start {} after {} had been promised", start, log_start_);
    std::vector<Written> found;
    int64_t at = -1;
    auto from = start;
    while (from < end.offset) {
      storage::ReadRequest request;
      request.from = from;
      request.bytes_max = 1 << 20;
      request.upper = end;
      request.region_bytes_min = int64_t{1} << 40;
      auto read = log.view().read(request);
      if (!read.ok()) return static_cast<void>(excuse("read the log", read.error()));
      if (!read->records) return fail("nothing to read at {} below the end {}", from, end.offset);
      auto const& bytes = std::get<SharedBytes>(*read->records);
      record::BatchReader batches(bytes.view());
      record::BatchView batch;
      auto const before = from;
      while (batches.next(batch)) {
        if (auto bad = record::check(batch)) return fail("batch at {}: {}", batch.base_offset(), bad.message);
        if (at >= 0 && batch.base_offset().value != at) return fail("batch at {} where {} was next", batch.base_offset(), at);
        at = batch.next_offset().value;
        found.push_back({batch.base_offset().value, batch.last_offset().value, std::string(as_text(batch.bytes()))});
        from = Offset(at);
      }
      if (from == before) return fail("no whole batch at {} below the end {}", from, end.offset);
    }
    if (at >= 0 && at != end.offset.value) return fail("batches end at {}, the log at {}", at, end.offset);
    // Everything that had to survive did, and nothing is there that was never written.
    auto const must_reach = is_loss_unseen_ ? durable_ : (is_uncertain_ ? certain_ : end_);
    if (end.offset.value < must_reach) {
      return fail("the log ends at {}, offsets below {} had to survive (ending {})", end.offset, must_reach,
                  static_cast<int>(last_ending_));
    }
    for (auto const& batch : found) {
      bool const must_be_current = batch.last < must_reach;
      auto const current = std::find_if(log_.begin(), log_.end(), [&](auto const& w) { return w.base == batch.base; });
      if (current != log_.end() && current->bytes == batch.bytes) continue;
      if (must_be_current) return fail("offset {} is not what was written there", batch.base);
      if (!ever_.contains({batch.base, batch.bytes})) return fail("offset {} holds a batch that was never written", batch.base);
    }
    log_ = std::move(found);
    end_ = certain_ = end.offset.value;
    // What lay there before the crash may still be lost by the next one.
    durable_ = std::min(durable_, end_);
    log_start_ = std::max(log_start_, start.value);
    high_watermark_ = std::clamp(high_watermark_, start.value, end_);
    is_uncertain_ = is_loss_unseen_ = false;
    verify_producers(log);
  }

  void verify_producers(PartitionLog& log) {
    // Each producer's last sequence number is that of its last batch in the log, unless that was deleted.
    std::map<int64_t, int32_t> last;
    for (auto const& each : log_) {
      record::BatchView const batch(as_bytes(each.bytes));
      if (batch.has_producer_id()) last[batch.producer_id().value] = batch.last_sequence();
    }
    for (auto const& [id, sequence] : last) {
      auto const* entry = log.producers().find(ProducerId(id));
      if (entry == nullptr) return fail("producer {} is forgotten, its last sequence was {}", id, sequence);
      if (entry->last_sequence() != sequence) {
        return fail("producer {} is at sequence {}, its last batch is at {}", id, entry->last_sequence(), sequence);
      }
      next_sequence_[id] = sequence + 1;
    }
    for (auto& [id, next] : next_sequence_) {
      if (!last.contains(id)) {
        auto const* entry = log.producers().find(ProducerId(id));
        next = entry == nullptr || entry->batch_count == 0 ? 0 : entry->last_sequence() + 1;
      }
    }
  }

  bool operate(LogDirectory& directory, PartitionLog& log) {
    auto const what = random_.below(100);
    if (what < 60) return append(log);
    if (what < 70) {
      auto const end = end_;
      auto synced = log.sync();
      if (!synced.ok()) return static_cast<void>(excuse("sync", synced.error())), false;
      if (synced->value < end) return fail("sync covers {}, the end was {}", *synced, end), false;
      durable_ = std::max(durable_, end);
      if (log.recovery_point().value < 0) return fail("no recovery point"), false;
      return true;
    }
    if (what < 78) {
      mono_ = mono_ + std::chrono::milliseconds(random_.below(3000));
      auto const next = directory.flush_step(mono_);
      if (!next.ok()) return static_cast<void>(excuse("flush", next.error())), false;
      return true;
    }
    if (what < 82) {
      if (auto rolled = log.roll(kNow); !rolled.ok()) return static_cast<void>(excuse("roll", rolled.error())), false;
      return true;
    }
    if (what < 86) {
      high_watermark_ = end_ == log_start_ ? end_ : random_.between(std::max(high_watermark_, log_start_), end_);
      log.on_high_watermark(Offset(high_watermark_));
      return true;
    }
    if (what < 90 && has_truncation_) return truncate(log);
    if (what < 93) {
      auto const before = random_.between(log_start_, std::max(log_start_, high_watermark_));
      auto const deleted = log.delete_records(Offset(before), Offset(high_watermark_));
      if (!deleted.ok()) return static_cast<void>(excuse("delete records", deleted.error())), false;
      log_start_ = std::max(log_start_, before);
      std::erase_if(log_, [&](auto const& w) { return w.last < log.log_start().value; });
      if (deleted->files) {
        if (auto unlinked = PartitionLog::unlink(*deleted->files); !unlinked.ok()) {
          return static_cast<void>(excuse("unlink", unlinked.error())), false;
        }
      }
      return true;
    }
    if (what < 96) {
      if (epoch_ < 1000) log.assign_epoch(LeaderEpoch(++epoch_));
      return true;
    }
    if (auto done = directory.write_checkpoints(); !done.ok()) return static_cast<void>(excuse("checkpoints", done.error())), false;
    return true;
  }

  bool append(PartitionLog& log) {
    std::vector<std::vector<std::byte>> batches;
    std::vector<Written> made;
    auto next = end_;
    auto sequences = next_sequence_;
    for (auto count = 1 + random_.below(3); count > 0; --count) {
      record::BatchOptions options;
      options.base_offset = Offset(next);
      options.leader_epoch = LeaderEpoch(std::max(epoch_, 0));
      auto const producer = static_cast<int64_t>(random_.below(3));
      auto const records = 1 + random_.below(5);
      if (producer != 0) {
        options.producer_id = ProducerId(producer);
        options.producer_epoch = ProducerEpoch(0);
        options.base_sequence = sequences[producer];
        sequences[producer] += static_cast<int32_t>(records);
      }
      record::BatchBuilder builder(options);
      for (uint64_t r = 0; r < records; ++r) {
        auto const value = std::string(random_.below(200), static_cast<char>('a' + random_.below(26)));
        record::NewRecord record;
        record.timestamp = kNow.ms + next;
        record.value = as_bytes(value);
        builder.append(record);
      }
      auto bytes = builder.build();
      if (static_cast<int64_t>(bytes.size()) > segment_bytes_) break;
      made.push_back({next, next + static_cast<int64_t>(records) - 1, std::string(as_text(bytes))});
      next += static_cast<int64_t>(records);
      batches.push_back(std::move(bytes));
    }
    if (batches.empty()) return true;
    std::vector<ByteView> views(batches.begin(), batches.end());
    for (auto const& each : made) ever_.insert({each.base, each.bytes});
    has_written_ = true;
    if (epoch_ < 0) log.assign_epoch(LeaderEpoch(epoch_ = 0));
    auto const appended = log.append(views, kNow);
    if (!appended.ok()) {
      is_uncertain_ = true;
      certain_ = end_;
      static_cast<void>(excuse("append", appended.error()));
      if (has_crashed_ || !result_.failure.empty() || log.directory().is_offline()) return false;
      // Refused and cut back: it must go on as if nothing had happened.
      if (log.end().offset.value != end_) return fail("a refused append moved the end to {}", log.end().offset), false;
      is_uncertain_ = false;
      image_.set_capacity(int64_t{1} << 40);
      return true;
    }
    if (appended->first_offset.value != end_ || appended->end.offset.value != next) {
      return fail("appended at {} to {}, expected {} to {}", appended->first_offset, appended->end.offset, end_, next), false;
    }
    next_sequence_ = sequences;
    for (auto& each : made) log_.push_back(std::move(each));
    end_ = next;
    return true;
  }

  bool truncate(PartitionLog& log) {
    if (end_ <= log_start_) return true;
    // Between batches, as epochs begin.
    auto to = random_.between(log_start_, end_);
    for (auto const& each : log_) {
      if (each.base < to && to <= each.last) to = each.base;
    }
    if (to < log_start_) return true;
    is_uncertain_ = true;
    certain_ = 0;
    for (auto const& each : log_) {
      if (each.last < to) certain_ = each.last + 1;
    }
    durable_ = std::min(durable_, certain_);
    auto const status = log.truncate_to(Offset(to));
    if (!status.ok()) return static_cast<void>(excuse("truncate", status.error())), false;
    is_uncertain_ = false;
    if (log.end().offset.value > to) return fail("truncated to {}, the end is {}", to, log.end().offset), false;
    std::erase_if(log_, [&](auto const& w) { return w.last >= log.end().offset.value; });
    end_ = log.end().offset.value;
    if (end_ < certain_) return fail("truncated to {}, the end is {}", to, end_), false;
    durable_ = std::min(durable_, end_);
    high_watermark_ = std::min(high_watermark_, end_);
    verify_producers(log);
    return result_.failure.empty();
  }

  ScenarioInput const& input_;
  Random random_;
  DiskImage image_;
  Trace trace_;
  ScenarioResult result_;
  int64_t segment_bytes_ = 0;
  int64_t index_interval_ = 0;
  uint64_t lives_ = 0;
  uint64_t life_ = 0;
  bool has_faults_ = false;
  bool has_full_disk_ = false;
  bool has_truncation_ = false;
  int boot_ = 1;
  Mono mono_{1s};
  bool has_crashed_ = false;
  bool has_written_ = false;     // since the directory was last opened
  bool has_lost_power_ = false;  // likewise
  bool is_loss_unseen_ = false;  // power was lost since the log was last read
  bool may_count_as_lost_ = false;  // power was lost since the last clean stop
  bool may_be_clean_ = false;     // the process ended while it left the mark of a clean stop
  bool forgets_pages_ = false;    // a failing sync of this life takes its pages out of the cache
  bool has_disk_failed_ = false;  // and no later life has opened the directory yet
  bool may_be_damaged_ = false;   // pages went, and the process ended before it could note that
  bool is_told_ = false;          // the fault of this life is one of a whole file system
  bool was_told_ = false;         // and so was the failure
  bool must_be_noted_ = false;    // and its process did not end in the middle of that
  Ending last_ending_ = Ending::none;

  std::vector<Written> log_;                              // what the log holds, as far as every call returned
  std::set<std::pair<int64_t, std::string>> ever_;        // all that was ever given to append()
  int64_t end_ = 0;
  int64_t certain_ = 0;                                   // below it nothing is in doubt after a kill
  bool is_uncertain_ = false;                             // a call was interrupted
  int64_t durable_ = 0;
  int64_t log_start_ = 0;
  int64_t high_watermark_ = 0;
  int32_t epoch_ = -1;
  std::map<int64_t, int32_t> next_sequence_;
};

}  // namespace

ScenarioResult run_storage(ScenarioInput const& input) { return StorageRun(input).run(); }

}  // namespace millrace::sim
