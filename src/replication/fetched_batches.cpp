#include "millrace/replication/fetched_batches.h"

#include "millrace/record/batch.h"

namespace millrace::replication {

Result<FetchedBatches> check_fetched(ByteView records, Offset end, bool is_log_empty, LeaderEpoch leader_epoch) {
  FetchedBatches out;
  out.first = end;
  auto next = end;
  record::BatchReader reader(records);
  record::BatchView batch;
  while (reader.next(batch)) {
    if (auto fault = record::check(batch)) {
      return Error{ErrorKind::corrupt, fmt::format("batch after offset {}: {}", next, fault.message)};
    }
    if (!batch.has_header()) {
      return Error{ErrorKind::corrupt, fmt::format("batch after offset {} has the old format {}", next, batch.magic())};
    }
    if (batch.leader_epoch() > leader_epoch) break;
    auto const base = batch.base_offset();
    if (batch.last_offset_delta() < 0 || base < Offset(0)) {
      return Error{ErrorKind::corrupt, fmt::format("batch of {} offsets at {}", batch.last_offset_delta() + 1, base)};
    }
    if (base < next) {
      bool const is_start_inside = out.batches.empty() && is_log_empty && batch.last_offset() >= end;
      if (!is_start_inside) {
        return Error{ErrorKind::corrupt, fmt::format("batch {} to {} does not continue a log that ends at {}", base,
                                                     batch.last_offset(), next)};
      }
      out.begins_below = true;
    }
    if (out.batches.empty()) out.first = base;
    out.batches.push_back(batch.bytes());
    next = batch.next_offset();
  }
  if (reader.fault()) {
    return Error{ErrorKind::corrupt, fmt::format("after offset {}: {}", next, reader.fault().message)};
  }
  return out;
}

}  // namespace millrace::replication
