// How a handler asks the controller of this process on behalf of another node.
#pragma once
#include <chrono>
#include <utility>

#include "millrace/broker/context.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {

inline constexpr Duration kControllerTimeout = std::chrono::seconds(30);

// Submits, and hands (context, answer) to `reply` on the connection's thread.
template <class Answer, class Reply>
void ask_controller(ContextPtr context, metadata::ControllerRequest request, Reply reply) {
  auto& controller = context->services().controller;
  auto& reactor = context->thread().reactor;
  auto const deadline = context->arrived() + kControllerTimeout;
  runtime::submit_as<Answer>(
      controller, std::move(request), deadline, reactor,
      [context = std::move(context), reply = std::move(reply)](Answer answer) { reply(*context, answer); });
}

}  // namespace millrace::broker
