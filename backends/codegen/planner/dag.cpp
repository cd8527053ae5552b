#include "weft/backends/codegen/planner/dag.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <string_view>

#include "weft/core/base/hash.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

}  // namespace

int Dag::add_dim(std::int64_t size) {
  if (dims.size() >= kMaxDims) throw CompileError("codegen: internal error: a kernel with more than 64 loops");
  dims.push_back(size);
  return static_cast<int>(dims.size()) - 1;
}

std::uint64_t Dag::hash(const Node& n) {
  std::uint64_t h = mix(static_cast<std::uint64_t>(n.kind), static_cast<std::uint64_t>(n.dtype.id()));
  if (n.kind == NodeKind::op) h = mix(h, static_cast<std::uint64_t>(n.op));
  if (n.kind == NodeKind::math) h = mix(h, static_cast<std::uint64_t>(n.function));
  for (NodeId o : n.operands) h = mix(h, static_cast<std::uint64_t>(o));
  return mix(mix(h, static_cast<std::uint64_t>(n.integer)), std::bit_cast<std::uint64_t>(n.floating));
}

NodeId Dag::find(const Node& n) const {
  const auto [first, last] = table_.equal_range(hash(n));
  for (auto it = first; it != last; ++it) {
    const Node& o = (*this)[it->second];
    if (o.kind == n.kind && o.dtype == n.dtype && o.operands == n.operands && o.integer == n.integer &&
        std::bit_cast<std::uint64_t>(o.floating) == std::bit_cast<std::uint64_t>(n.floating) && (n.kind != NodeKind::op || o.op == n.op) &&
        (n.kind != NodeKind::math || o.function == n.function))
      return it->second;
  }
  return -1;
}

NodeId Dag::intern(const Node& n) {
  if (const NodeId same = find(n); same >= 0) return same;
  Node copy = n;
  for (NodeId o : n.operands)
    if (o >= 0) copy.dims |= (*this)[o].dims;
  nodes.push_back(copy);
  table_.emplace(hash(n), static_cast<NodeId>(nodes.size()) - 1);
  return static_cast<NodeId>(nodes.size()) - 1;
}

NodeId Dag::intern(Affine a) {
  std::uint64_t h = mix(0x1dea, static_cast<std::uint64_t>(a.constant));
  for (const AffineTerm& t : a.terms) h = mix(mix(h, static_cast<std::uint64_t>(t.atom)), static_cast<std::uint64_t>(t.coef));
  const auto [first, last] = table_.equal_range(h);
  for (auto it = first; it != last; ++it)
    if ((*this)[it->second].kind == NodeKind::index && affine(it->second) == a) return it->second;
  Node n;
  n.kind = NodeKind::index;
  n.affine = static_cast<int>(affines.size());
  bound(a, n.low, n.high);
  for (const AffineTerm& t : a.terms) n.dims |= t.atom >= 0 ? std::uint64_t{1} << t.atom : (*this)[~t.atom].dims;
  affines.push_back(std::move(a));
  nodes.push_back(n);
  table_.emplace(h, static_cast<NodeId>(nodes.size()) - 1);
  return static_cast<NodeId>(nodes.size()) - 1;
}

void Dag::bound(const Affine& a, std::int64_t& low, std::int64_t& high) const {
  low = high = a.constant;
  for (const AffineTerm& t : a.terms) {
    const std::int64_t l = atom_low(t.atom), h = atom_high(t.atom);
    low += t.coef * (t.coef > 0 ? l : h);
    high += t.coef * (t.coef > 0 ? h : l);
  }
}

NodeId Dag::index(std::int64_t constant) { return intern(Affine{constant, {}}); }
NodeId Dag::index_dim(int dim) {
  if (dims[static_cast<std::size_t>(dim)] == 1) return index(0);
  return intern(Affine{0, {{dim, 1}}});
}
NodeId Dag::offset(NodeId a, std::int64_t constant) {
  if (constant == 0) return a;
  Affine f = affine(a);
  f.constant += constant;
  return intern(std::move(f));
}
NodeId Dag::scale(NodeId a, std::int64_t k) {
  if (k == 1) return a;
  if (k == 0) return index(0);
  Affine f = affine(a);
  f.constant *= k;
  for (AffineTerm& t : f.terms) t.coef *= k;
  return intern(std::move(f));
}

NodeId Dag::combine(NodeId a, std::int64_t ka, NodeId b, std::int64_t kb) {
  const Affine &x = affine(a), &y = affine(b);
  Affine sum;
  sum.constant = x.constant * ka + y.constant * kb;
  std::size_t i = 0, k = 0;
  while (i < x.terms.size() || k < y.terms.size()) {
    AffineTerm t;
    if (k == y.terms.size() || (i < x.terms.size() && x.terms[i].atom < y.terms[k].atom)) {
      t = {x.terms[i].atom, x.terms[i].coef * ka}, ++i;
    } else if (i == x.terms.size() || y.terms[k].atom < x.terms[i].atom) {
      t = {y.terms[k].atom, y.terms[k].coef * kb}, ++k;
    } else {
      t = {x.terms[i].atom, x.terms[i].coef * ka + y.terms[k].coef * kb}, ++i, ++k;
    }
    if (t.coef != 0) sum.terms.push_back(t);
  }
  // c * d * (e / d) + c * (e % d) is c * e.
  for (const AffineTerm& t : sum.terms) {
    if (t.atom >= 0 || (*this)[~t.atom].kind != NodeKind::index_mod) continue;
    const Node mod = (*this)[~t.atom];
    for (const AffineTerm& u : sum.terms) {
      if (u.atom >= 0 || u.coef != t.coef * mod.integer) continue;
      const Node& div = (*this)[~u.atom];
      if (div.kind != NodeKind::index_div || div.operands[0] != mod.operands[0] || div.integer != mod.integer) continue;
      const AffineTerm dropped_mod = t, dropped_div = u;
      std::erase_if(sum.terms, [&](const AffineTerm& w) { return w == dropped_mod || w == dropped_div; });
      return combine(intern(std::move(sum)), 1, mod.operands[0], dropped_mod.coef);
    }
  }
  return intern(std::move(sum));
}

bool Dag::split(NodeId a, std::int64_t divisor, NodeId& quotient, NodeId& rest) {
  return split_off(a, divisor, quotient, rest) && (*this)[rest].high < divisor;
}

/// The same, but the rest may be as large as the divisor or larger.
bool Dag::split_off(NodeId a, std::int64_t divisor, NodeId& quotient, NodeId& rest) {
  const Node& n = (*this)[a];
  if (n.high < divisor) {  // valid positions are never negative
    quotient = index(0), rest = a;
    return true;
  }
  Affine q, r;
  const Affine f = affine(a);
  for (const AffineTerm& t : f.terms) {
    if (t.coef % divisor == 0)
      q.terms.push_back({t.atom, t.coef / divisor});
    else
      r.terms.push_back(t);
  }
  q.constant = floor_div(f.constant, divisor);
  r.constant = f.constant - q.constant * divisor;
  std::int64_t low = 0, high = 0;
  bound(r, low, high);
  if (low < 0) return false;
  quotient = intern(std::move(q)), rest = intern(std::move(r));
  return true;
}

NodeId Dag::divide(NodeId a, std::int64_t divisor) {
  if (divisor == 1) return a;
  NodeId q = -1, r = -1;
  if (split(a, divisor, q, r)) return q;
  // Where all but a rest below g is a multiple of g, a divisor of the divisor: (g * q + r) / (g * d) is q / d.
  for (const AffineTerm& t : Affine(affine(a)).terms) {
    const std::int64_t g = std::gcd(t.coef, divisor);
    if (g > 1 && g < divisor && split(a, g, q, r)) return divide(q, divisor / g);
  }
  if (split_off(a, divisor, q, r) && r != a) return add(q, divide(r, divisor));
  Node n;
  n.kind = NodeKind::index_div;
  n.operands[0] = a, n.integer = divisor;
  n.low = 0, n.high = std::max<std::int64_t>((*this)[a].high / divisor, 0);
  return intern(Affine{0, {{~intern(n), 1}}});
}
NodeId Dag::modulo(NodeId a, std::int64_t divisor) {
  if (divisor == 1) return index(0);
  NodeId q = -1, r = -1;
  if (split(a, divisor, q, r)) return r;
  for (const AffineTerm& t : Affine(affine(a)).terms) {
    const std::int64_t g = std::gcd(t.coef, divisor);
    if (g > 1 && g < divisor && split(a, g, q, r)) return combine(modulo(q, divisor / g), g, r, 1);
  }
  if (split_off(a, divisor, q, r) && r != a) return modulo(r, divisor);
  Node n;
  n.kind = NodeKind::index_mod;
  n.operands[0] = a, n.integer = divisor;
  n.low = 0, n.high = divisor - 1;
  return intern(Affine{0, {{~intern(n), 1}}});
}

NodeId Dag::index_of(V value, std::int64_t low, std::int64_t high) {
  const Node& n = (*this)[value.id];
  if (n.kind == NodeKind::constant) return index(n.integer);
  if (n.kind == NodeKind::index_value && n.dtype.is_integer()) return n.operands[0];
  // One value may be a coordinate along several dimensions: all that is known of it holds at once.
  const auto narrow = [&](std::int64_t least, std::int64_t most) {
    if (std::max(low, least) <= std::min(high, most)) low = std::max(low, least), high = std::min(high, most);
  };
  if (const std::optional<Range> r = range_of(value.id)) narrow(r->low, r->high);
  if (low == high) return index(low);
  const V wide = convert(value, int64);
  Node& w = nodes[static_cast<std::size_t>(wide.id)];
  if (w.low < w.high) narrow(w.low, w.high);
  w.low = low, w.high = high;
  return intern(Affine{0, {{~wide.id, 1}}});
}

KernelValue Dag::below(NodeId a, std::int64_t limit) {
  if ((*this)[a].low >= 0 && (*this)[a].high < limit) return boolean(true);
  if ((*this)[a].high < 0 || (*this)[a].low >= limit) return boolean(false);
  Node n;
  n.kind = NodeKind::index_below, n.dtype = bool_;
  n.operands[0] = a, n.integer = std::min(limit, (*this)[a].high + 1);  // which fits wherever the position does
  return operand(intern(n));
}
KernelValue Dag::value_of(NodeId a, DType dtype) {
  std::int64_t c = 0;
  if (as_constant(a, c)) return integer(dtype, c);
  if (dtype.is_complex()) return complex(value_of(a, dtype.real_part()), constant(dtype.real_part(), 0));
  if (dtype == float16 || dtype == bfloat16) return convert(value_of(a, float32), dtype);
  Node n;
  n.kind = NodeKind::index_value, n.dtype = dtype;
  n.operands[0] = a;
  return operand(intern(n));
}
int Dag::as_dim(NodeId a) const {
  const Affine& f = affine(a);
  return f.constant == 0 && f.terms.size() == 1 && f.terms[0].coef == 1 && f.terms[0].atom >= 0 ? f.terms[0].atom : -1;
}
bool Dag::as_constant(NodeId a, std::int64_t& out) const {
  const Affine& f = affine(a);
  out = f.constant;
  return f.terms.empty();
}
bool Dag::stride(NodeId a, int dim, std::int64_t& out) const {
  out = 0;
  for (const AffineTerm& t : affine(a).terms) {
    if (t.atom == dim) out = t.coef;
    if (t.atom < 0 && ((*this)[~t.atom].dims >> dim & 1)) return false;
  }
  return true;
}

KernelValue Dag::load(int argument, DType dtype, NodeId position, NodeId guard) {
  Node n;
  n.kind = NodeKind::load, n.dtype = dtype;
  n.operands = {position, guard, -1};
  n.integer = argument;
  return operand(intern(n));
}
KernelValue Dag::local(int number, DType dtype, std::uint64_t depends_on) {
  Node n;
  n.kind = NodeKind::local, n.dtype = dtype;
  n.integer = number;
  const NodeId id = intern(n);
  nodes[static_cast<std::size_t>(id)].dims = depends_on;
  return operand(id);
}
KernelValue Dag::both(V a, V b) {
  if (is_true(a) || is_false(b)) return b;
  if (is_true(b) || is_false(a)) return a;
  return bit_and(a, b);
}

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;  // products of such numbers, and sums of a few of them, don't overflow

bool fits(std::int64_t low, std::int64_t high, DType dtype) {
  const int bits = 8 * static_cast<int>(dtype.itemsize());
  const std::int64_t most = bits == 64 ? kMost * kMost : (std::int64_t{1} << (bits - (dtype.is_unsigned() ? 0 : 1))) - 1;
  return high <= most && low >= (dtype.is_unsigned() ? 0 : -most - 1);
}

}  // namespace

std::optional<NodeId> Dag::position_of(V value) {
  const Node& n = (*this)[value.id];
  if (!n.dtype.is_integer()) return {};
  if (n.kind == NodeKind::constant && -kMost <= n.integer && n.integer <= kMost && fits(n.integer, n.integer, n.dtype))
    return index(n.integer);
  if (n.kind != NodeKind::index_value) return {};
  const std::int64_t low = (*this)[n.operands[0]].low, high = (*this)[n.operands[0]].high;
  return low >= -kMost && high <= kMost && fits(low, high, n.dtype) ? std::optional(n.operands[0]) : std::nullopt;
}

std::optional<KernelValue> Dag::emit_of_positions(ScalarOp op, DType result, std::span<const V> v) {
  std::array<NodeId, 2> at{-1, -1};
  if (v.size() > at.size()) return {};
  for (std::size_t i = 0; i < v.size(); ++i) {
    const std::optional<NodeId> n = position_of(v[i]);
    if (!n) return {};
    at[i] = *n;
  }
  const std::int64_t low = (*this)[at[0]].low, high = (*this)[at[0]].high;
  const auto as_result = [&](NodeId n) {
    return fits((*this)[n].low, (*this)[n].high, result) ? std::optional(value_of(n, result)) : std::nullopt;
  };
  if (op == ScalarOp::convert) return result.is_integer() ? as_result(at[0]) : std::nullopt;
  if (v.size() != 2) return {};
  const std::int64_t other_low = (*this)[at[1]].low, other_high = (*this)[at[1]].high;
  const auto known = [&](bool yes, bool no) -> std::optional<V> {
    return yes ? std::optional(boolean(true)) : no ? std::optional(boolean(false)) : std::nullopt;
  };
  switch (op) {
    case ScalarOp::add: return as_result(combine(at[0], 1, at[1], 1));
    case ScalarOp::sub: return as_result(combine(at[0], 1, at[1], -1));
    case ScalarOp::mul: {
      std::int64_t factor = 0;
      if (as_constant(at[1], factor)) return as_result(scale(at[0], factor));
      if (as_constant(at[0], factor)) return as_result(scale(at[1], factor));
      return {};
    }
    case ScalarOp::div:
    case ScalarOp::rem: {
      std::int64_t divisor = 0;
      if (low < 0 || !as_constant(at[1], divisor) || divisor <= 0) return {};
      return as_result(op == ScalarOp::div ? divide(at[0], divisor) : modulo(at[0], divisor));
    }
    case ScalarOp::min: return high <= other_low ? std::optional(v[0]) : low >= other_high ? std::optional(v[1]) : std::nullopt;
    case ScalarOp::max: return low >= other_high ? std::optional(v[0]) : high <= other_low ? std::optional(v[1]) : std::nullopt;
    case ScalarOp::lt: return known(high < other_low, low >= other_high);
    case ScalarOp::le: return known(high <= other_low, low > other_high);
    case ScalarOp::gt: return known(low > other_high, high <= other_low);
    case ScalarOp::ge: return known(low >= other_high, high < other_low);
    default: return {};
  }
}

namespace {

bool is_constant(const Dag& dag, NodeId n, std::int64_t value) {
  return n >= 0 && dag[n].kind == NodeKind::constant && !dag[n].dtype.is_floating() && dag[n].integer == value;
}
bool is_op(const Dag& dag, NodeId n, ScalarOp op) { return n >= 0 && dag[n].kind == NodeKind::op && dag[n].op == op; }
/// op(., value), of integers or bools.
bool is_op_with(const Dag& dag, NodeId n, ScalarOp op, std::int64_t value) {
  return is_op(dag, n, op) && is_constant(dag, dag[n].operands[1], value);
}
/// The x of `sign(x)`, as it is lowered for integers; -1 of anything else.
NodeId operand_of_sign(const Dag& dag, NodeId n) {
  if (!is_op(dag, n, ScalarOp::select) || !is_constant(dag, dag[n].operands[1], 0)) return -1;
  const auto [zero, unused, signs] = dag[n].operands;
  if (!is_op_with(dag, zero, ScalarOp::eq, 0) || !is_op(dag, signs, ScalarOp::select)) return -1;
  const auto [negative, below, above] = dag[signs].operands;
  const NodeId x = dag[zero].operands[0];
  return is_op_with(dag, negative, ScalarOp::lt, 0) && dag[negative].operands[0] == x && is_constant(dag, below, -1) &&
                 is_constant(dag, above, 1)
             ? x
             : -1;
}
/// Whether `n` is op(x, c) of signed integers with a constant c > 0, the ScalarOp being `div` or `rem`.
bool is_by_positive(const Dag& dag, NodeId n, ScalarOp op) {
  return is_op(dag, n, op) && dag[n].dtype.is_signed() && dag[dag[n].operands[1]].kind == NodeKind::constant &&
         dag[dag[n].operands[1]].integer > 0;
}
/// If one of two conditions is x % c != 0 and the other one x <= 0 or x % c < 0, both together mean x % c < 0: returns the remainder; else
/// -1.
NodeId negative_remainder(const Dag& dag, NodeId one, NodeId other) {
  if (!is_op_with(dag, other, ScalarOp::ne, 0)) std::swap(one, other);
  if (!is_op_with(dag, other, ScalarOp::ne, 0)) return -1;
  const NodeId rest = dag[other].operands[0];
  if (!is_by_positive(dag, rest, ScalarOp::rem)) return -1;
  if (is_op_with(dag, one, ScalarOp::lt, 0) && dag[one].operands[0] == rest) return rest;
  return is_op_with(dag, one, ScalarOp::ne, 1) && operand_of_sign(dag, dag[one].operands[0]) == dag[rest].operands[0] ? rest : -1;
}

/// Whether conditions exclude each other: x == 0 and x % c != 0, or y != 0 of a term y of x, for a position x.
bool zero_with_rest(const Dag& dag, NodeId zero, NodeId rest) {
  if (!is_op_with(dag, zero, ScalarOp::eq, 0)) std::swap(zero, rest);
  if (!is_op_with(dag, zero, ScalarOp::eq, 0) || !is_op_with(dag, rest, ScalarOp::ne, 0)) return false;
  const Node &x = dag[dag[zero].operands[0]], &r = dag[dag[rest].operands[0]];
  if (x.kind != NodeKind::index_value || r.kind != NodeKind::index_value) return false;
  const Affine &of_rest = dag.affine(r.operands[0]), &of_x = dag.affine(x.operands[0]);
  if (of_rest.constant != 0 || of_rest.terms.size() != 1) return false;
  const int atom = of_rest.terms[0].atom;
  if (atom < 0 && dag[~atom].kind == NodeKind::index_mod && dag[~atom].operands[0] == x.operands[0]) return true;
  const bool adds_up = of_x.constant >= 0 && std::all_of(of_x.terms.begin(), of_x.terms.end(), [&](const AffineTerm& t) {
                         return t.coef > 0 && (t.atom >= 0 || dag[~t.atom].low >= 0);
                       });
  return adds_up && std::any_of(of_x.terms.begin(), of_x.terms.end(), [&](const AffineTerm& t) { return t.atom == atom; });
}
/// The condition of select(condition, a, b) != b, of different constants.
NodeId chooses_first(const Dag& dag, NodeId chosen, NodeId other) {
  if (!is_op(dag, chosen, ScalarOp::select) || dag[other].kind != NodeKind::constant || dag[other].dtype.is_floating()) return -1;
  const auto [condition, yes, no] = dag[chosen].operands;
  return no == other && dag[yes].kind == NodeKind::constant && yes != no ? condition : -1;
}

/// Recognises `select(condition, yes, no)` as the correction of a truncating quotient or remainder by a constant to a flooring one, and
/// returns that; nothing for other selections.
std::optional<KernelValue> rounded_down(Dag& dag, KernelValue condition, KernelValue yes, KernelValue no) {
  if (!is_op_with(dag, condition.id, ScalarOp::lt, 0)) return {};
  const NodeId rest = dag[condition.id].operands[0];
  if (!is_by_positive(dag, rest, ScalarOp::rem)) return {};
  const auto [x_id, by_id, unused] = dag[rest].operands;
  const KernelValue x = dag.operand(x_id);
  const std::int64_t by = dag[by_id].integer;
  const bool power = (by & (by - 1)) == 0;
  if (no.id == rest && power && is_op(dag, yes.id, ScalarOp::add) && dag[yes.id].operands[0] == rest && dag[yes.id].operands[1] == by_id)
    return dag.bit_and(x, dag.integer(x.dtype, by - 1));
  if (!is_by_positive(dag, no.id, ScalarOp::div) || dag[no.id].operands[0] != x_id || dag[no.id].operands[1] != by_id ||
      !is_op_with(dag, yes.id, ScalarOp::sub, 1) || dag[yes.id].operands[0] != no.id)
    return {};
  if (power) return dag.shr_arithmetic(x, dag.integer(x.dtype, std::countr_zero(static_cast<std::uint64_t>(by))));
  if (x.dtype.itemsize() > 4) return {};
  // For x < 0 the quotient is ~(~x / by), and ~x isn't negative.
  const int bits = 8 * static_cast<int>(x.dtype.itemsize());
  const DType without_sign = bits == 8 ? uint8 : bits == 16 ? uint16 : uint32;
  const KernelValue sign = dag.shr_arithmetic(x, dag.integer(x.dtype, bits - 1));
  const KernelValue size = dag.bit_and(dag.bit_xor(x, sign), dag.integer(x.dtype, (std::int64_t{1} << (bits - 1)) - 1));
  const KernelValue quotient = dag.div(dag.bitcast(size, without_sign), dag.integer(without_sign, by));
  return dag.bit_xor(dag.bitcast(quotient, x.dtype), sign);
}

}  // namespace

KernelValue Dag::emit(ScalarOp op, DType result, std::span<const V> v) {
  if (const std::optional<V> value = emit_of_positions(op, result, v)) return *value;
  if (const std::optional<V> value = emit_of_ranges(op, v)) return *value;
  if (op == ScalarOp::select) {
    if (v[1].id == v[2].id || is_true(v[0])) return v[1];
    if (is_false(v[0])) return v[2];
    if (const std::optional<V> value = rounded_down(*this, v[0], v[1], v[2])) return *value;
  }
  if (op == ScalarOp::ne && v[0].dtype.is_bool() && is_false(v[1])) return v[0];
  if (op == ScalarOp::ne)
    if (const NodeId condition = chooses_first(*this, v[0].id, v[1].id); condition >= 0) return operand(condition);
  if (op == ScalarOp::bit_and && result.is_bool() && zero_with_rest(*this, v[0].id, v[1].id)) return boolean(false);
  if (op == ScalarOp::bit_and && result.is_bool())
    if (const NodeId rest = negative_remainder(*this, v[0].id, v[1].id); rest >= 0)
      return lt(operand(rest), integer((*this)[rest].dtype, 0));
  const Node& first = (*this)[v[0].id];
  if (op == ScalarOp::convert && first.kind == NodeKind::constant) {
    if (result == first.dtype) return v[0];
    if (result.is_floating())
      return constant(result, first.dtype.is_floating() ? first.floating
                              : first.dtype == uint64   ? static_cast<double>(static_cast<std::uint64_t>(first.integer))
                                                        : static_cast<double>(first.integer));
    if (!first.dtype.is_floating() && !result.is_bool()) return integer(result, first.integer);
  }
  // Of an integer that was widened, the low bits are the integer's own.
  if (op == ScalarOp::convert && result.is_integer() && first.kind == NodeKind::op && first.op == ScalarOp::convert &&
      first.dtype.is_integer() && result.itemsize() <= first.dtype.itemsize())
    if (const V from = operand(first.operands[0]); from.dtype.is_integer() || from.dtype.is_bool())
      return from.dtype == result ? from : convert(from, result);
  if ((op == ScalarOp::shl || op == ScalarOp::shr_logical || op == ScalarOp::shr_arithmetic) && is_constant(*this, v[1].id, 0)) return v[0];
  if (op == ScalarOp::convert && narrows_integers && result.is_integer() && first.dtype.is_integer() &&
      result.itemsize() < first.dtype.itemsize() && first.kind == NodeKind::op)
    if (const std::optional<V> value = low_bits(v[0].id, result)) return *value;
  if (v.size() == 2) {
    const Node& second = (*this)[v[1].id];
    const bool floating = first.dtype.is_floating();
    const auto is_one = [&](const Node& n) { return n.kind == NodeKind::constant && (floating ? n.floating == 1 : n.integer == 1); };
    if (op == ScalarOp::mul && is_one(second)) return v[0];
    if (op == ScalarOp::mul && is_one(first)) return v[1];
    if (op == ScalarOp::div && is_one(second)) return v[0];
    if (op == ScalarOp::rem && !floating && is_one(second)) return integer(result, 0);
    if (first.dtype.is_bool() && (op == ScalarOp::bit_and || op == ScalarOp::bit_or)) {
      const bool neutral = op == ScalarOp::bit_and;  // else it is the result, whatever the other is
      for (std::size_t i = 0; i < 2; ++i)
        if ((*this)[v[i].id].kind == NodeKind::constant) return is_true(v[i]) == neutral ? v[1 - i] : v[i];
      if (v[0].id == v[1].id) return v[0];
    }
    if (first.kind == NodeKind::constant && second.kind == NodeKind::constant && !floating && first.dtype != uint64) {
      const std::int64_t a = first.integer, b = second.integer;
      if (op == ScalarOp::eq) return boolean(a == b);
      if (op == ScalarOp::ne) return boolean(a != b);
      if (op == ScalarOp::lt) return boolean(a < b);
      if (op == ScalarOp::le) return boolean(a <= b);
      if (op == ScalarOp::gt) return boolean(a > b);
      if (op == ScalarOp::ge) return boolean(a >= b);
    }
    if (op == ScalarOp::add && first.kind == NodeKind::constant && second.kind == NodeKind::constant && floating)
      return constant(result, result == float64
                                  ? first.floating + second.floating
                                  : static_cast<double>(static_cast<float>(first.floating) + static_cast<float>(second.floating)));
  }
  Node n;
  n.kind = NodeKind::op, n.op = op, n.dtype = result;
  for (std::size_t i = 0; i < v.size(); ++i) n.operands[i] = v[i].id;
  // Sums and products are commutative, except for which of two NaNs results.
  if (op == ScalarOp::add || op == ScalarOp::mul || op == ScalarOp::bit_and || op == ScalarOp::bit_or || op == ScalarOp::bit_xor) {
    Node swapped = n;
    std::swap(swapped.operands[0], swapped.operands[1]);
    if (const NodeId same = find(swapped); same >= 0) return operand(same);
  }
  return operand(intern(n));
}
KernelValue Dag::emit_constant(DType dtype, double floating, std::int64_t integer) {
  Node n;
  n.kind = NodeKind::constant, n.dtype = dtype;
  if (dtype.is_floating())
    n.floating = floating;
  else
    n.integer = integer;
  return operand(intern(n));
}
KernelValue Dag::emit_math(MathFunction f, std::span<const V> v) {
  Node n;
  n.kind = NodeKind::math, n.function = f, n.dtype = v[0].dtype;
  for (std::size_t i = 0; i < v.size(); ++i) n.operands[i] = v[i].id;
  return operand(intern(n));
}

KernelValue Dag::call_where(V, MathFunction, std::span<const V>, V) {
  throw CompileError("codegen: internal error: a graph has functions that were not expanded");
}

std::string_view name_of(ScalarOp op) {
  constexpr std::string_view names[] = {
      "add",      "sub",   "mul",     "div",        "rem",    "neg",      "abs",     "min", "max",         "fma",
      "sqrt",     "floor", "ceil",    "round_even", "trunc",  "copysign", "eq",      "ne",  "lt",          "le",
      "gt",       "ge",    "select",  "bit_and",    "bit_or", "bit_xor",  "bit_not", "shl", "shr_logical", "shr_arithmetic",
      "popcount", "clz",   "convert", "bitcast"};
  static_assert(std::size(names) == static_cast<std::size_t>(ScalarOp::bitcast) + 1);
  return names[static_cast<std::size_t>(op)];
}

}  // namespace weft::detail
