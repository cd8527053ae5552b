#include "weft/core/ir/jaxpr.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/trace/trace.h"

namespace weft {

using namespace detail;

std::string Eqn::primitive() const { return std::string(op->name); }

Jaxpr::Jaxpr() {
  static const auto& empty = process_wide<Jaxpr>(JaxprBuilder().finish({}));
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
  for (std::size_t i = 0; i < data_->consts.size(); ++i)
    if (data_->consts[i].impl()->kind == ArrayImpl::Kind::abstract)
      throw Error(
          fmt::format("jaxpr: the program's constant {}, {}, has no value, as a text gives none; load_jaxpr(path, constants) reads a "
                      "program with the values of its constants",
                      i, detail::to_string(data_->consts[i].aval())),
          loc);
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
namespace {
constexpr std::size_t kFew = 48;
}

std::vector<Aval> JaxprData::output_avals() const {
  std::vector<Aval> out;
  for (Atom a : outputs) out.push_back(aval(a));
  return out;
}

// Most programs of a derivative's passes have some tens of equations.
JaxprBuilder::JaxprBuilder() { avals_.reserve(kFew), defined_by_.reserve(kFew), eqns_.reserve(kFew); }

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
  const Ref<JaxprData> data = new_program();
  data->num_inputs = static_cast<int>(inputs_.size());
  if (consts_.empty() && (inputs_.empty() || inputs_.back() + 1 == inputs_.size())) {
    // Inputs come first, then results in their order: all have their numbers already.
    data->avals = std::move(avals_);
    data->eqns = std::move(eqns_);
    data->literals = std::move(literals_);
    data->outputs = std::move(outputs);
    return seal_program(data);
  }
  std::vector<bool> used(avals_.size());
  auto use = [&](Atom a) {
    if (!a.is_literal()) used[a.var()] = true;
  };
  for (const Eqn& e : eqns_)
    for (Atom a : e.inputs) use(a);
  for (Atom a : outputs) use(a);

  std::vector<Var> renamed(avals_.size());
  data->avals.reserve(avals_.size());
  auto define = [&](Var v) {
    renamed[v] = static_cast<Var>(data->avals.size());
    data->avals.push_back(std::move(avals_[v]));
  };
  for (auto& [v, value] : consts_)
    if (used[v]) {
      define(v);
      data->consts.push_back(std::move(value));
    }
  consts_.clear();  // a finished builder may be kept for what it knows of its equations, not for arrays
  data->num_consts = static_cast<int>(data->consts.size());
  for (Var v : inputs_) define(v);
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
  return seal_program(data);
}

Hoisted hoist_consts(const Jaxpr& j) {
  const JaxprData& d = j.data();
  if (d.num_consts == 0) return {j, {}};
  // Constants already are in front of the inputs, so that only the counts change.
  const Ref<JaxprData> data = new_program();
  data->avals = d.avals;
  data->num_inputs = d.num_consts + d.num_inputs;
  data->eqns = d.eqns;
  data->outputs = d.outputs;
  data->literals = d.literals;
  return {seal_program(data), d.consts};
}

}  // namespace detail
}  // namespace weft
