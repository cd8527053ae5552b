// The walk over a program's equations that evaluation, transforms and backends share: each equation is given the values of its operands and
// returns those of its results. The caller chooses the type of values: arrays, blocks of sharded arrays, Taylor series, ...
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/liveness.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {

/// An operand that is a literal, as an array.
inline Array literal_array(const JaxprData& d, Atom a) {
  const Literal& l = d.literals[a.literal()];
  return make_literal(l.aval, l.bits);
}

/// The lift of walks whose values are arrays: the identity.
struct ArrayAsValue {
  Array operator()(Array x) const { return x; }
};

/// The values of a program's variables. `lift` converts the array of a constant or a literal to a value.
template <class T = Array, class Lift = ArrayAsValue>
class ProgramValues {
 public:
  explicit ProgramValues(const JaxprData& d, Lift lift = {}) : d_(d), lift_(std::move(lift)), of_(d.avals.size()) {
    for (std::size_t i = 0; i < d.consts.size(); ++i) of_[i] = lift_(d.consts[i]);
  }
  ProgramValues(const JaxprData& d, std::span<const T> inputs, Lift lift = {}) : ProgramValues(d, std::move(lift)) {
    std::copy(inputs.begin(), inputs.end(), of_.begin() + d.num_consts);
  }

  T operator[](Atom a) const { return a.is_literal() ? lift_(literal_array(d_, a)) : of_[a.var()]; }
  T& operator[](Var v) { return of_[v]; }
  /// Stores the values of an equation's operands in `into`, whose memory is reused from one equation to the next.
  void read(const std::vector<Atom>& atoms, std::vector<T>& into) const {
    into.clear();
    for (Atom a : atoms) into.push_back((*this)[a]);
  }
  std::vector<T> read(const std::vector<Atom>& atoms) const {
    std::vector<T> out;
    out.reserve(atoms.size());
    read(atoms, out);
    return out;
  }
  /// Sets the values of an equation's results.
  void set(const Eqn& e, std::vector<T> results) {
    for (std::size_t k = 0; k < results.size(); ++k) of_[e.outputs[k]] = std::move(results[k]);
  }

 private:
  const JaxprData& d_;
  Lift lift_;
  std::vector<T> of_;
};

/// A map from a program's variables to facts about them; `absent` for constants and literals.
template <class T>
class VarMap {
 public:
  template <class List>
  VarMap(const JaxprData& d, const List& inputs, T absent = {}) : absent_(absent), of_(d.avals.size(), absent) {
    std::copy(inputs.begin(), inputs.end(), of_.begin() + d.num_consts);
  }
  T operator[](Atom a) const { return a.is_literal() ? absent_ : of_[a.var()]; }
  decltype(auto) operator[](Var v) { return of_[v]; }

 private:
  T absent_;
  std::vector<T> of_;
};

/// Evaluates a program; `run(equation, operands)` returns the results of one equation. A value is released after the last equation that
/// reads it, so that a long program executed step by step holds no more than it needs. With `live`, only live equations are run; inputs
/// that are not live may be empty values, and results that are not live are.
template <class T, class Lift, class Run>
std::vector<T> walk_as(const Jaxpr& j, std::span<const T> inputs, Lift lift, Run&& run, const LiveSet* live = nullptr) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  std::vector<std::size_t> last_use(d.avals.size(), d.eqns.size());
  for (std::size_t i = 0; i < d.eqns.size(); ++i)
    if (!live || live->eqns[i])
      for (Atom a : d.eqns[i].inputs)
        if (!a.is_literal()) last_use[a.var()] = i;
  for (std::size_t i = 0; i < d.outputs.size(); ++i)
    if (const Atom a = d.outputs[i]; !a.is_literal() && (!live || live->outputs[i])) last_use[a.var()] = d.eqns.size();

  ProgramValues<T, Lift> values(d, inputs, std::move(lift));
  std::vector<T> in;
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    if (live && !live->eqns[i]) continue;
    const Eqn& e = d.eqns[i];
    values.read(e.inputs, in);
    values.set(e, run(e, std::span<const T>(in)));
    for (Atom a : e.inputs)
      if (!a.is_literal() && last_use[a.var()] == i) values[a.var()] = T();
  }
  std::vector<T> out(d.outputs.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!live || live->outputs[i]) out[i] = values[d.outputs[i]];
  return out;
}
/// The walk whose values are arrays.
template <class Run>
std::vector<Array> walk(const Jaxpr& j, std::span<const Array> inputs, Run&& run, const LiveSet* live = nullptr) {
  return walk_as<Array>(j, inputs, ArrayAsValue(), std::forward<Run>(run), live);
}

}  // namespace weft::detail
