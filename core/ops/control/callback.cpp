#include "weft/core/ops/control/callback.h"
#include "weft/core/base/counted.h"
#include "weft/core/ir/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstdio>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/format.h"
#include "weft/core/array/host.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/trace/results.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

std::string print_param(const CallbackParam& v) { return print_param(v.name); }
void read_param(ParamReader& r, CallbackParam&) { r.fail("a callback is a C++ function, which a text cannot contain"); }
std::string print_param(const Lanes& v) { return v.sizes.empty() ? "()" : print_fields("Lanes", v); }
void read_param(ParamReader& r, Lanes& v) {
  if (r.accept("()")) return;
  read_fields(r, "Lanes", v);
}

namespace {

struct Label {
  std::string device, lane;
};
Label& label() { return of_thread<Label>(); }

/// The lane's part of the label while a callback runs for it.
class LaneLabel {
 public:
  LaneLabel(const Lanes& lanes, std::span<const std::int64_t> lane) : saved_(label().lane) {
    std::string text;
    for (std::size_t k = 0; k < lane.size(); ++k) {
      if (k) text += ", ";
      text += lanes.names[k].empty() ? fmt::format("lane {}", lane[k]) : fmt::format("{}={}", lanes.names[k], lane[k]);
    }
    label().lane = text;
  }
  ~LaneLabel() { label().lane = saved_; }
  LaneLabel(const LaneLabel&) = delete;
  LaneLabel& operator=(const LaneLabel&) = delete;

 private:
  std::string saved_;
};

Shape lanes_in_front(const Lanes& lanes, const Shape& shape) {
  Shape out;
  for (std::int64_t n : lanes.sizes) out.push_back(n);
  for (std::int64_t n : shape) out.push_back(n);
  return out;
}

std::vector<Aval> result_types(const Lanes& lanes, const TypeList& of_one) {
  std::vector<Aval> out;
  for (const Aval& a : of_one.avals) out.push_back(a.with_shape(lanes_in_front(lanes, a.shape)));
  return out;
}

/// Checks the lanes against the operands, since a program read from text may be wrong.
void check_lanes(const OpContext& c, const Lanes& lanes) {
  const std::size_t rank = lanes.sizes.size();
  if (lanes.names.size() != rank || (rank > 0 && lanes.mapped.size() != c.in.size()))
    c.fail<Error>(fmt::format("its mapped axes have {} names and {} sizes, and flags for {} operands", lanes.names.size(), rank,
                              lanes.mapped.size()));
  if (rank == 0) return;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const Shape& shape = c.in[i].shape;
    const std::vector<int>& axes = lanes.mapped[i];
    bool fits = axes.size() <= static_cast<std::size_t>(shape.size());
    for (std::size_t k = 0; fits && k < axes.size(); ++k)
      fits = axes[k] >= 0 && static_cast<std::size_t>(axes[k]) < rank &&
             shape[static_cast<int>(k)] == lanes.sizes[static_cast<std::size_t>(axes[k])];
    if (!fits) c.fail<ShapeError>(fmt::format("operand {} is not split among the lanes of its mapped axes", i));
  }
}
void check_callback(const OpContext& c, const CallbackParam& callback, const Lanes& lanes) {
  if (!callback.function) c.fail<Error>("has no function to call", "a text holds none");
  check_lanes(c, lanes);
}

/// Calls `f(operands, lane number)` for each lane, in order, with concrete operands of one lane.
template <class F>
void for_each_lane(const Lanes& lanes, std::span<const HostTensor> in, F&& f) {
  const EagerScope eager;
  const std::size_t rank = lanes.sizes.size();
  std::int64_t count = 1;
  for (std::int64_t n : lanes.sizes) count *= n;
  std::vector<std::int64_t> lane(rank);
  for (std::int64_t number = 0; number < count; ++number) {
    for (std::size_t k = rank, rest = static_cast<std::size_t>(number); k-- > 0;) {
      const auto n = static_cast<std::size_t>(lanes.sizes[k]);
      lane[k] = static_cast<std::int64_t>(rest % n);
      rest /= n;
    }
    std::vector<Array> operands;
    for (std::size_t i = 0; i < in.size(); ++i) {
      Shape shape = in[i].aval.shape;
      std::int64_t row = 0;
      if (rank > 0)
        for (int axis : lanes.mapped[i]) {
          row = row * shape[0] + lane[static_cast<std::size_t>(axis)];
          shape = shape.erased(0);
        }
      const Aval aval = in[i].aval.with_shape(shape);
      operands.push_back(make_concrete(aval, in[i].as<const std::byte>() + row * aval.bytes()));
    }
    const LaneLabel scope(lanes, lane);
    // A callback begins with the standard settings, and may change them.
    struct Restored {
      const bool flushing = has_standard_floats(true);
      Restored() { restore_standard_floats(); }
      ~Restored() { restore_standard_floats(flushing); }
    } restored;
    f(operands, number);
  }
}

/// Runs a callback that has results for each lane.
void run_callback(const std::string& op, const CallbackParam& callback, const Lanes& lanes, const TypeList& results,
                  const ReferenceContext& c) {
  for_each_lane(lanes, c.in, [&](std::span<const Array> operands, std::int64_t number) {
    std::vector<Array> out = callback.function->call(operands);
    if (out.size() != results.avals.size())
      throw PytreeError(fmt::format("{}: {} returned {}; the shapes it was given promise {}", op, callback.name,
                                    counted(out.size(), "array"), results.avals.size()),
                        callback.loc);
    check_no_result_is_empty(out, fmt::format("{} of {}", op, callback.name), callback.loc);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const Aval& want = results.avals[k];
      if (const LiteralArray* literal = as_literal(out[k]); literal && literal->aval.weak && want.shape.empty())
        out[k] = make_literal(number_of(*literal), want.dtype);
      const std::string message = fmt::format(
          "{}: {} returned {} where it was to return {}; make the callback's result and the shape that is given for it the same", op,
          callback.name, to_string(out[k].aval()), to_string(want));
      if (out[k].shape() != want.shape) throw ShapeError(message, callback.loc);
      if (out[k].dtype() != want.dtype) throw DTypeError(message, callback.loc);
      read_elements(out[k], want.dtype, c.out[k].as<std::byte>() + number * want.bytes(), op.c_str(), callback.loc);
    }
  });
}

/// The operands with their mapped axes in front, and the lanes with the new axis as the outermost.
std::vector<Array> add_lanes(const BatchContext& c, Lanes& lanes) {
  lanes.mapped.resize(c.in.size());
  lanes.names.insert(lanes.names.begin(), c.axis.name);
  lanes.sizes.insert(lanes.sizes.begin(), c.axis.size);
  std::vector<Array> in(c.in.begin(), c.in.end());
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (int& axis : lanes.mapped[i]) ++axis;
    if (c.dims[i] == kNotMapped) continue;
    in[i] = move_batch_dim(in[i], c.dims[i], 0, c.loc);
    lanes.mapped[i].insert(lanes.mapped[i].begin(), 0);
  }
  return in;
}

struct PureCallback {
  static constexpr std::string_view name = "pure_callback", doc = "Calls a C++ function without side effects.";
  static constexpr Kind kind = Kind::effect;
  static constexpr bool not_linear = true;
  static constexpr std::string_view not_differentiable =
      "a C++ function that is called back has no derivative; give the function around it a rule with custom_jvp or custom_vjp, or hold it "
      "constant with stop_gradient";
  using Params = PureCallbackParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_callback(c, p.callback, p.lanes);
    return result_types(p.lanes, p.result_avals);
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    std::vector<Array> in;
    if (p.vmap_method == "sequential") {
      in = add_lanes(c, p.lanes);
    } else {
      for (std::size_t i = 0; i < c.in.size(); ++i) {
        if (p.vmap_method == "broadcast_all")
          in.push_back(materialize_batch_dim(c.in[i], c.dims[i], c.axis.size, 0, c.loc));
        else
          in.push_back(c.dims[i] == kNotMapped ? insert_axes(c.in[i], {0}, c.loc) : move_batch_dim(c.in[i], c.dims[i], 0, c.loc));
      }
      for (Aval& a : p.result_avals.avals) a.shape = a.shape.inserted(0, c.axis.size);
    }
    std::vector<int> dims(p.result_avals.avals.size(), 0);
    return {bind_all<PureCallback>(std::move(p), in, c.loc), std::move(dims)};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    run_callback("pure_callback", p.callback, p.lanes, p.result_avals, c);
  }
};

struct IoCallback {
  static constexpr std::string_view name = "io_callback", doc = "Calls a C++ function for its side effects and its results.";
  static constexpr Kind kind = Kind::effect;
  static constexpr bool has_effects = true;
  static constexpr bool not_linear = true;
  static constexpr std::string_view not_differentiable =
      "a C++ function that is called back has no derivative; give the function around it a rule with custom_jvp or custom_vjp, or pass it "
      "stop_gradient of its operands";
  using Params = IoCallbackParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_callback(c, p.callback, p.lanes);
    return result_types(p.lanes, p.result_avals);
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    if (p.ordered)
      throw TracerError(
          "io_callback: an ordered one can't be mapped by vmap, as its calls would need an order among the lanes; leave out "
          "{.ordered = true}, or loop over the lanes with scan or map",
          c.loc);
    const std::vector<Array> in = add_lanes(c, p.lanes);
    std::vector<int> dims(p.result_avals.avals.size(), 0);
    return {bind_all<IoCallback>(std::move(p), in, c.loc), std::move(dims)};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    run_callback("io_callback", p.callback, p.lanes, p.result_avals, c);
  }
};
const Rule<IoTransform, IoCallback> io_callback_talks([] {});

struct DebugCallback {
  static constexpr std::string_view name = "debug_callback", doc = "Calls a C++ function for debugging.";
  static constexpr Kind kind = Kind::effect;
  static constexpr bool has_effects = true;
  static constexpr bool not_linear = true;
  static constexpr bool zero_tangent = true;
  using Params = DebugCallbackParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    check_callback(c, c.get<Params>().callback, c.get<Params>().lanes);
    return {};
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    const std::vector<Array> in = add_lanes(c, p.lanes);
    return {bind_all<DebugCallback>(std::move(p), in, c.loc), {}};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    for_each_lane(p.lanes, c.in, [&](std::span<const Array> operands, std::int64_t) { p.callback.function->call(operands); });
  }
};

/// One operand by a specification as fmt's; `{}` prints any array as NumPy does.
std::string formatted(const std::string& field, const Array& x) {
  if (field == "{}" || field == "{:}") return fmt::format("{}", x);
  if (x.ndim() != 0)
    throw Error(fmt::format("debug::print: {} is a format for scalars, but its operand is {}; use {{}}", field, to_string(x.aval())));
  const DType t = x.dtype();
  if (t.is_bool()) return fmt::format(fmt::runtime(field), x.item<bool>());
  if (t.is_unsigned()) return fmt::format(fmt::runtime(field), x.item<std::uint64_t>());
  if (t.is_integer()) return fmt::format(fmt::runtime(field), x.item<std::int64_t>());
  if (t == float32) return fmt::format(fmt::runtime(field), x.item<float>());
  if (t.is_floating()) return fmt::format(fmt::runtime(field), x.item<double>());
  throw Error(fmt::format("debug::print: {} is a format of real numbers, its operand is {}; use {{}}", field, to_string(x.aval())));
}

/// The text with its fields replaced by the operands, in order.
template <class F>
std::string fill_in(const std::string& text, F&& field) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '{' || c == '}') && i + 1 < text.size() && text[i + 1] == c) {
      out += c, ++i;
    } else if (c == '{') {
      const std::size_t end = std::min(text.find('}', i), text.size() - 1);
      out += field(text.substr(i, end - i + 1));
      i = end;
    } else {
      out += c;
    }
  }
  return out;
}

struct DebugPrint {
  static constexpr std::string_view name = "debug_print", doc = "Prints its operands.";
  static constexpr Kind kind = Kind::effect;
  static constexpr bool has_effects = true;
  static constexpr bool not_linear = true;
  static constexpr bool zero_tangent = true;
  using Params = DebugPrintParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    check_lanes(c, p.lanes);
    std::size_t fields = 0;
    // A specification that can't be right is reported where the line is known, not when the program runs.
    fill_in(p.fmt, [&](const std::string& field) {
      const std::size_t i = fields++;
      if (i >= c.in.size() || field == "{}") return std::string();
      const Aval& a = c.in[i];
      const std::size_t in_front = p.lanes.sizes.empty() ? 0 : p.lanes.mapped[i].size();
      if (static_cast<std::size_t>(a.ndim()) > in_front) {
        if (field != "{:}") c.fail<Error>(fmt::format("{} is a format for scalars, but its operand is {}", field, to_string(a)), "use {}");
        return std::string();
      }
      try {
        return formatted(field, make_literal(Number(0), a.dtype));
      } catch (const fmt::format_error& e) {
        c.fail<Error>(fmt::format("{} does not fit {}: {}", field, to_string(a), e.what()));
      }
    });
    if (fields != c.in.size())
      c.fail<Error>(fmt::format("its text has {} for {}", counted(fields, "field"), counted(c.in.size(), "operand")),
                    "give one {} for each");
    return {};
  }
  static BatchResult batch(const BatchContext& c) {
    Params p = c.get<Params>();
    const std::vector<Array> in = add_lanes(c, p.lanes);
    return {bind_all<DebugPrint>(std::move(p), in, c.loc), {}};
  }
  static void reference(const ReferenceContext& c) {
    const Params& p = c.get<Params>();
    for_each_lane(p.lanes, c.in, [&](std::span<const Array> operands, std::int64_t) {
      std::size_t next = 0;
      std::string line = fill_in(p.fmt, [&](const std::string& field) { return formatted(field, operands[next++]); }) + "\n";
      if (const std::string where = callback_label(); !where.empty()) line = "[" + where + "] " + line;
      std::fwrite(line.data(), 1, line.size(), stdout);
      std::fflush(stdout);
    });
  }
};

}  // namespace

std::vector<Array> bind_pure_callback(PureCallbackParams p, std::span<const Array> in, SourceLoc loc) {
  if (p.vmap_method != "sequential" && p.vmap_method != "expand_dims" && p.vmap_method != "broadcast_all")
    throw Error(fmt::format("pure_callback: unknown vmap_method `{}`; available: sequential, expand_dims, broadcast_all", p.vmap_method),
                loc);
  p.callback.loc = loc;
  return bind_all<PureCallback>(std::move(p), in, loc);
}
std::vector<Array> bind_io_callback(IoCallbackParams p, std::span<const Array> in, SourceLoc loc) {
  p.callback.loc = loc;
  return bind_all<IoCallback>(std::move(p), in, loc);
}
void bind_debug_callback(DebugCallbackParams p, std::span<const Array> in, SourceLoc loc) {
  p.callback.loc = loc;
  bind_all<DebugCallback>(std::move(p), in, loc);
}
void bind_debug_print(std::string text, std::span<const Array> in, SourceLoc loc) {
  // A specification that can't be right is reported here, where the line is known, not when the program runs.
  std::size_t next = 0;
  fill_in(text, [&](const std::string& field) {
    if (next >= in.size() || field == "{}") return ++next, std::string();
    const Array& x = in[next++];
    try {
      const Aval& a = x.aval();
      return formatted(field, a.shape.empty() ? make_literal(Number(0), a.dtype) : x);
    } catch (const fmt::format_error& e) {
      throw Error(fmt::format("debug::print: {} does not fit {}: {}", field, to_string(x.aval()), e.what()), loc);
    } catch (const Error& e) {
      throw Error(e.message(), loc);
    }
  });
  bind_all<DebugPrint>({std::move(text), {}}, in, loc);
}

DeviceLabel::DeviceLabel(std::string device) : saved_(std::move(label().device)) { label().device = std::move(device); }
DeviceLabel::~DeviceLabel() { label().device = std::move(saved_); }
std::string callback_label() {
  const Label& l = label();
  return l.device.empty() || l.lane.empty() ? l.device + l.lane : l.device + ", " + l.lane;
}

PrimitiveList callback_primitives() {
  static constexpr std::array list{&primitive_of<DebugCallback>, &primitive_of<DebugPrint>, &primitive_of<IoCallback>,
                                   &primitive_of<PureCallback>};
  return list;
}

}  // namespace weft::detail
