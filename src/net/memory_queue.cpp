#include "memory_queue.h"

namespace millrace::net {

void MemoryQueue::wait(ServerConnection& connection) {
  waiting_.push_back(&connection);
  arm(kRetry);
}

void MemoryQueue::watch(ServerConnection& connection) {
  connection.is_watched = true;
  watched_.push_back({&connection, 0, reactor_.now()});
  arm(kLook);
}

void MemoryQueue::forget(ServerConnection& connection) {
  std::erase(waiting_, &connection);
  if (connection.is_watched) std::erase_if(watched_, [&](auto const& each) { return each.connection == &connection; });
}

void MemoryQueue::arm(Duration delay) {
  auto const at = reactor_.now() + delay;
  if (timer_ != env::kNoTimer) {
    if (armed_for_ <= at) return;
    reactor_.cancel(timer_);
  }
  armed_for_ = at;
  timer_ = reactor_.call_at(at, [link = link_] {
    if (link->queue != nullptr) link->queue->on_timer();
  });
}

void MemoryQueue::on_timer() {
  timer_ = env::kNoTimer;
  give();
  if (reactor_.now() >= next_look_) {
    next_look_ = reactor_.now() + kLook;
    look();
  }
  if (!waiting_.empty()) arm(kRetry);
  else if (!watched_.empty()) arm(kLook);
}

// All of them try: who came late may need less, or nothing but a small buffer now that its requests are answered.
void MemoryQueue::give() {
  std::erase_if(waiting_, [](auto* connection) { return !connection->is_waiting_for_memory() || connection->get_memory(); });
}

void MemoryQueue::look() {
  // Finishing takes a connection out of the list.
  for (auto* const connection : std::vector(waiting_)) {
    if (connection->is_waiting_for_memory()) connection->look_for_end_while_waiting();
  }
  if (!waiting_.empty() && reactor_.now() >= next_log_) {
    next_log_ = reactor_.now() + kLogEvery;
    log_.warn("net", "{} connections wait, as {} of the {} bytes for requests (queued.max.request.bytes) are used; raise it "
              "if this lasts and the machine has memory", waiting_.size(), memory_->used(), memory_->bytes_max());
  }
  if (memory_->wanted() > 0) close_stalled();
  else static_cast<void>(stalled());
}

// Those that are not inside a large frame any more are let go.
std::vector<MemoryQueue::Stalled> MemoryQueue::stalled() {
  std::vector<Stalled> found;
  auto const now = reactor_.now();
  std::erase_if(watched_, [&](Watched& watched) {
    auto const frame = watched.connection->large_frame();
    if (!frame) {
      watched.connection->is_watched = false;
      return true;
    }
    if (frame->is_ours || frame->progress - watched.progress >= kProgressBytesMin) {
      watched.progress = frame->progress;
      watched.since = now;
    } else if (now - watched.since >= kStalledAfter) {
      found.push_back({watched.connection, *frame, now - watched.since});
    }
    return false;
  });
  return found;
}

// Whoever held most for longest goes first, until those that wait can be served.
void MemoryQueue::close_stalled() {
  auto candidates = stalled();
  if (candidates.empty()) return;
  std::ranges::sort(candidates, std::greater(), [](Stalled const& each) {
    return static_cast<double>(each.frame.held_bytes) * std::chrono::duration<double>(each.time).count();
  });
  auto const wanted = memory_->wanted();
  int64_t freed = 0;
  size_t count = 0;
  for (; count < candidates.size() && freed < wanted; ++count) {
    freed += static_cast<int64_t>(candidates[count].frame.held_bytes);
    closed_.add(1);
  }
  auto const& [worst, frame, time] = candidates.front();
  auto const& info = worst->info();
  // One line for all of them: a hostile crowd must not fill the log.
  log_.warn("net", "closing {} connections that stopped in the middle of a request, as others wait for the memory that "
            "they hold ({} of queued.max.request.bytes={} are used): {} {}:{} sent {} of {} bytes and nothing more for "
            "{} ms{}", count, memory_->used(), memory_->bytes_max(), info.listener_name, info.peer.ip, info.peer.port,
            frame.received_bytes, frame.frame_bytes, std::chrono::duration_cast<std::chrono::milliseconds>(time).count(),
            count > 1 ? ", and others" : "");
  for (size_t i = 0; i < count; ++i) candidates[i].connection->finish("stalled while others wait for memory");
}

}  // namespace millrace::net
