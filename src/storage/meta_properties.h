// meta.properties of a log directory, version 1, and the small files beside a partition's segments.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "millrace/base/ids.h"
#include "millrace/base/result.h"
#include "millrace/base/time.h"

namespace millrace::storage {

struct MetaProperties {
  std::string cluster_id;
  BrokerId node_id = kNoBroker;
  std::optional<DirectoryId> directory_id;

  std::string text(Wall now) const;
  static Result<MetaProperties> parse(std::string_view text);
};

std::string partition_metadata_text(TopicId topic_id);
Result<TopicId> parse_partition_metadata(std::string_view text);

}  // namespace millrace::storage
