// Tracing: the one kind of tracer, and the thread's stack of traces (the only hidden state of the library).
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// A named axis in scope: of vmap, pmap or shard_map.
struct AxisFrame {
  std::string name;
  int size;
};

struct TraceRequest;

/// The paths of a traced function's inputs, as messages name them: `args[0].layers[1].w`.
using InputNames = std::function<std::vector<std::string>()>;

/// A program being traced.
class Trace : public RefCounted {
 public:
  /// `what` names the function and the transform for messages: "jit of step".
  explicit Trace(std::string what);

  /// A new input. With a value (concrete, or traced by an outer trace) the trace can compute values on demand.
  Array add_input(const Aval& aval, const Array& value = {});
  /// Appends an equation; operands of other traces become constants of this one.
  std::vector<Array> add_eqn(const Primitive& op, ParamsRef params, std::span<const Array> inputs, std::span<const Aval> out_avals,
                             SourceLoc loc);
  /// The array as an operand: a variable of this trace, a literal, or a captured constant.
  Atom lift(const Array& x);
  /// The traced program. The trace has ended: any use of its arrays from here on is a LeakedTracerError.
  Jaxpr finish(std::span<const Array> outputs);

  /// The value of one of this trace's arrays, computed from the inputs' values; empty if it can't be computed.
  Array value_of(Var v);

  /// The equation that made one of this trace's arrays: the primitive's name (empty for an input) and the user's line. After the trace has
  /// ended it is known for arrays that are still held.
  std::pair<std::string, SourceLoc> origin(Var v) const;
  /// Where one of this trace's arrays comes from, for messages, while this thread is tracing it: the path of the input that it is or was
  /// rearranged from; otherwise the operation that made it and its line. Empty if nothing is known.
  std::string provenance(Var v) const;
  const std::string& what() const { return what_; }
  /// The user's call of the transform, where known.
  SourceLoc where() const { return where_; }
  bool live() const { return live_.load(std::memory_order_relaxed); }
  /// The primal trace, if this is a linear companion (of linearize): operations on any of this trace's arrays are staged here, all others
  /// in the primal trace.
  Trace* primal_trace() const { return primal_; }
  static Ref<Trace> companion_of(Trace& primal, std::string what);

  /// Numbers (weakly typed scalars), which are float32 by themselves: notes that one was converted to 64 bits, and that one was made of an
  /// integer. A program that does the first is traced again with numbers of 64 bits.
  void note_widened_number() { widened_ = true; }
  void note_number_of_integer() { made_numbers_ = true; }
  /// Whether numbers that are made in this program have 64 bits.
  bool wide_numbers() const { return wide_numbers_; }

  /// config.check_tracer_leaks: throws LeakedTracerError if one of this trace's arrays is still held by somebody.
  void check_released();

  /// Named axes that this trace brings into scope.
  std::vector<AxisFrame> axes;

 private:
  friend class TraceScope;
  friend struct TracedArray;
  friend Jaxpr trace_jaxpr(const TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body);
  /// Counts the living TracedArrays of a variable, if leaks are checked.
  void count(const TracedArray& x, int change);

  struct Watched {
    int alive = 0;
    Aval aval;
    std::pair<std::string, SourceLoc> origin;
  };
  /// Remembers what made each array of the finished program.
  void keep_origins(const Jaxpr& program);

  JaxprBuilder builder_;
  std::string what_;
  SourceLoc where_;
  InputNames input_names_;  // only while it is live
  bool widened_ = false, made_numbers_ = false, wide_numbers_ = false;
  std::atomic<bool> live_ = true;                                // other threads may ask
  std::vector<std::pair<const Primitive*, SourceLoc>> origins_;  // of each equation, once it is over and an array of it was kept
  Trace* primal_ = nullptr;
  std::map<Var, Array> values_;  // of inputs, and what was computed on demand
  std::map<const ArrayImpl*, std::pair<Array, Atom>> captured_;
  const bool watches_;  // whether what is alive is counted
  std::map<Var, Watched> watched_;
  std::mutex mutex_;  // of watched_: handles may be dropped by any thread
};

/// Makes a trace the thread's current one for the scope's life.
class [[nodiscard]] TraceScope {
 public:
  explicit TraceScope(Ref<Trace> trace);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Ref<Trace> trace_;
};

/// Operations inside this scope are executed at once, even within a trace.
class [[nodiscard]] EagerScope {
 public:
  EagerScope();
  ~EagerScope();
  EagerScope(const EagerScope&) = delete;
  EagerScope& operator=(const EagerScope&) = delete;
};

/// The user's line for everything bound inside this scope. Passes set it to the equation they derive from, functions made of several
/// primitives to their caller's line. The outermost scope wins.
class [[nodiscard]] LocScope {
 public:
  explicit LocScope(SourceLoc loc);
  ~LocScope();
  LocScope(const LocScope&) = delete;
  LocScope& operator=(const LocScope&) = delete;

 private:
  SourceLoc saved_;
};
/// The scope's line if one is active, else `loc`.
SourceLoc effective_loc(SourceLoc loc);

/// The transforms that the thread is tracing for, innermost first, for messages; only those that the user called.
struct TransformCall {
  std::string what;
  SourceLoc where;
};
std::vector<TransformCall> transforms_in_progress();

/// The thread's current trace, or null where operations are executed.
Trace* current_trace();
/// The named axis in scope, innermost first, or null.
const AxisFrame* find_axis(const std::string& name);
/// All names in scope, for messages.
std::vector<std::string> axes_in_scope();
/// A traced array's value if it can be computed on demand (see Trace::value_of), the array itself if it is concrete, else empty.
Array concrete_or_empty(const Array& x);
/// Throws LeakedTracerError if x belongs to a trace that is over.
void check_not_leaked(const Array& x, const char* operation, SourceLoc loc);

/// What became of the numbers (weakly typed scalars) in a program.
struct NumbersMet {
  bool widened = false;  ///< one of 32 bits was converted to 64 bits
  bool made = false;     ///< one was made of an integer
};
/// Whether it is a number of 32 bits: a weakly typed float32 or complex64 scalar.
inline bool is_narrow_number(const Aval& a) { return a.weak && a.shape.empty() && a.dtype.is_inexact() && a.dtype.real_part() == float32; }

/// What to trace: a function with one input for each aval.
struct TraceRequest {
  std::string what;  ///< for messages: "grad of loss"
  std::vector<Aval> inputs;
  std::vector<Array> values;         ///< one for each input, or none at all: without values nothing can be computed on demand
  std::vector<AxisFrame> axes = {};  ///< named axes to bring into scope
  SourceLoc where = {};              ///< the user's call of the transform; none for what the library traces for itself
  InputNames input_names = {};       ///< of a function of the user's
  NumbersMet* numbers = nullptr;     ///< if given, tells what became of numbers
  bool wide_numbers = false;         ///< numbers that are made in the program have 64 bits
};
Jaxpr trace_jaxpr(const TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body);

}  // namespace weft::detail
