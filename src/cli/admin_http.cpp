#include "admin_http.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "output.h"

namespace millrace::cli {
namespace {

constexpr size_t kAnswerBytesMax = size_t{256} << 20;

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket const&) = delete;
  Socket& operator=(Socket const&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error failed(std::string const& address, std::string_view what) {
  return {ErrorKind::io, fmt::format("{}: {}", address, what)};
}

Result<std::string> ask(addrinfo const& to, std::string const& address, std::string const& request, int64_t timeout_ms) {
  Socket const socket(::socket(to.ai_family, to.ai_socktype | SOCK_CLOEXEC, to.ai_protocol));
  timeval const timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) return failed(address, std::strerror(errno));
  if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
    return failed(address, std::strerror(errno));
  }
  std::string answer;
  std::string block(64 * 1024, '\0');
  for (;;) {
    auto const count = ::recv(socket.get(), block.data(), block.size(), 0);
    if (count < 0) return failed(address, errno == EAGAIN ? "no answer in time" : std::strerror(errno));
    if (count == 0) return answer;
    answer.append(block, 0, static_cast<size_t>(count));
    if (answer.size() > kAnswerBytesMax) return Error{ErrorKind::limit, address + " answers too much"};
  }
}

}  // namespace

Result<std::string> get_from_admin(std::string const& address, std::string const& target, int64_t timeout_ms) {
  auto const colon = address.rfind(':');
  if (colon == std::string::npos) return Error{ErrorKind::invalid, address + " is not HOST:PORT"};
  auto host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (auto const code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found); code != 0) {
    return failed(address, ::gai_strerror(code));
  }
  std::unique_ptr<addrinfo, void (*)(addrinfo*)> const addresses(found, ::freeaddrinfo);
  // HTTP/1.0: the answer comes in one piece and ends with the connection.
  auto const request = fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n", target, address);
  Result<std::string> answer = failed(address, "no address");
  for (auto const* one = addresses.get(); one != nullptr; one = one->ai_next) {
    answer = ask(*one, address, request, timeout_ms);
    if (answer) break;
  }
  if (!answer) return answer;
  auto const body = answer->find("\r\n\r\n");
  if (!answer->starts_with("HTTP/1.") || body == std::string::npos) return failed(address, "the answer is not HTTP");
  auto const status = answer->substr(9, 3);
  if (status != "200") {
    return Error{status == "404" ? ErrorKind::not_found : ErrorKind::io,
                 fmt::format("{}{}: HTTP status {}", address, target, status)};
  }
  return answer->substr(body + 4);
}

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (auto const c : text) {
    bool const is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    if (is_plain) out += c;
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

int report_admin(Error const& error, std::string const& address) {
  if (error.kind == ErrorKind::invalid) {
    print_error(error.message);
    return kUsage;
  }
  print_error(error.message,
              fmt::format("Is {} the admin listener of a Millrace node (millrace.admin.listener)? Name another with "
                          "--admin HOST:PORT.",
                          address));
  return kUnreachable;
}

}  // namespace millrace::cli
