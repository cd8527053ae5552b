// This process's connections to the others: the transport that carries data, the control plane, and the record of failures.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/errors/source_loc.h"
#include "weft/runtime/processes/control_plane.h"
#include "weft/runtime/processes/dry_run.h"
#include "weft/runtime/processes/transport.h"

namespace weft::detail {

/// A group of processes that communicate with each other, in order, and the number of their collectives.
struct ProcessGroup {
  std::vector<int> ranks;
  Transport::Channel channel = -1;  ///< -1: not opened yet
  int place(int rank) const { return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin()); }
  std::uint64_t id = 0;       ///< a hash of the ranks: the same in all processes
  std::uint64_t calls = 0;    ///< collectives so far
  std::uint64_t history = 0;  ///< a hash of all of them
};

/// The groups of processes within which some processes communicate: those of a mesh's axes, say. Their channels are opened together.
struct ProcessLayout {
  std::vector<ProcessGroup*> groups;  ///< the groups that contain this process, in the same order everywhere
  bool open = false;
};

/// "process 3", "processes 0, 1".
std::string named_processes(const std::vector<int>& ranks);
/// "process 3 is missing", "processes 0, 2 are missing".
std::string missing_processes(const std::vector<int>& ranks);

/// The description of a collective that processes compare.
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
  bool compares_calls() const { return check_; }
  bool has_transport() const { return transport_ != nullptr; }
  ProcessGroup& group(const std::vector<int>& ranks);
  /// The ranks of each open channel, in the order of opening; and the number of messages sent.
  std::vector<std::vector<int>> open_channels();
  std::int64_t num_messages();
  /// `groups` are the same in all processes of `everyone`; those of one process need no channel.
  ProcessLayout& layout(const ProcessGroup& everyone, const std::vector<std::vector<int>>& groups);

  /// A scope that announces to the others that this process is in a joint operation that sends no messages, for the `number`th
  /// time.
  class Together {
   public:
    /// Throws DistributedError if somebody has failed before.
    Together(ProcessWorld& world, const CollectiveLabel& label, std::uint64_t number);
    ~Together();
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;
    /// Throws DistributedError unless the process of this rank has entered the operation, and if a process has failed.
    void expect(int rank);

   private:
    ProcessWorld& world_;
    const CollectiveLabel& label_;
    std::uint64_t number_;
  };
  /// Records that a collective was launched on devices' streams, which sends no messages of its own: the `calls`th of those processes.
  void put(const CollectiveLabel& label, std::uint64_t processes, std::uint64_t calls);
  struct Late {
    std::vector<int> processes;
    std::string text;   ///< what each of the late processes is doing
    bool left = false;  ///< one of them has finished the program, or has ended
  };
  /// The processes among `ranks` that have not reached the collective.
  Late late_for(const std::vector<int>& ranks, std::uint64_t processes, std::uint64_t calls);
  [[noreturn]] void throw_earlier_failure(const CollectiveLabel& label);
  /// Announces that this process has given up, and throws.
  [[noreturn]] void give_up(const CollectiveLabel& label, const std::vector<int>& missing, const std::string& why);
  std::string describe() override;
  void on_failure(const std::vector<int>& missing, const std::string& report) override;

  /// Waits for the others and disconnects; after a failure, ends all processes.
  void end();
  /// Makes this a dry run, which has no control plane and prints its collectives at the end.
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
  /// The collective that this process is in, or else the last one. Written by the thread that runs collectives and read by the control
  /// plane's thread, without locks.
  struct Now {
    std::atomic<std::uint64_t> version{0};  ///< odd while the others change
    std::atomic<const CollectiveLabel*> label{nullptr};
    std::atomic<std::uint64_t> group{0}, calls{0};  ///< group 0: it is over
  };
  /// Interns the label: an equal one that lives as long as the process.
  const CollectiveLabel* keep(const CollectiveLabel& label);
  void set_now(const CollectiveLabel* label, std::uint64_t group, std::uint64_t calls) { write(now_, label, group, calls); }
  static void write(Now& now, const CollectiveLabel* label, std::uint64_t group, std::uint64_t calls);
  struct Seen {
    const CollectiveLabel* label;
    std::uint64_t group, calls;
  };
  static Seen read(const Now& now);

  std::unique_ptr<ControlServer> server_;
  std::unique_ptr<ControlClient> client_;
  Transport* transport_;  // lives as long as the process
  const int rank_, size_;
  const Seconds timeout_;
  const bool check_;
  const bool crowded_;             // more processes of the job on this machine than processors
  std::mutex running_;             // one collective at a time
  std::vector<Message> messages_;  // of the collective that runs
  std::map<std::vector<int>, ProcessGroup> groups_;
  std::map<std::pair<std::uint64_t, std::vector<std::vector<int>>>, ProcessLayout> layouts_;
  std::vector<const ProcessGroup*> opened_;
  std::int64_t num_messages_ = 0;
  std::array<char, 64> tokens_{};  // what processes send each other before a channel is opened
  Now now_;
  Now put_;                             // the last collective that was put into devices' streams
  std::deque<CollectiveLabel> labels_;  // of all collectives so far
  std::mutex state_;                    // guards what follows
  std::vector<int> missing_;
  std::string failure_;
  std::atomic<bool> failed_{false}, noticed_{false}, ended_{false};
  std::unique_ptr<DryRun> dry_;
  std::vector<Ref<Buffer>> abandoned_;  // memory into which messages may still come
};

/// The processes of the devices at some positions of a mesh.
std::vector<int> processes_at(std::span<const int> device_ids, std::span<const int> positions);
/// The processes of each line of devices along an axis of the mesh, for all lines along all axes, in order; only lines over several
/// processes, each set of processes once.
std::vector<std::vector<int>> process_lines(std::span<const int> device_ids, std::span<const std::int64_t> mesh_shape);

/// Null where there is one process.
ProcessWorld* process_world();
/// Whether WEFT_CHECK_COLLECTIVES is on: all programs of several processes are then compared, those of maps too.
bool compares_programs();

/// One collective of this process: the messages that it sends and receives. While it lives, the others can see that this process is in it.
class CollectiveCall {
 public:
  /// All processes of the group take part. Opens the channels that are not open yet: the group's own, and those of the layouts. Throws
  /// DistributedError if a process has failed before.
  CollectiveCall(ProcessWorld& world, ProcessGroup& group, const CollectiveLabel& label, std::span<ProcessLayout* const> layouts = {});
  ~CollectiveCall();
  CollectiveCall(const CollectiveCall&) = delete;
  CollectiveCall& operator=(const CollectiveCall&) = delete;
  /// From now on, all data for one process over one channel is joined into one message, sent by the next wait().
  void join_messages() { joins_ = true; }
  /// Sends over the group's own channel.
  void send(int to, const void* data, std::int64_t bytes) { send(group_, to, data, bytes); }
  void receive(int from, void* data, std::int64_t bytes) { receive(group_, from, data, bytes); }
  /// Sends over the channel of some of its processes.
  void send(const ProcessGroup& among, int to, const void* data, std::int64_t bytes);
  void receive(const ProcessGroup& among, int from, void* data, std::int64_t bytes);
  /// Sends and receives a short message at once, whether or not messages are joined. `place`: the peer's position in `among`.
  void exchange(const ProcessGroup& among, int peer, int place, const void* from, void* to, std::int64_t bytes);
  /// Waits until all messages so far are complete. On DistributedError, `keep` is never freed, as messages may still arrive in it.
  void wait(std::initializer_list<std::span<const Ref<Buffer>>> keep);

 private:
  using Message = ProcessWorld::Message;
  /// A message that is joined from several.
  struct Joint {
    const ProcessGroup* among;
    int peer;
    bool going;
    std::int64_t bytes;
    std::vector<Transport::Piece> pieces;
  };
  /// Opens the group's channel and those of the layouts.
  void open(std::span<ProcessLayout* const> layouts);
  /// Waits until all processes of the group have entered the collective.
  void meet();
  void add(const ProcessGroup& among, int peer, bool going, void* data, std::int64_t bytes);
  void post(const Joint& m);
  void post_joints();
  void compare_histories();
  void look_for_faults(const std::vector<int>& waiting_for, bool late);

  ProcessWorld& world_;
  ProcessGroup& group_;
  const CollectiveLabel& label_;
  std::unique_lock<std::mutex> lock_;
  int tag_;
  std::vector<Message>& messages_;
  bool joins_ = false;
  std::vector<Joint> joints_;
  int num_sent_ = 0, rounds_ = 0;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace weft::detail
