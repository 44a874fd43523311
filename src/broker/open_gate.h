// Requests wait, for a while, for partitions that are still being opened.
#pragma once
#include <memory>
#include <vector>

#include "millrace/broker/context.h"
#include "millrace/runtime/partition_driver.h"

namespace millrace::broker {

inline constexpr Duration kOpenWaitMax = 5s;

bool is_opening(std::shared_ptr<runtime::PartitionDriver> const& partition);

// Runs `then` on the context's thread: at once when nothing is opening, else when everything is open or after
// `wait_max`, whatever comes first.
void when_open(RequestContext& context, std::vector<std::shared_ptr<runtime::PartitionDriver>> const& partitions,
               Duration wait_max, Task then);

}  // namespace millrace::broker
