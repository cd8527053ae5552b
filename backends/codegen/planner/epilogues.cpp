// What a GPU's library does to a product before it stores it: a bias along the columns, then an activation.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "weft/backends/codegen/planner/movement_reader.h"
#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/array/storage.h"

namespace weft::detail {
namespace {

using Activation = ProductStep::Activation;

/// Equations around one value.
class Neighbours {
 public:
  Neighbours(const JaxprData& j, const std::vector<int>& defined_by, const std::vector<std::vector<int>>& readers)
      : j_(j), defined_by_(defined_by), readers_(readers) {}

  const Eqn* eqn_of(Atom a) const {
    return a.is_literal() || defined_by_[a.var()] < 0 ? nullptr : &j_.eqns[static_cast<std::size_t>(defined_by_[a.var()])];
  }
  bool is(Atom a, std::string_view op) const { return eqn_of(a) && eqn_of(a)->op->name == op; }
  bool read_only_by(Var v, std::size_t times) const { return readers_[v].size() == times; }

  /// Whether it is a literal, repeated or not, that is this number as its dtype holds it: formulas are told by their very constants.
  bool is_number(Atom a, double want) const {
    while (const Eqn* e = eqn_of(a)) {
      if (e->op->kind != Kind::movement || e->inputs.size() != 1) return false;
      a = e->inputs[0];
    }
    if (!a.is_literal()) return false;
    const Literal& l = j_.literals[a.literal()];
    bool same = false;
    with_storage(l.aval.dtype, [&]<class T>() {
      if constexpr (is_floating_storage<T>) {
        T t;
        std::memcpy(&t, l.bits.data(), sizeof t);
        same = load_element(t) == load_element(store_element<T>(want));
      }
    });
    return same;
  }
  /// The other operand of a commutative operation on the number `v`.
  std::optional<Atom> with_number(Atom a, std::string_view op, double v) const {
    const Eqn* e = eqn_of(a);
    if (!e || e->op->name != op) return {};
    for (const std::size_t k : {0u, 1u})
      if (is_number(e->inputs[k], v)) return e->inputs[1 - k];
    return {};
  }

  /// gelu's approximation: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, as nn::gelu writes it.
  bool is_gelu(const Eqn& e, Var x) const {
    if (e.op->name != "mul") return false;
    for (const std::size_t k : {0u, 1u}) {
      if (e.inputs[k] != Atom::var(x)) continue;
      const auto sum = with_number(e.inputs[1 - k], "mul", 0.5);
      const auto bent = sum ? with_number(*sum, "add", 1) : sum;
      if (!bent || !is(*bent, "tanh")) continue;
      const auto inner = with_number(eqn_of(*bent)->inputs[0], "mul", std::sqrt(2 / std::numbers::pi));
      if (!inner || !is(*inner, "add")) continue;
      const Eqn& both = *eqn_of(*inner);
      for (const std::size_t i : {0u, 1u}) {
        if (both.inputs[i] != Atom::var(x)) continue;
        const auto cube = with_number(both.inputs[1 - i], "mul", 0.044715);
        if (cube && is(*cube, "integer_pow") && eqn_of(*cube)->inputs[0] == Atom::var(x) && is_cube(*eqn_of(*cube))) return true;
      }
    }
    return false;
  }
  /// max(x, 0), or x where it is not <= 0, as nn::relu writes it.
  bool is_relu(const Eqn& e, Var x) const {
    const auto zero = [&](Atom a) { return is_number(a, 0); };
    if (e.op->name == "max")
      return (e.inputs[0] == Atom::var(x) && zero(e.inputs[1])) || (e.inputs[1] == Atom::var(x) && zero(e.inputs[0]));
    if (e.op->name != "select_n" || e.inputs.size() != 3 || e.inputs[1] != Atom::var(x) || !zero(e.inputs[2])) return false;
    const Eqn* c = eqn_of(e.inputs[0]);
    return c && c->op->name == "le" && c->inputs[0] == Atom::var(x) && zero(c->inputs[1]);
  }

 private:
  static bool is_cube(const Eqn& e) {
    for (const ParamText& p : e.op->params_list(*e.params))
      if (p.name == "y") return p.text == "3";
    return false;
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
    if (e.op->name != "add" || !(j_.avals[e.outputs[0]] == out)) return {};
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
      if (target_.gelu_epilogues && half && near.is_gelu(e, value)) activation = Activation::gelu;
      if (target_.relu_epilogues && near.is_relu(e, value)) activation = Activation::relu;
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
