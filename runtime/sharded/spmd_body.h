// A program that runs on all devices of a mesh: divided at its collectives into segments, which one scheduler runs for each device as tasks
// of the process's thread pool. A collective is a join of the tasks; no thread waits for another.
#pragma once
#include <memory>
#include <optional>

#include "weft/core/ir/rules.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/runtime/host/collective_engine.h"
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Whether the program or one of its sub-programs has a collective or a shard_map.
bool communicates(const Jaxpr& j);
/// The same program with communicating calls inlined, and reductions over dimensions taken out of collectives.
Jaxpr flatten_calls(const Jaxpr& j);
/// The same program for one device of the mesh: communicating calls and inner maps are inlined, and constants become leading inputs. Maps
/// over `free_axes`, the mesh axes that no enclosing map uses, run on its devices.
Hoisted flatten_spmd(const Jaxpr& body, const MeshAxes& mesh, const std::vector<std::string>& free_axes);

/// Buffers of one value, one for each device, in the mesh's order; null for devices of other processes.
using DeviceBuffers = std::vector<Ref<Buffer>>;

enum class SpmdStepKind { segment, collective, start, wait, scan, while_loop, cond };
/// The execution of a loop or branch whose programs communicate: the host controls it and runs its programs on all devices.
struct SpmdStep {
  SpmdStepKind kind;
  std::vector<Jaxpr> programs;
  std::int64_t times = 1;
};
struct SpmdStepTransform {
  static constexpr std::string_view name = "spmd_step", doc = "How it runs where its programs communicate.";
  static constexpr Kind every = Kind::control;
  using Function = SpmdStep(const ParamsBase&);
};
template <class Op>
using SpmdStepRule = Rule<SpmdStepTransform, Op>;

struct SpmdOptions {
  std::string name;                ///< of the function, for symbols, profiles and messages
  std::vector<bool> donated = {};  ///< for each input, whether its memory may be written; empty: none
  std::uint64_t program = 0;       ///< what its collectives compare between processes (CollectivePlan::program)
};

class SpmdBody {
 public:
  /// `body` is flat. Its inputs and outputs are those of run().
  SpmdBody(const Jaxpr& body, const MeshAxes& mesh, std::vector<std::string> free_axes, Backend& backend, SpmdOptions options);
  /// Takes one value for each input and returns one for each result. Thread-safe. `one_thread`: everything runs on the calling thread.
  std::vector<DeviceBuffers> run(std::span<const DeviceBuffers> inputs, bool one_thread = false) const;
  /// The number of its collectives that overlap with computation.
  int num_overlapped() const;
  /// Whether it has collectives, and no callbacks into the user's program.
  bool only_communicates() const;

  /// Whether a result takes the memory of this input, to which there must be no other handle.
  bool takes(std::size_t input) const { return input < taken_.size() && taken_[input]; }

  const Jaxpr& jaxpr() const { return body_; }
  /// The text of a form ("llvm", "asm", ...) of each segment.
  std::string as_text(std::string_view form) const;
  CostAnalysis cost_analysis() const;
  MemoryAnalysis memory_analysis() const;

 private:
  /// The equations between two joins, compiled as one program for a device.
  struct Segment {
    Ref<Executable> executable;
    Jaxpr jaxpr;
    std::vector<int> inputs, outputs;  ///< slots
    std::vector<int> given;            ///< those of the inputs whose memory the results take
    std::vector<Aval> in_avals;
    bool has_effects = false;
    double cost = 0;  ///< bytes and operations of one device
  };
  struct Step {
    using Kind = SpmdStepKind;
    Kind kind = Kind::segment;
    Segment segment;
    CollectivePlan plan;
    std::shared_ptr<ReadyCollective> join;
    int flight = -1;                   ///< of a start and its wait: their number
    std::vector<int> inputs, outputs;  ///< slots
    Eqn eqn;                           ///< of a collective, a loop or a branch
    std::vector<std::shared_ptr<SpmdBody>> bodies;
    std::vector<int> dies;  ///< slots that are not needed after it
  };
  struct Builder;
  /// Values are kept in slots; a slot holds one buffer for each device.
  using Slots = std::vector<Ref<Buffer>>;
  std::span<Ref<Buffer>> at(Slots& slots, int slot) const {
    return {slots.data() + static_cast<std::size_t>(slot) * num_devices_, num_devices_};
  }
  void run_segment(const Segment& s, Slots& slots, bool one_thread) const;
  void own_given(const Segment& s, std::span<const std::size_t> leader, Slots& slots) const;
  void check_collective(const Step& s, Slots& slots) const;
  void run_scan(const Step& s, Slots& slots) const;
  void run_while(const Step& s, Slots& slots) const;
  void run_cond(const Step& s, Slots& slots) const;
  DeviceBuffers value(int slot, Slots& slots) const;
  void set(int slot, const DeviceBuffers& value, Slots& slots) const;
  /// The scalar that controls a loop or a branch, of each device. Where a collective or an effect is inside, it must be the same on all of
  /// them: otherwise throws DistributedError, naming the collective in which some would wait and the device that would be missing.
  std::vector<std::int32_t> paths(const DeviceBuffers& value, DType dtype, const Step& step) const;
  /// Of each value the one in `ran` on devices that took the path, elsewhere the one in `kept`.
  template <class OnPath>
  void choose(const OnPath& on_path, const std::vector<DeviceBuffers>& ran, std::vector<DeviceBuffers>& kept) const;
  /// The first collective of the program, also in a loop or branch; or null.
  const Step* first_collective() const;

  Jaxpr body_;
  MeshAxes mesh_;
  std::vector<std::string> free_axes_;
  std::vector<int> device_ids_;
  std::size_t num_devices_;
  std::vector<std::size_t> local_;  ///< positions of this process's devices; slots of the others hold nothing
  int num_slots_ = 0, num_flights_ = 0;
  std::vector<int> input_slots_, output_slots_;
  std::vector<bool> taken_;                               ///< of the inputs
  std::vector<std::pair<int, DeviceBuffers>> constants_;  ///< slots that never change: literals, positions along axes
  std::vector<Step> steps_;
};

}  // namespace weft::detail
