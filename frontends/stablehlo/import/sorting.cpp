// Sorting by a region that compares. A region that compares the same function of both sides, as JAX writes it, becomes a sort by keys;
// any other one a network of comparisons (K. Batcher, Sorting Networks and Their Applications, 1968).
#include <bit>
#include <limits>

#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/elementwise/comparison.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

/// One key of a lexicographic comparison: a program of one side's elements, whose result ascends or descends.
struct Key {
  Jaxpr of;
  bool total_order = false, descends = false;
  /// NaN does not equal itself in the comparison that leads to the next key: there it ends.
  bool ends_at_nan = false;
};

/// Reads a comparator: `less(f(a), f(b))`, or `less(f(a), f(b)) or (equal(f(a), f(b)) and rest)`.
class ComparatorReader {
 public:
  /// The program takes the elements of both sides in turn: a0, b0, a1, b1, ...
  explicit ComparatorReader(const Jaxpr& j) : j_(j), d_(j.data()) {}

  std::optional<std::vector<Key>> keys() {
    if (d_.num_consts != 0 || d_.outputs.size() != 1 || d_.num_inputs % 2 != 0) return {};
    std::vector<Key> out;
    Atom rest = d_.outputs[0];
    for (;;) {
      const Eqn* e = equation(rest);
      if (!e) return {};
      if (std::optional<Key> last = comparison(*e)) {
        out.push_back(std::move(*last));
        return out;
      }
      if (!joins(*e, Combiner::logical_or)) return {};
      bool found = false;
      for (int side = 0; side < 2 && !found; ++side) {
        const Eqn *less = equation(e->inputs[static_cast<std::size_t>(side)]),
                  *both = equation(e->inputs[static_cast<std::size_t>(1 - side)]);
        if (!less || !both || !joins(*both, Combiner::logical_and)) continue;
        std::optional<Key> key = comparison(*less);
        if (!key) continue;
        key->ends_at_nan = key->of.data().output_avals()[0].dtype.is_floating();
        for (std::size_t k = 0; k < 2 && !found; ++k) {
          const Eqn* equal = equation(both->inputs[k]);
          if (!equal || order_of(*equal->op) != kEqual || equal->inputs != less->inputs) continue;
          out.push_back(*key);
          rest = both->inputs[1 - k];
          found = true;
        }
      }
      if (!found) return {};
    }
  }

 private:
  static bool joins(const Eqn& e, Combiner by) { return e.op->kind == Kind::elementwise && e.op->combiner == by; }
  const Eqn* equation(Atom a) const {
    if (a.is_literal() || a.var() < d_.first_result()) return nullptr;
    for (const Eqn& e : d_.eqns)
      for (Var v : e.outputs)
        if (v == a.var()) return &e;
    return nullptr;
  }
  /// The one side's value as a program of that side's elements; nothing where it depends on the other.
  std::optional<Jaxpr> of_side(Atom value, int side) const {
    const Jaxpr one = dce_program(with_outputs(j_, {value}));
    const JaxprData& o = one.data();
    std::vector<bool> used(o.avals.size(), false);
    for (const Eqn& e : o.eqns)
      for (const Atom a : e.inputs)
        if (!a.is_literal()) used[a.var()] = true;
    if (!o.outputs[0].is_literal()) used[o.outputs[0].var()] = true;
    std::vector<Aval> inputs;
    for (int i = 0; i < d_.num_inputs; ++i) {
      if (i % 2 == side)
        inputs.push_back(d_.input_avals()[static_cast<std::size_t>(i)]);
      else if (used[o.first_input() + static_cast<Var>(i)])
        return {};
    }
    return trace_jaxpr({"stablehlo key", inputs, {}}, [&](std::span<const Array> args) {
      std::vector<Array> all;
      for (std::size_t i = 0; i < 2 * args.size(); ++i)
        all.push_back(i % 2 == static_cast<std::size_t>(side) ? args[i / 2]
                                                              : make_literal(Aval{{}, inputs[i / 2].dtype, false}, ScalarBits{}));
      return eval_jaxpr(one, all);
    });
  }
  std::optional<Key> comparison(const Eqn& e) const {
    const std::optional<Order> order = order_of(*e.op);
    if (order != kLess && order != kGreater && order != kLessInTotal) return {};
    // `less` of the sides in the other order is a descending one.
    for (int first = 0; first < 2; ++first) {
      std::optional<Jaxpr> a = of_side(e.inputs[0], first), b = of_side(e.inputs[1], 1 - first);
      if (a && b && *a == *b) return Key{std::move(*a), order->total, order->greater != (first == 1)};
    }
    return {};
  }

  const Jaxpr& j_;
  const JaxprData& d_;
};

/// What JAX compares floats by: zeros of one sign, NaN of one kind. weft's own sort goes by the same.
bool is_canonical(const Jaxpr& key, const Aval& type, std::size_t& operand) {
  if (!type.dtype.is_floating()) return false;
  const auto inputs = key.data().input_avals();
  for (operand = 0; operand < inputs.size(); ++operand) {
    if (inputs[operand] != type) continue;
    for (bool nan_of_sign : {false, true}) {
      const Jaxpr canonical = trace_jaxpr({"stablehlo key", {inputs.begin(), inputs.end()}, {}}, [&](std::span<const Array> args) {
        const Array& x = args[operand];
        const Array zero = scalar(x, 0),
                    nan = scalar(x, nan_of_sign ? -std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::quiet_NaN());
        const Array no_sign = bind_named("select_n", {bind_named("eq", {x, zero}, {}), x, zero}, {});
        return Arrays{bind_named("select_n", {bind_named("ne", {x, x}, {}), no_sign, nan}, {})};
      });
      if (canonical == key) return true;
    }
  }
  return false;
}

/// Whether the key is one of the operands as it is.
bool is_operand(const Jaxpr& key, std::size_t& operand) {
  const JaxprData& d = key.data();
  if (!d.eqns.empty() || d.outputs[0].is_literal()) return false;
  operand = d.outputs[0].var() - d.first_input();
  return true;
}

/// The program of scalars on whole arrays of one shape.
Array mapped(const Jaxpr& program, const Arrays& xs) {
  const std::int64_t n = xs[0].size();
  Arrays flat;
  for (const Array& x : xs) flat.push_back(reshape_to(x, {n}, {}));
  const Array out = eval_jaxpr(batch_program(program, {"", n}, std::vector<int>(xs.size(), 0), std::vector<int>{0}).jaxpr, flat)[0];
  return reshape_to(out, xs[0].shape(), {});
}

Arrays sort_by_keys(const OpCall& c, const std::vector<Key>& keys, const Arrays& xs, int dimension) {
  Arrays operands;
  bool own = keys.size() <= xs.size();  // whether the keys are the first operands themselves: then nothing is sorted beside
  std::optional<Array> ended;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const Key& key = keys[k];
    const DType dtype = key.of.data().output_avals()[0].dtype;
    const bool total = key.total_order && dtype.is_floating();
    std::size_t at = 0;
    const bool same = !key.descends && (total ? is_canonical(key.of, {{}, dtype}, at) : is_operand(key.of, at));
    const Array value = same ? xs[at] : mapped(key.of, xs);
    Array by = value;
    if (!same && total) by = total_order_key(value, c.loc);
    if (key.descends) {
      if (by.dtype().is_complex()) c.fail("complex numbers cannot be sorted in descending order");
      by = bind_named(by.dtype().is_floating() ? "neg" : "not", {by}, c.loc);
    }
    if (ended) by = where(*ended, scalar(by, 0), by);
    own = own && same && at == k && !ended;
    operands.push_back(by);
    if (key.ends_at_nan && k + 1 < keys.size()) ended = ended ? *ended | (value != value) : value != value;
  }
  const int num_keys = static_cast<int>(keys.size());
  if (own) return bind_all<Sort>({dimension, true, num_keys}, xs, c.loc);
  operands.insert(operands.end(), xs.begin(), xs.end());
  Arrays out = bind_all<Sort>({dimension, true, num_keys}, operands, c.loc);
  out.erase(out.begin(), out.begin() + num_keys);
  return out;
}

/// Bitonic merges, of rows padded to a power of two with positions behind all others.
Arrays sort_by_network(const OpCall& c, const Jaxpr& less, const Arrays& xs, int dimension) {
  const std::int64_t n = xs[0].shape()[dimension], rows = n == 0 ? 0 : xs[0].size() / n;
  const auto size = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
  const int last = xs[0].ndim() - 1;
  Arrays parts;
  for (const Array& x : xs)
    parts.push_back(
        pad_with(reshape_to(move_axis(x, dimension, last, c.loc), {rows, n}, c.loc), scalar(x, 0), {{0, 0, 0}, {0, size - n, 0}}, c.loc));
  parts.push_back(iota_array(int64, {rows, size}, 1, c.loc));
  const Array end = make_literal(Number(static_cast<long long>(n)), int64);
  for (std::int64_t block = 2; block <= size; block *= 2)
    for (std::int64_t apart = block / 2; apart > 0; apart /= 2) {
      const Shape pairs{rows, size / (2 * apart), 2, apart}, half{rows, size / (2 * apart), apart};
      Arrays a, b;
      for (const Array& p : parts) {
        const Array grouped = reshape_to(p, pairs, c.loc);
        a.push_back(reshape_to(slice_axis(grouped, 2, 0, 1, c.loc), half, c.loc));
        b.push_back(reshape_to(slice_axis(grouped, 2, 1, 2, c.loc), half, c.loc));
      }
      auto before = [&](const Arrays& p, const Arrays& q) {
        Arrays in;
        for (std::size_t i = 0; i + 1 < p.size(); ++i) in.push_back(p[i]), in.push_back(q[i]);
        return mapped(less, in);
      };
      auto logic = [&](const char* name, const Array& x, const Array& y) { return bind_named(name, {x, y}, c.loc); };
      const Array at_a = a.back(), at_b = b.back();
      const Array a_there = logic("lt", at_a, end), b_there = logic("lt", at_b, end);
      // a is before b: by the region, or by position where neither does.
      const Array tie = logic("and", bind_named("not", {before(b, a)}, c.loc), logic("lt", at_a, at_b));
      const Array among = logic("or", before(a, b), tie);
      const Array a_first = logic("or", logic("and", a_there, logic("or", bind_named("not", {b_there}, c.loc), among)),
                                  logic("and", bind_named("not", {logic("or", a_there, b_there)}, c.loc), logic("lt", at_a, at_b)));
      // Every other block descends, so that two of them are one bitonic row.
      const Array group = iota_array(int64, half, 1, c.loc);
      const Array odd = logic("ne",
                              logic("and", logic("div", group, make_literal(Number(static_cast<long long>(block / (2 * apart))), int64)),
                                    make_literal(Number(1), int64)),
                              make_literal(Number(0), int64));
      const Array keep = block == size ? a_first : logic("xor", a_first, odd);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const Array lower = bind_named("select_n", {keep, b[i], a[i]}, c.loc), upper = bind_named("select_n", {keep, a[i], b[i]}, c.loc);
        const Array both[] = {insert_axes(lower, {2}, c.loc), insert_axes(upper, {2}, c.loc)};
        parts[i] = reshape_to(concatenate_along(both, 2, c.loc), {rows, size}, c.loc);
      }
    }
  Shape moved;
  for (int d = 0; d < xs[0].ndim(); ++d)
    if (d != dimension) moved.push_back(xs[0].shape()[d]);
  moved.push_back(n);
  Arrays out;
  for (std::size_t i = 0; i < xs.size(); ++i)
    out.push_back(move_axis(reshape_to(slice_axis(parts[i], 1, 0, n, c.loc), moved, c.loc), last, dimension, c.loc));
  return out;
}

/// Sorts the arrays together along a dimension by a program of pairs of their elements: (x0, y0, x1, y1, ...) to whether the first of each
/// pair come first. Equal ones keep their order.
Arrays sorted_by(const OpCall& c, const Jaxpr& less, const Arrays& xs, int dimension) {
  const auto out_types = less.data().output_avals();
  if (out_types.size() != 1 || out_types[0] != Aval{{}, bool_}) c.fail("the region does not return a bool");
  if (less.data().num_consts != 0) c.fail("the region uses values from outside");
  const std::optional<std::vector<Key>> keys = ComparatorReader(less).keys();
  return keys ? sort_by_keys(c, *keys, xs, dimension) : xs[0].size() == 0 ? xs : sort_by_network(c, less, xs, dimension);
}

const Import sort_import(
    "stablehlo.sort",
    [](OpCall& c) -> Values {
      const Arrays xs = c.ins();
      if (xs.empty()) c.fail("there are no operands");
      const int ndim = xs[0].ndim();
      std::int64_t dimension = c.integer_or("dimension", -1);
      if (dimension < -ndim || dimension >= ndim) c.fail("dimension is not a dimension of the operands");
      if (dimension < 0) dimension += ndim;
      std::vector<Aval> scalars;
      for (const Array& x : xs) {
        if (x.shape() != xs[0].shape()) c.fail("the operands have different shapes");
        scalars.push_back({{}, x.dtype()}), scalars.push_back({{}, x.dtype()});
      }
      // A sort that keeps the order of equal elements is one that needn't, too.
      const Arrays out = sorted_by(c, c.region(0, scalars), xs, static_cast<int>(dimension));
      return {out.begin(), out.end()};
    },
    Elements::moved);

/// The first elements by a function of the module, with what goes along with them: as many as the result has, all of them exactly. The
/// operands are arrays and then, for each, what stands where there is no element, which is nowhere.
const Import approx_top_k_import("custom_call.ApproxTopK", [](OpCall& c) -> Values {
  const Attribute* config = c.find("mhlo.backend_config", "backend_config");
  const Attribute* dimension = config ? config->find("reduction_dim") : nullptr;
  const Attribute* const called = c.find("called_computations");
  if (!dimension || !called || called->items.size() != 1) c.fail("its reduction_dim or its comparison is missing");
  if (c.num_operands() == 0 || c.num_operands() % 2 != 0) c.fail("there must be one initial value for each operand");
  const Arrays xs = c.ins(0, c.num_operands() / 2);
  const std::int64_t d = dimension->integer;
  if (d < 0 || d >= xs[0].ndim()) c.fail("reduction_dim is not a dimension of the operands");
  const Jaxpr& less = c.importer().function(called->items[0].text, c.op.place).jaxpr;
  if (less.data().input_avals().size() != 2 * xs.size()) c.fail("its comparison doesn't take two of each operand's elements");
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (xs[i].shape() != xs[0].shape() || less.data().input_avals()[2 * i] != Aval{{}, xs[i].dtype()} ||
        less.data().input_avals()[2 * i + 1] != Aval{{}, xs[i].dtype()})
      c.fail("its operands have different shapes, or its comparison is of other elements");
  const auto axis = static_cast<int>(d);
  const std::int64_t count = c.result().shape.size() == xs[0].ndim() ? c.result().shape[axis] : -1;
  if (count < 0 || count > xs[0].shape()[axis]) c.fail("its result has more elements than the operand");
  Values out;
  for (const Array& y : sorted_by(c, less, xs, axis)) out.push_back(slice_axis(y, axis, 0, count, c.loc));
  return out;
});

const Import top_k_import("chlo.top_k", [](OpCall& c) -> Values {
  const std::int64_t k = c.integer("k");
  const Array& x = c.in(0);
  if (x.ndim() == 0 || k < 0 || k > x.shape().back()) c.fail("k is larger than the last dimension");
  if (!x.dtype().is_floating()) {
    const TopK found = top_k(Arg(x, c.loc), static_cast<int>(k));
    return {found.values, found.indices};
  }
  // In the total order, by which NaNs differ in their signs.
  const Array indices = top_k(Arg(total_order_key(x, c.loc), c.loc), static_cast<int>(k)).indices;
  return {take_along_axis(Arg(x, c.loc), Arg(indices, c.loc), -1), indices};
});

}  // namespace
}  // namespace weft::detail::mlir
