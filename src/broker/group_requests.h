// What the handlers of group requests share: the way to a group's coordinator and back to the connection's thread.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "millrace/broker/context.h"
#include "millrace/coordinator/events.h"
#include "millrace/runtime/group_coordinators.h"

namespace millrace::broker {

inline constexpr int32_t kGroupOperations = 0xd48;  // READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS

inline std::optional<std::string> owned(std::optional<Str> const& text) {
  return text ? std::optional<std::string>(*text) : std::nullopt;
}
inline std::optional<Str> view(std::optional<std::string> const& text) {
  return text ? std::optional<Str>(*text) : std::nullopt;
}

// `then(context, answer)` runs on the context's thread.
template <class A, class Then>
void ask_coordinator(ContextPtr context, coordinator::Event request, std::string const& group_id, Then then) {
  auto& services = context->services();
  auto& thread = context->thread();
  services.groups.submit(
      group_id, std::move(request), thread.reactor,
      [context = std::move(context), then = std::move(then)](coordinator::Answer answer) mutable {
        then(*context, std::get<A>(answer));
      },
      thread.run_list);
}

// One request a group; `then(context, answers)` gets the answers in the same order.
template <class A, class Request, class Then>
void ask_coordinators(ContextPtr context, std::vector<Request> requests, Then then) {
  struct Gathering {
    ContextPtr context;
    std::vector<A> answers;
    size_t left = 0;
    Then then;
  };
  auto& services = context->services();
  auto& thread = context->thread();
  auto gathering = std::make_shared<Gathering>(
      Gathering{std::move(context), std::vector<A>(requests.size()), requests.size(), std::move(then)});
  if (requests.empty()) return gathering->then(*gathering->context, gathering->answers);
  for (size_t i = 0; i < requests.size(); ++i) {
    auto const group_id = requests[i].group_id;
    services.groups.submit(
        group_id, std::move(requests[i]), thread.reactor,
        [gathering, i](coordinator::Answer answer) {
          gathering->answers[i] = std::get<A>(std::move(answer));
          if (--gathering->left == 0) gathering->then(*gathering->context, gathering->answers);
        },
        thread.run_list);
  }
}

}  // namespace millrace::broker
