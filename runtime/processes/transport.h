// The interface of a plugin for messages between processes, opened at run time, so that the library itself does not depend on MPI.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::detail {

/// Not thread-safe. All functions throw std::runtime_error with the messages of the library behind them.
class Transport {
 public:
  /// A message in flight.
  struct Request {
    std::uint64_t handle = 0;
  };
  /// A communicator: a group of processes whose messages are separate from those of other channels. 0: all processes of the job.
  using Channel = int;
  /// A part of a message.
  struct Piece {
    void* data;
    std::size_t bytes;
  };
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual int processes_here() const = 0;  ///< the number of the job's processes on this machine
  /// Opens a channel of some processes, numbered in it in the order of the list. Each of them calls it with the same list and tag, and
  /// blocks until all have.
  virtual Channel open(std::span<const int> ranks, int tag) = 0;
  /// One message, made of pieces; the other side may divide it differently. Messages of one tag between two processes arrive in the order
  /// of the calls. `to` and `from` number within the channel; tags are below 2^30.
  virtual Request send(Channel channel, int to, int tag, std::span<const Piece> pieces) = 0;
  virtual Request receive(Channel channel, int from, int tag, std::span<const Piece> pieces) = 0;
  /// Whether the message is complete. Makes progress on all messages.
  virtual bool test(Request& request) = 0;
  /// Shuts down in order: all processes call it.
  virtual void finalize() = 0;
  /// Ends all processes of the job.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// The version and type of a plugin's function `weft_open_transport`: on failure it returns null, with a sentence in `problem`.
inline constexpr int kTransportVersion = 2;
using OpenTransport = Transport* (*)(int version, char* problem, std::size_t problem_bytes);

}  // namespace weft::detail
