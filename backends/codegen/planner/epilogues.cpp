// What a GPU's library does to a product before it stores it: a bias along the columns, then an activation.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "weft/backends/codegen/planner/movement_reader.h"
#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/array/storage.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

using Activation = ProductStep::Activation;

/// A formula of one number of the dtype, as the equations that its function in the library makes.
template <class F>
Jaxpr formula(DType dtype, F&& f) {
  return trace_jaxpr({"epilogue", {Aval{{}, dtype}}, {}}, [&](std::span<const Array> x) { return std::vector<Array>{f(x[0])}; });
}
/// gelu's approximation, as nn::gelu writes it.
Jaxpr gelu_formula(DType dtype) {
  return formula(dtype, [](const Array& v) {
    return v * (.5 * (1. + weft::tanh(std::sqrt(2 / std::numbers::pi) * (v + .044715 * integer_pow(v, 3)))));
  });
}
/// max(x, 0), and as nn::relu writes it.
Jaxpr max_formula(DType dtype) {
  return formula(dtype, [](const Array& v) { return maximum(v, scalar_like(v, 0)); });
}
Jaxpr relu_formula(DType dtype) {
  return formula(dtype, [](const Array& v) { return where(v <= scalar_like(v, 0), scalar_like(v, 0), v); });
}

/// Equations around one value.
class Neighbours {
 public:
  Neighbours(const JaxprData& j, const std::vector<int>& defined_by, const std::vector<std::vector<int>>& readers)
      : j_(j), defined_by_(defined_by), readers_(readers) {}

  bool read_only_by(Var v, std::size_t times) const { return readers_[v].size() == times; }
  /// Whether the equation is the last of those that compute the formula of x, element by element.
  bool computes(const Eqn& e, const Jaxpr& formula, Var x) const {
    const JaxprData& f = formula.data();
    return f.num_consts == 0 && same(Atom::var(e.outputs[0]), f, f.outputs[0], x);
  }

 private:
  const Eqn* eqn_of(Atom a) const {
    return a.is_literal() || defined_by_[a.var()] < 0 ? nullptr : &j_.eqns[static_cast<std::size_t>(defined_by_[a.var()])];
  }
  bool same(Atom a, const JaxprData& f, Atom b, Var x) const {
    if (b.is_literal()) return is_number(a, f.literals[b.literal()]);
    if (b.var() < f.first_result()) return a == Atom::var(x);
    const Eqn* const e = eqn_of(a);
    const auto by = std::find_if(f.eqns.begin(), f.eqns.end(), [&](const Eqn& g) { return g.outputs[0] == b.var(); });
    if (!e || e->op != by->op || e->inputs.size() != by->inputs.size() || !e->op->params_equal(*e->params, *by->params)) return false;
    const std::size_t n = e->inputs.size();
    const auto in_order = [&](bool swapped) {
      for (std::size_t k = 0; k < n; ++k)
        if (!same(e->inputs[swapped ? n - 1 - k : k], f, by->inputs[k], x)) return false;
      return true;
    };
    return in_order(false) || (n == 2 && e->op->combiner && in_order(true));
  }
  /// Whether it is a literal, repeated or not, that is this number: formulas are told by their very constants.
  bool is_number(Atom a, const Literal& want) const {
    while (const Eqn* e = eqn_of(a)) {
      if (e->op->kind != Kind::movement || e->inputs.size() != 1) return false;
      a = e->inputs[0];
    }
    if (!a.is_literal()) return false;
    const Literal& l = j_.literals[a.literal()];
    bool equal = false;
    if (l.aval.dtype == want.aval.dtype)
      with_storage(l.aval.dtype, [&]<class T>() {
        if constexpr (is_floating_storage<T>) {
          T t, u;
          std::memcpy(&t, l.bits.data(), sizeof t), std::memcpy(&u, want.bits.data(), sizeof u);
          equal = load_element(t) == load_element(u);
        }
      });
    return equal;
  }

  const JaxprData& j_;
  const std::vector<int>& defined_by_;
  const std::vector<std::vector<int>>& readers_;
};

}  // namespace

/// The product of equation `eqn` takes in a bias and an activation if nothing else reads what lies between; it then stands where the last
/// of these equations stood.
void KernelPlanner::absorb_epilogue(std::size_t eqn) {
  std::vector<std::vector<int>> readers(j_.avals.size());
  for (std::size_t i = 0; i < j_.eqns.size(); ++i)
    for (Atom a : j_.eqns[i].inputs)
      if (!a.is_literal() && (readers[a.var()].empty() || readers[a.var()].back() != static_cast<int>(i)))
        readers[a.var()].push_back(static_cast<int>(i));
  const Neighbours near(j_, defined_by_, readers);
  LibraryProduct product = *library_[eqn];
  std::vector<int> taken;
  Var value = j_.eqns[eqn].outputs[0];
  const Aval out = j_.avals[value];
  const auto inner = [&](Var v) { return !is_output_[v]; };

  // The bias: read by the last coordinate alone. Products of several pieces along the columns would need pieces of it.
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
      if (reader.reads != 1 || !reader.plain || j_.avals[reader.source].size() != product.step.n) continue;
      const Affine& place = dag.affine(reader.position);
      if (place.constant != 0 || place.terms.size() != 1 || place.terms[0].coef != 1 || place.terms[0].atom != out.ndim() - 1) continue;
      return reader.source;
    }
    return {};
  };
  // Libraries want biases at whole vectors, also where they are rows of something larger.
  const bool whole = product.step.n == out.shape[out.ndim() - 1] && product.step.n * out.dtype.itemsize() % 16 == 0;
  if (inner(value) && near.read_only_by(value, 1) && whole) {
    const int next = readers[value][0];
    if (const auto bias = bias_of(j_.eqns[static_cast<std::size_t>(next)])) {
      product.step.bias = true, product.bias = *bias;
      taken.push_back(next);
      value = j_.eqns[static_cast<std::size_t>(next)].outputs[0];
    }
  }
  // The activation: of the equations that read the value the last one gives the result, the others are read by it alone.
  if (inner(value) && !readers[value].empty()) {
    const int last = readers[value].back();
    const Eqn& e = j_.eqns[static_cast<std::size_t>(last)];
    const bool half = out.dtype == float16 || out.dtype == bfloat16;
    Activation activation = Activation::none;
    if (e.outputs.size() == 1 && j_.avals[e.outputs[0]] == out) {
      if (target_.gelu_epilogues && half && near.computes(e, gelu_formula(out.dtype), value)) activation = Activation::gelu;
      if (target_.relu_epilogues && out.dtype.is_floating() &&
          (near.computes(e, max_formula(out.dtype), value) || near.computes(e, relu_formula(out.dtype), value)))
        activation = Activation::relu;
    }
    // Everything between the value and the result serves the result alone.
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
      product.step.activation = activation;
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
  if (product.step.bias) is_root_[product.bias] = 1;
  library_[static_cast<std::size_t>(last)] = product;
}

}  // namespace weft::detail
