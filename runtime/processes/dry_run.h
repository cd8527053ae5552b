// A program run as one process of a job that does not exist: collectives are counted, and return this process's own values.
#pragma once
#include <mutex>
#include <string>
#include <vector>

#include "weft/core/errors/source_loc.h"
#include "weft/runtime/processes/transport.h"

namespace weft::detail {

/// The settings in `WEFT_DRY_RUN=64x4,latency=2e-6,bandwidth=1e10`: processes, devices of each, seconds per message, bytes per second.
struct DryRunSettings {
  int processes = 1, devices = 1;
  double latency = 0, bandwidth = 0;  ///< 0: not given
};
/// Throws DistributedError if the text is malformed.
DryRunSettings parse_dry_run(const std::string& text);

/// A transport that sends nothing and receives zeros.
class DryTransport final : public Transport {
 public:
  explicit DryTransport(int size) : size_(size) {}
  int rank() const override { return 0; }
  int size() const override { return size_; }
  int processes_here() const override { return 1; }
  Channel open(std::span<const int>, int) override { return 0; }
  Request send(Channel channel, int to, int tag, std::span<const Piece> pieces) override;
  Request receive(Channel channel, int from, int tag, std::span<const Piece> pieces) override;
  bool test(Request& request) override;
  void finalize() override {}
  [[noreturn]] void abort(int code) override;

 private:
  int size_;
};

/// The collectives of a dry run. Thread-safe.
class DryRun {
 public:
  explicit DryRun(const DryRunSettings& settings) : settings_(settings) {}
  /// Records one call: the number of processes in it, the messages that this one sent, and how often it had to wait for others.
  void add(const std::string& text, SourceLoc loc, int processes, std::int64_t messages, std::int64_t bytes, int rounds);
  /// One line for each collective, in the order of first calls, and the totals.
  std::string report() const;

 private:
  struct Entry {
    std::string text;
    SourceLoc loc;
    int processes = 0, rounds = 0;
    std::int64_t calls = 0, messages = 0, bytes = 0;
  };
  double seconds(const Entry& e) const;
  DryRunSettings settings_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace weft::detail
