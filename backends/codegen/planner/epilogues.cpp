// Epilogues of a GPU library's matmul: a bias along the columns, then an activation.
#include <algorithm>

#include "weft/backends/codegen/planner/movement_reader.h"
#include "weft/backends/codegen/planner/planner.h"

namespace weft::detail {
namespace {

using Activation = MatmulStep::Activation;

/// Equations around one value.
class Neighbours {
 public:
  Neighbours(const JaxprData& j, const std::vector<int>& defined_by, const std::vector<std::vector<int>>& readers)
      : j_(j), defined_by_(defined_by), readers_(readers) {}

  bool read_only_by(Var v, std::size_t times) const { return readers_[v].size() == times; }
  /// Whether the equation is the larger of x and 0.
  bool is_max_with_zero(const Eqn& e, Var x) const {
    if (e.inputs.size() != 2 || e.op->kind != Kind::elementwise || e.op->combiner != Combiner::max) return false;
    return (e.inputs[0] == Atom::var(x) && is_zero(e.inputs[1])) || (e.inputs[1] == Atom::var(x) && is_zero(e.inputs[0]));
  }

 private:
  /// A literal, repeated or not.
  bool is_zero(Atom a) const {
    while (!a.is_literal()) {
      const int by = defined_by_[a.var()];
      const Eqn* const e = by < 0 ? nullptr : &j_.eqns[static_cast<std::size_t>(by)];
      if (!e || e->op->kind != Kind::movement || e->inputs.size() != 1) return false;
      a = e->inputs[0];
    }
    const Literal& l = j_.literals[a.literal()];
    return std::all_of(l.bits.begin(), l.bits.end(), [](auto byte) { return byte == decltype(byte){}; });
  }

  const JaxprData& j_;
  const std::vector<int>& defined_by_;
  const std::vector<std::vector<int>>& readers_;
};

}  // namespace

/// The matmul of equation `eqn` takes in a bias and an activation if nothing else reads what is between; it then stands where the last
/// of these equations stood.
void KernelPlanner::absorb_epilogue(std::size_t eqn) {
  std::vector<std::vector<int>> readers(j_.avals.size());
  for (std::size_t i = 0; i < j_.eqns.size(); ++i)
    for (Atom a : j_.eqns[i].inputs)
      if (!a.is_literal() && (readers[a.var()].empty() || readers[a.var()].back() != static_cast<int>(i)))
        readers[a.var()].push_back(static_cast<int>(i));
  const Neighbours near(j_, defined_by_, readers);
  LibraryMatmul matmul = *library_[eqn];
  std::vector<int> taken;
  Var value = j_.eqns[eqn].outputs[0];
  const Aval out = j_.avals[value];
  const auto inner = [&](Var v) { return !is_output_[v]; };

  // The bias: read by the last coordinate alone. A matmul divided along its columns would need it divided too.
  const auto bias_of = [&](const Eqn& e) -> std::optional<Var> {
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
      if (reader.reads != 1 || !reader.plain || j_.avals[reader.source].size() != matmul.step.n) continue;
      const Affine& place = dag.affine(reader.position);
      if (place.constant != 0 || place.terms.size() != 1 || place.terms[0].coef != 1 || place.terms[0].atom != out.ndim() - 1) continue;
      return reader.source;
    }
    return {};
  };
  // Libraries need aligned biases, also if they are rows of a larger array.
  const bool whole = out.ndim() > 0 && matmul.step.n == out.shape[-1] && matmul.step.n * out.dtype.itemsize() % 16 == 0;
  if (inner(value) && near.read_only_by(value, 1) && whole) {
    const int next = readers[value][0];
    if (const auto bias = bias_of(j_.eqns[static_cast<std::size_t>(next)])) {
      matmul.step.bias = true, matmul.bias = *bias;
      taken.push_back(next);
      value = j_.eqns[static_cast<std::size_t>(next)].outputs[0];
    }
  }
  // The activation: of the equations that read the value the last one gives the result, the others are read by it alone.
  if (inner(value) && !readers[value].empty()) {
    const int last = readers[value].back();
    const Eqn& e = j_.eqns[static_cast<std::size_t>(last)];
    const auto is_named = [&](std::string_view name, Var result) {
      return std::any_of(names_.begin(), names_.end(),
                         [&](const NamedValue& n) { return n.name == name && n.operand == value && n.result == result; });
    };
    const bool half = out.dtype == float16 || out.dtype == bfloat16;
    Activation activation = Activation::none;
    if (e.outputs.size() == 1 && j_.avals[e.outputs[0]] == out) {
      if (target_.gelu_epilogues && half && is_named("weft.gelu", e.outputs[0])) activation = Activation::gelu;
      if (target_.relu_epilogues && out.dtype.is_floating() && (is_named("weft.relu", e.outputs[0]) || near.is_max_with_zero(e, value)))
        activation = Activation::relu;
    }
    // All equations between the value and the result must be used by the result alone.
    std::vector<int> between;
    for (int i = activation == Activation::none ? last : defined_by_[value] + 1; i < last; ++i) {
      const Eqn& b = j_.eqns[static_cast<std::size_t>(i)];
      const bool on_the_way = std::any_of(b.inputs.begin(), b.inputs.end(), [&](Atom a) {
        if (a.is_literal()) return false;
        const int by = defined_by_[a.var()];
        return a.var() == value || (by >= 0 && std::find(between.begin(), between.end(), by) != between.end());
      });
      if (on_the_way) between.push_back(i);
    }
    for (int i : between)
      for (Var v : j_.eqns[static_cast<std::size_t>(i)].outputs)
        for (int r : readers[v])
          if (is_output_[v] || (r != last && std::find(between.begin(), between.end(), r) == between.end())) activation = Activation::none;
    if (activation != Activation::none) {
      matmul.step.activation = activation;
      taken.insert(taken.end(), between.begin(), between.end());
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
