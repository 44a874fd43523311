// How the topics that coordinators keep their state in are made.
#pragma once
#include <optional>
#include <string_view>

#include "millrace/metadata/controller_api.h"
#include "millrace/metadata/topic_config.h"

namespace millrace::metadata {

// With the node's own settings; what nobody set is capped by the brokers of `image`. None: `name` is not one of them.
std::optional<TopicCreation> internal_topic(Image const& image, StaticConfigs const& statics, std::string_view name);

}  // namespace millrace::metadata
