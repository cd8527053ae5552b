// reduce and reduce_window with a program that combines two values. They expand to programs of other primitives, in which the program is
// mapped over whole arrays: a tree of combinations.
#include <fmt/format.h>

#include <numeric>

#include "weft/core/array/array_lists.h"
#include "weft/core/base/counted.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

using Arrays = std::vector<Array>;

/// The program on corresponding elements of a and b, which are all of one shape.
Arrays combine(const Jaxpr& program, std::span<const Array> a, std::span<const Array> b) {
  const Shape shape = a[0].shape();
  const std::int64_t n = shape.num_elements();
  Arrays flat;
  for (const auto& side : {a, b})
    for (const Array& x : side) flat.push_back(reshape_to(x, {n}, {}));
  const std::vector<int> in(flat.size(), 0), out(a.size(), 0);
  Arrays r = eval_jaxpr(batch_program(program, {"", n}, in, out).jaxpr, flat);
  for (Array& x : r) x = reshape_to(x, shape, {});
  return r;
}
template <class F>
Arrays each(std::span<const Array> xs, F&& f) {
  Arrays out;
  for (const Array& x : xs) out.push_back(f(x));
  return out;
}
Array every_second(const Array& x, std::int64_t begin, std::int64_t end) {
  return slice_range(x, {0, begin}, {x.shape()[0], end}, {1, 2}, {});
}

Arrays reduce_steps(const ReduceProgramParams& p, std::span<const Array> xs, std::span<const Array> init) {
  const int ndim = xs[0].ndim();
  std::vector<int> order = other_dims(ndim, p.dimensions);
  Shape kept;
  for (int d : order) kept.push_back(xs[0].shape()[d]);
  const std::int64_t rows = kept.num_elements();
  std::int64_t n = 1;
  for (int d : p.dimensions) n *= xs[0].shape()[d], order.push_back(d);
  Arrays total = each(init, [&](const Array& v) { return fill_shape(v, {rows}, {}); });
  if (n > 0 && rows > 0) {
    Arrays part = each(xs, [&](const Array& x) { return reshape_to(permute(x, order, {}), {rows, n}, {}); });
    for (; n > 1; n = (n + 1) / 2) {
      const std::int64_t even = n / 2 * 2;
      Arrays next = combine(p.jaxpr, each(part, [&](const Array& x) { return every_second(x, 0, even); }),
                            each(part, [&](const Array& x) { return every_second(x, 1, even); }));
      if (n > even)
        for (std::size_t i = 0; i < next.size(); ++i) {
          const Array both[] = {next[i], slice_axis(part[i], 1, even, n, {})};
          next[i] = concatenate_along(both, 1, {});
        }
      part = std::move(next);
    }
    total = combine(p.jaxpr, total, each(part, [&](const Array& x) { return reshape_to(x, {rows}, {}); }));
  }
  return each(total, [&](const Array& x) { return reshape_to(x, kept, {}); });
}

/// Along one dimension: windows of 1, 2, 4, ... elements by doubling, of which the window is put together.
Arrays windows_along(const Jaxpr& program, Arrays x, int d, const WindowDim& w) {
  const std::int64_t last = (w.window - 1) * w.window_dilation, length = x[0].shape()[d];
  const std::int64_t wanted = length - last;  // where windows may begin
  auto shifted = [&](std::span<const Array> xs, std::int64_t by, std::int64_t n) {
    return each(xs, [&](const Array& a) { return slice_axis(a, d, by, by + n, {}); });
  };
  Arrays power(x), total;
  std::int64_t offset = 0;  // of the part of the window that is still to come
  for (std::int64_t size = 1;; size *= 2) {
    if (w.window & size) {
      const Arrays part = shifted(power, offset, wanted);
      total = total.empty() ? part : combine(program, total, part);
      offset += size * w.window_dilation;
    }
    if (size * 2 > w.window) break;
    const std::int64_t by = size * w.window_dilation, n = power[0].shape()[d] - by;
    power = combine(program, shifted(power, 0, n), shifted(power, by, n));
  }
  std::vector<std::int64_t> start(static_cast<std::size_t>(x[0].ndim()), 0), limit(total[0].shape().begin(), total[0].shape().end()),
      strides(start.size(), 1);
  strides[static_cast<std::size_t>(d)] = w.stride;
  return w.stride == 1 ? total : each(total, [&](const Array& a) { return slice_range(a, start, limit, strides, {}); });
}

Arrays reduce_window_steps(const ReduceWindowProgramParams& p, std::span<const Array> xs, std::span<const Array> init) {
  const std::vector<WindowDim> windows = windows_of(p, xs[0].shape());
  const Shape shape = window_shape(windows);
  Arrays total = each(init, [&](const Array& v) { return fill_shape(v, shape, {}); });
  if (shape.num_elements() == 0) return total;
  PaddingConfig config;
  for (const WindowDim& d : windows) config.push_back({d.low, d.high, d.base_dilation - 1});
  Arrays part;
  for (std::size_t i = 0; i < xs.size(); ++i) part.push_back(pad_with(xs[i], init[i], config, {}));
  for (std::size_t d = 0; d < windows.size(); ++d)
    if (windows[d].window > 1 || windows[d].stride > 1) part = windows_along(p.jaxpr, std::move(part), static_cast<int>(d), windows[d]);
  return combine(p.jaxpr, total, part);
}

/// Half of the operands are arrays of one shape, the others scalars to start from; the program takes two scalars of each type.
std::size_t check_operands_of(const OpContext& c, const Jaxpr& program) {
  const std::size_t n = c.in.size() / 2;
  if (n == 0 || c.in.size() % 2 != 0) c.fail<ShapeError>("there must be one initial value for each array");
  const JaxprData& d = program.data();
  const auto in = d.input_avals();
  const std::vector<Aval> out = d.output_avals();
  if (d.num_consts != 0 || in.size() != 2 * n || out.size() != n)
    c.fail<ShapeError>(fmt::format("the program takes {} and gives {}", counted(in.size(), "value"), out.size()),
                       "it takes two for each array and gives one");
  for (std::size_t i = 0; i < n; ++i) {
    if (c.in[i].shape != c.in[0].shape) c.fail<ShapeError>("the arrays differ in shape", "they must be equal");
    if (c.in[n + i].ndim() != 0) c.fail<ShapeError>("an initial value is not a scalar");
    for (const Aval* a : {&in[i], &in[n + i], &out[i], &c.in[n + i]})
      if (a->ndim() != 0 || a->dtype != c.in[i].dtype)
        c.fail<DTypeError>(
            fmt::format("array {} is of {}, and the program or the initial value of {}", i, c.in[i].dtype.name(), to_string(*a)),
            "they must be equal");
  }
  return n;
}

template <class Op>
struct ByProgram {
  static constexpr Kind kind = Kind::call;
  static Jaxpr call_body(const ParamsBase& params, std::span<const Aval> in) {
    return trace_jaxpr({std::string(Op::name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> args) {
      const std::size_t n = args.size() / 2;
      return Op::steps(params_as<typename Op::Params>(params), args.first(n), args.subspan(n));
    });
  }
  static Jaxpr body_for(std::span<const Array> in, const ParamsRef& params) { return call_body(*params, avals_of(in)); }
  static JvpResult jvp_call(const JvpContext& c) { return jvp_of_call(c, body_for(c.in, c.params), bind_closed_call); }
  static JvpResult linearize_call(const JvpContext& c) { return linearize_of_call(c, body_for(c.in, c.params), bind_closed_call); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Aval> types;
    for (const Operand& o : c.in) types.push_back(o.aval);
    return transpose_of_call(c, call_body(*c.params, types), bind_closed_call);
  }
  static BatchResult batch(const BatchContext& c) {
    const std::size_t n = c.in.size() / 2;
    std::vector<Array> in(c.in.begin(), c.in.end());
    std::vector<Aval> types;
    bool scalars_mapped = false;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Aval& a = in[i].aval();
      types.push_back(c.dims[i] == kNotMapped ? a : a.with_shape(a.shape.erased(c.dims[i])));
      scalars_mapped |= i >= n && c.dims[i] != kNotMapped;
    }
    if (scalars_mapped) return batch_of_call(c, call_body(*c.params, types), bind_closed_call);
    for (std::size_t i = 0; i < n; ++i) in[i] = materialize_batch_dim(in[i], c.dims[i], c.axis.size, 0, c.loc);
    return {bind_all<Op>(Op::behind_mapped(c.get<typename Op::Params>()), in, c.loc), std::vector<int>(n, 0)};
  }
};

struct ReduceProgram : ByProgram<ReduceProgram> {
  static constexpr std::string_view name = "reduce",
                                    doc = "Arrays reduced over dimensions together, by a program that combines two values of each.";
  using Params = ReduceProgramParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const std::size_t n = check_operands_of(c, p.jaxpr);
    const int ndim = c.in[0].ndim();
    for (std::size_t i = 0; i < p.dimensions.size(); ++i)
      if (p.dimensions[i] < 0 || p.dimensions[i] >= ndim || std::count(p.dimensions.begin(), p.dimensions.end(), p.dimensions[i]) > 1)
        c.fail<AxisError>(fmt::format("dimension {} is out of range, or given twice", p.dimensions[i]), "name each dimension once");
    Shape shape;
    for (int d : other_dims(ndim, p.dimensions)) shape.push_back(c.in[0].shape[d]);
    std::vector<Aval> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back({shape, c.in[i].dtype});
    return out;
  }
  static Arrays steps(const Params& p, std::span<const Array> xs, std::span<const Array> init) { return reduce_steps(p, xs, init); }
  static Params behind_mapped(Params p) {
    for (int& d : p.dimensions) ++d;
    return p;
  }
};

constexpr ParamValue kReduceProgramIgnored[] = {{"computation", ""}};
const TextRule<ReduceProgram> reduce_text([] { return TextTraits{.ignored = kReduceProgramIgnored}; });

struct ReduceWindowProgram : ByProgram<ReduceWindowProgram> {
  static constexpr std::string_view name = "reduce_window",
                                    doc = "Arrays reduced over sliding windows, by a program that combines two values.";
  using Params = ReduceWindowProgramParams;
  static std::vector<Aval> abstract_eval(const OpContext& c) {
    const Params& p = c.get<Params>();
    const std::size_t n = check_operands_of(c, p.jaxpr);
    check_windows(c, p, c.in[0].ndim());
    const Shape shape = checked_window_shape(c, windows_of(p, c.in[0].shape));
    std::vector<Aval> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back({shape, c.in[i].dtype});
    return out;
  }
  static Arrays steps(const Params& p, std::span<const Array> xs, std::span<const Array> init) { return reduce_window_steps(p, xs, init); }
  static Params behind_mapped(const Params& p) { return with_unit_window(p, 0); }
};

constexpr ParamValue kReduceWindowProgramAdded[] = {{"consts", "()"}};
constexpr ParamValue kReduceWindowProgramIgnored[] = {{"consts", "()"}};
const TextRule<ReduceWindowProgram> reduce_window_text([] {
  return TextTraits{.added = kReduceWindowProgramAdded, .ignored = kReduceWindowProgramIgnored};
});

}  // namespace

std::vector<Array> reduce_by(std::span<const Array> xs, std::span<const Array> init, std::vector<int> dimensions, Jaxpr combine,
                             SourceLoc loc) {
  return bind_all<ReduceProgram>({std::move(dimensions), std::move(combine)}, concat(xs, init), loc);
}
std::vector<Array> reduce_window_by(std::span<const Array> xs, std::span<const Array> init, const ReduceWindowParams& p, Jaxpr combine,
                                    SourceLoc loc) {
  return bind_all<ReduceWindowProgram>(
      {p.base_dilation, std::move(combine), p.padding, p.window_dilation, p.window_dimensions, p.window_strides}, concat(xs, init), loc);
}

PrimitiveList reduce_program_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<ReduceProgram>, &primitive_of<ReduceWindowProgram>};
  return list;
}

}  // namespace weft::detail
