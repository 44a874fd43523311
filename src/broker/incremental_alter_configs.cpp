// IncrementalAlterConfigs: some keys of a resource are set or removed, or items of their lists.
#include "millrace/protocol/api/incremental_alter_configs.h"

#include "alter_configs.h"
#include "handlers.h"

namespace millrace::broker {

void handle_incremental_alter_configs(ContextPtr context) {
  protocol::IncrementalAlterConfigsRequest request;
  if (!context->decode(request)) return;
  auto changes = requested_changes(request, [](auto const& config) {
    return RequestedConfig{config.name, config.config_operation, config.value};
  });
  alter_configs(std::move(context), changes,
                [changes](RequestContext& back, std::vector<metadata::ApiError> const& errors) {
                  reply_altered<protocol::IncrementalAlterConfigsResponse>(back, changes, errors);
                });
}

}  // namespace millrace::broker
