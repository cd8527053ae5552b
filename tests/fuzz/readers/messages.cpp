// What other processes send, what variables of the environment say, and JSON of the tools.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <weft/weft.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/fuzz/readers/readers.h"
#include "tools/json.h"
#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/processes/control_plane.h"
#include "weft/runtime/processes/control_wire.h"
#include "weft/runtime/processes/dry_run.h"

namespace weft::fuzz {
namespace {

using namespace weft::detail;
constexpr int kProcesses = 3;

std::string hello(int rank) {
  return encode({ControlType::hello, 0, {std::string(kControlProtocol), "token", std::to_string(rank), std::to_string(kProcesses)}});
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0) {
      pollfd p{fd, POLLOUT, 0};
      if ((errno != EAGAIN && errno != EINTR) || poll(&p, 1, 10000) <= 0) return false;
      continue;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}
/// Reads until the other side ends the connection; false if it doesn't in 20 s.
bool drain(int fd) {
  char bytes[16384];
  for (;;) {
    pollfd p{fd, POLLIN, 0};
    if (poll(&p, 1, 20000) <= 0) return false;
    const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return true;
  }
}

struct Bystander final : ProcessState {
  std::string describe() override { return "there"; }
  void on_failure(const std::vector<int>&, const std::string&) override {}
};

}  // namespace

void read_control_message(std::string_view bytes) {
  std::string rest(bytes);
  bool bad = false;
  while (const std::optional<ControlMessage> m = decode(rest, bytes.size() & 1 ? kMaxHello : kMaxMessage, bad)) {
    std::string again = encode(*m);
    bool wrong = false;
    const std::optional<ControlMessage> same = decode(again, kMaxMessage, wrong);
    if (!same || wrong || !again.empty() || same->type != m->type || same->id != m->id || same->fields != m->fields)
      broken("what was encoded is decoded as something else", "");
  }
  for (const int r : split_ranks(bytes, 8))
    if (r < 0 || r >= 8) broken("a rank that there is not", std::string(bytes));
}

/// The first bit: whether the sender says hello as it should.
void read_as_control_server(std::string_view bytes) {
  if (bytes.empty()) return;
  ControlServer server({"127.0.0.1", 0}, "token", kProcesses);
  {
    const Socket s = connect_to("127.0.0.1", server.address().port);
    if (!s) return;
    // What the server doesn't take it may cut short at any time.
    if (bytes[0] & 1) send_all(s.fd(), hello(0));
    send_all(s.fd(), bytes.substr(1));
    shutdown(s.fd(), SHUT_WR);
    if (!drain(s.fd())) broken("the server keeps a connection that has ended", "");
  }
  // The others are served.
  Bystander state;
  ControlClient other(server.address(), "token", 1, kProcesses, &state, Seconds(20));
  other.set("a key of the other", "value");
  if (other.get("a key of the other", Seconds(20)) != "value") broken("the server no longer serves", "");
}

void read_as_control_client(std::string_view bytes) {
  if (bytes.empty()) return;
  int port = 0;
  const Socket listener = listen_on("127.0.0.1", 0, port);
  std::thread server([&] {
    pollfd p{listener.fd(), POLLIN, 0};
    if (poll(&p, 1, 10000) <= 0) return;
    const Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (bytes[0] & 1) send_all(s.fd(), encode({ControlType::welcome, 0, {}}));
    send_all(s.fd(), bytes.substr(1));
    shutdown(s.fd(), SHUT_WR);
    char ignored[4096];
    p = {s.fd(), POLLIN, 0};
    // Its hello, and what it asks.
    for (int i = 0; i < 3 && poll(&p, 1, 5) > 0 && recv(s.fd(), ignored, sizeof ignored, 0) > 0;) ++i;
  });
  try {
    Bystander state;
    ControlClient client({"127.0.0.1", port}, "token", 1, kProcesses, &state, Seconds(0.02));
    client.get("key", Seconds(0.002));
    if (client.ask_all(Seconds(0.002)).size() != kProcesses) broken("the states of others than all processes", "");
  } catch (const Error&) {
  }
  server.join();
}

std::vector<std::string> control_message_seeds() {
  std::vector<std::string> seeds;
  const auto add = [&](const std::vector<ControlMessage>& messages) {
    std::string s(1, '\1');
    for (const ControlMessage& m : messages) s += encode(m);
    seeds.push_back(s), seeds.push_back(s.substr(1));
  };
  add({{ControlType::set, 0, {"key", "value"}}, {ControlType::get, 1, {"key"}}, {ControlType::set, 0, {"key"}}});
  add({{ControlType::get, 7, {"other"}}, {ControlType::get, 8, {"other"}}, {ControlType::set, 0, {"other", ""}}});
  add({{ControlType::ask, 2, {"1"}}, {ControlType::state, 1, {"working"}}});
  add({{ControlType::failure, 0, {"1,2", "report"}}, {ControlType::left_failed, 0, {}}});
  add({{ControlType::leave, 0, {}}});
  add({{ControlType::hello, 0, {std::string(kControlProtocol), "token", "0", "3"}}});
  add({{ControlType::value, 1, {"value"}}, {ControlType::tell_state, 4, {}}, {ControlType::states, 2, {"+a", "?", "-"}}});
  add({{ControlType::failed, 0, {"1", "has ended"}}, {ControlType::all_left, 0, {}}});
  seeds.push_back("0,1,2,,-1,99999999999999999999,3");
  return seeds;
}

/// Texts of variables of the environment, and of addresses.
void read_settings(std::string_view bytes) {
  const std::string text(bytes);
  const auto attempt = [&](const auto& f) {
    try {
      f();
    } catch (const Error&) {
    }
  };
  attempt([&] {
    const Address a = parse_address(text);
    if (a.port < 0 || a.port > 65535) broken("a port that there is not", text);
  });
  if (const auto n = integer_of(text, 1, 1024); n && (*n < 1 || *n > 1024)) broken("an integer outside of what is allowed", text);
  if (const auto x = number_of(text, 0, kLongestTime); x && !(*x >= 0 && *x <= kLongestTime))
    broken("a number outside of what is allowed", text);
  attempt([&] {
    const DryRunSettings s = parse_dry_run(text);
    if (s.processes < 1 || s.devices < 1 || !(s.latency >= 0) || !(s.bandwidth >= 0)) broken("a dry run that there can't be", text);
  });
}
std::vector<std::string> settings_seeds() {
  return {"127.0.0.1:8080",
          "[::1]:1",
          "host:",
          "64x4,latency=2e-6,bandwidth=1e10",
          "2x8",
          "1",
          "256",
          "-1",
          "1e3",
          "nanx1",
          "1x1,latency=nan",
          "0x10",
          " 7",
          "99999999999999999999"};
}

void read_json(std::string_view bytes) {
  try {
    tools::parse_json(bytes);
  } catch (const Error&) {
  }
}
std::vector<std::string> json_seeds() {
  return {R"({"programs": [{"name": "a", "rtol": 1e-5, "atol": 0.5, "devices_needed": 1}], "b": [true, false, null, -1.5e+3]})",
          R"(["\u00e9\n\\\"", "\ud83d\ude00", {}, []])"};
}

}  // namespace weft::fuzz
