// Records of the metadata log as they are made: each encoded at once, so that what the controller decides and what is
// read back from a log pass through the same decoder.
#pragma once
#include <vector>

#include "millrace/base/ids.h"
#include "millrace/bytes/shared_bytes.h"
#include "millrace/metadata/image.h"
#include "millrace/protocol/message.h"

namespace millrace::metadata {

inline constexpr uint32_t kRecordFrameVersion = 1;

// The value of a metadata record: frame version, type and version as unsigned varints, then the fields.
SharedBytes encode_record(protocol::MessageTable const& table, void const* record, int16_t version);

class RecordList {
 public:
  template <protocol::Message M>
  void add(M const& record, int16_t version) {
    values_.push_back(encode_record(M::table(), &record, version));
  }
  void add_encoded(SharedBytes value) { values_.push_back(std::move(value)); }
  void append(RecordList const& other) { values_.insert(values_.end(), other.values_.begin(), other.values_.end()); }
  // Up to `count` records from the one at `from` on, fewer at the end.
  RecordList slice(size_t from, size_t count) const {
    RecordList out;
    for (auto i = from; i < values_.size() && i < from + count; ++i) out.values_.push_back(values_[i]);
    return out;
  }
  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }
  std::vector<SharedBytes> const& values() const& { return values_; }
  std::vector<SharedBytes> values() && { return std::move(values_); }
  size_t bytes() const;

 private:
  std::vector<SharedBytes> values_;
};

// The records that hold one broker, controller or partition whole, in the version that `metadata_version` writes.
void add_broker_record(RecordList& out, BrokerImage const& broker, int16_t metadata_version);
void add_controller_record(RecordList& out, ControllerImage const& controller);
void add_partition_record(RecordList& out, TopicId const& topic, int32_t index, PartitionImage const& partition,
                          int16_t metadata_version);

// Which version of a record a metadata.version writes.
int16_t register_broker_record_version(int16_t metadata_version);
int16_t partition_record_version(int16_t metadata_version);
int16_t partition_change_record_version(int16_t metadata_version);

}  // namespace millrace::metadata
