// A process's connection to the job's key-value store: a thread sends heartbeats and questions, and receives answers and news of failures.
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include "weft/core/errors/error.h"
#include "weft/runtime/processes/control_plane.h"
#include "weft/runtime/processes/control_wire.h"

namespace weft::detail {

using Clock = std::chrono::steady_clock;

struct ControlClient::Impl {
  Socket socket, wake;
  int rank, count;
  ProcessState* state;
  std::mutex mutex;
  std::condition_variable news;
  std::string in, out;
  std::map<std::uint32_t, ControlMessage> answers;
  std::uint32_t next_id = 1;
  bool lost = false, failed = false, all_left = false, leaving = false, stop = false;
  Heartbeat heartbeat;
  Clock::time_point heard = Clock::now();
  std::thread thread;

  void post(const ControlMessage& m) {
    const std::lock_guard lock(mutex);
    out += encode(m);
    nudge();
  }
  void nudge() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = write(wake.fd(), &one, sizeof one);
  }

  /// Sends a request and waits for its answer.
  std::optional<ControlMessage> ask(ControlMessage m, Seconds timeout) {
    std::unique_lock lock(mutex);
    const std::uint32_t id = m.id = next_id++;
    out += encode(m);
    nudge();
    news.wait_for(lock, timeout, [&] { return lost || answers.count(id) > 0; });
    const auto answer = answers.find(id);
    if (answer == answers.end()) return {};
    ControlMessage found = std::move(answer->second);
    answers.erase(answer);
    return found;
  }

  void fail(const std::vector<int>& missing, const std::string& report) {
    {
      const std::lock_guard lock(mutex);
      if (failed || all_left) return;
      failed = true;
    }
    state->on_failure(missing, report);
    news.notify_all();
  }

  void handle(ControlMessage m) {
    switch (m.type) {
      case ControlType::tell_state: return post({ControlType::state, m.id, {state->describe()}});
      case ControlType::failed:
        if (m.fields.size() == 2) fail(split_ranks(m.fields[0], count), m.fields[1]);
        return;
      case ControlType::all_left:
      case ControlType::value:
      case ControlType::states: {
        const std::lock_guard lock(mutex);
        if (m.type == ControlType::all_left)
          all_left = true;
        else
          answers[m.id] = std::move(m);
        news.notify_all();
        return;
      }
      default: return;
    }
  }

  void connection_lost() {
    {
      const std::lock_guard lock(mutex);
      lost = true;
    }
    news.notify_all();
    if (!stop) fail({0}, "process 0, which keeps the job's key-value store, has ended");
  }

  /// Sends heartbeats, and reports process 0 if none of its own came for too long. The connection stays open, as process 0 may resume.
  void look_for_silence() {
    const Clock::time_point now = Clock::now();
    if (heartbeat.look(now)) post({ControlType::heartbeat, 0, {}});
    if (heartbeat.slept()) heard = now;
    if (heartbeat.is_overdue(now, heard))
      fail({0}, fmt::format("process 0, which keeps the job's key-value store, has not been heard from for {:.3g} s: it is stopped, or its "
                            "machine or network is down (WEFT_HEARTBEAT_TIMEOUT)",
                            heartbeat.timeout().count()));
  }

  void run() {
    for (bool bad = false;;) {
      while (std::optional<ControlMessage> m = decode(in, kMaxMessage, bad)) handle(std::move(*m));
      if (bad) return connection_lost();
      look_for_silence();
      bool unsent;
      {
        const std::lock_guard lock(mutex);
        while (!out.empty()) {
          const ssize_t n = send(socket.fd(), out.data(), out.size(), MSG_NOSIGNAL);
          if (n <= 0) break;
          out.erase(0, static_cast<std::size_t>(n));
        }
        unsent = !out.empty();
        if (stop) return;
      }
      pollfd fds[2] = {{wake.fd(), POLLIN, 0}, {socket.fd(), static_cast<short>(POLLIN | (unsent ? POLLOUT : 0)), 0}};
      poll(fds, 2, heartbeat.wait());
      if (fds[0].revents) {
        std::uint64_t ignored;
        [[maybe_unused]] const auto n = read(wake.fd(), &ignored, sizeof ignored);
      }
      if (!(fds[1].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      char bytes[16384];
      const ssize_t n = recv(socket.fd(), bytes, sizeof bytes, 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (n <= 0) return connection_lost();
      heard = Clock::now();
      in.append(bytes, static_cast<std::size_t>(n));
    }
  }
};

ControlClient::ControlClient(const Address& server, const std::string& token, int rank, int num_processes, ProcessState* state,
                             Seconds timeout)
    : impl_(new Impl) {
  impl_->rank = rank, impl_->count = num_processes, impl_->state = state;
  const Clock::time_point deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(timeout);
  const std::string hello =
      encode({ControlType::hello, 0, {std::string(kControlProtocol), token, std::to_string(rank), std::to_string(num_processes)}});
  std::string problem;
  // One attempt to join; returns whether it was accepted. A connection that is closed without an answer is retried, as the store may have
  // had too many.
  const auto join = [&](Clock::time_point until) {
    std::string& in = impl_->in;
    in.clear();
    std::optional<ControlMessage> answer;
    bool bad = send(impl_->socket.fd(), hello.data(), hello.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(hello.size());
    while (!bad && !answer && Clock::now() < until) {
      pollfd fd{impl_->socket.fd(), POLLIN, 0};
      poll(&fd, 1, 100);
      char bytes[4096];
      const ssize_t n = recv(fd.fd, bytes, sizeof bytes, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) break;
      if (n > 0) in.append(bytes, static_cast<std::size_t>(n));
      answer = decode(in, kMaxMessage, bad);
    }
    if (answer && answer->type == ControlType::welcome) {
      const long silence = answer->fields.empty() ? 0 : std::strtol(answer->fields[0].c_str(), nullptr, 10);
      impl_->heartbeat = Heartbeat(Seconds(static_cast<double>(silence) / 1000));
      impl_->heard = Clock::now();
      return true;
    }
    problem = fmt::format("the coordinator at {}:{} refuses process {}: {}", server.host, server.port, rank,
                          answer && answer->type == ControlType::refused && !answer->fields.empty()
                              ? answer->fields[0]
                              : "it gave no answer; is it a weft program of the same version?");
    if (bad || answer) throw DistributedError("distributed::initialize: " + problem);
    return false;
  };
  for (;;) {
    const auto left = std::chrono::duration_cast<Seconds>(deadline - Clock::now());
    impl_->socket = connect_to(server.host, server.port, std::clamp(left, Seconds(0.1), Seconds(5)));
    if (impl_->socket && join(std::min<Clock::time_point>(deadline, Clock::now() + std::chrono::seconds(15)))) break;
    if (Clock::now() > deadline)
      throw DistributedError(
          "distributed::initialize: " +
          (!problem.empty()
               ? problem
               : fmt::format(
                     "process {} finds no coordinator at {}:{} within {:.3g} s; start process 0 with this address, and check that the "
                     "machines reach each other",
                     rank, server.host, server.port, timeout.count())));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  impl_->wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl_->wake)
    throw DistributedError(fmt::format("distributed::initialize: no file descriptor is available: {}", std::strerror(errno)));
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

ControlClient::~ControlClient() {
  if (!impl_->thread.joinable()) return;
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
    impl_->nudge();
  }
  impl_->thread.join();
}

void ControlClient::set(const std::string& key, const std::string& value) { impl_->post({ControlType::set, 0, {key, value}}); }

void ControlClient::erase(const std::string& key) { impl_->post({ControlType::set, 0, {key}}); }

std::optional<std::string> ControlClient::get(const std::string& key, Seconds timeout) {
  std::optional<ControlMessage> m = impl_->ask({ControlType::get, 0, {key}}, timeout);
  if (!m || m->fields.size() != 1) return {};
  return std::move(m->fields[0]);
}

std::uint32_t ControlClient::ask_for(const std::string& key) {
  const std::lock_guard lock(impl_->mutex);
  const std::uint32_t id = impl_->next_id++;
  impl_->out += encode({ControlType::get, id, {key}});
  impl_->nudge();
  return id;
}

std::optional<std::string> ControlClient::answer_to(std::uint32_t question) {
  const std::lock_guard lock(impl_->mutex);
  const auto answer = impl_->answers.find(question);
  if (answer == impl_->answers.end() || answer->second.fields.size() != 1) return {};
  return answer->second.fields[0];
}

std::vector<std::optional<std::string>> ControlClient::ask_all(Seconds timeout) {
  std::vector<std::optional<std::string>> states(static_cast<std::size_t>(impl_->count));
  const auto ms = static_cast<long>(timeout.count() * 1000);
  const std::optional<ControlMessage> m = impl_->ask({ControlType::ask, 0, {std::to_string(ms)}}, timeout + Seconds(0.5));
  if (m && m->fields.size() == states.size())
    for (std::size_t i = 0; i < states.size(); ++i)
      if (m->fields[i] != "?") states[i] = m->fields[i];
  const auto own = static_cast<std::size_t>(impl_->rank);
  if (!states[own]) states[own] = "+" + impl_->state->describe();
  return states;
}

void ControlClient::report_failure(const std::vector<int>& missing, const std::string& report) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->failed) return;
    impl_->failed = true;
  }
  impl_->post({ControlType::failure, 0, {join_ranks(missing), report}});
}

bool ControlClient::leave(Seconds timeout) {
  impl_->post({ControlType::leave, 0, {}});
  std::unique_lock lock(impl_->mutex);
  impl_->leaving = true;
  impl_->news.wait_for(lock, timeout, [&] { return impl_->lost || impl_->all_left || impl_->failed; });
  return impl_->all_left && !impl_->failed;
}

void ControlClient::leave_failed(Seconds timeout) {
  impl_->post({ControlType::left_failed, 0, {}});
  std::unique_lock lock(impl_->mutex);
  impl_->news.wait_for(lock, timeout, [&] { return impl_->lost || impl_->all_left; });
}

}  // namespace weft::detail
