// Epilogues of a GPU library's matmul: a bias along the columns, then an activation.
#include <algorithm>

#include "weft/backends/codegen/planner/movement_reader.h"
#include "weft/backends/codegen/planner/planner.h"

namespace weft::detail {
namespace {

using Activation = MatmulStep::Activation;

/// Whether the atom is a zero: a literal, repeated or not.
bool is_zero(const JaxprData& j, const std::vector<int>& defined_by, Atom a) {
  while (!a.is_literal()) {
    const int by = defined_by[a.var()];
    const Eqn* const e = by < 0 ? nullptr : &j.eqns[static_cast<std::size_t>(by)];
    if (!e || e->op->kind != Kind::movement || e->inputs.size() != 1) return false;
    a = e->inputs[0];
  }
  const Literal& l = j.literals[a.literal()];
  return std::all_of(l.bits.begin(), l.bits.end(), [](auto byte) { return byte == decltype(byte){}; });
}

/// Whether the equation is the larger of x and 0.
bool is_max_with_zero(const JaxprData& j, const std::vector<int>& defined_by, const Eqn& e, Var x) {
  if (e.inputs.size() != 2 || e.op->kind != Kind::elementwise || e.op->combiner != Combiner::max) return false;
  return (e.inputs[0] == Atom::var(x) && is_zero(j, defined_by, e.inputs[1])) ||
         (e.inputs[1] == Atom::var(x) && is_zero(j, defined_by, e.inputs[0]));
}

bool contains(const std::vector<int>& list, int x) { return std::find(list.begin(), list.end(), x) != list.end(); }

}  // namespace

/// The equations that read each variable, in order, each once.
std::vector<std::vector<int>> KernelPlanner::readers_of_values() const {
  std::vector<std::vector<int>> readers(j_.avals.size());
  for (std::size_t i = 0; i < j_.eqns.size(); ++i)
    for (Atom a : j_.eqns[i].inputs)
      if (!a.is_literal() && (readers[a.var()].empty() || readers[a.var()].back() != static_cast<int>(i)))
        readers[a.var()].push_back(static_cast<int>(i));
  return readers;
}

/// If the equation adds a bias to the value, the bias: one number for each column, read by the last coordinate alone. (A matmul that is
/// sharded along its columns would need it sharded, too.)
std::optional<Var> KernelPlanner::bias_added_to(Var value, const Eqn& e, std::int64_t columns) const {
  const Aval& out = j_.avals[value];
  if (e.op->kind != Kind::elementwise || e.op->combiner != Combiner::sum || !(j_.avals[e.outputs[0]] == out)) return {};
  for (const std::size_t k : {0u, 1u}) {
    const Atom a = e.inputs[1 - k];
    if (e.inputs[k] != Atom::var(value) || a.is_literal() || a == e.inputs[k]) continue;
    const Aval& aval = j_.aval(a);
    if (aval.ndim() != out.ndim()) continue;
    Dag dag;
    std::vector<NodeId> at;
    for (int d = 0; d < out.ndim(); ++d) {
      const int loop = dag.add_dim(out.shape[d]);
      at.push_back(aval.shape[d] == 1 ? dag.index(0) : dag.index_dim(loop));
    }
    MovementReader reader(j_, defined_by_, is_root_, dag);
    Expressions expressions(j_, defined_by_, dag, reader, 100);
    expressions.at(a, at);
    if (reader.reads != 1 || !reader.plain || j_.avals[reader.source].size() != columns) continue;
    const Affine& place = dag.affine(reader.position);
    if (place.constant != 0 || place.terms.size() != 1 || place.terms[0].coef != 1 || place.terms[0].atom != out.ndim() - 1) continue;
    return reader.source;
  }
  return {};
}

/// The activation that the equation's result is of the value, if the target has it.
MatmulStep::Activation KernelPlanner::activation_given_by(const Eqn& e, Var value) const {
  const Aval& out = j_.avals[value];
  if (e.outputs.size() != 1 || !(j_.avals[e.outputs[0]] == out)) return Activation::none;
  const auto is_named = [&](std::string_view name) {
    return std::any_of(names_.begin(), names_.end(),
                       [&](const NamedValue& n) { return n.name == name && n.operand == value && n.result == e.outputs[0]; });
  };
  if (target_.relu_epilogues && out.dtype.is_floating() && (is_named("weft.relu") || is_max_with_zero(j_, defined_by_, e, value)))
    return Activation::relu;
  const bool half = out.dtype == float16 || out.dtype == bfloat16;
  return target_.gelu_epilogues && half && is_named("weft.gelu") ? Activation::gelu : Activation::none;
}

/// The equations by which equation `last` depends on the value; none if something else needs their results.
std::optional<std::vector<int>> KernelPlanner::equations_between(Var value, int last, const std::vector<std::vector<int>>& readers) const {
  std::vector<int> between;
  for (int i = defined_by_[value] + 1; i < last; ++i) {
    const std::vector<Atom>& inputs = j_.eqns[static_cast<std::size_t>(i)].inputs;
    if (std::any_of(inputs.begin(), inputs.end(), [&](Atom a) {
          return !a.is_literal() && (a.var() == value || (defined_by_[a.var()] >= 0 && contains(between, defined_by_[a.var()])));
        }))
      between.push_back(i);
  }
  for (int i : between)
    for (Var v : j_.eqns[static_cast<std::size_t>(i)].outputs)
      for (int r : readers[v])
        if (is_output_[v] || (r != last && !contains(between, r))) return {};
  return between;
}

/// The matmul of equation `eqn` takes in a bias and an activation if nothing else reads what is between; it then stands where the last
/// of these equations stood.
void KernelPlanner::absorb_epilogue(std::size_t eqn) {
  const std::vector<std::vector<int>> readers = readers_of_values();
  LibraryMatmul matmul = *library_[eqn];
  std::vector<int> taken;
  Var value = j_.eqns[eqn].outputs[0];
  const Aval& out = j_.avals[value];
  // Libraries need aligned biases, also if they are rows of a larger array.
  const bool whole = out.ndim() > 0 && matmul.step.n == out.shape[-1] && matmul.step.n * out.dtype.itemsize() % 16 == 0;
  if (!is_output_[value] && readers[value].size() == 1 && whole) {
    const Eqn& next = j_.eqns[static_cast<std::size_t>(readers[value][0])];
    if (const std::optional<Var> bias = bias_added_to(value, next, matmul.step.n)) {
      matmul.step.bias = true, matmul.bias = *bias;
      taken.push_back(readers[value][0]);
      value = next.outputs[0];
    }
  }
  // The activation: of the equations that read the value the last one gives the result, the others are read by it alone.
  if (!is_output_[value] && !readers[value].empty()) {
    const int last = readers[value].back();
    const Activation activation = activation_given_by(j_.eqns[static_cast<std::size_t>(last)], value);
    const std::optional<std::vector<int>> between = activation == Activation::none ? std::nullopt : equations_between(value, last, readers);
    if (between) {
      matmul.step.activation = activation;
      taken.insert(taken.end(), between->begin(), between->end());
      taken.push_back(last);
    }
  }
  if (taken.empty()) return;
  library_[eqn].reset();
  const int last = taken.back();
  taken.pop_back();
  absorbed_[eqn] = 1;
  for (int i : taken) absorbed_[static_cast<std::size_t>(i)] = 1;
  is_root_[j_.eqns[static_cast<std::size_t>(last)].outputs[0]] = 1;
  if (matmul.step.bias) is_root_[matmul.bias] = 1;
  library_[static_cast<std::size_t>(last)] = matmul;
}

}  // namespace weft::detail
