// A program that is compiled for a client's devices, and how it runs.
#pragma once
#include <memory>
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
  detail::Aval whole;              ///< where blocks are addends of the array, with a leading dimension of the addends
  const char* memory_kind;
  bool is_donated = false;                             ///< an argument that is deleted by a call
  const detail::mlir::NarrowFormat* narrow = nullptr;  ///< its elements, where weft has no dtype of them: `whole` is of their bits
  std::int64_t addends = 0;  ///< 0: devices hold blocks of the array; else so many in a row hold what adds up to it
  // Of a program for several devices.
  std::optional<NamedSharding> sharding;
  detail::Ref<const detail::Placement> placement;
  std::vector<std::size_t> partition_of;  ///< for each place in the sharding's mesh
};

class Compiled {
 public:
  /// Throws Failure or weft::Error for what can't be read, is not supported, or doesn't fit the devices.
  Compiled(const Client& client, std::string_view code, std::string_view format, std::string_view options);

  /// One call: for each device its arguments, and memory for its results. `devices` are those it runs on, as many as devices().
  void execute(std::span<Device* const> devices, Buffer* const* const* arguments, std::size_t num_args, Buffer** const* outputs,
               const std::vector<std::int64_t>& not_donated) const;

  const std::string code, format, options_bytes;
  const CompileOptions options;
  std::string name, fingerprint;
  std::vector<Port> arguments, results;
  std::vector<int> devices;  ///< the ids of those it was compiled for
  int num_partitions = 1;
  detail::Executable& executable() const { return *executable_; }

 private:
  void place_ports(const Client& client, const detail::ImportedProgram& program);
  Mesh mesh_on(const detail::MeshAxes& axes) const;
  void set_sharding(Port& p, const NamedSharding& s) const;
  void check_arguments(std::span<Device* const> on, Buffer* const* const* given, std::size_t num_args) const;
  Array argument(std::size_t i, std::span<Device* const> on, Buffer* const* const* given, bool donated) const;
  /// `kept` is the memory of arguments that stay the caller's.
  void give_results(std::vector<Array>& values, std::span<Device* const> on, const std::vector<detail::Ref<detail::Buffer>>& kept,
                    Buffer** const* outputs) const;

  std::vector<weft::Device> run_on_;  ///< weft's devices, by partition; those of a call may be others of the host
  detail::Ref<detail::Executable> executable_;
};

struct Executable {
  explicit Executable(std::shared_ptr<const Compiled> c);
  const std::shared_ptr<const Compiled> compiled;
  // What calls give pointers into.
  std::vector<ElementType> types;
  std::string program;  ///< what is shown of it
  std::vector<std::int64_t> dims;
  std::vector<std::size_t> dim_counts, kind_sizes;
  std::vector<const char*> kinds;
  std::vector<NamedValue> costs;
  std::vector<std::unique_ptr<MemoryLayout>> layouts;
  std::vector<MemoryLayout*> layout_pointers;
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
