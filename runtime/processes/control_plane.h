// How processes find each other and notice that one is gone or stopped: a key-value store in process 0, over TCP. It carries what starting
// takes, what each process is doing when one asks, and who failed; never data.
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
/// Throws DistributedError for a text of another form.
Address parse_address(const std::string& text);

/// The store. Serves from a thread of its own until it is destroyed. It binds to the address it is given, closes connections that don't
/// begin with the token, and bounds what it reads: no client can make it fail or grow without limit.
class ControlServer {
 public:
  /// Port 0: any free one. A process of which nothing is heard for `heartbeat` is reported as failed; 0: never. Throws DistributedError if
  /// the address can't be had.
  ControlServer(const Address& bind_to, std::string token, int num_processes, Seconds heartbeat = Seconds(8));
  ~ControlServer();
  Address address() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// What a process answers when it is asked what it is doing.
class ProcessState {
 public:
  virtual ~ProcessState() = default;
  /// Called by the control plane's thread.
  virtual std::string describe() = 0;
  /// Somebody failed. Called once, by the control plane's thread.
  virtual void on_failure(const std::vector<int>& missing, const std::string& report) = 0;
};

/// This process's connection to the store. Thread-safe.
class ControlClient {
 public:
  /// Connects, trying until `timeout`; throws DistributedError.
  ControlClient(const Address& server, const std::string& token, int rank, int num_processes, ProcessState* state, Seconds timeout);
  ~ControlClient();
  void set(const std::string& key, const std::string& value);
  void erase(const std::string& key);
  /// Waits until somebody has set it; nullopt after `timeout`, or if the store is lost.
  std::optional<std::string> get(const std::string& key, Seconds timeout);
  /// Asks for a key without waiting. Its value comes to answer_to() when somebody has set it.
  std::uint32_t ask_for(const std::string& key);
  std::optional<std::string> answer_to(std::uint32_t question);
  /// All processes' states: nullopt for one that doesn't answer in `timeout`. All nullopt but this one's if the store doesn't answer.
  std::vector<std::optional<std::string>> ask_all(Seconds timeout);
  /// Tells the others that this process has given up: who is missing, and why.
  void report_failure(const std::vector<int>& missing, const std::string& report);
  /// Tells that this process is done, and waits until all are, or one fails. Whether all are.
  bool leave(Seconds timeout);
  /// After a failure: tells that this process has said what it had to, and waits until all that live have.
  void leave_failed(Seconds timeout);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::detail
