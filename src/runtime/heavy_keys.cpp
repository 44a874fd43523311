#include "millrace/runtime/heavy_keys.h"

#include <limits>

#include "millrace/bytes/codec.h"
#include "millrace/record/batch.h"
#include "millrace/record/record.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::runtime {

void HeavyKeys::add(std::string_view key) {
  ++total_;
  std::string text(key.substr(0, kKeyBytesMax));
  size_t place = 0;
  if (auto const known = places_.find(text); known != places_.end()) {
    place = known->second;
    by_count_.erase({counters_[place].count, place});
  } else if (counters_.size() < capacity_) {
    place = counters_.size();
    counters_.push_back({text, 0, 0});
    places_.emplace(std::move(text), place);
  } else {
    // It takes the place of the lightest one, and may have come as often before.
    place = by_count_.begin()->second;
    by_count_.erase(by_count_.begin());
    auto& counter = counters_[place];
    places_.erase(counter.key);
    counter.key = text;
    counter.error = counter.count;
    places_.emplace(std::move(text), place);
  }
  by_count_.emplace(++counters_[place].count, place);
}

std::vector<HeavyKey> HeavyKeys::top(size_t count) const {
  std::vector<HeavyKey> out;
  for (auto i = by_count_.rbegin(); i != by_count_.rend() && out.size() < count; ++i) out.push_back(counters_[i->second]);
  return out;
}

Result<KeySample> sample_keys(PartitionDriver& partition, KeySampleOptions const& options) {
  KeySample out;
  auto const status = partition.status();
  if (status != PartitionStatus::leader && status != PartitionStatus::follower) return out;
  auto const marks = partition.marks();
  out.to = marks.high_watermark.offset;
  out.from = std::max(marks.log_start, out.to - options.record_count);
  if (out.from >= out.to) return out;
  auto const view = partition.view();
  auto const step = std::max<int64_t>((out.to - out.from) / static_cast<int64_t>(options.read_count), 1);
  HeavyKeys heavy(options.capacity);
  CodecContext codecs;
  std::vector<std::byte> scratch;
  auto next = out.from;
  for (auto at = out.from; at < out.to; at += step) {
    if (at < next) continue;  // the read before came as far
    storage::ReadRequest request;
    request.from = at;
    request.bytes_max = options.read_bytes;
    request.upper = marks.high_watermark;
    request.region_bytes_min = std::numeric_limits<int64_t>::max();
    MR_TRY_ASSIGN(auto const read, view.read(request));
    if (!read.records) continue;
    auto const& bytes = std::get<SharedBytes>(*read.records);
    record::BatchReader batches(bytes.view());
    record::BatchView batch;
    while (batches.next(batch)) {
      if (!batch.has_header() || batch.is_control()) continue;
      next = batch.next_offset();
      ByteView records;
      if (record::open_records(batch, {}, codecs, scratch, records)) continue;
      record::RecordReader reader(batch, records);
      record::RecordView one;
      while (reader.next(one)) {
        ++out.records;
        if (one.key) heavy.add(as_text(*one.key));
        else ++out.without_key;
      }
    }
  }
  out.keys = heavy.top(options.top);
  return out;
}

}  // namespace millrace::runtime
