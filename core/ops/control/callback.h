// Calls back into C++ from a program: pure_callback, io_callback, debug_callback, debug_print.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"
#include "weft/core/ops/control/custom_derivatives.h"

namespace weft::detail {

/// A C++ function of flat arrays, called on concrete ones. It may be called by several threads at once, if programs are.
struct CallbackFunction : RefCounted {
  virtual std::vector<Array> call(std::span<const Array> leaves) const = 0;
};
/// As a parameter of an equation: written as its name, equal to itself only.
struct CallbackParam {
  std::string name;
  Ref<const CallbackFunction> function = {};
  SourceLoc loc = {};
  friend bool operator==(const CallbackParam& a, const CallbackParam& b) { return a.function == b.function; }
};
std::string print_param(const CallbackParam& v);
void read_param(ParamReader& r, CallbackParam& v);

/// The axes of the vmaps that a callback is under, outermost first: it runs once for each lane. Operands that are mapped have their lanes'
/// dimensions in front, results those of all lanes.
struct Lanes {
  std::vector<std::string> names;  ///< of the axes; empty where there is none
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<int>> mapped;  ///< for each operand, the axes that it is mapped over
  friend bool operator==(const Lanes&, const Lanes&) = default;
};
std::string print_param(const Lanes& v);
void read_param(ParamReader& r, Lanes& v);

struct PureCallbackParams {
  CallbackParam callback;
  Lanes lanes;
  TypeList result_avals;  ///< of one lane
  std::string vmap_method = "sequential";
  friend bool operator==(const PureCallbackParams&, const PureCallbackParams&) = default;
};
struct IoCallbackParams {
  CallbackParam callback;
  Lanes lanes;
  bool ordered = false;
  TypeList result_avals;
  friend bool operator==(const IoCallbackParams&, const IoCallbackParams&) = default;
};
struct DebugCallbackParams {
  CallbackParam callback;
  Lanes lanes;
  friend bool operator==(const DebugCallbackParams&, const DebugCallbackParams&) = default;
};
struct DebugPrintParams {
  std::string fmt;  ///< with one `{}` or `{:spec}` for each operand
  Lanes lanes;
  friend bool operator==(const DebugPrintParams&, const DebugPrintParams&) = default;
};

/// `vmap_method`: "sequential", one call for each lane; "expand_dims", one call with the lanes in front of every operand, of size 1 where
/// it is the same for all; "broadcast_all", the same with all operands repeated. Throws Error for another one.
std::vector<Array> bind_pure_callback(PureCallbackParams p, std::span<const Array> in, SourceLoc loc);
std::vector<Array> bind_io_callback(IoCallbackParams p, std::span<const Array> in, SourceLoc loc);
void bind_debug_callback(DebugCallbackParams p, std::span<const Array> in, SourceLoc loc);
/// `fmt` as DebugPrintParams has it. Throws Error for a specification that doesn't fit its operand.
void bind_debug_print(std::string fmt, std::span<const Array> in, SourceLoc loc);

/// Callbacks run inside this scope belong to the device of the given name, for labels.
class [[nodiscard]] DeviceLabel {
 public:
  explicit DeviceLabel(std::string device);
  ~DeviceLabel();
  DeviceLabel(const DeviceLabel&) = delete;
  DeviceLabel& operator=(const DeviceLabel&) = delete;

 private:
  std::string saved_;
};
/// Where the callback runs that runs on this thread: `cpu:1, lane 2, i=0`; empty outside of vmap and pmap.
std::string callback_label();

}  // namespace weft::detail
