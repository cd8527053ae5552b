// The job's key-value store, in process 0: one thread serves the connections of all processes, and notices which of them have failed.
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <new>
#include <thread>

#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/processes/control_plane.h"
#include "weft/runtime/processes/control_wire.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kHelloTime = std::chrono::seconds(10);           // a connection that has not said hello by then is closed
constexpr auto kNoDescriptor = std::chrono::milliseconds(100);  // until connections are accepted again when no file descriptor was left
constexpr std::size_t kMaxStore = 64 << 20;                     // bytes of all keys and values
constexpr std::size_t kMaxBacklog = 16 << 20;                   // bytes that one process has not taken yet; beyond, it is cut off
constexpr std::size_t kMaxStrangers = 64;                       // connections beyond one for each process
constexpr std::size_t kMaxWaiting = 4096;                       // keys, and states, that are waited for

struct Connection {
  Socket socket;
  std::string in, out;
  int rank = -1;  ///< -1: a stranger, until it has said hello
  Clock::time_point since = Clock::now(), heard = since;
  bool closing = false;  ///< after what is in `out`
};
struct WaitingGet {
  Connection* who;
  std::uint32_t id;
  std::string key;
};
struct Query {
  Connection* who;
  std::uint32_t id, number;
  Clock::time_point deadline;
  std::vector<std::string> states;
};

/// Compares in constant time, so that timing reveals nothing about the secret.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned char different = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return different == 0 && a.size() == b.size();
}

}  // namespace

struct ControlServer::Impl {
  std::string host, token;
  int port = 0, count;
  Socket listener, wake;
  std::atomic<bool> stop{false};
  std::list<Connection> connections;
  std::map<std::string, std::string> store;
  std::size_t stored = 0;
  std::list<WaitingGet> gets;
  std::list<Query> queries;
  std::uint32_t next_query = 1;
  enum class Rank { unknown, there, left, left_failed, gone };
  std::vector<Rank> ranks;
  std::vector<bool> given_up;        // those that others have reported as missing, or that are silent
  Clock::time_point accept_again{};  // until then those that wait outside are not looked at
  Heartbeat heartbeat;
  std::thread thread;

  Impl(const Address& a, std::string t, int n, Seconds silence)
      : host(a.host),
        token(std::move(t)),
        count(n),
        ranks(static_cast<std::size_t>(n), Rank::unknown),
        given_up(ranks.size()),
        heartbeat(silence) {
    listener = listen_on(a.host, a.port, port);
    wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) throw DistributedError(fmt::format("distributed::initialize: no file descriptor is available: {}", std::strerror(errno)));
    thread = std::thread([this] { serve(); });
  }
  ~Impl() {
    stop = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(wake.fd(), &one, sizeof one);
    thread.join();
  }

  Rank& state_of(const Connection& c) { return ranks[static_cast<std::size_t>(c.rank)]; }

  static void send(Connection& c, ControlMessage m) {
    c.out += encode(m);
    if (c.out.size() > kMaxBacklog) c.closing = true, c.out.clear();
  }
  void send_all(const ControlMessage& m) {
    for (Connection& c : connections)
      if (c.rank >= 0) send(c, m);
  }

  void lost(Connection& c) {
    gets.remove_if([&](const WaitingGet& g) { return g.who == &c; });
    queries.remove_if([&](const Query& q) { return q.who == &c; });
    if (c.rank < 0) return;
    const int rank = c.rank;
    c.rank = -1;
    Rank& r = ranks[static_cast<std::size_t>(rank)];
    if (r != Rank::there) return;
    r = Rank::gone;
    send_all({ControlType::failed, 0, {std::to_string(rank), fmt::format("process {} has ended", rank)}});
    answer_queries(false);
    tell_if_over();
  }

  void tell_if_over() {
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if ((ranks[r] == Rank::there && !given_up[r]) || ranks[r] == Rank::unknown) return;
    send_all({ControlType::all_left, 0, {}});
  }

  void answer_queries(bool only_late) {
    for (auto q = queries.begin(); q != queries.end();) {
      bool whole = true;
      for (std::size_t r = 0; r < ranks.size(); ++r)
        if (ranks[r] == Rank::there) whole &= !q->states[r].empty();
      if ((only_late || !whole) && Clock::now() < q->deadline) {
        ++q;
        continue;
      }
      for (std::size_t r = 0; r < ranks.size(); ++r) {
        std::string& s = q->states[r];
        if (ranks[r] == Rank::left || ranks[r] == Rank::left_failed) s = "=";
        if (s.empty()) s = ranks[r] == Rank::there ? "?" : "-";
      }
      send(*q->who, {ControlType::states, q->id, q->states});
      q = queries.erase(q);
    }
  }

  /// Whether the message is one that a process may send now.
  bool handle(Connection& c, ControlMessage m) {
    if (c.rank < 0) return join(c, m);
    switch (m.type) {
      case ControlType::set: return set(std::move(m));
      case ControlType::get: return get(c, std::move(m));
      case ControlType::ask: return ask(c, m);
      case ControlType::state: return state(c, m);
      case ControlType::failure: return failure(m);
      case ControlType::leave: return leave(c, Rank::left);
      case ControlType::left_failed: return leave(c, Rank::left_failed);
      case ControlType::heartbeat: return m.fields.empty();
      default: return false;
    }
  }

  /// The first message of a connection: protocol, token, rank, and number of processes.
  bool join(Connection& c, const ControlMessage& m) {
    if (m.type != ControlType::hello || m.fields.size() != 4 || m.fields[0] != kControlProtocol) return false;
    const std::vector<int> rank = split_ranks(m.fields[2], count);
    std::string problem;
    if (!same_secret(m.fields[1], token))
      problem = "the token is not the coordinator's";
    else if (m.fields[3] != std::to_string(count))
      problem = fmt::format("the coordinator is of a job of {}, this one of {}", counted(count, "process", "processes"), m.fields[3]);
    else if (rank.size() != 1)
      problem = fmt::format("there is no process `{}` in a job of {}", m.fields[2], count);
    else if (ranks[static_cast<std::size_t>(rank[0])] != Rank::unknown)
      problem = fmt::format("process {} has already joined", rank[0]);
    if (!problem.empty()) {
      send(c, {ControlType::refused, 0, {problem}});
      c.closing = true;
      return true;
    }
    c.rank = rank[0];
    state_of(c) = Rank::there;
    send(c, {ControlType::welcome, 0, {std::to_string(static_cast<long>(1000 * heartbeat.timeout().count()))}});
    return true;
  }

  /// A key with its value, which those that wait for it get; without a value, the key is removed.
  bool set(ControlMessage m) {
    if (m.fields.size() == 1) {
      const auto known = store.find(m.fields[0]);
      if (known != store.end()) stored -= known->first.size() + known->second.size(), store.erase(known);
      return true;
    }
    if (m.fields.size() != 2 || stored + m.fields[0].size() + m.fields[1].size() > kMaxStore) return false;
    for (auto g = gets.begin(); g != gets.end();)
      if (g->key == m.fields[0])
        send(*g->who, {ControlType::value, g->id, {m.fields[1]}}), g = gets.erase(g);
      else
        ++g;
    const auto [at, is_new] = store.try_emplace(std::move(m.fields[0]));
    stored += m.fields[1].size() + (is_new ? at->first.size() : 0) - at->second.size();
    at->second = std::move(m.fields[1]);
    return true;
  }

  bool get(Connection& c, ControlMessage m) {
    if (m.fields.size() != 1 || gets.size() > kMaxWaiting) return false;
    const auto known = store.find(m.fields[0]);
    const auto waits = std::find_if(gets.begin(), gets.end(), [&](const WaitingGet& g) { return g.who == &c && g.key == m.fields[0]; });
    if (known != store.end())
      send(c, {ControlType::value, m.id, {known->second}});
    else if (waits != gets.end())
      waits->id = m.id;  // it has given up the last one, and asks again
    else
      gets.push_back({&c, m.id, std::move(m.fields[0])});
    return true;
  }

  /// Asks all processes for their states, within the given milliseconds.
  bool ask(Connection& c, const ControlMessage& m) {
    if (m.fields.size() != 1 || queries.size() > kMaxWaiting) return false;
    const std::vector<int> ms = split_ranks(m.fields[0], 1 << 30);
    if (ms.empty()) return false;
    queries.push_back({&c, m.id, next_query++, Clock::now() + std::chrono::milliseconds(ms[0]), std::vector<std::string>(ranks.size())});
    send_all({ControlType::tell_state, queries.back().number, {}});
    return true;
  }

  bool state(const Connection& c, const ControlMessage& m) {
    if (m.fields.size() != 1) return false;
    for (Query& q : queries)
      if (q.number == m.id) q.states[static_cast<std::size_t>(c.rank)] = "+" + m.fields[0];
    answer_queries(false);
    return true;
  }

  bool failure(const ControlMessage& m) {
    if (m.fields.size() != 2) return false;
    for (int r : split_ranks(m.fields[0], count)) given_up[static_cast<std::size_t>(r)] = true;
    send_all({ControlType::failed, 0, m.fields});
    tell_if_over();
    return true;
  }

  bool leave(const Connection& c, Rank how) {
    state_of(c) = how;
    answer_queries(false);
    tell_if_over();
    return true;
  }

  /// Sends heartbeats, and reports the processes of which there were none for too long.
  void look_for_silence() {
    const Clock::time_point now = Clock::now();
    if (heartbeat.look(now)) send_all({ControlType::heartbeat, 0, {}});
    if (heartbeat.slept())
      for (Connection& c : connections) c.heard = now;
    for (Connection& c : connections) {
      if (c.rank < 0 || state_of(c) != Rank::there || given_up[static_cast<std::size_t>(c.rank)] || !heartbeat.is_overdue(now, c.heard))
        continue;
      given_up[static_cast<std::size_t>(c.rank)] = true;
      send_all(
          {ControlType::failed,
           0,
           {std::to_string(c.rank), fmt::format("process {} has not been heard from for {:.3g} s: it is stopped, or its machine or network "
                                                "is down (WEFT_HEARTBEAT_TIMEOUT)",
                                                c.rank, heartbeat.timeout().count())}});
      tell_if_over();
    }
  }

  void read_from(Connection& c) {
    char bytes[16384];
    for (;;) {
      const ssize_t n = recv(c.socket.fd(), bytes, sizeof bytes, 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) {
        c.closing = true, c.out.clear();
        return;
      }
      c.in.append(bytes, static_cast<std::size_t>(n));
      c.heard = Clock::now();
      bool bad = false;
      while (!c.closing) {
        std::optional<ControlMessage> m = decode(c.in, c.rank < 0 ? kMaxHello : kMaxMessage, bad);
        if (!bad && m) bad = !handle(c, std::move(*m));
        if (bad) c.closing = true, c.out.clear();
        if (bad || !m) break;
      }
      if (c.closing) return;
    }
  }

  void write_to(Connection& c) {
    while (!c.out.empty()) {
      const ssize_t n = ::send(c.socket.fd(), c.out.data(), c.out.size(), MSG_NOSIGNAL);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (n <= 0) {
        c.closing = true, c.out.clear();
        return;
      }
      c.out.erase(0, static_cast<std::size_t>(n));
    }
  }

  void accept_all() {
    for (;;) {
      Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      if (!s) {
        // The waiting client is still there; without a descriptor or memory for it, asking again at once would find the same.
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) accept_again = Clock::now() + kNoDescriptor;
        return;
      }
      // Too many unauthenticated connections: the oldest one is closed.
      const auto is_stranger = [](const Connection& c) { return c.rank < 0 && !c.closing; };
      if (static_cast<std::size_t>(std::count_if(connections.begin(), connections.end(), is_stranger)) >=
          kMaxStrangers + static_cast<std::size_t>(count)) {
        Connection& oldest = *std::find_if(connections.begin(), connections.end(), is_stranger);
        oldest.closing = true, oldest.out.clear();
        close_some();
      }
      connections.emplace_back();
      connections.back().socket = std::move(s);
    }
  }

  void close_some() {
    for (auto c = connections.begin(); c != connections.end();) {
      if (c->rank < 0 && !c->closing && Clock::now() - c->since > kHelloTime) c->closing = true, c->out.clear();
      if (c->closing && c->out.empty()) {
        lost(*c);
        c = connections.erase(c);
      } else {
        ++c;
      }
    }
  }

  void serve() {
    Clock::time_point until{};
    for (;;) {
      if (stop && until == Clock::time_point{}) until = Clock::now() + std::chrono::seconds(1);
      const bool unsent = std::any_of(connections.begin(), connections.end(), [](const Connection& c) { return !c.out.empty(); });
      if (stop && (!unsent || Clock::now() > until)) return;
      try {
        serve_once();
      } catch (const std::bad_alloc&) {
        // A request that could not be answered is repeated by the client, or the client gives up.
        poll(nullptr, 0, 10);
      }
    }
  }

  void serve_once() {
    const bool accepts = Clock::now() >= accept_again;
    std::vector<pollfd> fds{{wake.fd(), POLLIN, 0}, {listener.fd(), static_cast<short>(accepts ? POLLIN : 0), 0}};
    std::vector<Connection*> of;
    for (Connection& c : connections)
      fds.push_back({c.socket.fd(), static_cast<short>(POLLIN | (c.out.empty() ? 0 : POLLOUT)), 0}), of.push_back(&c);
    const bool strangers = std::any_of(connections.begin(), connections.end(), [](const Connection& c) { return c.rank < 0; });
    const int wait = !queries.empty() ? 50 : !accepts ? 100 : strangers || stop ? 500 : -1, beat = heartbeat.wait();
    poll(fds.data(), fds.size(), wait < 0 ? beat : beat < 0 ? wait : std::min(wait, beat));
    if (fds[0].revents) {
      std::uint64_t ignored;
      [[maybe_unused]] const auto n = read(wake.fd(), &ignored, sizeof ignored);
    }
    for (std::size_t i = 0; i < of.size(); ++i)
      if (fds[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) read_from(*of[i]);
    if (fds[1].revents) accept_all();
    answer_queries(true);
    look_for_silence();
    for (Connection& c : connections) write_to(c);
    close_some();
    for (Connection& c : connections) write_to(c);
  }
};

ControlServer::ControlServer(const Address& bind_to, std::string token, int num_processes, Seconds heartbeat)
    : impl_(new Impl(bind_to, std::move(token), num_processes, heartbeat)) {}
ControlServer::~ControlServer() = default;
Address ControlServer::address() const { return {impl_->host, impl_->port}; }

}  // namespace weft::detail
