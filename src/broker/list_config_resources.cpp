// ListConfigResources: what configuration can be asked for, by type.
#include "millrace/protocol/api/list_config_resources.h"

#include "handlers.h"
#include "millrace/metadata/image.h"

namespace millrace::broker {
namespace {

using Request = protocol::ListConfigResourcesRequest;
using Response = protocol::ListConfigResourcesResponse;
using metadata::ConfigResourceType;

// Before, only client metrics could be listed.
constexpr int16_t kFirstVersionWithTypes = 1;

void add_names(metadata::Image const& image, ConfigResourceType type, ArrayBuilder<Response::ConfigResource>& out) {
  auto const add = [&](Str name) {
    auto& resource = out.add();
    resource.resource_name = name;
    resource.resource_type = static_cast<int8_t>(type);
  };
  if (type == ConfigResourceType::topic) {
    image.topics.for_each([&](std::string const& name, auto const&) { add(name); });
    return;
  }
  image.configs.for_each([&](metadata::ConfigResource const& resource, auto const&) {
    if (resource.type == type) add(resource.name);
  });
}

void add_brokers(RequestContext& context, ConfigResourceType type, ArrayBuilder<Response::ConfigResource>& out) {
  context.image().brokers.for_each([&](BrokerId id, auto const& broker) {
    if (broker->find_endpoint(context.connection().listener_name) == nullptr) return;
    auto& resource = out.add();
    resource.resource_name = context.arena().copy(Str(fmt::format("{}", id)));
    resource.resource_type = static_cast<int8_t>(type);
  });
}

}  // namespace

void handle_list_config_resources(ContextPtr context) {
  Request request;
  if (!context->decode(request)) return;
  Response response;
  constexpr ConfigResourceType kAll[] = {ConfigResourceType::topic, ConfigResourceType::broker,
                                         ConfigResourceType::broker_logger, ConfigResourceType::client_metrics,
                                         ConfigResourceType::group};
  std::set<ConfigResourceType> types;
  for (auto const number : request.resource_types) {
    auto const type = static_cast<ConfigResourceType>(number);
    if (std::ranges::find(kAll, type) == std::end(kAll)) {
      response.error_code = ErrorCode::unsupported_version;
      return context->reply(response);
    }
    types.insert(type);
  }
  if (context->version() < kFirstVersionWithTypes)
    types = {ConfigResourceType::client_metrics};
  else if (types.empty())
    types.insert(std::begin(kAll), std::end(kAll));
  ArrayBuilder<Response::ConfigResource> resources(context->arena(), types.size());
  for (auto const type : types) {
    bool const is_of_brokers = type == ConfigResourceType::broker || type == ConfigResourceType::broker_logger;
    if (is_of_brokers)
      add_brokers(*context, type, resources);
    else
      add_names(context->image(), type, resources);
  }
  response.config_resources = resources.finish();
  context->reply(response);
}

}  // namespace millrace::broker
