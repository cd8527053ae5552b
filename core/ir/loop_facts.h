// Facts about the values of a loop's body that hold once its carry's hold after every step: which carries have a tangent, are mapped, or
// depend on a linear input, if those of the first step do. An equation is asked again only where a fact about an operand has changed, so
// that the work is in proportion to the body, however many steps a fact takes from one carry to the last.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

#include "weft/core/ir/walk.h"

namespace weft::detail {

/// The program of one equation. Its inputs are the operands that are variables, in their order.
Jaxpr equation_program(const JaxprData& d, const Eqn& e);
/// The facts about those operands.
template <class T>
std::vector<T> facts_of_variables(const Eqn& e, const std::vector<T>& operands) {
  std::vector<T> out;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (!e.inputs[i].is_literal()) out.push_back(operands[i]);
  return out;
}

/// The places where variables are used, by variable.
class VarUses {
 public:
  explicit VarUses(std::size_t num_vars) : first_(num_vars + 1) {}
  /// First every use is counted, then each is added.
  void count(Atom a) {
    if (!a.is_literal()) ++first_[a.var() + 1];
  }
  void counted() {
    for (std::size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
    places_.resize(first_.back()), next_ = first_;
  }
  void add(Atom a, std::size_t place) {
    if (!a.is_literal()) places_[next_[a.var()]++] = place;
  }
  std::span<const std::size_t> of(Var v) const { return std::span(places_).subspan(first_[v], first_[v + 1] - first_[v]); }

 private:
  std::vector<std::size_t> first_, places_, next_;
};

/// The least facts about a loop's body, given those about the inputs of the first step.
template <class Fact>
class LoopFacts {
 public:
  /// `first` is the position of the first carry among the inputs; the carries are the first `num_carry` results. `results(equation,
  /// operands)` gives the facts about an equation's results, and `adopt(carry, result)` extends the fact about a carry by that about its
  /// next value; returns whether it did. Literals have the fact `absent`.
  template <class Results, class Adopt>
  LoopFacts(const Jaxpr& body, const std::vector<Fact>& inputs, std::size_t first, std::size_t num_carry, Fact absent, Results&& results,
            Adopt&& adopt)
      : d_(body.data()), of_(d_, inputs, absent), readers_(d_.avals.size()), carries_(d_.avals.size()), queued_(d_.eqns.size()) {
    index_uses(num_carry);
    const auto carry = [&](std::size_t k) { return d_.first_input() + static_cast<Var>(first + k); };
    std::vector<Var> changed;
    const auto spread = [&] {
      while (!changed.empty()) {
        const Var v = changed.back();
        changed.pop_back();
        for (std::size_t e : readers_.of(v)) queue(e);
        for (std::size_t k : carries_.of(v))
          if (Fact now = of_[Atom::var(carry(k))]; adopt(now, of_[Atom::var(v)])) of_[carry(k)] = now, changed.push_back(carry(k));
      }
    };
    for (std::size_t k = 0; k < num_carry; ++k)
      if (const Atom a = d_.outputs[k]; !a.is_literal()) changed.push_back(a.var());
    spread();
    for (std::size_t e = 0; e < d_.eqns.size(); ++e) queue(e);
    std::vector<Fact> operands;
    for (; !waiting_.empty(); spread()) {
      const Eqn& e = d_.eqns[waiting_.top()];
      queued_[waiting_.top()] = false, waiting_.pop();
      operands.clear();
      for (Atom a : e.inputs) operands.push_back(of_[a]);
      const std::vector<Fact> now = results(e, operands);
      for (std::size_t k = 0; k < now.size(); ++k)
        if (const Var v = e.outputs[k]; of_[Atom::var(v)] != now[k]) of_[v] = now[k], changed.push_back(v);
    }
  }

  std::vector<Fact> inputs() const {
    std::vector<Fact> out;
    for (int i = 0; i < d_.num_inputs; ++i) out.push_back(of_[Atom::var(d_.first_input() + static_cast<Var>(i))]);
    return out;
  }
  std::vector<Fact> outputs() const {
    std::vector<Fact> out;
    for (Atom a : d_.outputs) out.push_back(of_[a]);
    return out;
  }

 private:
  void index_uses(std::size_t num_carry) {
    for (const Eqn& e : d_.eqns)
      for (Atom a : e.inputs) readers_.count(a);
    for (std::size_t k = 0; k < num_carry; ++k) carries_.count(d_.outputs[k]);
    readers_.counted(), carries_.counted();
    for (std::size_t i = 0; i < d_.eqns.size(); ++i)
      for (Atom a : d_.eqns[i].inputs) readers_.add(a, i);
    for (std::size_t k = 0; k < num_carry; ++k) carries_.add(d_.outputs[k], k);
  }
  void queue(std::size_t e) {
    if (!queued_[e]) queued_[e] = true, waiting_.push(e);
  }

  const JaxprData& d_;
  VarMap<Fact> of_;
  VarUses readers_, carries_;
  std::vector<bool> queued_;
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> waiting_;  // in the program's order
};

}  // namespace weft::detail
