// The control plane: a key-value store in process 0, over TCP, by which processes find each other and detect that one has ended or hangs.
// It carries the data of the bootstrap, the state of each process on request, and reports of failures; never array data.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft::detail {

using Seconds = std::chrono::duration<double>;

/// "host:port".
struct Address {
  std::string host;
  int port = 0;
};
/// Throws DistributedError if the text is malformed.
Address parse_address(const std::string& text);

/// The store. Serves from a thread of its own until it is destroyed. It binds to the given address, closes connections that don't begin
/// with the token, and bounds what it reads: no client can make it fail or grow without limit.
class ControlServer {
 public:
  /// Port 0 means any free one. A process that sends nothing for `heartbeat` is reported as failed; 0: never. Throws DistributedError if it
  /// can't bind to the address.
  ControlServer(const Address& bind_to, std::string token, int num_processes, Seconds heartbeat = Seconds(8));
  ~ControlServer();
  Address address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The callbacks of the control plane: the state of this process, and failures of others.
class ProcessState {
 public:
  virtual ~ProcessState() = default;
  /// What this process is doing. Called by the control plane's thread.
  virtual std::string describe() = 0;
  /// Called once, by the control plane's thread, when a process has failed.
  virtual void on_failure(const std::vector<int>& missing, const std::string& report) = 0;
};

/// This process's connection to the store. Thread-safe.
class ControlClient {
 public:
  /// Connects, retrying until `timeout`; then throws DistributedError.
  ControlClient(const Address& server, const std::string& token, int rank, int num_processes, ProcessState* state, Seconds timeout);
  ~ControlClient();
  void set(const std::string& key, const std::string& value);
  void erase(const std::string& key);
  /// Waits until the key has been set; nullopt after `timeout`, or if the connection is lost.
  std::optional<std::string> get(const std::string& key, Seconds timeout);
  /// Requests a key without waiting. answer_to() returns its value once it has been set.
  std::uint32_t ask_for(const std::string& key);
  std::optional<std::string> answer_to(std::uint32_t question);
  /// All processes' states; nullopt for one that doesn't answer in `timeout`. If the store doesn't, only this one's is given.
  std::vector<std::optional<std::string>> ask_all(Seconds timeout);
  /// Reports to the others that this process has given up, which processes are missing, and why.
  void report_failure(const std::vector<int>& missing, const std::string& report);
  /// Announces that this process is done, and waits until all are or one fails. Returns whether all are.
  bool leave(Seconds timeout);
  /// After a failure: announces that this process has made its report, and waits until all surviving ones have.
  void leave_failed(Seconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::detail
