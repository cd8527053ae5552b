// Messages between processes, as a plugin that is opened at run time gives them: MPI's headers and library stay out of weft's own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::detail {

/// Not thread-safe: one thread at a time. Everything throws std::runtime_error with the library's own words.
class Transport {
 public:
  /// A message under way.
  struct Request {
    std::uint64_t handle = 0;
  };
  virtual ~Transport() = default;
  virtual std::string description() const = 0;  ///< "Open MPI v4.1.4 ..."
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Messages of one tag between two processes arrive in the order of the calls. `bytes` is below 2^31; tags are below 2^30.
  virtual Request send(int to, int tag, const void* data, std::size_t bytes) = 0;
  virtual Request receive(int from, int tag, void* data, std::size_t bytes) = 0;
  /// Whether the message is through; drives all messages on.
  virtual bool test(Request& request) = 0;
  /// Ends orderly: all processes call it.
  virtual void finalize() = 0;
  /// Ends all processes of the job.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// What a plugin exports, as `weft_open_transport`: null and a sentence in `problem` where it can't be had.
inline constexpr int kTransportVersion = 1;
using OpenTransport = Transport* (*)(int version, char* problem, std::size_t problem_bytes);

}  // namespace weft::detail
