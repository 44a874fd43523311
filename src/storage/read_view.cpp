#include "millrace/storage/read_view.h"

#include "segment.h"

namespace millrace::storage {
namespace {

Error below_first(Offset offset, SegmentList const& list) {
  return {ErrorKind::out_of_range, fmt::format("offset {} is below the first segment {}", offset,
                                               list.all().empty() ? Offset(0) : list.all()[0]->base())};
}

// The part of the segment at `index` that is below a mark. What the mark is past is below it whole, whatever the positions
// say: a compacted segment may have grown, as tombstones are told until when they stay.
Position limit_in(std::vector<std::shared_ptr<Segment>> const& list, size_t index, LogMark end) {
  auto const& segment = *list[index];
  if (index + 1 < list.size() && end.offset >= list[index + 1]->base()) return Position(segment.size());
  return Position(std::clamp<int64_t>(end.position - segment.start(), 0, segment.size()));
}

// A file that is gone belongs to a segment that was deleted after this view was taken.
Error as_deleted(Error error, Segment const& segment) {
  if (error.kind != ErrorKind::not_found) return error;
  return {ErrorKind::out_of_range, fmt::format("segment {} was deleted", segment.base())};
}

}  // namespace

Result<ReadResult> ReadView::read(ReadRequest const& request) const {
  MR_ASSERT(segments_);
  auto const& list = segments_->all();
  auto const first = segments_->find(request.from);
  if (!first) return below_first(request.from, *segments_);
  if (request.from > request.upper.offset) {
    return Error{ErrorKind::out_of_range, fmt::format("offset {} is past {}", request.from, request.upper.offset)};
  }
  for (size_t i = *first; i < list.size(); ++i) {
    auto& segment = *list[i];
    auto const limit = limit_in(list, i, request.upper);
    if (limit == Position(0) && segment.start() >= request.upper.position) break;
    auto found = segment.read(request, limit);
    if (!found) return as_deleted(std::move(found).error(), segment);
    if (!*found) continue;
    auto result = **std::move(found);
    if (request.with_aborted_transactions && result.bytes > 0) {
      auto const end = Position(result.start.position - segment.start() + result.bytes);
      auto bound = segment.indexed_offset_at(end, request.wait);
      if (!bound) return as_deleted(std::move(bound).error(), segment);
      auto const to = *bound ? **bound : i + 1 < list.size() ? list[i + 1]->base() : request.upper.offset;
      for (auto j = i; j < list.size(); ++j) {
        auto const done = list[j]->collect_aborted(request.from, to, request.wait, result.aborted);
        if (!done) return as_deleted(done.error(), *list[j]);
        if (*done) break;
      }
    }
    return result;
  }
  return ReadResult{.start = {request.from, request.upper.position},
                    .records = {},
                    .bytes = 0,
                    .is_first_batch_cut = false,
                    .aborted = {}};
}

Result<LogPosition> ReadView::position_of(Offset offset, LogMark end, env::Wait wait) const {
  MR_ASSERT(segments_);
  if (offset >= end.offset) return end.position;
  auto const& list = segments_->all();
  auto const first = segments_->find(offset);
  if (!first) return below_first(offset, *segments_);
  for (size_t i = *first; i < list.size(); ++i) {
    auto& segment = *list[i];
    auto located = segment.locate(offset, limit_in(list, i, end), wait);
    if (!located) return as_deleted(std::move(located).error(), segment);
    if (!located->is_past_end) return segment.start() + located->position.value;
  }
  return end.position;
}

Result<std::optional<TimestampOffset>> ReadView::offset_for_timestamp(int64_t timestamp_ms, Offset from,
                                                                      LogMark end) const {
  MR_ASSERT(segments_);
  auto const& list = segments_->all();
  for (auto i = segments_->find(from).value_or(0); i < list.size(); ++i) {
    auto& segment = *list[i];
    if (segment.start() >= end.position) break;
    auto found = segment.offset_for_timestamp(timestamp_ms, from, limit_in(list, i, end));
    if (!found) return as_deleted(std::move(found).error(), segment);
    if (*found) return (*found)->offset < end.offset ? found : Result<std::optional<TimestampOffset>>(std::nullopt);
  }
  return std::optional<TimestampOffset>();
}

Result<std::optional<TimestampOffset>> ReadView::largest_timestamp(Offset from, LogMark end) const {
  MR_ASSERT(segments_);
  std::optional<TimestampOffset> best;
  auto const& list = segments_->all();
  for (auto i = segments_->find(from).value_or(0); i < list.size(); ++i) {
    auto& segment = *list[i];
    if (segment.start() >= end.position) break;
    auto const largest = segment.largest_timestamp();
    if (!largest) return as_deleted(largest.error(), segment);
    if (largest->timestamp_ms <= (best ? best->timestamp_ms : record::kNoTimestamp)) continue;
    auto found = segment.offset_of_largest_timestamp(from, limit_in(list, i, end));
    if (!found) return as_deleted(std::move(found).error(), segment);
    if (*found && (!best || (*found)->timestamp_ms > best->timestamp_ms)) best = *found;
  }
  return best;
}

Result<std::vector<AbortedTransaction>> ReadView::aborted_transactions(Offset from, Offset to) const {
  MR_ASSERT(segments_);
  std::vector<AbortedTransaction> out;
  auto const& list = segments_->all();
  for (auto i = segments_->find(from).value_or(0); i < list.size(); ++i) {
    auto const done = list[i]->collect_aborted(from, to, env::Wait::yes, out);
    if (!done) return as_deleted(done.error(), *list[i]);
    if (*done) break;
  }
  return out;
}

}  // namespace millrace::storage
