// Messages of the control plane: a length, then a type and fields. All reads are bounded.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

enum class ControlType : std::uint8_t {
  // to the store
  hello,
  set,
  get,
  ask,
  state,
  failure,
  leave,
  left_failed,
  // from the store
  welcome,
  refused,
  value,
  tell_state,
  states,
  failed,
  all_left,
  // both ways
  heartbeat,
};

inline constexpr std::string_view kControlProtocol = "weft-control-2";
inline constexpr std::size_t kMaxMessage = 1 << 20, kMaxHello = 512;

struct ControlMessage {
  ControlType type{};
  std::uint32_t id = 0;  ///< of a question and its answer
  std::vector<std::string> fields;
};
/// When one end of a connection sends heartbeats, and whether the other end's have stopped. A process sends them from its control plane's
/// thread, whatever its other threads do: only one that is stopped, or whose machine is gone, sends none.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  /// 0: there are none, and nothing is ever overdue.
  explicit Heartbeat(Seconds timeout = Seconds(0)) : timeout_(timeout) {}
  Seconds timeout() const { return timeout_; }
  bool is_on() const { return timeout_.count() > 0; }
  /// How long a thread may wait before it looks again, in milliseconds; -1: for ever.
  int wait() const { return is_on() ? static_cast<int>(std::max(1000 * timeout_.count() / 8, 1.0)) : -1; }
  /// To be called each time that the thread looks. Whether it is time to send.
  bool look(Clock::time_point now) {
    if (!is_on()) return false;
    slept_ = now - looked_ > timeout_ / 2;
    looked_ = now;
    if (now - sent_ < timeout_ / 4) return false;
    sent_ = now;
    return true;
  }
  /// Whether the thread did not run for long before it looked, as its process was stopped or its machine slept: what the others did
  /// meanwhile it can't tell.
  bool slept() const { return slept_; }
  bool is_overdue(Clock::time_point now, Clock::time_point heard) const { return is_on() && now - heard > timeout_; }

 private:
  Seconds timeout_;
  Clock::time_point looked_ = Clock::now(), sent_ = Clock::now();
  bool slept_ = false;
};

/// With its length in front.
std::string encode(const ControlMessage& m);
/// Takes one whole message off the front of `bytes`; nullopt if it isn't all there. Sets `bad` if it can't be one.
std::optional<ControlMessage> decode(std::string& bytes, std::size_t most, bool& bad);

std::string join_ranks(const std::vector<int>& ranks);
/// Ranks below `count`; others are dropped.
std::vector<int> split_ranks(std::string_view text, int count);

/// A socket, closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};
/// Throws DistributedError.
Socket listen_on(const std::string& host, int port, int& bound_port);
/// Empty if nobody answers in `timeout`.
Socket connect_to(const std::string& host, int port, std::chrono::duration<double> timeout = std::chrono::seconds(5));

}  // namespace weft::detail
