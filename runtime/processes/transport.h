// Messages between processes, as a plugin that is opened at run time gives them: MPI's headers and library stay out of weft's own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::detail {

/// Not thread-safe: one thread at a time. Everything throws std::runtime_error with the library's own words.
class Transport {
 public:
  /// A message under way.
  struct Request {
    std::uint64_t handle = 0;
  };
  /// Processes that exchange messages among themselves, apart from all other channels. 0: all of the job.
  using Channel = int;
  /// A part of a message.
  struct Piece {
    void* data;
    std::size_t bytes;
  };
  virtual ~Transport() = default;
  virtual std::string description() const = 0;  ///< "Open MPI v4.1.4 ..."
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int processes_here() const = 0;  ///< those of the job on this machine
  /// A channel of some processes, which number in it as they are listed. Each of them calls it, with the same list and tag, and waits there
  /// until all have: for ever, if one doesn't come.
  virtual Channel open(std::span<const int> ranks, int tag) = 0;
  /// One message, made of pieces; the other side may cut it into other pieces. Messages of one tag between two processes arrive in the
  /// order of the calls. `to` and `from` number within the channel; tags are below 2^30.
  virtual Request send(Channel channel, int to, int tag, std::span<const Piece> pieces) = 0;
  virtual Request receive(Channel channel, int from, int tag, std::span<const Piece> pieces) = 0;
  /// Whether the message is through; drives all messages on.
  virtual bool test(Request& request) = 0;
  /// Ends orderly: all processes call it.
  virtual void finalize() = 0;
  /// Ends all processes of the job.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// What a plugin exports, as `weft_open_transport`: null and a sentence in `problem` where it can't be had.
inline constexpr int kTransportVersion = 2;
using OpenTransport = Transport* (*)(int version, char* problem, std::size_t problem_bytes);

}  // namespace weft::detail
