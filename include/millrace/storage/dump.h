// What `millrace log dump` prints: any file of a log directory as JSON, batch by batch.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "millrace/base/result.h"
#include "millrace/bytes/view.h"
#include "millrace/env/disk.h"

namespace millrace::storage {

// How the keys and values of records are shown.
enum class PayloadFormat {
  text,              // as UTF-8, broken bytes replaced
  cluster_metadata,  // metadata records
  offsets,           // group coordinator
  transaction_log,   // transaction coordinator
  share_group_state,
};

// Kafka's choice for the partition directory that `path` lies in.
PayloadFormat payload_format_of(std::string_view path);

// JSON text: an array with one element a batch (.log, .checkpoint), index entry (.index, .timeindex, .txnindex) or
// producer (.snapshot). invalid: the name is none of these. A damaged file gives what is readable and an element
// {"line": "..."} that says where and why it stopped.
Result<std::string> dump_file(env::Disk& disk, std::string const& path, PayloadFormat format);

}  // namespace millrace::storage
