// Messages of the control plane: a length, then a type and fields. All reads are bounded.
#pragma once
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
};

inline constexpr std::size_t kMaxMessage = 1 << 20, kMaxHello = 512;

struct ControlMessage {
  ControlType type{};
  std::uint32_t id = 0;  ///< of a question and its answer
  std::vector<std::string> fields;
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
