// The application of a primitive: types are inferred and checked, then the operation is staged into a trace, or executed where none is
// active.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_reads.h"
#include "weft/core/array/host.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/key_reuse.h"
#include "weft/core/trace/named_scope.h"
#include "weft/core/trace/varying.h"

namespace weft::detail {

std::string OpContext::describe(const std::string& problem, const std::string& remedy) const {
  std::string text = fmt::format("{}: {}", op.name, problem);
  if (!in.empty()) {
    text += "; operands: ";
    for (std::size_t i = 0; i < in.size(); ++i) text += (i ? ", " : "") + to_string(in[i]);
  }
  return remedy.empty() ? text : text + "; " + remedy;
}

namespace {
/// Throws if a result could not be addressed.
void check_sizes(const OpContext& c, const Aval& out) {
  std::int64_t bytes = out.dtype.itemsize();
  bool too_large = false, empty = false;
  for (std::int64_t n : out.shape) {
    if (n < 0) c.fail<ShapeError>(fmt::format("the result's shape {} has a negative size", to_string(out.shape)));
    empty |= n == 0;
    too_large |= __builtin_mul_overflow(bytes, std::max<std::int64_t>(n, 1), &bytes);
  }
  if (too_large && !empty) c.fail<ShapeError>(fmt::format("a result {} is larger than any memory", to_string(out)));
}
}  // namespace

namespace {
/// Throws if an operation on numbers is given keys. Primitives of kinds that have uses for keys check their operands themselves.
void check_keys(const OpContext& c) {
  switch (c.op.kind) {
    case Kind::iota:
    case Kind::reduce:
    case Kind::arg_reduce:
    case Kind::cumulative:
    case Kind::dot:
    case Kind::convolution:
    case Kind::reduce_window: break;
    case Kind::scatter:
    case Kind::collective:
      if (c.op.combiner) break;
      return;
    default: return;
  }
  for (const Aval& a : c.in)
    if (a.dtype.is_key())
      c.fail<DTypeError>("arithmetic is not defined for keys",
                         "random::key_data gives the words of a key, random::bits draws random bits with it");
}
}  // namespace

std::vector<Aval> infer(const Primitive& op, const ParamsBase& params, std::span<const Aval> in, SourceLoc loc) {
  std::vector<Aval> out;
  const OpContext context{op, params, in, effective_loc(loc)};
  if (op.num_operands >= 0 && in.size() != static_cast<std::size_t>(op.num_operands))
    context.fail<ShapeError>(fmt::format("takes {} operand{}, not {}", op.num_operands, op.num_operands == 1 ? "" : "s", in.size()));
  if (std::any_of(in.begin(), in.end(), [](const Aval& a) { return a.dtype.is_key(); })) check_keys(context);
  op.abstract_eval(context, out);
  for (const Aval& a : out) check_sizes(context, a);
  return out;
}

namespace {

// Where an operation on these operands is staged: the current trace, or a linear companion of it that one of them belongs to.
Trace* staging_trace(const Primitive& op, std::span<const Array> inputs, SourceLoc loc) {
  Trace* const current = current_trace();
  Trace* target = current;
  for (const Array& x : inputs) {
    const TracedArray* t = as_traced(x);
    if (!t || t->trace.get() == current) continue;
    check_not_leaked(x, std::string(op.name).c_str(), loc);
    if (!current)
      throw ConcretizationError(
          fmt::format("{}: a traced operand {} has no value here ({})", op.name, to_string(x.aval()), t->trace->what()), loc);
    if (t->trace->primal_trace() == current) target = t->trace.get();
  }
  return target;
}

/// Called in a handler: rethrows the exception as an error about this operation and its operands.
[[noreturn]] void rethrow_about(const Primitive& op, std::span<const Array> inputs, SourceLoc loc) {
  try {
    rethrow_as_error(op.name.data(), loc);
  } catch (Error& e) {
    ErrorContext::name_operands(e, inputs);
    throw;
  }
}

/// What an elementwise operation makes of numbers alone is a number, which keeps what it is in 64 bits for conversion to them. Empty if
/// this isn't such an operation.
std::optional<Array> number_of_numbers(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                       std::span<const Aval> out, SourceLoc loc) {
  if (op.kind != Kind::elementwise || out.size() != 1 || !is_narrow_number(out[0])) return {};
  std::vector<Array> wide;
  std::vector<Aval> types;
  for (const Array& x : inputs) {
    const LiteralArray* literal = as_literal(x);
    if (!literal || (is_narrow_number(literal->aval) && !literal->number)) return {};
    const DType type = literal->aval.dtype;
    wide.push_back(is_narrow_number(literal->aval) ? make_literal(*literal->number, type.is_complex() ? complex128 : float64, true) : x);
    types.push_back(wide.back().aval());
  }
  const std::vector<Aval> wide_out = infer(op, *params, types, loc);
  if (wide_out[0].dtype.real_part() != float64) return {};
  const Array narrow = host().execute(op, params, inputs, out, loc)[0];
  if (const ConcreteArray* c = as_concrete(narrow); !c || !c->buffer || !c->buffer->on_host()) return narrow;
  const Array exact = host().execute(op, params, wide, wide_out, loc)[0];
  const auto bits = [&](const Array& x) {
    ScalarBits element{};
    host().read(*as_concrete(x), element.data(), loc);
    return element;
  };
  return make_literal(out[0], bits(narrow), number_of(*as_literal(make_literal(wide_out[0], bits(exact)))));
}

std::vector<Array> bind_checked(const Primitive& op, ParamsRef params, std::span<const Array> inputs, SourceLoc loc) {
  check_nesting("calls");
  const ArrayReads reads(inputs, op.name, loc);
  Aval small[4];
  std::vector<Aval> large;
  std::span<Aval> avals;
  if (inputs.size() <= 4) {
    avals = std::span(small, inputs.size());
  } else {
    large.resize(inputs.size());
    avals = large;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_empty_handle()) throw_empty_array(loc);
    avals[i] = inputs[i].aval();
    if (inputs[i].impl()->kind == ArrayImpl::Kind::abstract)
      throw TracerError(
          fmt::format("{}: an operand {} is abstract: a shape and a dtype without a value; use eval_shape, lower or make_jaxpr", op.name,
                      to_string(avals[i])),
          loc);
  }
  Trace* const target = staging_trace(op, inputs, loc);
  const std::vector<Aval> out = infer(op, *params, avals, loc);
  if (const std::optional<Array> number = number_of_numbers(op, params, inputs, out, loc)) return {*number};
  if (target) {
    if (std::optional<std::vector<Array>> noted = add_noted_eqn(*target, op, params, inputs, out, loc)) return std::move(*noted);
    if (!config.debug_key_reuse) return target->add_eqn(op, std::move(params), inputs, out, loc);
    std::vector<Array> results = target->add_eqn(op, params, inputs, out, loc);
    note_key_eqn(op, params, inputs, results);
    return results;
  }
  return host().execute(op, params, inputs, out, loc);
}

}  // namespace

std::vector<Array> bind_primitive(const Primitive& op, ParamsRef params, std::span<const Array> inputs, SourceLoc given) {
  const SourceLoc loc = in_name_scope(effective_loc(given));
  std::vector<Array> in_scope;
  if (!captures_in_scope().empty()) {
    for (const Array& x : inputs) in_scope.push_back(value_in_scope(x));
    inputs = in_scope;
  }
  try {
    return bind_checked(op, std::move(params), inputs, loc);
  } catch (...) {
    rethrow_about(op, inputs, loc);
  }
}

}  // namespace weft::detail
