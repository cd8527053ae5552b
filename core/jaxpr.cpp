#include "core/jaxpr.h"

#include <algorithm>

#include "core/error.h"
#include "core/primitive.h"
#include "core/trace.h"

namespace weft {

using namespace detail;

std::string Eqn::primitive() const { return std::string(op->name); }

Jaxpr::Jaxpr() {
  static const Jaxpr empty = JaxprBuilder().finish({});
  data_ = empty.data_;
}

const std::vector<Eqn>& Jaxpr::eqns() const { return data_->eqns; }

namespace {
std::vector<ShapeDtypeStruct> structs(std::span<const Aval> avals) {
  std::vector<ShapeDtypeStruct> out;
  for (const Aval& a : avals) out.push_back({a.shape, a.dtype});
  return out;
}
}  // namespace

std::vector<ShapeDtypeStruct> Jaxpr::in_avals() const { return structs(data_->input_avals()); }
std::vector<ShapeDtypeStruct> Jaxpr::out_avals() const { return structs(data_->output_avals()); }

std::vector<Array> Jaxpr::run(std::vector<Arg> args, SourceLoc loc) const {
  const auto inputs = data_->input_avals();
  if (args.size() != inputs.size())
    throw ShapeError(
        "jaxpr: called with " + std::to_string(args.size()) + " arguments, it has " + std::to_string(inputs.size()) + " inputs", loc);
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < args.size(); ++i) {
    Array x = args[i].array();
    const Aval& want = inputs[i];
    // A number takes the input's dtype, as it would in an expression.
    if (const LiteralArray* literal = as_literal(x); literal && literal->aval.weak && want.shape.empty())
      x = make_literal(number_of(*literal), want.dtype, want.weak);
    if (x.shape() != want.shape || x.dtype() != want.dtype)
      throw ShapeError("jaxpr: args[" + std::to_string(i) + "] is " + detail::to_string(x.aval()) + ", the program's input is " +
                           detail::to_string(want),
                       loc);
    arrays.push_back(x);
  }
  return eval_jaxpr(*this, arrays);
}

namespace detail {

std::vector<Aval> JaxprData::output_avals() const {
  std::vector<Aval> out;
  for (Atom a : outputs) out.push_back(aval(a));
  return out;
}

JaxprBuilder::JaxprBuilder() = default;

Var JaxprBuilder::new_var(const Aval& aval, int eqn) {
  avals_.push_back(aval);
  defined_by_.push_back(eqn);
  return static_cast<Var>(avals_.size() - 1);
}

Atom JaxprBuilder::add_input(const Aval& aval) {
  const Var v = new_var(aval, -1);
  inputs_.push_back(v);
  return Atom::var(v);
}

Atom JaxprBuilder::add_const(const Array& value) {
  const Var v = new_var(value.aval(), -1);
  consts_.emplace_back(v, value);
  return Atom::var(v);
}

Atom JaxprBuilder::add_literal(const Literal& literal) {
  literals_.push_back(literal);
  return Atom::literal(static_cast<std::uint32_t>(literals_.size() - 1));
}

std::vector<Atom> JaxprBuilder::add_eqn(const Primitive& op, ParamsRef params, std::vector<Atom> inputs, std::span<const Aval> out_avals,
                                        SourceLoc loc) {
  Eqn eqn;
  eqn.op = &op;
  eqn.params = std::move(params);
  eqn.inputs = std::move(inputs);
  eqn.loc = loc;
  std::vector<Atom> out;
  out.reserve(out_avals.size()), eqn.outputs.reserve(out_avals.size());
  for (const Aval& aval : out_avals) {
    const Var v = new_var(aval, static_cast<int>(eqns_.size()));
    eqn.outputs.push_back(v);
    out.push_back(Atom::var(v));
  }
  eqns_.push_back(std::move(eqn));
  return out;
}

const Aval& JaxprBuilder::aval(Atom a) const { return a.is_literal() ? literals_[a.literal()].aval : avals_[a.var()]; }

Jaxpr JaxprBuilder::finish(std::vector<Atom> outputs) && {
  std::vector<bool> used(avals_.size());
  auto use = [&](Atom a) {
    if (!a.is_literal()) used[a.var()] = true;
  };
  for (const Eqn& e : eqns_)
    for (Atom a : e.inputs) use(a);
  for (Atom a : outputs) use(a);

  auto data = make_ref<JaxprData>();
  std::vector<Var> renamed(avals_.size());
  data->avals.reserve(avals_.size());
  auto define = [&](Var v) {
    renamed[v] = static_cast<Var>(data->avals.size());
    data->avals.push_back(std::move(avals_[v]));
  };
  for (auto& [v, value] : consts_)
    if (used[v]) {
      define(v);
      data->consts.push_back(value);
    }
  data->num_consts = static_cast<int>(data->consts.size());
  for (Var v : inputs_) define(v);
  data->num_inputs = static_cast<int>(inputs_.size());
  for (Eqn& e : eqns_)
    for (Var v : e.outputs) define(v);
  auto rename = [&](Atom a) { return a.is_literal() ? a : Atom::var(renamed[a.var()]); };
  for (Eqn& e : eqns_) {
    for (Atom& a : e.inputs) a = rename(a);
    for (Var& v : e.outputs) v = renamed[v];
  }
  for (Atom& a : outputs) a = rename(a);
  data->eqns = std::move(eqns_);
  data->literals = std::move(literals_);
  data->outputs = std::move(outputs);
  return Jaxpr(Ref<const JaxprData>(data));
}

Hoisted hoist_consts(const Jaxpr& j) {
  const JaxprData& d = j.data();
  if (d.num_consts == 0) return {j, {}};
  // Constants already stand in front of the inputs, so that only the counts change.
  auto data = make_ref<JaxprData>();
  data->avals = d.avals;
  data->num_inputs = d.num_consts + d.num_inputs;
  data->eqns = d.eqns;
  data->outputs = d.outputs;
  data->literals = d.literals;
  return {Jaxpr(Ref<const JaxprData>(data)), d.consts};
}

std::vector<Array> eval_jaxpr(const Jaxpr& j, std::span<const Array> args) {
  const JaxprData& d = j.data();
  // Each value is let go after its last use, so that a long program executed step by step holds no more than it needs.
  std::vector<std::uint32_t> last_use(d.avals.size(), 0);
  for (std::uint32_t i = 0; i < d.eqns.size(); ++i)
    for (Atom a : d.eqns[i].inputs)
      if (!a.is_literal()) last_use[a.var()] = i;
  for (Atom a : d.outputs)
    if (!a.is_literal()) last_use[a.var()] = static_cast<std::uint32_t>(d.eqns.size());

  std::vector<Array> values(d.avals.size());
  std::copy(d.consts.begin(), d.consts.end(), values.begin());
  std::copy(args.begin(), args.end(), values.begin() + d.num_consts);
  auto read = [&](Atom a) {
    return a.is_literal() ? make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits) : values[a.var()];
  };
  std::vector<Array> inputs;
  for (std::uint32_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    inputs.clear();
    for (Atom a : e.inputs) inputs.push_back(read(a));
    std::vector<Array> results = bind_primitive(*e.op, e.params, inputs, e.loc);
    for (std::size_t k = 0; k < results.size(); ++k) values[e.outputs[k]] = std::move(results[k]);
    for (Atom a : e.inputs)
      if (!a.is_literal() && last_use[a.var()] == i) values[a.var()] = Array();
  }
  std::vector<Array> out;
  for (Atom a : d.outputs) out.push_back(read(a));
  return out;
}

}  // namespace detail
}  // namespace weft
