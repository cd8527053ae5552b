// Identity of programs: a hash of what they do, stable across processes, and equality. Source lines and weak types count in neither.
#include <cstring>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/same_operation.h"
#include "weft/core/ir/sealed_program.h"

namespace weft {
namespace detail {
namespace {

/// 64 bits, mixed word by word with the finaliser of D. Stafford's "Better bit mixing" (2011, variant 13).
class Hasher {
 public:
  void add(std::uint64_t v) {
    h_ += 0x9e3779b97f4a7c15ULL;
    h_ ^= v;
    h_ = (h_ ^ (h_ >> 30)) * 0xbf58476d1ce4e5b9ULL;
    h_ = (h_ ^ (h_ >> 27)) * 0x94d049bb133111ebULL;
    h_ ^= h_ >> 31;
  }
  void add(std::string_view s) {
    add(s.size());
    for (std::size_t i = 0; i < s.size(); i += 8) {
      std::uint64_t word = 0;
      for (std::size_t k = 0; k < 8 && i + k < s.size(); ++k) word |= std::uint64_t{static_cast<unsigned char>(s[i + k])} << (8 * k);
      add(word);
    }
  }
  void add(const Aval& a) {
    add(static_cast<std::uint64_t>(a.dtype.id()) << 32 | static_cast<std::uint64_t>(a.ndim()));
    for (const std::int64_t d : a.shape) add(static_cast<std::uint64_t>(d));
  }
  std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0x243f6a8885a308d3ULL;
};

class ProgramHasher {
 public:
  std::uint64_t hash(const Jaxpr& j) {
    check_nesting("programs inside programs", nesting_depth(j));
    if (const auto at = known_.find(&j.data()); at != known_.end()) return at->second;
    const JaxprData& d = j.data();
    Hasher h;
    h.add(static_cast<std::uint64_t>(d.num_consts) << 32 | static_cast<std::uint64_t>(d.num_inputs));
    for (Var v = 0; v < d.first_result(); ++v) h.add(d.avals[v]);
    h.add(d.eqns.size());
    for (const Eqn& e : d.eqns) add_eqn(h, d, e);
    h.add(d.outputs.size());
    for (const Atom a : d.outputs) add_atom(h, d, a);
    known_.emplace(&d, h.value());
    return h.value();
  }

 private:
  static void add_atom(Hasher& h, const JaxprData& d, Atom a) {
    if (!a.is_literal()) return h.add(a.var());
    const Literal& l = d.literals[a.literal()];
    std::uint64_t halves[2];
    std::memcpy(halves, l.bits.data(), sizeof halves);
    h.add(std::uint64_t{1} << 63 | static_cast<std::uint64_t>(l.aval.dtype.id()));
    h.add(halves[0]);
    h.add(halves[1]);
  }
  void add_eqn(Hasher& h, const JaxprData& d, const Eqn& e) {
    h.add(e.op->name);
    for (const ParamText& p : e.op->params_list(*e.params)) {
      h.add(p.name);
      if (p.jaxpr) h.add(hash(*p.jaxpr));
      if (p.jaxprs) {
        h.add(p.jaxprs->size());
        for (const Jaxpr& j : *p.jaxprs) h.add(hash(j));
      }
      if (!p.jaxpr && !p.jaxprs) h.add(p.text);
    }
    h.add(e.inputs.size());
    for (const Atom a : e.inputs) add_atom(h, d, a);
    h.add(e.outputs.size());
    for (const Var v : e.outputs) h.add(d.avals[v]);
  }

  std::map<const JaxprData*, std::uint64_t> known_;
};

bool same_type(const Aval& a, const Aval& b) { return a.dtype == b.dtype && a.shape == b.shape; }

bool same_atom(const JaxprData& a, Atom x, const JaxprData& b, Atom y) {
  if (x.is_literal() != y.is_literal()) return false;
  if (!x.is_literal()) return x.var() == y.var();
  const Literal &l = a.literals[x.literal()], &m = b.literals[y.literal()];
  return same_type(l.aval, m.aval) && l.bits == m.bits;
}
bool same_atoms(const JaxprData& a, const std::vector<Atom>& x, const JaxprData& b, const std::vector<Atom>& y) {
  if (x.size() != y.size()) return false;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!same_atom(a, x[i], b, y[i])) return false;
  return true;
}

/// A NaN among the parameters is not equal to itself, but its text is.
bool same_params(const Primitive& op, const ParamsBase& x, const ParamsBase& y) {
  if (op.params_equal(x, y)) return true;
  const std::vector<ParamText> a = op.params_list(x), b = op.params_list(y);
  bool has_nan = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].text != b[i].text) return false;
    if (a[i].jaxpr && !(*a[i].jaxpr == *b[i].jaxpr)) return false;
    if (a[i].jaxprs && !(*a[i].jaxprs == *b[i].jaxprs)) return false;
    has_nan |= a[i].text.find("nan") != std::string::npos;
  }
  return has_nan;
}

/// Whether they have one memory.
bool same_memory(const Array& x, const Array& y) {
  const ConcreteArray *a = as_concrete(x), *b = as_concrete(y);
  return a && b && a->buffer && a->buffer == b->buffer;
}

/// One array, or the same elements. An abstract constant equals any of its type: a text gives such constants, without values.
bool same_constant(const Array& x, const Array& y) {
  if (x.impl() == y.impl()) return true;
  if (!same_type(x.aval(), y.aval())) return false;
  if (same_memory(x, y)) return true;
  auto is = [](const Array& a, ArrayImpl::Kind kind) { return a.impl()->kind == kind; };
  if (is(x, ArrayImpl::Kind::abstract) || is(y, ArrayImpl::Kind::abstract)) return true;
  if (is(x, ArrayImpl::Kind::traced) || is(y, ArrayImpl::Kind::traced)) return false;
  const auto bytes = static_cast<std::size_t>(x.aval().bytes());
  std::vector<std::byte> a(bytes), b(bytes);
  read_elements(x, x.dtype(), a.data(), "==", {});
  read_elements(y, y.dtype(), b.data(), "==", {});
  return a == b;
}

}  // namespace

bool same_operation(const Eqn& a, const Eqn& b) { return a.op == b.op && same_params(*a.op, *a.params, *b.params); }

std::uint64_t structural_hash(const Jaxpr& j) { return ProgramHasher().hash(j); }

}  // namespace detail

using namespace detail;

bool operator==(const Jaxpr& x, const Jaxpr& y) {
  check_nesting("programs inside programs", nesting_depth(x));
  if (x.data_ == y.data_) return true;
  const JaxprData &a = x.data(), &b = y.data();
  if (a.num_consts != b.num_consts || a.num_inputs != b.num_inputs || a.avals.size() != b.avals.size() || a.eqns.size() != b.eqns.size())
    return false;
  for (std::size_t i = 0; i < a.avals.size(); ++i)
    if (!same_type(a.avals[i], b.avals[i])) return false;
  for (std::size_t i = 0; i < a.eqns.size(); ++i) {
    const Eqn &e = a.eqns[i], &f = b.eqns[i];
    if (e.outputs != f.outputs || !same_atoms(a, e.inputs, b, f.inputs) || !same_operation(e, f)) return false;
  }
  if (!same_atoms(a, a.outputs, b, b.outputs)) return false;
  for (std::size_t i = 0; i < a.consts.size(); ++i)
    if (!same_constant(a.consts[i], b.consts[i])) return false;
  return true;
}

}  // namespace weft
