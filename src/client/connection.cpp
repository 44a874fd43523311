#include "millrace/client/connection.h"

#include <deque>

#include "millrace/protocol/api/api_versions.h"

namespace millrace::client {
namespace {

constexpr size_t kFramePrefixBytes = 4;
constexpr int kApiKeyMax = 127;
// ApiVersions is asked at this version first; an older server answers UNSUPPORTED_VERSION in the layout of version 0.
constexpr int16_t kApiVersionsFirst = 3;

class Live final : public Connection, public env::ConnectionEvents, public std::enable_shared_from_this<Live> {
 public:
  Live(std::unique_ptr<env::Connection> wire, Options options) : wire_(std::move(wire)), options_(std::move(options)) {
    reactor_ = &wire_->reactor();
    peer_ = wire_->peer();
  }
  ~Live() override {
    if (timer_ != env::kNoTimer) reactor_->cancel(timer_);
  }

  void start() {
    wire_->start(*this);
    wire_->set_reading(true);
  }

  void agree_on_versions(Mono deadline, int16_t version, Opened done) {
    protocol::ApiVersionsRequest request;
    request.client_software_name = options_.software_name;
    request.client_software_version = options_.software_version;
    auto const id = next_correlation_id();
    auto frame = protocol::encode_request(id, Str(options_.client_id), version, request);
    if (!frame) return std::move(done)(std::move(frame).error());
    // Nobody else owns the connection before it is handed over: a timer does, which goes with its reactor. (What waits
    // for the answer belongs to the connection itself and must not own it.)
    if (opening_ == env::kNoTimer) opening_ = reactor_->call_at(deadline + 1s, [self = shared_from_this()] {});
    send_frame(*std::move(frame), id, deadline,
               [this, deadline, version, done = std::move(done)](Result<SharedBytes> answer) mutable {
                 auto const self = shared_from_this();
                 reactor_->cancel(std::exchange(opening_, env::kNoTimer));
                 on_versions(std::move(answer), deadline, version, std::move(done));
               });
  }

  env::Reactor& reactor() override { return *reactor_; }
  env::SocketAddress const& peer() const override { return peer_; }
  bool is_open() const override { return wire_ != nullptr; }
  Options const& options() const override { return options_; }
  int32_t next_correlation_id() override { return next_correlation_id_++; }

  std::optional<VersionRange> served(ApiKey key) const override {
    auto const index = static_cast<size_t>(key);
    return index < served_.size() ? served_[index] : std::nullopt;
  }

  void send_frame(SharedBytes frame, int32_t correlation_id, Mono deadline, Answered done) override {
    if (!wire_) return std::move(done)(Error{ErrorKind::cancelled, "the connection is closed"});
    if (waiting_.size() >= kInFlightMax) {
      return std::move(done)(Error{ErrorKind::limit, fmt::format("{} requests are in flight already", kInFlightMax)});
    }
    waiting_.push_back({correlation_id, deadline, std::move(done)});
    arm_timer();
    send_frame_without_answer(std::move(frame));
  }

  void send_frame_without_answer(SharedBytes frame) override {
    if (!wire_) return;
    env::Response response;
    response.chunks.emplace_back(std::move(frame));
    wire_->send(std::move(response));
  }

  void close() override { fail({ErrorKind::cancelled, "the connection was closed"}); }

 private:
  struct Waiting {
    int32_t correlation_id{};
    Mono deadline;
    Answered done;
  };

  void on_versions(Result<SharedBytes> answer, Mono deadline, int16_t version, Opened done) {
    if (!answer) return std::move(done)(std::move(answer).error());
    Reader in(answer->view());
    in.skip(sizeof(int32_t));
    Arena arena;
    protocol::ApiVersionsResponse response;
    // The error code stands first in every version.
    Reader ahead = in;
    bool const is_refused = ErrorCode(ahead.i16()) == ErrorCode::unsupported_version;
    if (is_refused && version > 0) return agree_on_versions(deadline, 0, std::move(done));
    if (auto decoded = protocol::decode(in, version, arena, response); !decoded) {
      return std::move(done)(std::move(decoded).error());
    }
    if (response.error_code != ErrorCode::none) {
      return std::move(done)(Error{ErrorKind::unsupported, fmt::format("ApiVersions was answered with error {}",
                                                                       static_cast<int16_t>(response.error_code))});
    }
    for (auto const& api : response.api_keys) {
      if (api.api_key < 0 || api.api_key > kApiKeyMax) continue;
      served_[static_cast<size_t>(api.api_key)] = VersionRange{api.min_version, api.max_version};
    }
    std::move(done)(std::shared_ptr<Connection>(shared_from_this()));
  }

  void on_readable() override {
    auto const self = shared_from_this();  // an answer may drop the last owner
    while (wire_) {
      auto const into = incoming_.empty() ? MutableByteView(prefix_).subspan(received_)
                                          : incoming_.mutable_view().subspan(received_);
      auto const outcome = wire_->read_some(into);
      if (outcome.state == env::ReadState::would_block) return await_more();
      if (outcome.state != env::ReadState::some) return fail({ErrorKind::cancelled, "the server closed the connection"});
      received_ += outcome.count;
      if (incoming_.empty()) {
        if (received_ == kFramePrefixBytes && !begin_frame()) return;
      } else if (received_ == incoming_.size()) {
        received_ = 0;
        deliver(std::exchange(incoming_, {}));
      }
    }
  }

  void await_more() {
    wire_->set_read_low_water(incoming_.empty() ? 1 : env::read_low_water(incoming_.size() - received_));
  }

  bool begin_frame() {
    auto const bytes = Reader(prefix_).i32();
    if (bytes < static_cast<int32_t>(sizeof(int32_t)) || bytes > options_.response_bytes_max) {
      fail({ErrorKind::invalid, fmt::format("a response announces {} bytes; at least 4 and at most {} are taken", bytes,
                                            options_.response_bytes_max)});
      return false;
    }
    incoming_ = SharedBytes::allocate(static_cast<size_t>(bytes));
    received_ = 0;
    return true;
  }

  void deliver(SharedBytes frame) {
    auto const correlation_id = Reader(frame.view()).i32();
    if (waiting_.empty() || waiting_.front().correlation_id != correlation_id) {
      return fail({ErrorKind::invalid, fmt::format("a response carries correlation id {}, not the oldest request's", correlation_id)});
    }
    auto done = std::move(waiting_.front().done);
    waiting_.pop_front();
    std::move(done)(std::move(frame));
  }

  void on_sent() override {}
  void on_closed(std::string const& reason) override { fail({ErrorKind::cancelled, "the connection ended: " + reason}); }

  // One timer, for the oldest request: answers come in order, so a later one cannot arrive before it.
  void arm_timer() {
    if (timer_ != env::kNoTimer || waiting_.empty()) return;
    timer_ = reactor_->call_at(waiting_.front().deadline, [weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->on_timer();
    });
  }
  void on_timer() {
    timer_ = env::kNoTimer;
    if (!waiting_.empty() && waiting_.front().deadline <= reactor_->now()) {
      return fail({ErrorKind::cancelled, "no answer came within the deadline"});
    }
    arm_timer();
  }

  void fail(Error error) {
    if (!wire_) return;
    auto const self = shared_from_this();
    // Not destroyed here: this may be running inside one of its events. Until then it may still call this object.
    reactor_->post([self, wire = std::shared_ptr<env::Connection>(std::move(wire_))] {});
    auto waiting = std::exchange(waiting_, {});
    for (auto& call : waiting) std::move(call.done)(Error(error));
  }

  std::unique_ptr<env::Connection> wire_;  // null once the connection has ended
  env::Reactor* reactor_;
  env::SocketAddress peer_;
  Options const options_;
  int32_t next_correlation_id_ = 1;
  std::array<std::optional<VersionRange>, kApiKeyMax + 1> served_{};
  std::deque<Waiting> waiting_;
  env::TimerId timer_ = env::kNoTimer;
  env::TimerId opening_ = env::kNoTimer;  // owns this object until it is handed over
  std::array<std::byte, kFramePrefixBytes> prefix_{};
  SharedBytes incoming_;
  size_t received_ = 0;
};

}  // namespace

void Connection::open(env::Network& network, env::Reactor& reactor, std::string const& host, uint16_t port,
                      Options options, Mono deadline, Opened done) {
  network.connect(reactor, host, port, deadline,
                  [options = std::move(options), deadline, done = std::move(done)](
                      Result<std::unique_ptr<env::Connection>> wire) mutable {
                    if (!wire) return std::move(done)(std::move(wire).error());
                    auto const live = std::make_shared<Live>(*std::move(wire), std::move(options));
                    live->start();
                    live->agree_on_versions(deadline, kApiVersionsFirst, std::move(done));
                  });
}

Result<int16_t> Connection::choose_version(ApiKey key, protocol::Versions ours, int16_t highest) const {
  auto const theirs = served(key);
  auto const& name = protocol::api_info(key).name;
  if (!theirs) return Error{ErrorKind::unsupported, fmt::format("the server at {} does not serve {}", peer().ip, name)};
  auto const version = std::min({ours.max, theirs->highest, highest});
  if (version < ours.min || version < theirs->lowest) {
    return Error{ErrorKind::unsupported, fmt::format("the server serves {} at versions {}-{}; {}-{} are wanted", name,
                                                     theirs->lowest, theirs->highest, ours.min, std::min(ours.max, highest))};
  }
  return version;
}

}  // namespace millrace::client
