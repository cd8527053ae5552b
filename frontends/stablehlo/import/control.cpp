// Control flow, calls and composites.
#include <algorithm>

#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/import/loops.h"

namespace weft::detail::mlir {
namespace {

Values values_of(const Arrays& xs) { return {xs.begin(), xs.end()}; }

const Import while_import(
    "stablehlo.while",
    [](OpCall& c) -> Values {
      const Arrays start = c.ins();
      std::vector<Aval> carry;
      for (const Array& x : start) carry.push_back({x.shape(), x.dtype()});
      const Jaxpr cond = c.region(0, carry), body = c.region(1, carry);
      const std::vector<Aval> predicate = cond.data().output_avals(), next = body.data().output_avals();
      if (predicate.size() != 1 || predicate[0] != Aval{{}, bool_}) c.fail("its condition does not return a bool");
      if (next.size() != carry.size()) c.fail("its body returns another number of values than it takes");
      for (std::size_t i = 0; i < carry.size(); ++i)
        if (!same_type(next[i], carry[i])) c.fail("its body returns values of other types than it takes");
      if (const std::optional<Arrays> counted = counted_loop(cond, body, start, c.loc)) return values_of(*counted);
      return values_of(bind_while({body, 0, cond, 0}, start, c.loc));
    },
    Elements::moved);

/// One of the regions, which take nothing: what they use from outside becomes operands.
Values choose(OpCall& c, const Array& index, std::size_t regions) {
  std::vector<Jaxpr> branches;
  for (std::size_t i = 0; i < regions; ++i) {
    branches.push_back(c.region(i, {}));
    const std::vector<Aval> out = branches[i].data().output_avals(), first = branches[0].data().output_avals();
    bool same = out.size() == first.size();
    for (std::size_t k = 0; same && k < out.size(); ++k) same = same_type(out[k], first[k]);
    if (!same) c.fail("its regions return values of different types");
  }
  const Array operands[] = {index};
  return values_of(bind_cond({std::move(branches)}, operands, c.loc));
}

const Import if_import(
    "stablehlo.if",
    [](OpCall& c) -> Values {
      if (c.op.regions.size() != 2 || c.in(0).aval() != Aval{{}, bool_}) c.fail("it takes a bool, and has two regions");
      // weft's branches are in the order of the index: the one for false first.
      const Array index = bind_named("select_n", {c.in(0), make_literal(Number(1), int32), make_literal(Number(0), int32)}, c.loc);
      return choose(c, index, 2);
    },
    Elements::moved);

// An index that names no region means the last one.
const Import case_import(
    "stablehlo.case",
    [](OpCall& c) -> Values {
      const auto n = static_cast<int>(c.op.regions.size());
      if (n == 0 || c.in(0).aval() != Aval{{}, int32}) c.fail("it takes an index of i32, and has at least one region");
      // For a constant index only that region is read: others may hold operations that weft does not support.
      if (const Array known = concrete_or_empty(c.in(0)); !known.is_empty_handle()) {
        const auto i = known.item<int>();
        return values_of(c.run_region(static_cast<std::size_t>(i < 0 || i >= n ? n - 1 : i), {}));
      }
      const Array zero = make_literal(Number(0), int32), last = make_literal(Number(n - 1), int32);
      const Array index = bind_named("select_n", {bind_named("lt", {c.in(0), zero}, c.loc), c.in(0), last}, c.loc);
      return choose(c, bind_named("min", {index, last}, c.loc), static_cast<std::size_t>(n));
    },
    Elements::moved);

// The region takes a slice of each array and the carry, and gives slices of the results and the next carry.
const Import scan_import("chlo.scan", [](OpCall& c) -> Values {
  const std::vector<std::int64_t> sizes = c.integers("operandSegmentSizes");
  if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] < 0 || static_cast<std::size_t>(sizes[0] + sizes[1]) != c.num_operands())
    c.fail("operandSegmentSizes does not separate the arrays from the carry");
  const auto arrays = static_cast<std::size_t>(sizes[0]), carries = static_cast<std::size_t>(sizes[1]);
  const std::int64_t dimension = c.integer("dimension");
  Arrays xs = c.ins(0, arrays), carry = c.ins(arrays, arrays + carries);
  std::vector<Aval> types;
  for (const Array& x : carry) types.push_back({x.shape(), x.dtype()});
  for (Array& x : xs) {
    if (dimension < 0 || dimension >= x.ndim()) c.fail("dimension is not a dimension of the arrays");
    x = move_axis(x, static_cast<int>(dimension), 0, c.loc);
    if (x.shape()[0] != xs[0].shape()[0]) c.fail("the arrays have different sizes along the dimension");
    types.push_back({x.shape().erased(0), x.dtype()});
  }
  if (c.integer_or("scan_dim_size", xs[0].shape()[0]) != xs[0].shape()[0])
    c.fail("scan_dim_size is not the arrays' size along the dimension");
  const Jaxpr body = make_program("scan", types, [&](std::span<const Array> in) {
    Arrays given(in.begin() + static_cast<std::ptrdiff_t>(carries), in.end());
    append(given, in.first(carries));
    Arrays out = c.run_region(0, given);
    if (out.size() < carries) c.fail("its region returns fewer values than are carried");
    std::rotate(out.begin(), out.end() - static_cast<std::ptrdiff_t>(carries), out.end());
    for (std::size_t i = 0; i < carries; ++i)
      if (!same_type(out[i].aval(), types[i])) c.fail("its region returns another type than it carries");
    return out;
  });
  Arrays operands = carry;
  append(operands, xs);
  Arrays out = bind_scan({body, xs[0].shape()[0], static_cast<int>(carries), 0, c.flag("is_reverse"), 1}, operands, c.loc);
  std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(carries), out.end());
  for (std::size_t i = 0; i + carries < out.size(); ++i) {
    if (dimension >= out[i].ndim()) c.fail("dimension is not a dimension of a result");
    out[i] = move_axis(out[i], 0, static_cast<int>(dimension), c.loc);
  }
  return values_of(out);
});

// An operation that runs beside others is read as one that runs where it begins: the program's schedule finds what can overlap. Its body is
// a region that takes the operands or uses them from outside.
const Import async_start_import(
    "stablehlo.async_start",
    [](OpCall& c) -> Values {
      if (c.op.regions.size() != 1) c.fail("it has one region");
      Value future;
      future.elements = values_of(c.run_region(0, c.op.regions[0].arguments.empty() ? Arrays() : c.ins()));
      return {std::move(future)};
    },
    Elements::moved);
const Import async_done_import("stablehlo.async_done", [](OpCall& c) -> Values { return c.value(0).elements; }, Elements::moved);

const Import call_import("func.call", [](OpCall& c) { return c.call(c.symbol("callee")); }, Elements::moved);

/// The name and the attributes of a composite; nothing where it has attributes that a composite here has none of: a rule that knows the
/// name would miss them.
std::optional<CompositeParams> composite_of(const OpCall& c) {
  CompositeParams p;
  const Attribute* name = c.find("name");
  for (const Attribute& word : c.op.words)
    if (!name && word.kind == Attribute::Kind::string) name = &word;
  if (!name || name->kind != Attribute::Kind::string || name->text.empty()) return {};
  p.name = name->text;
  p.version = static_cast<int>(c.integer_or("version", 0));
  const Attribute* const given = c.find("composite_attributes");
  for (std::size_t i = 0; given && i < given->keys.size(); ++i) {
    const Attribute& a = given->items[i];
    switch (a.kind) {
      case Attribute::Kind::boolean: p.attributes.emplace_back(given->keys[i], a.integer != 0); break;
      case Attribute::Kind::integer: p.attributes.emplace_back(given->keys[i], a.integer); break;
      case Attribute::Kind::real: p.attributes.emplace_back(given->keys[i], a.real); break;
      case Attribute::Kind::string: p.attributes.emplace_back(given->keys[i], a.text); break;
      default: return {};
    }
  }
  return p;
}
/// A function of one array that is written out under the name of an operation that is read here, as JAX does with those of chlo: the
/// operation has derivatives where the formulas have none. Nothing for other composites.
std::optional<Values> function_of_operation(OpCall& c, const std::optional<CompositeParams>& composite) {
  if (!composite || !composite->attributes.empty()) return {};
  if (c.num_operands() != 1 || c.op.results.size() != 1) return {};
  const ImportFunction import = find_import(composite->name);
  if (!import) return {};
  Operation op = c.op;
  op.name = composite->name, op.attributes = {}, op.words = {};
  OpCall call(c.importer(), op, {c.value(0)}, c.loc);
  return import(call);
}
const Import composite_import("stablehlo.composite", [](OpCall& c) -> Values {
  const std::optional<CompositeParams> composite = composite_of(c);
  if (std::optional<Values> known = function_of_operation(c, composite)) return *std::move(known);
  return c.call(c.symbol("decomposition"), composite);
});

}  // namespace
}  // namespace weft::detail::mlir
