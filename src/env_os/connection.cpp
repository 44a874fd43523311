#include "connection.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/sockios.h>

#include <cerrno>

#include "disk.h"
#include "pools.h"

namespace millrace::env_os {

namespace {
using Wait = boost::asio::posix::descriptor_base;
}

Socket::Socket(OsReactor& r, OsPools& pools, int descriptor, env::SocketAddress l, env::SocketAddress p)
    : local(std::move(l)), peer(std::move(p)), reactor(r), pools_(pools), descriptor_(r.context(), descriptor) {}

Socket::~Socket() = default;

// ---- receiving

void Socket::set_reading(bool on) {
  is_reading_ = on;
  if (on) arm_read();
}

void Socket::arm_read() {
  if (is_read_armed_ || is_dead_) return;
  is_read_armed_ = true;
  descriptor_.async_wait(Wait::wait_read, [self = shared_from_this()](boost::system::error_code const&) {
    self->is_read_armed_ = false;
    if (self->is_dead_) return;
    self->release_acknowledged();
    if (self->is_lingering_) return self->on_linger_readable();
    if (self->events_ == nullptr || !self->is_reading_) return;
    self->events_->on_readable();
    if (self->is_reading_) self->arm_read();
  });
}

env::ReadOutcome Socket::read_some(MutableByteView into) {
  if (is_dead_) return {env::ReadState::failed, 0};
  while (true) {
    auto const count = ::recv(descriptor_.native_handle(), into.data(), into.size(), 0);
    if (count > 0) return {env::ReadState::some, static_cast<size_t>(count)};
    if (count == 0) return {env::ReadState::end, 0};
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return {env::ReadState::would_block, 0};
    return {env::ReadState::failed, 0};
  }
}

void Socket::set_read_low_water(size_t bytes) {
  if (bytes == read_low_water_ || is_dead_) return;
  read_low_water_ = bytes;
  int const value = static_cast<int>(bytes);
  ::setsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
}

env::Unread Socket::unread() {
  if (is_dead_) return {0, true};
  pollfd state{descriptor_.native_handle(), POLLRDHUP, 0};
  if (::poll(&state, 1, 0) < 0) return {};
  if (state.revents & (POLLERR | POLLHUP)) return {0, true};
  int bytes = 0;
  ::ioctl(descriptor_.native_handle(), FIONREAD, &bytes);
  return {static_cast<size_t>(bytes), (state.revents & POLLRDHUP) != 0};
}

// ---- sending

void Socket::send(env::Response response) {
  if (is_dead_ || is_lingering_) return;
  for (auto& chunk : response.chunks) {
    if (auto* bytes = std::get_if<SharedBytes>(&chunk)) {
      if (bytes->empty()) continue;
      auto const size = static_cast<int64_t>(bytes->size());
      unsent_bytes_ += size;
      outgoing_.push_back({std::move(*bytes), nullptr, 0, size});
      continue;
    }
    auto& region = std::get<env::FileRegion>(chunk);
    if (region.bytes <= 0) continue;
    auto held = std::make_unique<HeldLease>();
    auto const registered = region.lease->register_sender(
        held.get(), [weak = weak_from_this()] {
          if (auto const self = weak.lock()) self->disconnect_from_any_thread();
        });
    // The length has been announced by the chunks before, so the answer cannot be shortened any more.
    if (!registered) return fail("a log was truncated under an answer");
    held->lease = std::move(region.lease);
    unsent_bytes_ += region.bytes;
    outgoing_.push_back({{}, std::move(held), region.position.value, region.bytes});
  }
  schedule_flush();
}

// Answers of one turn leave together.
void Socket::schedule_flush() {
  if (is_flush_scheduled_ || is_write_armed_ || is_reading_disk_ || is_dead_) return;
  is_flush_scheduled_ = true;
  reactor.at_flush([self = shared_from_this()] {
    self->is_flush_scheduled_ = false;
    self->flush();
  });
}

void Socket::flush() {
  if (is_dead_ || is_write_armed_ || is_reading_disk_) return;
  auto budget = kSendBytesPerTurnMax;
  while (outgoing_first_ < outgoing_.size()) {
    if (budget <= 0) {
      is_flush_scheduled_ = true;
      return reactor.post([self = shared_from_this()] {
        self->is_flush_scheduled_ = false;
        self->flush();
      });
    }
    switch (write_some(budget)) {
      case Progress::more: break;
      case Progress::kernel_full: return wait_until_writable();
      case Progress::waiting_for_disk: return start_cold_read();
      case Progress::dead: return;
    }
  }
  outgoing_.clear();
  outgoing_first_ = 0;
  if (!unacknowledged_.empty()) schedule_acknowledgement_check();
  if (is_closing_after_sent_) return begin_linger();
  if (events_ != nullptr) events_->on_sent();
}

Socket::Progress Socket::write_some(int64_t& budget) {
  auto& item = outgoing_[outgoing_first_];
  if (item.held && item.left >= kSendfileBytesMin) return write_region(budget);
  return write_vectors(budget);
}

Socket::Progress Socket::write_vectors(int64_t& budget) {
  iovec vectors[kVectorsPerCallMax];
  size_t count = 0;
  int64_t total = 0;
  bool more_follows = false;
  for (auto i = outgoing_first_; i < outgoing_.size(); ++i) {
    auto& item = outgoing_[i];
    if (count == kVectorsPerCallMax || total >= budget || (item.held && item.left >= kSendfileBytesMin) ||
        (item.held && !load_small_region(item))) {
      more_follows = true;
      break;
    }
    vectors[count++] = {const_cast<std::byte*>(item.bytes.data()) + item.position, static_cast<size_t>(item.left)};
    total += item.left;
  }
  if (is_dead_) return Progress::dead;
  if (count == 0) return Progress::waiting_for_disk;

  msghdr message{};
  message.msg_iov = vectors;
  message.msg_iovlen = count;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(descriptor_.native_handle(), &message, MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) {
    if (errno == EAGAIN) return Progress::kernel_full;
    fail(system_error("send to", peer.ip, errno).message);
    return Progress::dead;
  }
  budget -= sent;
  take_written(sent);
  return sent < total ? Progress::kernel_full : Progress::more;
}

bool Socket::load_small_region(Outgoing& item) {
  auto const bytes = SharedBytes::allocate(static_cast<size_t>(item.left));
  auto const count = item.held->lease->file().read(Position(item.position), bytes.mutable_view(), env::Wait::no);
  if (!count || *count < bytes.size()) {
    // Partly cached looks like the file's end; the cold read tells them apart.
    return false;
  }
  item.bytes = bytes;
  item.position = 0;
  item.held.reset();
  return true;
}

Socket::Progress Socket::write_region(int64_t& budget) {
  auto& item = outgoing_[outgoing_first_];
  auto* const file = dynamic_cast<OsFile*>(&item.held->lease->file());
  auto const piece = std::min(item.left, kSendfilePieceBytesMax);
  if (file == nullptr || !file->is_cached(Position(item.position), piece)) return Progress::waiting_for_disk;
  off_t position = item.position;
  ssize_t sent = 0;
  do {
    sent = ::sendfile(descriptor_.native_handle(), file->descriptor(), &position, static_cast<size_t>(piece));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno == EAGAIN) return Progress::kernel_full;
  if (sent <= 0) {
    fail(sent == 0 ? "a file ends before its region" : system_error("send to", peer.ip, errno).message);
    return Progress::dead;
  }
  budget -= sent;
  take_written(sent);
  return Progress::more;
}

void Socket::take_written(int64_t count) {
  written_bytes_ += count;
  unsent_bytes_ -= count;
  auto end = written_bytes_ - count;
  while (count > 0) {
    auto& item = outgoing_[outgoing_first_];
    auto const taken = std::min(count, item.left);
    item.position += taken;
    item.left -= taken;
    count -= taken;
    end += taken;
    if (item.left > 0) break;
    // sendfile queued the pages themselves: the lease stays until the peer has them.
    if (item.held) unacknowledged_.push_back({std::move(item.held), end});
    item.bytes = {};
    ++outgoing_first_;
  }
}

void Socket::wait_until_writable() {
  is_write_armed_ = true;
  descriptor_.async_wait(Wait::wait_write, [self = shared_from_this()](boost::system::error_code const&) {
    self->is_write_armed_ = false;
    if (self->is_dead_) return;
    self->release_acknowledged();
    self->flush();
  });
}

// The region's next piece is not in the page cache, or its file has no descriptor: a thread that may wait reads it,
// and it leaves as bytes.
void Socket::start_cold_read() {
  auto const& item = outgoing_[outgoing_first_];
  MR_ASSERT(item.held != nullptr);
  is_reading_disk_ = true;
  auto const bytes = SharedBytes::allocate(static_cast<size_t>(std::min(item.left, kColdReadBytesMax)));
  auto* const file = dynamic_cast<OsFile*>(&item.held->lease->file());
  auto result = std::make_shared<Result<size_t>>(size_t{0});
  auto job = [lease = item.held->lease, position = item.position, bytes, result] {
    *result = lease->file().read(Position(position), bytes.mutable_view(), env::Wait::yes);
  };
  pools_.of_path(file == nullptr ? "" : file->path())
      .run(reactor, std::move(job), [self = shared_from_this(), bytes, result] { self->on_cold_read(bytes, *result); });
}

void Socket::on_cold_read(SharedBytes bytes, Result<size_t> const& count) {
  is_reading_disk_ = false;
  if (is_dead_) return;
  if (!count) return fail(count.error().message);
  if (*count < bytes.size()) return fail("a file ends before its region");
  auto& item = outgoing_[outgoing_first_];
  auto const size = static_cast<int64_t>(bytes.size());
  if (item.left == size) {
    item.held.reset();
    item.bytes = std::move(bytes);
    item.position = 0;
  } else {
    item.position += size;
    item.left -= size;
    Outgoing loaded{std::move(bytes), nullptr, 0, size};
    outgoing_.insert(outgoing_.begin() + static_cast<ptrdiff_t>(outgoing_first_), std::move(loaded));
  }
  flush();
}

// ---- leases of bytes in flight

int64_t Socket::kernel_queue_bytes() {
  int queued = 0;
  return ::ioctl(descriptor_.native_handle(), SIOCOUTQ, &queued) == 0 ? queued : written_bytes_;
}

void Socket::release_acknowledged() {
  if (unacknowledged_.empty()) return;
  auto const acknowledged = written_bytes_ - kernel_queue_bytes();
  auto const first_held = std::ranges::find_if(unacknowledged_, [&](auto const& u) { return u.stream_end > acknowledged; });
  unacknowledged_.erase(unacknowledged_.begin(), first_held);
  acknowledgement_delay_ = kAcknowledgementCheckFirst;
  if (unacknowledged_.empty() && reactor.is_current()) {
    reactor.cancel(acknowledgement_timer_);
    acknowledgement_timer_ = env::kNoTimer;
  }
}

void Socket::schedule_acknowledgement_check() {
  if (acknowledgement_timer_ != env::kNoTimer || unacknowledged_.empty()) return;
  acknowledgement_timer_ = reactor.call_at(reactor.now() + acknowledgement_delay_, [self = shared_from_this()] {
    self->acknowledgement_timer_ = env::kNoTimer;
    if (self->is_dead_) return;
    auto const next_delay = std::min<Duration>(self->acknowledgement_delay_ * 2, kAcknowledgementCheckMax);
    self->release_acknowledged();
    self->acknowledgement_delay_ = next_delay;
    self->schedule_acknowledgement_check();
  });
}

// ---- closing

void Socket::close_after_sent() {
  if (is_dead_ || is_closing_after_sent_) return;
  is_closing_after_sent_ = true;
  is_reading_ = false;
  schedule_flush();
}

// Closing with unread bytes would send a reset, which may overtake the answers; so only our side closes, and what
// still comes is thrown away until the peer closes too.
void Socket::begin_linger() {
  if (is_lingering_) return;
  is_lingering_ = true;
  ::shutdown(descriptor_.native_handle(), SHUT_WR);
  set_read_low_water(1);
  linger_until_ = reactor.now() + kLingerMax;
  arm_linger();
  arm_read();
}

void Socket::arm_linger() {
  has_linger_input_ = false;
  linger_timer_ = reactor.call_at(std::min(reactor.now() + kLingerQuietMax, linger_until_), [self = shared_from_this()] {
    self->linger_timer_ = env::kNoTimer;
    if (self->is_dead_) return;
    bool const is_quiet = !self->has_linger_input_ && self->kernel_queue_bytes() == 0;
    if (is_quiet || self->reactor.now() >= self->linger_until_) return self->fail("closed");
    self->arm_linger();
  });
}

void Socket::on_linger_readable() {
  std::byte dropped[4096];
  for (int i = 0; i < 64; ++i) {
    auto const outcome = read_some(dropped);
    if (outcome.state == env::ReadState::would_block) break;
    if (outcome.state != env::ReadState::some) return fail("closed");
    has_linger_input_ = true;
  }
  arm_read();
}

void Socket::reset() {
  events_ = nullptr;
  if (is_dead_) return;
  close_descriptor(true);
}

void Socket::detach() {
  events_ = nullptr;
  if (is_dead_) return;
  release_acknowledged();
  // The kernel would go on sending pages of a file whose lease is gone.
  close_descriptor(!unacknowledged_.empty());
}

void Socket::fail(std::string reason) {
  if (is_dead_) return;
  release_acknowledged();
  close_descriptor(!unacknowledged_.empty());
  reactor.post([self = shared_from_this(), reason = std::move(reason)] {
    if (self->events_ != nullptr) self->events_->on_closed(reason);
  });
}

void Socket::close_descriptor(bool with_reset) {
  is_dead_ = true;
  {
    std::lock_guard const lock(disconnect_mutex_);
    is_descriptor_open_ = false;
    if (with_reset) {
      linger const at_once{1, 0};
      ::setsockopt(descriptor_.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    boost::system::error_code ignored;
    descriptor_.close(ignored);
  }
  if (reactor.is_current()) {
    reactor.cancel(acknowledgement_timer_);
    reactor.cancel(linger_timer_);
  }
  unsent_bytes_ = 0;
  outgoing_.clear();
  outgoing_first_ = 0;
  unacknowledged_.clear();
}

// Dissolving the association sends a reset and drops what is queued, before this returns; no byte of the region can
// leave after it. Closing would do the same but belongs to the reactor's thread.
void Socket::disconnect_from_any_thread() {
  {
    std::lock_guard const lock(disconnect_mutex_);
    if (!is_descriptor_open_) return;
    sockaddr nowhere{};
    nowhere.sa_family = AF_UNSPEC;
    ::connect(descriptor_.native_handle(), &nowhere, sizeof nowhere);
  }
  reactor.post([self = shared_from_this()] { self->fail("a log was truncated under an answer"); });
}

}  // namespace millrace::env_os
