// `millrace-append-times` in a replica's directory: when its records were appended here, right to a second. The newest
// entries are in memory, the others are looked up in the file. It is only ever a hint: whatever does not fit the log is
// dropped, and the records' own times serve instead. Format: docs/log-format.md.
#pragma once
#include <cstdlib>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"
#include "millrace/env/disk.h"

namespace millrace::storage {

inline constexpr std::string_view kAppendTimesFile = "millrace-append-times";

class AppendTimes {
 public:
  static constexpr int64_t kStepMs = 1000;         // between two entries
  static constexpr size_t kSaveCount = 32;         // so many entries are worth a write
  static constexpr size_t kUnsavedCountMax = 512;  // past it the older half is given up
  static constexpr int64_t kTrimBlocksMin = 64;    // a shorter file is not worth rewriting

  // How far the file speaks: up to `end`, where segment `base` had so many bytes.
  struct Covered {
    Offset end;
    Offset base;
    int64_t bytes{};
  };
  using Matches = std::function<bool(Covered const&)>;
  struct Found {
    int64_t time_ms = -1;      // -1: not known, but
    int64_t earliest_ms = -1;  // not before this,
    int64_t latest_ms = -1;    // and not after this
  };

  // `opened_end`: where the log ended when it was opened; what the file covers beyond is not this log. `matches` is
  // asked when the file is first needed.
  AppendTimes(env::Disk& disk, std::string path, TopicId topic_id, Matches matches);
  void start_at(Offset opened_end) { opened_end_ = opened_end; }

  // By the runner: what is appended from `first` on is appended now.
  void note(Offset first, Wall now) {
    if (std::abs(now.ms - last_noted_ms_) >= kStepMs) add(first, now);
  }
  bool wants_save() const;

  // *blocks* All of these, any thread.
  Found find(Offset offset);
  // With the log's io_mutex held, so that the partition keeps its directory.
  Status save(Covered const& covered);
  Status truncate_to(Covered const& covered);
  Status truncate_fully();
  // Forgets what lies below `log_start` once that is most of the file.
  Status trim(Offset log_start);

 private:
  static constexpr size_t kBlockBytes = 256;

  struct Entry {
    Offset offset;
    int64_t time_ms{};  // -1: not known from here on
  };
  struct Block {
    Covered covered;
    std::vector<Entry> entries;
  };

  void add(Offset first, Wall now);
  void load();
  Status write(Covered const& covered);
  Result<Found> search(Offset offset) const;
  Result<Block> read_block(env::File& file, int64_t index) const;
  static Found answer(std::vector<Entry> const& entries, Offset offset);
  static std::optional<Block> parse(ByteView bytes);
  static std::string format(std::vector<Entry> const& entries, size_t& from, Covered const& covered);
  std::string header() const;

  env::Disk& disk_;
  std::string const path_;
  TopicId const topic_id_;
  Matches const matches_;
  int64_t last_noted_ms_ = -kStepMs;  // runner

  std::mutex file_mutex_;  // held during file work, so never by the runner; taken before mutex_
  Offset opened_end_{0};
  bool is_loaded_ = false;
  int64_t block_count_ = 0;  // of the file before the last block; block 0 is the header; 0: there is no file to use
  Offset saved_end_{-1};

  mutable std::mutex mutex_;    // short
  std::vector<Entry> entries_;  // those of the file's last block, then the unsaved ones; only add() without file_mutex_
  size_t saved_count_ = 0;
  bool is_saving_ = false;
};

}  // namespace millrace::storage
