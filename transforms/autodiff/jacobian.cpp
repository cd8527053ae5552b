#include "weft/transforms/autodiff/jacobian.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"
#include "weft/transforms/evaluate.h"

namespace weft::detail {

std::size_t checked_row(std::int64_t i, std::size_t expected, std::size_t rows) {
  if (expected != rows)
    throw ShapeError(
        fmt::format("a Jacobian's rows: the result has {} arrays, a value of its type {}: name the row by its number", rows, expected));
  if (i < 0 || static_cast<std::size_t>(i) >= rows) throw ShapeError(fmt::format("a Jacobian's rows: there is no row {} of {}", i, rows));
  return static_cast<std::size_t>(i);
}

namespace {

// What a Jacobian's arguments may be: jacrev takes complex arguments of a real function, whose derivatives are those that grad gives.
enum class Leaves { kReal, kRealOrComplex, kComplex };

Leaves leaves_of_jacobian(bool holomorphic, Leaves otherwise) { return holomorphic ? Leaves::kComplex : otherwise; }

void check_leaf(const Aval& aval, Leaves allowed, const char* operation, const std::string& path, SourceLoc loc) {
  if (allowed == Leaves::kComplex ? !aval.dtype.is_complex() : !aval.dtype.is_floating() && !aval.dtype.is_complex())
    throw DTypeError(fmt::format("{}: {} is {}; it must be {}", operation, path, to_string(aval),
                                 allowed == Leaves::kComplex ? "complex, since the function is said to be holomorphic"
                                 : allowed == Leaves::kReal  ? "real and floating-point"
                                                             : "floating-point"),
                     loc);
  if (allowed == Leaves::kReal && aval.dtype.is_complex())
    throw DTypeError(fmt::format("{}: {} is {}; it must be real and floating-point; with {{.holomorphic = true}} it may be complex",
                                 operation, path, to_string(aval)),
                     loc);
}

std::vector<bool> chosen_leaves(const FlatFunction& f, std::span<const int> argnums, const char* operation, Leaves allowed) {
  std::vector<bool> chosen(f.args.size(), false);
  for (const int n : argnums)
    for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i) {
      check_leaf(f.args[i].aval(), allowed, operation, leaf_paths(f.arguments())[i], f.loc);
      chosen[i] = true;
    }
  return chosen;
}

// Rows of the identity, cut by columns to the shapes of the given types: element k of the batch is the k-th unit vector of all of them
// together.
std::vector<Array> standard_basis(const std::vector<Aval>& avals, SourceLoc loc) {
  std::int64_t total = 0, offset = 0;
  for (const Aval& a : avals) total += a.size();
  std::vector<Array> out;
  for (const Aval& a : avals) {
    const Array rows = iota_array(int32, Shape{total, a.size()}, 0, loc), columns = iota_array(int32, Shape{total, a.size()}, 1, loc);
    const Array shifted = offset == 0 ? columns : columns + make_literal(Number(offset), int32);
    out.push_back(reshape_to(convert(rows == shifted, a.dtype), a.shape.inserted(0, total), loc));
    offset += a.size();
  }
  return out;
}

// Runs a program on fixed leading inputs and a batch of all unit vectors of its other inputs; the batch is the results' axis 0.
std::vector<Array> run_on_basis(const Jaxpr& program, const std::vector<Array>& fixed, const std::vector<Aval>& inputs, SourceLoc loc) {
  const std::vector<Array> basis = standard_basis(inputs, loc);
  std::int64_t total = 0;
  for (const Aval& a : inputs) total += a.size();
  std::vector<int> dims(fixed.size(), kNotMapped);
  dims.insert(dims.end(), basis.size(), 0);
  const Hoisted h = hoist_consts(program);
  dims.insert(dims.begin(), h.consts.size(), kNotMapped);
  const std::vector<int> out_dims(h.jaxpr.data().outputs.size(), 0);
  const BatchedProgram batched = batch_program(h.jaxpr, {{}, total}, dims, out_dims);
  std::vector<Array> values = h.consts;
  values.insert(values.end(), fixed.begin(), fixed.end());
  values.insert(values.end(), basis.begin(), basis.end());
  return evaluate(dce_program(batched.jaxpr), values);
}

Shape joined(const Shape& a, const Shape& b) {
  Shape s = a;
  for (const std::int64_t d : b) s.push_back(d);
  return s;
}

std::vector<Array> columns_of(FlatFunction& f, std::span<const int> argnums, bool holomorphic) {
  const std::vector<bool> chosen = chosen_leaves(f, argnums, "jacfwd", leaves_of_jacobian(holomorphic, Leaves::kReal));
  const NumberReads reads;
  const Hoisted h = hoist_consts(trace_flat(f, "jacfwd"));
  const std::size_t primary = f.has_aux ? f.num_primary : h.jaxpr.data().outputs.size();
  std::vector<Array> point = h.consts;
  point.insert(point.end(), f.args.begin(), f.args.end());
  std::vector<bool> nonzero(h.consts.size(), false);
  nonzero.insert(nonzero.end(), chosen.begin(), chosen.end());
  const JvpProgram pushed = jvp_program(h.jaxpr, nonzero, values_for_rules(point));
  const std::vector<Aval> results = h.jaxpr.data().output_avals();
  check_derivative_not_lost(f, reads, pushed.nonzero_out, results, "jacfwd");
  if (holomorphic)
    for (std::size_t o = 0; o < primary; ++o) check_leaf(results[o], Leaves::kComplex, "jacfwd", leaf_paths(f.result())[o], f.loc);
  const std::vector<Atom>& outputs = pushed.jaxpr.data().outputs;
  const auto behind = outputs.begin() + static_cast<std::ptrdiff_t>(results.size());
  const auto moving = std::count(pushed.nonzero_out.begin(), pushed.nonzero_out.begin() + static_cast<std::ptrdiff_t>(primary), true);
  const Jaxpr tangents_only = with_outputs(pushed.jaxpr, {behind, behind + moving});

  LocScope scope(f.loc);
  std::vector<Aval> active;
  std::vector<std::size_t> position(f.args.size(), 0);  // of each leaf among the active ones
  for (std::size_t i = 0; i < f.args.size(); ++i)
    if (chosen[i]) position[i] = active.size(), active.push_back(f.args[i].aval());
  const std::vector<Array> columns = run_on_basis(tangents_only, point, active, f.loc);
  std::vector<Array> out;
  std::size_t next = 0;
  for (std::size_t o = 0; o < primary; ++o) {
    const Aval& result = results[o];
    std::vector<Array> parts;  // for each active leaf: its derivatives, the leaf's elements last
    if (pushed.nonzero_out[o]) {
      const Array& all = columns[next++];
      std::int64_t begin = 0;
      for (const Aval& a : active) {
        const Array mine = active.size() == 1 ? all : slice_axis(all, 0, begin, begin + a.size(), f.loc);
        parts.push_back(reshape_to(move_axis(mine, 0, result.ndim(), f.loc), joined(result.shape, a.shape), f.loc));
        begin += a.size();
      }
    }
    for (const int n : argnums)
      for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i)
        out.push_back(parts.empty() ? zero_tangent(result.with_shape(joined(result.shape, f.args[i].shape())), f.loc) : parts[position[i]]);
  }
  if (primary == results.size()) return out;
  const std::vector<Atom>& values = h.jaxpr.data().outputs;
  const Jaxpr aux = with_outputs(h.jaxpr, {values.begin() + static_cast<std::ptrdiff_t>(primary), values.end()});
  for (const Array& value : eval_jaxpr(dce_program(aux), point)) out.push_back(value);
  return out;
}

std::vector<Array> rows_of(FlatFunction& f, std::span<const int> argnums, bool holomorphic) {
  const Leaves arguments = leaves_of_jacobian(holomorphic, Leaves::kRealOrComplex);
  const Ref<Linearized> l = linearize_flat(f, chosen_leaves(f, argnums, "jacrev", arguments), "jacrev");
  const std::size_t primary = f.has_aux ? f.num_primary : l->out_avals.size();
  std::vector<bool> differentiated(l->out_avals.size(), false);
  std::fill(differentiated.begin(), differentiated.begin() + static_cast<std::ptrdiff_t>(primary), true);
  for (std::size_t o = 0; o < primary; ++o)
    check_leaf(l->out_avals[o], leaves_of_jacobian(holomorphic, Leaves::kReal), "jacrev", leaf_paths(f.result())[o], f.loc);
  const std::vector<Array> values = evaluate_primal(*l);
  LocScope scope(f.loc);
  const TransposedProgram t = transpose_linearized(*l, differentiated);
  std::vector<Aval> cotangents;
  for (std::size_t o = 0; o < primary; ++o)
    if (l->nonzero_out[o]) cotangents.push_back(l->out_avals[o]);
  const std::vector<Array> some = run_on_basis(t.jaxpr, l->residuals, cotangents, f.loc);
  // Rows of each leaf's Jacobian: all results' elements together along axis 0.
  std::vector<std::optional<Array>> rows(f.args.size());
  std::size_t linear = 0, next = 0;
  for (std::size_t i = 0; i < f.args.size(); ++i)
    if (l->active[i] && t.nonzero[linear++]) rows[i] = some[next++];
  std::vector<Array> out;
  std::int64_t begin = 0;
  for (std::size_t o = 0; o < primary; ++o) {
    const Aval& result = l->out_avals[o];
    for (const int n : argnums)
      for (std::size_t i = f.offsets[static_cast<std::size_t>(n)]; i < f.offsets[static_cast<std::size_t>(n) + 1]; ++i) {
        const Shape shape = joined(result.shape, l->in_avals[i].shape);
        if (!rows[i] || !l->nonzero_out[o])
          out.push_back(zero_tangent(l->in_avals[i].with_shape(shape), f.loc));
        else
          out.push_back(
              reshape_to(cotangents.size() == 1 ? *rows[i] : slice_axis(*rows[i], 0, begin, begin + result.size(), f.loc), shape, f.loc));
      }
    if (l->nonzero_out[o]) begin += result.size();
  }
  out.insert(out.end(), values.begin() + static_cast<std::ptrdiff_t>(primary), values.end());
  return out;
}

}  // namespace

std::vector<Array> flat_jacfwd(FlatFunction& f, std::span<const int> argnums, bool holomorphic) {
  return with_custom_rules([&] { return columns_of(f, argnums, holomorphic); });
}
std::vector<Array> flat_jacrev(FlatFunction& f, std::span<const int> argnums, bool holomorphic) {
  return with_custom_rules([&] { return rows_of(f, argnums, holomorphic); });
}

}  // namespace weft::detail
