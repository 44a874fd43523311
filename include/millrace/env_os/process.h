// What concerns the whole process. Called by main before any thread exists.
#pragma once
#include <optional>
#include <string_view>

namespace millrace::env_os {

// SIGTERM, SIGINT and SIGHUP only reach wait_for_stop_signal() from here on.
void hold_stop_signals();
// Blocks until one of them comes; returns its number. Meanwhile gives memory back to the system that was free for some time.
int wait_for_stop_signal();
// The same if one has come already.
std::optional<int> take_stop_signal();
// As if one of them had come. Any thread.
void raise_stop_signal();

// Tells a service manager that started this process and asked for it (NOTIFY_SOCKET), as sd_notify(3): "READY=1".
void notify_service_manager(std::string_view state);

// As many descriptors as the process may have.
void raise_descriptor_limit();

// Keeps big buffers on the heap instead of mapping and unmapping them each time, and gives memory back only in large
// pieces.
void tune_allocator();

}  // namespace millrace::env_os
