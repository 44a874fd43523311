// What compaction makes of one batch: which of its records stay, and how the batch looks then. Pure but for scratch.
#pragma once
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "key_offset_map.h"
#include "millrace/bytes/codec.h"
#include "millrace/record/batch.h"
#include "millrace/storage/read_view.h"

namespace millrace::storage {

// Follows the transactions through a pass, batch by batch in log order: which data is aborted, and which markers have
// nothing left that they decide.
class CleanedTransactions {
 public:
  explicit CleanedTransactions(std::vector<AbortedTransaction> aborted);

  // True: the batch belongs to an aborted transaction.
  bool on_data(record::BatchView batch);
  struct Marker {
    bool decides_nothing = false;               // no data of its transaction was seen
    std::optional<AbortedTransaction> aborted;  // for the transaction index of the new segment
  };
  Marker on_control(record::BatchView batch);

 private:
  struct Ongoing {
    AbortedTransaction transaction;
    bool has_data = false;
  };
  void advance_to(Offset last_offset);

  std::vector<AbortedTransaction> aborted_;  // by first offset
  size_t next_ = 0;
  std::unordered_map<int64_t, Ongoing> ongoing_aborted_;
  std::set<int64_t> ongoing_committed_;
};

// The last batch of each producer, which stays with its sequence even if no record of it does.
struct LastOfProducer {
  std::optional<Offset> last_data_offset;  // none: its last batch was a marker
  ProducerEpoch epoch{-1};
};

struct FilterRules {
  Offset mapped_to{-1};  // offsets past it are not in the map, and stay
  Offset upper;          // the batch that ends just before it stays, if only as a header
  int64_t now_ms{};
  int64_t delete_retention_ms{};
};

class BatchFilter {
 public:
  // A batch that opens to more than this stays as it is.
  static constexpr uint64_t kOpenedBytesMax = uint64_t{256} << 20;

  BatchFilter(KeyOffsetMap const& newest, FilterRules const& rules, std::map<int64_t, LastOfProducer> const& producers,
              CleanedTransactions& transactions)
      : newest_(newest), rules_(rules), producers_(producers), transactions_(transactions) {}

  enum class Fate : uint8_t { kept, rewritten, dropped };
  struct Outcome {
    Fate fate = Fate::kept;
    ByteView rewritten;                         // valid until the next call
    std::optional<AbortedTransaction> aborted;  // the batch is its marker, and some of its data was seen
  };
  // The batch's checksum was checked.
  Result<Outcome> filter(record::BatchView batch);

 private:
  bool is_last_of_producer(record::BatchView batch) const;
  Outcome without_records(record::BatchView batch, bool may_drop);

  KeyOffsetMap const& newest_;
  FilterRules const rules_;
  std::map<int64_t, LastOfProducer> const& producers_;
  CleanedTransactions& transactions_;
  bool has_unread_ = false;  // a batch was passed over whole: older values may lie in it, so tombstones stay
  CodecContext codecs_;
  std::vector<std::byte> opened_, records_, out_;
};

}  // namespace millrace::storage
