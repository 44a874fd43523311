// A TCP proxy between the nodes of a cluster on loopback, and between clients and nodes, whose links can be bad: bytes come
// late, stall as TCP does when segments are lost, or not at all, in one direction or both, and connections are reset.
//
// Commands come as lines on standard input, and each is answered by a line, "ok" or what is wrong. Places are numbers: 0
// stands for all clients, 1 and above for nodes. Who connects is found by the process that owns the other end's socket.
//
//   listen PORT TARGET_PORT NODE       connections to PORT go on to TARGET_PORT of NODE
//   pid NODE PID                       this process is the node
//   down NODE                          its ports refuse connections, as those of a dead process do
//   up NODE                            they accept again as soon as the node does
//   set FROM TO pass                   bytes from FROM to TO flow
//   set FROM TO hold                   they do not, and neither does the news that a connection ended
//   set FROM TO late MS JITTER_MS LOSS_PERMILLE    they are late, and so many of a thousand pieces wait for a retransmission
//   reset FROM TO                      every connection between the two is reset
//   quit
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kQueuedBytesMax = 1 << 20;  // of one direction; a window, as TCP has
constexpr milliseconds kRetransmission{200};
constexpr milliseconds kProbeInterval{5};
constexpr int kBacklog = 128;
constexpr int kAcceptedPerTurnMax = 8;  // to find out who connects takes long: what is connected must not wait for all who come

struct Link {  // from one place to another
  bool is_held = false;
  int delay_ms = 0, jitter_ms = 0, loss_permille = 0;
};

struct Piece {
  Clock::time_point due;
  std::vector<char> bytes;  // empty: the sender has ended its direction
};

// One direction of a connection.
struct Flow {
  int from_place = 0, to_place = 0;
  int from = -1, to = -1;
  bool is_readable = true, is_writable = false;
  bool has_ended = false;    // nothing more is read
  bool is_finished = false;  // and all of it is written, or cannot be
  std::deque<Piece> queue;
  size_t queued_bytes = 0, written_of_first = 0;
  Clock::time_point last_due{};
};

struct Pair {
  int client = -1, server = -1;
  std::array<Flow, 2> flows;  // from who connected, and back
  bool is_broken = false;     // to be reset
  bool is_over = false;       // both ends have closed it in order
};

struct Listener {
  int port = 0, target_port = 0, node = 0;
  int socket = -1;
};

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int new_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

void close_with_reset(int socket) {
  linger const at_once{1, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(socket);
}

// The number of the socket on this machine whose own port is `port` and whose peer's is `peer_port`; 0: there is none. The kernel
// is asked for this one: a list of all would take too long where there are many.
unsigned long inode_of(int port, int peer_port) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 request;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = AF_INET;
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  auto& id = question.request.id;
  id.idiag_sport = htons(static_cast<uint16_t>(port));
  id.idiag_dport = htons(static_cast<uint16_t>(peer_port));
  id.idiag_src[0] = id.idiag_dst[0] = htonl(INADDR_LOOPBACK);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  int const kernel = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  bool const is_asked = ::send(kernel, &question, sizeof question, 0) == static_cast<ssize_t>(sizeof question);
  auto const size = is_asked ? ::recv(kernel, answer.data(), answer.size(), 0) : -1;
  ::close(kernel);
  nlmsghdr header{};
  inet_diag_msg found{};
  if (size < static_cast<ssize_t>(NLMSG_HDRLEN + sizeof found)) return 0;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return 0;
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  return found.idiag_inode;
}

// Whether connections to the port are taken, within a moment.
bool accepts(int port) {
  int const socket = new_socket();
  auto const address = loopback(port);
  bool is_connected = ::connect(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
  if (!is_connected && errno == EINPROGRESS) {
    pollfd waiting{socket, POLLOUT, 0};
    int error = 0;
    socklen_t size = sizeof error;
    is_connected = ::poll(&waiting, 1, static_cast<int>(kProbeInterval.count())) == 1 &&
                   ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(socket);
  return is_connected;
}

bool owns(int pid, unsigned long inode) {
  auto const folder = "/proc/" + std::to_string(pid) + "/fd/";
  auto const wanted = "socket:[" + std::to_string(inode) + "]";
  auto* const list = ::opendir(folder.c_str());
  if (list == nullptr) return false;
  bool found = false;
  while (auto const* entry = ::readdir(list)) {
    std::array<char, 64> target{};
    auto const length = ::readlink((folder + entry->d_name).c_str(), target.data(), target.size());
    found = length > 0 && wanted == std::string(target.data(), static_cast<size_t>(length));
    if (found) break;
  }
  ::closedir(list);
  return found;
}

class Proxy {
 public:
  explicit Proxy(uint64_t seed) : random_(seed) {
    poller_ = ::epoll_create1(EPOLL_CLOEXEC);
    ::fcntl(STDIN_FILENO, F_SETFL, ::fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    watch(STDIN_FILENO, EPOLLIN);
  }

  void run() {
    std::array<epoll_event, 256> events;
    while (!is_over_) {
      auto const count = ::epoll_wait(poller_, events.data(), events.size(), wait_ms());
      for (int i = 0; i < count; ++i) on_event(events[static_cast<size_t>(i)]);
      probe();
      for (auto& [socket, pair] : pairs_) {
        if (socket == pair->client) move(*pair);
      }
      bury();
    }
  }

 private:
  void watch(int socket, uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = socket;
    ::epoll_ctl(poller_, EPOLL_CTL_ADD, socket, &event);
  }

  // Until the next piece is due.
  int wait_ms() const {
    auto next = Clock::now() + milliseconds(1000);
    if (!rising_.empty()) next = std::min(next, Clock::now() + kProbeInterval);
    for (auto const& [socket, pair] : pairs_) {
      for (auto const& flow : pair->flows) {
        if (!flow.queue.empty() && flow.is_writable && !link(flow).is_held) next = std::min(next, flow.queue.front().due);
      }
    }
    auto const wait = std::chrono::ceil<milliseconds>(next - Clock::now()).count();
    return static_cast<int>(std::max<long>(wait, 0));
  }

  Link const& link(Flow const& flow) const {
    static Link const plain;
    auto const found = links_.find({flow.from_place, flow.to_place});
    return found == links_.end() ? plain : found->second;
  }

  void on_event(epoll_event const& event) {
    int const socket = event.data.fd;
    if (socket == STDIN_FILENO) return read_commands();
    for (auto& listener : listeners_) {
      if (listener.socket == socket) return accept_some(listener);
    }
    auto const found = pairs_.find(socket);
    if (found == pairs_.end()) return;
    auto& pair = *found->second;
    for (auto& flow : pair.flows) {
      if (flow.from == socket && (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) flow.is_readable = true;
      if (flow.to == socket && (event.events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) flow.is_writable = true;
    }
  }

  void accept_some(Listener const& listener) {
    for (int i = 0; i < kAcceptedPerTurnMax; ++i) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      int const client = ::accept4(listener.socket, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (client < 0) return;
      connect_on(listener, client, place_of(ntohs(peer.sin_port), listener.port));
    }
  }

  int place_of(int port, int peer_port) const {
    auto const inode = inode_of(port, peer_port);
    for (auto const& [node, pid] : pids_) {
      if (inode != 0 && owns(pid, inode)) return node;
    }
    return 0;
  }

  void connect_on(Listener const& listener, int client, int place) {
    int const server = new_socket();
    auto const address = loopback(listener.target_port);
    if (::connect(server, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
      ::close(server);
      return close_with_reset(client);
    }
    int const at_once = 1;
    for (int socket : {client, server}) ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    auto pair = std::make_shared<Pair>();
    pair->client = client;
    pair->server = server;
    pair->flows[0].from_place = pair->flows[1].to_place = place;
    pair->flows[0].to_place = pair->flows[1].from_place = listener.node;
    pair->flows[0].from = pair->flows[1].to = client;
    pair->flows[0].to = pair->flows[1].from = server;
    pair->flows[1].is_readable = false;
    for (int socket : {client, server}) {
      pairs_[socket] = pair;
      watch(socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    }
  }

  void move(Pair& pair) {
    for (auto& flow : pair.flows) {
      if (pair.is_broken) return;
      auto const& link = this->link(flow);
      if (link.is_held) continue;
      take(pair, flow, link);
      give(pair, flow);
    }
    pair.is_over = pair.flows[0].is_finished && pair.flows[1].is_finished;
  }

  void take(Pair& pair, Flow& flow, Link const& link) {
    while (flow.is_readable && !flow.has_ended && flow.queued_bytes < kQueuedBytesMax) {
      auto const count = ::read(flow.from, buffer_.data(), buffer_.size());
      if (count < 0 && errno == EAGAIN) {
        flow.is_readable = false;
      } else if (count < 0) {
        pair.is_broken = true;
        return;
      } else {
        flow.has_ended = count == 0;
        flow.queued_bytes += static_cast<size_t>(count);
        flow.queue.push_back({due(flow, link), {buffer_.data(), buffer_.data() + count}});
      }
    }
  }

  Clock::time_point due(Flow& flow, Link const& link) {
    auto wait = milliseconds(link.delay_ms);
    if (link.jitter_ms > 0) wait += milliseconds(draw(link.jitter_ms));
    if (link.loss_permille > 0 && draw(1000) < link.loss_permille) wait += kRetransmission;
    flow.last_due = std::max(flow.last_due, Clock::now() + wait);
    return flow.last_due;
  }

  int draw(int end) { return std::uniform_int_distribution(0, end - 1)(random_); }

  void give(Pair& pair, Flow& flow) {
    auto const now = Clock::now();
    while (flow.is_writable && !flow.queue.empty() && flow.queue.front().due <= now) {
      auto& piece = flow.queue.front();
      if (piece.bytes.empty()) {
        ::shutdown(flow.to, SHUT_WR);
        flow.is_finished = true;
        flow.queue.pop_front();
        return;
      }
      auto const count = ::send(flow.to, piece.bytes.data() + flow.written_of_first, piece.bytes.size() - flow.written_of_first,
                                MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) {
        flow.is_writable = false;
      } else if (count < 0) {
        return on_write_failure(pair, flow);
      } else {
        flow.written_of_first += static_cast<size_t>(count);
        if (flow.written_of_first < piece.bytes.size()) continue;
        flow.queued_bytes -= piece.bytes.size();
        flow.written_of_first = 0;
        flow.queue.pop_front();
      }
    }
  }

  // The receiver is gone. The sender hears of it by the other direction, unless that is held.
  void on_write_failure(Pair& pair, Flow& flow) {
    flow.queue.clear();
    flow.queued_bytes = 0;
    flow.has_ended = flow.is_finished = true;
    auto const& back = &flow == &pair.flows[0] ? pair.flows[1] : pair.flows[0];
    if (!link(back).is_held) pair.is_broken = true;
  }

  // Closed together, so that no number of a socket is used again while events of the old one are at hand.
  void bury() {
    for (auto at = pairs_.begin(); at != pairs_.end();) {
      auto const pair = at->second;
      if (pair->is_broken) {
        close_with_reset(at->first);
      } else if (pair->is_over) {
        ::close(at->first);
      }
      at = pair->is_broken || pair->is_over ? pairs_.erase(at) : std::next(at);
    }
  }

  bool open(Listener& listener) {
    int const socket = new_socket();
    int const yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    auto const address = loopback(listener.port);
    if (::bind(socket, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0 || ::listen(socket, kBacklog) != 0) {
      ::close(socket);
      return false;
    }
    listener.socket = socket;
    watch(socket, EPOLLIN);
    return true;
  }

  // A port of a node that was down is opened when the node's own accepts.
  void probe() {
    for (auto at = rising_.begin(); at != rising_.end();) {
      bool are_all_open = true;
      for (auto& listener : listeners_) {
        if (listener.node != *at || listener.socket >= 0) continue;
        if (!accepts(listener.target_port) || !open(listener)) are_all_open = false;
      }
      at = are_all_open ? rising_.erase(at) : std::next(at);
    }
  }

  void read_commands() {
    std::array<char, 4096> bytes;
    for (;;) {
      auto const count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (count < 0) break;
      if (count == 0) {
        is_over_ = true;
        break;
      }
      commands_.append(bytes.data(), static_cast<size_t>(count));
    }
    for (size_t end; (end = commands_.find('\n')) != std::string::npos; commands_.erase(0, end + 1)) {
      std::cout << execute(commands_.substr(0, end)) << std::endl;
    }
  }

  std::string execute(std::string const& command) {
    std::istringstream words(command);
    std::string verb;
    words >> verb;
    if (verb == "listen") return listen(words);
    if (verb == "pid") return set_pid(words);
    if (verb == "down" || verb == "up") return set_presence(words, verb == "up");
    if (verb == "set") return set_link(words);
    if (verb == "reset") return reset(words);
    if (verb == "quit") return is_over_ = true, "ok";
    return "unknown: " + command;
  }

  std::string listen(std::istringstream& words) {
    Listener listener;
    words >> listener.port >> listener.target_port >> listener.node;
    if (!words || !open(listener)) return "cannot listen on " + std::to_string(listener.port);
    listeners_.push_back(listener);
    return "ok";
  }

  std::string set_pid(std::istringstream& words) {
    int node = 0, pid = 0;
    words >> node >> pid;
    pids_[node] = pid;
    return "ok";
  }

  std::string set_presence(std::istringstream& words, bool is_up) {
    int node = 0;
    words >> node;
    if (is_up) {
      rising_.insert(node);
      return "ok";
    }
    rising_.erase(node);
    for (auto& listener : listeners_) {
      if (listener.node != node || listener.socket < 0) continue;
      ::close(listener.socket);
      listener.socket = -1;
    }
    return "ok";
  }

  std::string set_link(std::istringstream& words) {
    int from = 0, to = 0;
    std::string kind;
    words >> from >> to >> kind;
    Link link;
    link.is_held = kind == "hold";
    if (kind == "late") words >> link.delay_ms >> link.jitter_ms >> link.loss_permille;
    if (!words || (kind != "late" && kind != "hold" && kind != "pass")) return "not a state of a link";
    links_[{from, to}] = link;
    return "ok";
  }

  std::string reset(std::istringstream& words) {
    int one = 0, other = 0;
    words >> one >> other;
    for (auto& [socket, pair] : pairs_) {
      auto const& flow = pair->flows[0];
      bool const is_between = (flow.from_place == one && flow.to_place == other) || (flow.from_place == other && flow.to_place == one);
      if (is_between) pair->is_broken = true;
    }
    return "ok";
  }

  std::mt19937_64 random_;
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
  int poller_ = -1;
  bool is_over_ = false;
  std::string commands_;
  std::vector<Listener> listeners_;
  std::map<int, std::shared_ptr<Pair>> pairs_;  // by either socket
  std::map<int, int> pids_;
  std::set<int> rising_;
  std::map<std::pair<int, int>, Link> links_;
};

}  // namespace

int main(int argc, char** argv) {
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGPIPE, SIG_IGN);
  Proxy(argc > 1 ? std::stoull(argv[1]) : 1).run();
}
