// A traced program that is compiled when it is first run: what jit and its stages share. Internal.
#pragma once
#include <atomic>
#include <map>
#include <mutex>

#include "weft/runtime/host/executable.h"
#include "weft/runtime/sharded/map_places.h"
#include "weft/transforms/jit/stages.h"

namespace weft::detail {

class CompiledFunction final : public Program {
 public:
  /// `device`: results are committed to it, -1 for none. `is_one_map`: as for MapPlaces.
  CompiledFunction(std::string name, Jaxpr jaxpr, std::vector<bool> donated, int device, bool is_one_map = false);

  /// Which results are numbers, computed in 64 bits. Before the first call.
  void set_numbers(std::vector<bool> numbers) { numbers_ = std::move(numbers); }
  const std::vector<bool>& numbers() const { return numbers_; }
  const std::string& name() const { return name_; }
  /// For messages: "jit of step".
  const std::string& called() const { return called_; }
  const Jaxpr& jaxpr() const { return jaxpr_; }
  const std::vector<bool>& donated() const { return donated_; }
  /// Whether it captured tracers, so that it can only be used within their trace.
  bool captures_tracers() const { return captures_tracers_; }
  /// Compiles at the first call. Thread-safe.
  Executable& executable();
  /// The executable for the platform of a device.
  Executable& executable_on(int device);
  /// Compiles it anew with the stated schedules, as weft::schedule does (schedule.h). Thread-safe.
  void state_schedules(std::string_view steps);
  /// Throws if a donated array is passed twice, naming the arguments.
  void check_given_once(std::span<const Array> inputs, FunctionRef<Skeleton()> paths, SourceLoc loc) const;
  /// Throws ShardingError for an argument whose placement does not fit a map over devices in the program.
  void check_places(std::span<const Array> inputs, FunctionRef<Skeleton()> paths, SourceLoc loc);
  /// Of a map that was lowered for the rows of each of several processes: the same map of global arrays, if such are given; else this.
  CompiledFunction& that_takes(std::span<const Array> given);
  /// Runs on concrete arrays of exactly the input types, on the devices where they are. Throws if they are committed to different devices.
  std::vector<Array> run(std::span<const Array> inputs, SourceLoc loc);
  /// run() without its checks, for uncommitted inputs and a program that takes no donated memory.
  std::vector<Array> run_uncommitted(std::span<const Array> inputs);
  bool is_plain() const { return plain_; }
  /// Whether run_uncommitted takes arrays of any placement. Known once it is compiled.
  bool takes_placed() const {
    const Executable* e = executable_.load(std::memory_order_acquire);
    return e && e->takes_placed();
  }

 private:
  Executable& runner(int device);
  std::vector<Array> run_on_devices(std::span<const Array> inputs, SourceLoc loc);
  std::vector<Array> run_donating(std::span<const Array> inputs, int device, SourceLoc loc);

  const std::string name_, called_;
  const Jaxpr jaxpr_;
  const std::vector<bool> donated_;
  std::vector<bool> numbers_;
  const int device_;  // committed to it; -1: none
  const bool is_one_map_;
  bool captures_tracers_ = false, captures_placed_ = false, plain_ = false;
  std::mutex mutex_;
  std::optional<MapPlaces> places_;       // once an argument is placed
  Ref<CompiledFunction> of_global_rows_;  // once global arrays are given
  Ref<Executable> owner_, checked_;
  std::vector<Ref<Executable>> replaced_;          // calls of them may be under way
  std::string platform_;                           // of owner_
  std::map<std::string, Ref<Executable>> others_;  // of other platforms
  std::atomic<Executable*> executable_{nullptr};
};

/// Throws if an array does not have the wanted type, naming the argument; weakly typed numbers are converted.
void check_arguments(std::vector<Array>& given, std::span<const Aval> want, const std::string& what, FunctionRef<Skeleton()> paths,
                     SourceLoc loc);

}  // namespace weft::detail
