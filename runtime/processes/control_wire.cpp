#include "weft/runtime/processes/control_wire.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "weft/core/errors/error.h"
#include "weft/runtime/processes/control_plane.h"

namespace weft::detail {
namespace {

void put_u32(std::string& out, std::uint32_t v) {
  for (int i = 0; i < 4; ++i) out.push_back(static_cast<char>(v >> (8 * i)));
}
std::uint32_t get_u32(const char* p) {
  std::uint32_t v = 0;
  for (int i = 0; i < 4; ++i) v |= static_cast<std::uint32_t>(static_cast<unsigned char>(p[i])) << (8 * i);
  return v;
}

struct AddressList {
  addrinfo* list = nullptr;
  AddressList(const std::string& host, int port, bool passive) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list) != 0) list = nullptr;
  }
  ~AddressList() {
    if (list) freeaddrinfo(list);
  }
};

}  // namespace

std::string encode(const ControlMessage& m) {
  std::string body;
  body.push_back(static_cast<char>(m.type));
  put_u32(body, m.id);
  for (const std::string& f : m.fields) put_u32(body, static_cast<std::uint32_t>(f.size())), body += f;
  std::string out;
  put_u32(out, static_cast<std::uint32_t>(body.size()));
  return out + body;
}

std::optional<ControlMessage> decode(std::string& bytes, std::size_t most, bool& bad) {
  if (bytes.size() < 4) return {};
  const std::size_t length = get_u32(bytes.data());
  if (length < 5 || length > most) return bad = true, std::nullopt;
  if (bytes.size() < 4 + length) return {};
  ControlMessage m;
  const char* p = bytes.data() + 4;
  const char* const end = p + length;
  m.type = static_cast<ControlType>(*p);
  m.id = get_u32(p + 1);
  for (p += 5; p != end;) {
    if (end - p < 4) return bad = true, std::nullopt;
    const std::size_t n = get_u32(p);
    p += 4;
    if (static_cast<std::size_t>(end - p) < n) return bad = true, std::nullopt;
    m.fields.emplace_back(p, n);
    p += n;
  }
  bytes.erase(0, 4 + length);
  return m;
}

std::string join_ranks(const std::vector<int>& ranks) { return fmt::format("{}", fmt::join(ranks, ",")); }

std::vector<int> split_ranks(std::string_view text, int count) {
  std::vector<int> ranks;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    int v = -1;
    std::from_chars(text.data(), text.data() + comma, v);
    if (v >= 0 && v < count) ranks.push_back(v);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return ranks;
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket listen_on(const std::string& host, int port, int& bound_port) {
  const AddressList addresses(host, port, true);
  int problem = EADDRNOTAVAIL;
  for (const addrinfo* a = addresses.list; a; a = a->ai_next) {
    Socket s(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
    const int on = 1;
    if (!s || setsockopt(s.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 || bind(s.fd(), a->ai_addr, a->ai_addrlen) != 0 ||
        listen(s.fd(), 1024) != 0) {
      problem = errno;
      continue;
    }
    sockaddr_storage where{};
    socklen_t size = sizeof where;
    getsockname(s.fd(), reinterpret_cast<sockaddr*>(&where), &size);
    bound_port = ntohs(where.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&where)->sin6_port
                                                   : reinterpret_cast<sockaddr_in*>(&where)->sin_port);
    return s;
  }
  throw DistributedError(
      fmt::format("distributed::initialize: can't listen on {}:{}: {}; give the coordinator an address of this machine and a free port",
                  host, port, std::strerror(problem)));
}

Socket connect_to(const std::string& host, int port, std::chrono::duration<double> timeout) {
  const AddressList addresses(host, port, false);
  for (const addrinfo* a = addresses.list; a; a = a->ai_next) {
    Socket s(socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
    if (!s) continue;
    if (connect(s.fd(), a->ai_addr, a->ai_addrlen) != 0) {
      if (errno != EINPROGRESS) continue;
      pollfd fd{s.fd(), POLLOUT, 0};
      if (poll(&fd, 1, static_cast<int>(timeout.count() * 1000)) != 1) continue;
      int problem = 0;
      socklen_t size = sizeof problem;
      if (getsockopt(s.fd(), SOL_SOCKET, SO_ERROR, &problem, &size) != 0 || problem != 0) continue;
    }
    const int on = 1;
    setsockopt(s.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
  }
  return {};
}

Address parse_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  int port = -1;
  if (colon != std::string::npos) {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc() || stop != end) port = -1;
  }
  if (port < 0 || port > 65535 || colon == 0)
    throw DistributedError(fmt::format("distributed::initialize: the coordinator address `{}` is not of the form host:port", text));
  std::string host = text.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return {host, port};
}

}  // namespace weft::detail
