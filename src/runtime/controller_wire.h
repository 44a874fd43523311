// Questions to a controller in another process, as requests of Kafka's protocol.
#pragma once
#include "millrace/runtime/controller_channel.h"

namespace millrace::runtime {

// One of the questions that brokers and controllers ask themselves; `run_here` decides it in this process. Questions of
// clients have no form here: they are passed on as they came.
ControllerCallPtr make_controller_call(metadata::ControllerRequest request, Mono deadline,
                                       Callback<void(metadata::ControllerAnswer)> done,
                                       Callback<void(metadata::ControllerRequest, Mono, Callback<void(metadata::ControllerAnswer)>)> run_here);
// False: the question can only be decided where the controller is.
bool can_cross_processes(metadata::ControllerRequest const& request);
ControllerChannel::Line line_of(metadata::ControllerRequest const& request);

// A client's frame, passed on in an Envelope. `done` gets the answer's frame; nothing: decide or refuse it here.
ControllerCallPtr make_forward_call(SharedBytes frame, ForwardedFrom from, Mono deadline,
                                    Callback<void(std::optional<SharedBytes>)> done);

}  // namespace millrace::runtime
