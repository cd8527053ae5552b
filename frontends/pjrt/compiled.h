// A program that is compiled for a client's devices, and how it runs.
#pragma once
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weft/frontends/pjrt/objects.h"
#include "weft/frontends/pjrt/options.h"
#include "weft/frontends/stablehlo/program.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft::pjrt {

/// An argument or a result as each of the devices has it.
struct Port {
  ElementType type;
  std::vector<std::int64_t> dims;  ///< of a device's block
  /// Of the array in the order in which it lies in memory; with a leading dimension where each device has one of several.
  detail::Aval whole;
  const char* memory_kind;
  bool is_donated = false;                             ///< an argument that is deleted by a call
  const detail::mlir::NarrowFormat* narrow = nullptr;  ///< its elements, where weft has no dtype of them: `whole` is of their bits
  std::int64_t leading = 0;  ///< the size of that dimension; 0: there is none, and devices hold blocks of the array
  bool is_sum = false;       ///< along the leading dimension are addends of the array; else the arrays of replicas
  Order order = {};
  /// The dimension of `whole` that is the array's dimension d.
  int stored_at(int d) const {
    if (!order.empty()) return static_cast<int>(std::find(order.begin(), order.end(), d) - order.begin());
    return d + (leading > 0 ? 1 : 0);
  }
  // For a program over several devices.
  std::optional<NamedSharding> sharding;
  detail::Ref<const detail::Placement> placement;
  std::vector<std::size_t> partition_of;  ///< for each place in the sharding's mesh
};

class Compiled : public std::enable_shared_from_this<Compiled> {
 public:
  /// Throws Failure or weft::Error for what can't be read, is not supported, or doesn't fit the devices.
  Compiled(const Client& client, std::string_view code, std::string_view format, std::string_view options);

  /// One call: for each device its arguments, and memory for its results. `devices` are those it runs on, as many as devices(). A program
  /// that takes its time, or whose arguments are still to come, is given to the queue: then the progress at whose end the results are
  /// there, else null. What can be said at once of a call that can't be is thrown.
  std::shared_ptr<Progress> execute(std::span<Device* const> devices, Buffer* const* const* arguments, std::size_t num_args,
                                    Buffer** const* outputs, const std::vector<std::int64_t>& not_donated, Queue& queue) const;

  const std::string code, format, options_bytes;
  const CompileOptions options;
  std::string name, fingerprint;
  std::vector<Port> arguments, results;
  std::vector<int> devices;  ///< the ids of those it was compiled for
  int num_devices = 1;       ///< partitions, or replicas
  int num_replicas() const { return options.num_replicas; }
  detail::Executable& executable() const { return *executable_; }

 private:
  void place_ports(const Client& client, const detail::ImportedProgram& program);
  Mesh mesh_on(const detail::MeshAxes& axes) const;
  void set_sharding(Port& p, const NamedSharding& s) const;
  /// The partition that runs on weft's device of that number.
  std::size_t partition_on(int device) const;
  void keep_what_no_result_takes(const detail::ImportedProgram& program);
  void check_arguments(std::span<Device* const> on, Buffer* const* const* given, std::size_t num_args) const;
  void check_donated(std::span<Device* const> on, Buffer* const* const* given, const std::vector<bool>& donated) const;
  /// The argument of a program from what each of the devices has of it.
  Array argument(std::size_t i, std::span<Content> parts, bool donated) const;
  /// What the devices have of the results: of the first one all devices', then of the second. `contents` is of the arguments, likewise.
  std::vector<Array> run(std::span<Device* const> on, std::vector<Content> contents, const std::vector<bool>& donated) const;
  std::unique_ptr<Buffer> new_result(std::size_t i, Device& device) const;

  std::vector<weft::Device> run_on_;  ///< weft's devices, by partition; those of a call may be others of the host
  detail::Ref<detail::Executable> executable_;
  bool calls_back_ = false;                         ///< functions of the host, for which the caller's thread is to wait
  bool has_open_loops_ = false;                     ///< which take as many steps as values say
  mutable std::atomic<std::int64_t> last_run_ = 0;  ///< nanoseconds that a call has taken, the last that was timed
  mutable std::atomic<int> num_timed_ = 0;
};

struct Executable {
  explicit Executable(std::shared_ptr<const Compiled> c);
  /// Estimated when they are first asked for: frameworks make an Executable of every program, and few ask.
  const std::vector<NamedValue>& costs();
  const std::shared_ptr<const Compiled> compiled;
  // What calls give pointers into.
  std::vector<ElementType> types;
  std::string program;  ///< what is shown of it
  std::vector<std::int64_t> dims;
  std::vector<std::size_t> dim_counts, kind_sizes;
  std::vector<const char*> kinds;
  std::vector<std::unique_ptr<MemoryLayout>> layouts;
  std::vector<MemoryLayout*> layout_pointers, argument_layout_pointers;
  struct Shardings {
    std::vector<std::string> messages;  // none, unless the program is for several devices
    std::vector<const char*> pointers;
    std::vector<std::size_t> sizes;
  };
  Shardings argument_shardings, result_shardings;

 private:
  std::once_flag costs_asked_;
  std::vector<NamedValue> costs_;
};

struct LoadedExecutable {
  LoadedExecutable(Client& c, std::shared_ptr<const Compiled> program);
  Client& client;
  const std::shared_ptr<const Compiled> compiled;
  std::vector<Device*> devices, addressable;
  std::atomic<bool> is_deleted{false};
};

struct MemoryLayout {
  std::string text;  ///< the order of dimensions, the one whose elements are next to each other first: {1,0}
};

}  // namespace weft::pjrt
