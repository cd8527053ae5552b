// This process among the others: the transport that carries data, the control plane, and what is known of failures.
#pragma once
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/array_impl.h"
#include "core/source_loc.h"
#include "runtime/control_plane.h"
#include "runtime/dry_run.h"
#include "runtime/transport.h"

namespace weft::detail {

/// Processes that communicate with each other, in order, and how often they have.
struct ProcessGroup {
  std::vector<int> ranks;
  std::uint64_t id = 0;       ///< a hash of the ranks: the same in all processes
  std::uint64_t calls = 0;    ///< collectives so far
  std::uint64_t history = 0;  ///< a hash of all of them
};

/// What a collective is to the other processes.
struct CollectiveLabel {
  std::string text;             ///< "psum over `i` of f32[4]"
  std::uint64_t signature = 0;  ///< a hash of all that must be equal in all processes
  SourceLoc loc;
  mutable const CollectiveLabel* kept = nullptr;  ///< the world's own copy, once it has run
};

class ProcessWorld final : public ProcessState {
 public:
  ProcessWorld(std::unique_ptr<ControlServer> server, std::unique_ptr<ControlClient> client, Transport* transport, int rank, int size,
               Seconds timeout, bool check);
  int rank() const { return rank_; }
  int size() const { return size_; }
  Seconds timeout() const { return timeout_; }
  ControlClient& control() { return *client_; }
  bool has_transport() const { return transport_ != nullptr; }
  std::string transport_name() const;
  ProcessGroup& group(const std::vector<int>& ranks);

  /// Says to the others that this process is in something that all do together but that sends no messages, for the `number`th time; while
  /// the object lives.
  class Together {
   public:
    /// Throws DistributedError if somebody has failed before.
    Together(ProcessWorld& world, const CollectiveLabel& label, std::uint64_t number);
    ~Together();
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
    /// Asks whether the process is in it, or has been, and throws DistributedError if it is not; also if somebody has failed.
    void expect(int rank);

   private:
    ProcessWorld& world_;
    const CollectiveLabel& label_;
    std::uint64_t number_;
  };
  std::string describe() override;
  void on_failure(const std::vector<int>& missing, const std::string& report) override;

  /// Waits for the others and ends; `failed` processes end all.
  void end();
  /// Makes this a dry run, which prints its collectives at the end. There is no control plane then.
  void begin_dry_run(const DryRunSettings& settings) { dry_ = std::make_unique<DryRun>(settings); }
  bool is_dry() const { return dry_ != nullptr; }
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  bool has_ended() const { return ended_.load(); }

 private:
  friend class CollectiveCall;
  struct Message {
    Transport::Request request;
    int peer;
    bool done;
  };
  /// The collective that this process is in, or else the last one; written by the thread that runs collectives, read by the control
  /// plane's, without locks.
  struct Now {
    std::atomic<std::uint64_t> version{0};  ///< odd while the others change
    std::atomic<const CollectiveLabel*> label{nullptr};
    std::atomic<std::uint64_t> group{0}, calls{0};  ///< group 0: it is over
  };
  /// An equal label that lives as long as the process.
  const CollectiveLabel* keep(const CollectiveLabel& label);
  void set_now(const CollectiveLabel* label, std::uint64_t group, std::uint64_t calls);
  [[noreturn]] void throw_earlier_failure(const CollectiveLabel& label);
  [[noreturn]] void give_up(const CollectiveLabel& label, const std::vector<int>& missing, const std::string& why);

  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlClient> client_;
  Transport* transport_;  // lives as long as the process
  const int rank_, size_;
  const Seconds timeout_;
  const bool check_;
  std::mutex running_;             // one collective at a time
  std::vector<Message> messages_;  // of the collective that runs
  std::map<std::vector<int>, ProcessGroup> groups_;
  Now now_;
  std::deque<CollectiveLabel> labels_;  // of all collectives so far
  std::mutex state_;                    // guards what follows
  std::vector<int> missing_;
  std::string failure_;
  std::atomic<bool> failed_{false}, noticed_{false}, ended_{false};
  std::unique_ptr<DryRun> dry_;
  std::vector<Ref<Buffer>> abandoned_;  // memory into which messages may still come
};

/// Null where there is one process.
ProcessWorld* process_world();

/// One collective of this process: what it sends and receives. The others know while it lives that this process is in it.
class CollectiveCall {
 public:
  /// Throws DistributedError if somebody has failed before.
  CollectiveCall(ProcessWorld& world, ProcessGroup& group, const CollectiveLabel& label);
  ~CollectiveCall();
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;
  void send(int to, const void* data, std::int64_t bytes);
  void receive(int from, void* data, std::int64_t bytes);
  /// Waits until all messages so far are through. Throws DistributedError: then `keep` are kept for ever, as messages may still come.
  void wait(std::initializer_list<std::span<const Ref<Buffer>>> keep);

 private:
  using Message = ProcessWorld::Message;
  void compare_histories();
  void look_for_faults(const std::vector<int>& waiting_for, bool late);

  ProcessWorld& world_;
  ProcessGroup& group_;
  const CollectiveLabel& label_;
  std::unique_lock<std::mutex> lock_;
  int tag_;
  std::vector<Message>& messages_;
  std::int64_t num_sent_ = 0, bytes_sent_ = 0;
  int rounds_ = 0;
};

}  // namespace weft::detail
