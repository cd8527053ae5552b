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
  std::uint32_t id = 0;  ///< the same for a request and its answer
  std::vector<std::string> fields;
};
/// The heartbeats of one end of a connection: when to send, and whether the other end's have stopped. A process sends them from its control
/// plane's thread, whatever its other threads do: only a stopped process or a lost machine sends none.
class Heartbeat {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  /// A timeout of 0 switches heartbeats off.
  explicit Heartbeat(Seconds timeout = Seconds(0)) : timeout_(timeout) {}
  Seconds timeout() const { return timeout_; }
  bool is_on() const { return timeout_.count() > 0; }
  /// How long a thread may wait before it looks again, in milliseconds; -1: for ever.
  int wait() const { return is_on() ? static_cast<int>(std::max(1000 * timeout_.count() / 8, 1.0)) : -1; }
  /// Must be called each time that the thread wakes up. Returns whether it is time to send.
  bool look(Clock::time_point now) {
    if (!is_on()) return false;
    slept_ = now - looked_ > timeout_ / 2;
    looked_ = now;
    if (now - sent_ < timeout_ / 4) return false;
    sent_ = now;
    return true;
  }
  /// Whether the thread did not run for long because its process was stopped or its machine slept, so that it knows nothing about the other
  /// end's heartbeats.
  bool slept() const { return slept_; }
  bool is_overdue(Clock::time_point now, Clock::time_point heard) const { return is_on() && now - heard > timeout_; }

 private:
  Seconds timeout_;
  Clock::time_point looked_ = Clock::now(), sent_ = Clock::now();
  bool slept_ = false;
};

/// The message as bytes, preceded by its length.
std::string encode(const ControlMessage& m);
/// Removes one whole message from the front of `bytes`; nullopt if it is incomplete. Sets `bad` if it is malformed.
std::optional<ControlMessage> decode(std::string& bytes, std::size_t most, bool& bad);

std::string join_ranks(const std::vector<int>& ranks);
/// The ranks below `count` in the text; others are dropped.
std::vector<int> split_ranks(std::string_view text, int count);

/// An owned socket, closed by the destructor.
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
/// An empty socket if there is no answer in `timeout`.
Socket connect_to(const std::string& host, int port, std::chrono::duration<double> timeout = std::chrono::seconds(5));

}  // namespace weft::detail
