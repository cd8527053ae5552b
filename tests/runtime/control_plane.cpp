// The key-value store by which processes meet: values, waiting, failures, and clients that mean no good.
#include "weft/runtime/processes/control_plane.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <random>
#include <thread>

#include "tests/messages.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/processes/control_wire.h"

using namespace weft;
using namespace weft::detail;
using test::message_of, test::refuses;

namespace {

struct Watcher final : ProcessState {
  std::string text = "working";
  std::atomic<bool> failed{false};
  std::vector<int> missing;
  std::string report;
  std::string describe() override { return text; }
  void on_failure(const std::vector<int>& who, const std::string& why) override {
    missing = who, report = why;
    failed = true;
  }
  bool wait() const {
    for (int i = 0; i < 12000 && !failed; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return failed;
  }
};
constexpr Seconds kLong(120);

/// Whether the server ends the connection.
bool is_closed(const Socket& s) {
  char bytes[1024];
  for (int i = 0; i < 1200; ++i) {
    pollfd fd{s.fd(), POLLIN, 0};
    poll(&fd, 1, 100);
    const ssize_t n = recv(s.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno == ECONNRESET)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a value is there for all processes, also those that ask before it is set") {
  ControlServer server({"127.0.0.1", 0}, "secret", 2);
  Watcher a, b;
  ControlClient first(server.address(), "secret", 0, 2, &a, kLong), second(server.address(), "secret", 1, 2, &b, kLong);
  first.set("x", std::string("a\0b", 3));
  CHECK(second.get("x", kLong) == std::string("a\0b", 3));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    first.set("y", "late");
  });
  CHECK(second.get("y", kLong) == "late");
  later.join();
  CHECK(!second.get("never", Seconds(0.05)));
  a.text = "resting";
  const auto states = second.ask_all(kLong);
  CHECK(states[0] == "+resting");
  CHECK(states[1] == "+working");
  std::thread other([&] { CHECK(first.leave(kLong)); });
  CHECK(second.leave(kLong));
  other.join();
  CHECK(!a.failed);
  CHECK(!b.failed);
}

TEST_CASE("a process that ends without leaving is reported to the others") {
  ControlServer server({"127.0.0.1", 0}, "", 3);
  Watcher a, b, c;
  ControlClient first(server.address(), "", 0, 3, &a, kLong), second(server.address(), "", 1, 3, &b, kLong);
  {
    const ControlClient third(server.address(), "", 2, 3, &c, kLong);
  }
  CHECK(a.wait());
  CHECK(b.wait());
  CHECK(a.missing == std::vector<int>{2});
  CHECK(first.ask_all(kLong)[2] == "-");
  CHECK(!first.leave(kLong));
}

TEST_CASE("a process that gives no sign of life is reported") {
  Watcher a, b;
  SUBCASE("one of the others") {
    ControlServer server({"127.0.0.1", 0}, "", 2, Seconds(0.5));
    ControlClient first(server.address(), "", 0, 2, &a, kLong);
    const Socket silent = connect_to("127.0.0.1", server.address().port);
    const std::string hello = encode({ControlType::hello, 0, {std::string(kControlProtocol), "", "1", "2"}});
    CHECK(send(silent.fd(), hello.data(), hello.size(), 0) == static_cast<ssize_t>(hello.size()));
    CHECK(a.wait());
    CHECK(a.missing == std::vector<int>{1});
    CHECK(a.report.find("process 1 has not been heard from for 0.5 s") != std::string::npos);
  }
  SUBCASE("process 0") {
    int port = 0;
    const Socket listener = listen_on("127.0.0.1", 0, port);
    std::thread server([&] {
      pollfd fd{listener.fd(), POLLIN, 0};
      poll(&fd, 1, 120000);
      static Socket connection;
      connection = Socket(accept(listener.fd(), nullptr, nullptr));
      const std::string welcome = encode({ControlType::welcome, 0, {"500"}});
      CHECK(send(connection.fd(), welcome.data(), welcome.size(), 0) == static_cast<ssize_t>(welcome.size()));
    });
    const ControlClient second({"127.0.0.1", port}, "", 1, 2, &b, kLong);
    server.join();
    CHECK(b.wait());
    CHECK(b.missing == std::vector<int>{0});
    CHECK(b.report.find("has not been heard from") != std::string::npos);
  }
  SUBCASE("nobody who is only busy") {
    ControlServer server({"127.0.0.1", 0}, "", 2, Seconds(2));
    ControlClient first(server.address(), "", 0, 2, &a, kLong), second(server.address(), "", 1, 2, &b, kLong);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // longer than without heartbeats is allowed
    CHECK(!a.failed);
    CHECK(!b.failed);
  }
}

TEST_CASE("a report of failure reaches the others, and so does the end of the store") {
  Watcher a, b;
  auto server = std::make_unique<ControlServer>(Address{"127.0.0.1", 0}, "", 2);
  ControlClient first(server->address(), "", 0, 2, &a, kLong), second(server->address(), "", 1, 2, &b, kLong);
  SUBCASE("report") {
    second.report_failure({0}, "it sleeps");
    CHECK(a.wait());
    CHECK(a.report == "it sleeps");
  }
  SUBCASE("end") {
    server.reset();
    CHECK(b.wait());
    CHECK(b.missing == std::vector<int>{0});
  }
}

TEST_CASE("those that don't belong are not let in") {
  ControlServer server({"127.0.0.1", 0}, "secret", 2);
  Watcher a, b;
  const Address where = server.address();
  CHECK(refuses<DistributedError>([&] { ControlClient(where, "Secret", 1, 2, &b, kLong); }, {"the token is not the coordinator's"}));
  CHECK(refuses<DistributedError>([&] { ControlClient(where, "", 1, 2, &b, kLong); }, {"token"}));
  CHECK(refuses<DistributedError>([&] { ControlClient(where, "secret", 1, 3, &b, kLong); }, {"a job of 2 processes"}));
  const ControlClient second(where, "secret", 1, 2, &b, kLong);
  CHECK(refuses<DistributedError>([&] { ControlClient(where, "secret", 1, 2, &b, kLong); }, {"process 1 has already joined"}));
  CHECK(refuses<DistributedError>([&] { ControlClient({"127.0.0.1", 1}, "", 1, 2, &b, Seconds(0.1)); }, {"finds no coordinator"}));
  CHECK(refuses<DistributedError>([&] { ControlServer({"127.0.0.1", where.port}, "", 2); }, {"can't listen"}));
  for (const char* bad : {"", "nowhere", ":7", "host:", "host:x", "host:70000"})
    CHECK(refuses<DistributedError>([&] { parse_address(bad); }, {"host:port"}));
  CHECK(parse_address("[::1]:80").host == "::1");
}

TEST_CASE("no client can make the store fail") {
  ControlServer server({"127.0.0.1", 0}, "secret", 2);
  const Address where = server.address();
  Watcher a, b;
  ControlClient good(where, "secret", 0, 2, &a, kLong);
  std::mt19937 random(7);
  const std::string hello = encode({ControlType::hello, 0, {std::string(kControlProtocol), "secret", "1", "2"}});
  for (int round = 0; round < 60; ++round) {
    const Socket s = connect_to(where.host, where.port);
    REQUIRE(s);
    std::string bytes;
    if (round % 3 == 0) {
      for (int i = 0; i < 200; ++i) bytes.push_back(static_cast<char>(random()));
    } else if (round % 3 == 1) {
      bytes = std::string("\xff\xff\xff\x7f", 4) + "and then some";  // a length beyond the limit
    } else {
      bytes = encode({static_cast<ControlType>(random() % 20), static_cast<std::uint32_t>(random()), {"a", std::string(100, 'b')}});
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    send(s.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (round < 6) CHECK((round % 3 == 2 || round % 3 == 0 || is_closed(s)));
  }
  // One that is let in, and then sends nonsense: it counts as lost.
  {
    const Socket s = connect_to(where.host, where.port);
    send(s.fd(), hello.data(), hello.size(), MSG_NOSIGNAL);
    const std::string bad = encode({ControlType::welcome, 1, {}});
    send(s.fd(), bad.data(), bad.size(), MSG_NOSIGNAL);
    CHECK(is_closed(s));
  }
  CHECK(a.wait());
  good.set("still", "there");
  CHECK(good.get("still", kLong) == "there");
}

TEST_CASE("a crowd of clients that say nothing, or say it slowly, keeps nobody out") {
  ControlServer server({"127.0.0.1", 0}, "secret", 2);
  const Address where = server.address();
  std::vector<Socket> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(connect_to(where.host, where.port));
  std::atomic<bool> stop{false};
  std::thread more([&] {
    for (std::size_t i = 0; !stop; ++i) crowd[i % crowd.size()] = connect_to(where.host, where.port);
  });
  Watcher a;
  ControlClient good(where, "secret", 0, 2, &a, kLong);
  stop = true;
  more.join();
  // One that sends its greeting a byte at a time.
  const std::string hello = encode({ControlType::hello, 0, {std::string(kControlProtocol), "secret", "1", "2"}});
  const Socket slow = connect_to(where.host, where.port);
  REQUIRE(slow);
  for (char c : hello) {
    CHECK(send(slow.fd(), &c, 1, MSG_NOSIGNAL) == 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::string answer;
  bool bad = false;
  std::optional<ControlMessage> m;
  for (int i = 0; i < 1200 && !m; ++i) {
    pollfd fd{slow.fd(), POLLIN, 0};
    poll(&fd, 1, 100);
    char bytes[256];
    const ssize_t n = recv(slow.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0) answer.append(bytes, static_cast<std::size_t>(n));
    m = decode(answer, kMaxMessage, bad);
  }
  REQUIRE(m);
  CHECK(m->type == ControlType::welcome);
  good.set("still", "there");
  CHECK(good.get("still", kLong) == "there");
}

TEST_CASE("a greeting that is longer than any, or without end, is cut off") {
  ControlServer server({"127.0.0.1", 0}, "secret", 2);
  const Address where = server.address();
  const Socket s = connect_to(where.host, where.port);
  const std::string much = encode({ControlType::hello, 0, {std::string(kControlProtocol), std::string(100000, 'x'), "1", "2"}});
  for (int i = 0; i < 100; ++i)
    if (send(s.fd(), much.data(), much.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN) break;
  CHECK(is_closed(s));
}

TEST_CASE("a process that has the token and sends anything at all can hurt only itself") {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    ControlServer server({"127.0.0.1", 0}, "secret", 3);
    const Address where = server.address();
    Watcher a;
    ControlClient good(where, "secret", 0, 3, &a, kLong);
    {
      const Socket s = connect_to(where.host, where.port);
      REQUIRE(s);
      std::string bytes = encode({ControlType::hello, 0, {std::string(kControlProtocol), "secret", "1", "3"}});
      for (int i = 0; i < 50; ++i) {
        ControlMessage m{static_cast<ControlType>(random() % 16), static_cast<std::uint32_t>(random() % 5), {}};
        for (std::uint32_t n = random() % 4; n > 0; --n)
          m.fields.push_back(random() % 2 ? std::to_string(static_cast<int>(random())) : std::string(random() % 2000, 'k'));
        std::string one = encode(m);
        if (random() % 4 == 0) one[random() % one.size()] ^= static_cast<char>(1 << random() % 8);
        bytes += one;
      }
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n = send(s.fd(), bytes.data() + at, std::min<std::size_t>(1 + random() % 4096, bytes.size() - at), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN) break;
        if (n > 0) at += static_cast<std::size_t>(n);
      }
    }
    good.set("still", "there");
    CHECK(good.get("still", kLong) == "there");
    CHECK(good.ask_all(Seconds(1)).size() == 3);
  }
}

TEST_CASE("values that are set again or erased leave room for others") {
  ControlServer server({"127.0.0.1", 0}, "", 2);
  Watcher a;
  ControlClient client(server.address(), "", 0, 2, &a, kLong);
  const std::string large(900000, 'v');
  for (int i = 0; i < 100; ++i) client.set("same", large);
  for (int i = 0; i < 100; ++i) {
    client.set(std::to_string(i), large);
    client.erase(std::to_string(i));
  }
  client.set("end", "reached");
  CHECK(client.get("end", kLong) == "reached");
  CHECK(!client.get("99", Seconds(0.05)));
  CHECK(!a.failed);
}

TEST_CASE("a coordinator that has no descriptor left rests, and lets in who waits once it has one") {
  ControlServer server({"127.0.0.1", 0}, "secret", 1);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit now{static_cast<rlim_t>(Socket(eventfd(0, EFD_CLOEXEC)).fd()) + 3, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &now);
  std::vector<Socket> all;
  for (int fd; (fd = eventfd(0, EFD_CLOEXEC)) >= 0;) all.emplace_back(fd);
  REQUIRE_FALSE(all.empty());
  all.pop_back();
  // It takes the last one: there is none for the coordinator's end.
  const Socket second = connect_to("127.0.0.1", server.address().port);
  REQUIRE(second);
  const auto processor = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = processor();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const double used = processor() - start;
  setrlimit(RLIMIT_NOFILE, &before);
  CHECK(used < .25);
  const std::string words = encode({ControlType::hello, 0, {std::string(kControlProtocol), "secret", "0", "1"}});
  REQUIRE(::send(second.fd(), words.data(), words.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(words.size()));
  char answer[64];
  pollfd p{second.fd(), POLLIN, 0};
  REQUIRE(poll(&p, 1, 60000) == 1);
  CHECK(::recv(second.fd(), answer, sizeof answer, 0) > 0);
}
