// A client's request on its way to the active controller.
#pragma once
#include "millrace/broker/context.h"
#include "millrace/runtime/controller_client.h"

namespace millrace::broker {

// Of a numeric address: 4 or 16 bytes. Empty: it is none.
std::vector<std::byte> address_bytes(std::string_view ip);
// Who asked, as an Envelope tells it.
runtime::ForwardedFrom forwarded_from(net::ConnectionInfo const& connection, Str user);

}  // namespace millrace::broker
