// The handlers: one file an API, each named in routes.cpp.
#pragma once
#include "millrace/broker/context.h"

namespace millrace::broker {

void handle_produce(ContextPtr context);
void handle_fetch(ContextPtr context);
void handle_list_offsets(ContextPtr context);
void handle_api_versions(ContextPtr context);
void handle_delete_records(ContextPtr context);
void handle_offset_for_leader_epoch(ContextPtr context);

}  // namespace millrace::broker
