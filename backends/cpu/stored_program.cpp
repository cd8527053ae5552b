#include "weft/backends/cpu/stored_program.h"

#include <cstring>
#include <map>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "weft/backends/codegen/planner/control_plan.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cpu/expand.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/trees/reflect.h"

namespace weft::detail {
namespace {

class Writer {
 public:
  void put(std::string_view s) {
    put(s.size());
    bytes_.append(s);
  }
  void put(const std::string& s) { put(std::string_view(s)); }
  void put(DType t) { put(t.id()); }
  void put(const Shape& s) {
    put(s.size());
    for (const std::int64_t d : s) put(d);
  }
  template <class T>
  void put(const std::vector<T>& v) {
    put(v.size());
    for (const auto& item : v) put(item);
  }
  /// Numbers, and structs field by field.
  template <class T>
  void put(const T& v) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      const auto number = static_cast<std::int64_t>(v);
      bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
    } else {
      std::apply([&](const auto&... field) { (put(field), ...); }, fields_of(v));
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

struct Damaged {};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  std::size_t count() {
    const auto n = get<std::uint64_t>();
    if (n > rest_.size()) throw Damaged();
    return n;
  }
  template <class T>
  T get() {
    T v{};
    get(v);
    return v;
  }
  void get(std::string& s) {
    const std::size_t n = count();
    s = rest_.substr(0, n);
    rest_.remove_prefix(n);
  }
  void get(DType& t) { t = DType(get<int>()); }
  void get(Shape& s) {
    const auto dims = get<std::vector<std::int64_t>>();
    s = Shape(dims);
  }
  template <class T>
  void get(std::vector<T>& v) {
    v.resize(count());
    for (T& item : v) get(item);
  }
  template <class T>
  void get(T& v) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      std::int64_t number = 0;
      if (rest_.size() < sizeof number) throw Damaged();
      std::memcpy(&number, rest_.data(), sizeof number);
      rest_.remove_prefix(sizeof number);
      v = static_cast<T>(number);
    } else {
      std::apply([&](auto&... field) { (get(field), ...); }, fields_of(v));
    }
  }

 private:
  std::string_view rest_;
};

/// Serialises a program into bytes that are equal only for equal programs.
class KeyWriter {
 public:
  explicit KeyWriter(Writer& to) : to_(to) {}
  /// Returns false if an operation is not the library's own, so that its name does not identify it.
  bool add(const Jaxpr& j) {
    check_nesting("programs inside programs", nesting_depth(j));
    // A sub-program that occurs several times is written once.
    const auto [at, is_new] = known_.emplace(&j.data(), known_.size());
    to_.put(at->second);
    if (!is_new) return true;
    const JaxprData& d = j.data();
    to_.put(d.num_consts), to_.put(d.num_inputs), to_.put(d.avals.size());
    for (const Aval& a : d.avals) add(a);
    to_.put(d.literals.size());
    for (const Literal& l : d.literals) {
      add(l.aval);
      to_.put(std::string_view(reinterpret_cast<const char*>(l.bits.data()), l.bits.size()));
    }
    to_.put(d.eqns.size());
    for (const Eqn& e : d.eqns)
      if (!add(e)) return false;
    add(d.outputs);
    return true;
  }

 private:
  // Weak types have no bearing on code, but on which literals of the parts of the program are one once it is simplified.
  void add(const Aval& a) { to_.put(a.dtype), to_.put(a.weak), to_.put(a.shape); }
  void add(const std::vector<Atom>& atoms) {
    to_.put(atoms.size());
    for (const Atom a : atoms) to_.put(a.is_literal()), to_.put(a.is_literal() ? a.literal() : a.var());
  }
  bool add(const Eqn& e) {
    if (find_primitive(e.op->name) != e.op) return false;
    to_.put(e.op->name);
    const std::vector<ParamText> params = e.op->params_list(*e.params);
    to_.put(params.size());
    for (const ParamText& p : params) {
      to_.put(p.name), to_.put(p.text), to_.put(p.jaxpr ? 1 : p.jaxprs ? 2 : 0);
      if (p.jaxpr && !add(*p.jaxpr)) return false;
      if (!p.jaxprs) continue;
      to_.put(p.jaxprs->size());
      for (const Jaxpr& j : *p.jaxprs)
        if (!add(j)) return false;
    }
    add(e.inputs);
    to_.put(e.outputs);
    return true;
  }

  Writer& to_;
  std::map<const JaxprData*, std::size_t> known_;
};

/// What the numbers in a stored program's steps and buffers count.
std::vector<std::size_t> counts(const Jaxpr& planned) {
  const JaxprData& d = planned.data();
  return {d.avals.size(), d.eqns.size(), d.literals.size(), d.consts.size(), d.outputs.size()};
}

void write(Writer& w, const KernelProgram& p) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  w.put(p.donated), w.put(p.buffers), w.put(p.steps), w.put(p.outputs), w.put(p.arena_bytes), w.put(counts(p.jaxpr)),
      w.put(p.controls.size());
  for (const ControlStep& c : p.controls) {
    w.put(c.eqn);
    for (const KernelProgram& part : c.programs) write(w, part);
  }
}
KernelProgram read(Reader& r, const Jaxpr& simplified) {
  check_nesting("programs inside programs", nesting_depth(simplified));
  KernelProgram p;
  std::vector<std::size_t> wanted;
  r.get(p.donated), r.get(p.buffers), r.get(p.steps), r.get(p.outputs), r.get(p.arena_bytes), r.get(wanted);
  const JaxprData& d = simplified.data();
  if (p.donated.size() > static_cast<std::size_t>(d.num_inputs)) throw Damaged();
  for (const int to : p.donated)
    if (to < kNotDonated || to >= static_cast<int>(d.outputs.size())) throw Damaged();
  // Steps count equations and literals of the program that was planned.
  p.jaxpr = with_updates_in_place(simplified, p.donated);
  if (counts(p.jaxpr) != wanted) throw Damaged();
  p.controls.resize(r.count());
  for (ControlStep& c : p.controls) {
    r.get(c.eqn);
    if (c.eqn < 0 || static_cast<std::size_t>(c.eqn) >= p.jaxpr.data().eqns.size()) throw Damaged();
    const std::vector<Jaxpr> programs = control_programs(p.jaxpr.data().eqns[static_cast<std::size_t>(c.eqn)]);
    if (programs.empty()) throw Damaged();
    for (const Jaxpr& j : programs) c.programs.push_back(read(r, simplify(j, &expand_for_cpu)));
  }
  return p;
}

/// Visits the programs of all loops and branches, in the order in which they are written.
template <class Visit>
void each_part(const KernelProgram& p, Visit&& visit) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& part : c.programs) visit(part), each_part(part, visit);
}

}  // namespace

std::optional<std::string> program_key(const Jaxpr& simplified, const std::vector<bool>& donated) {
  Writer w;
  w.put(donated.size());
  for (const bool d : donated) w.put(d);
  if (!KeyWriter(w).add(simplified)) return {};
  return w.take();
}

std::string write_program(const KernelProgram& p, std::int64_t excess, std::int64_t due, const std::vector<Schedule>& schedules,
                          const std::vector<const ObjectCode*>& objects, const std::vector<std::vector<FixedPointer>>& tables) {
  Writer w;
  w.put(excess), w.put(due);
  write(w, p);
  w.put(p.matmuls);
  w.put(schedules.size());
  for (const Schedule& s : schedules) w.put(s.num_blocks), w.put(s.grain);
  w.put(objects.size());
  for (const ObjectCode* o : objects) w.put(*o);
  std::unordered_map<const KernelProgram*, std::size_t> number_of{{&p, 0}};
  each_part(p, [&](const KernelProgram& part) { number_of.emplace(&part, number_of.size()); });
  w.put(tables.size());
  for (const auto& table : tables) {
    w.put(table.size());
    for (const FixedPointer& f : table) w.put(f.kind), w.put(f.program ? number_of.at(f.program) : 0), w.put(f.number);
  }
  return w.take();
}

std::optional<std::int64_t> stored_excess(std::string_view bytes) {
  try {
    return Reader(bytes).get<std::int64_t>();
  } catch (const Damaged&) {
    return {};
  }
}

std::optional<StoredProgram> read_program(std::string_view bytes, const Jaxpr& simplified) {
  try {
    Reader r(bytes);
    StoredProgram s;
    r.get(s.excess), r.get(s.due);
    s.program = read(r, simplified);
    r.get(s.program.matmuls);
    s.schedules.resize(r.count());
    for (Schedule& each : s.schedules) r.get(each.num_blocks), r.get(each.grain);
    r.get(s.objects);
    std::vector<const KernelProgram*> parts{nullptr};
    each_part(s.program, [&](const KernelProgram& part) { parts.push_back(&part); });
    s.tables.resize(r.count());
    for (auto& table : s.tables) {
      table.resize(r.count());
      for (FixedPointer& f : table) {
        r.get(f.kind);
        const auto part = r.get<std::size_t>();
        if (part >= parts.size()) throw Damaged();
        f.program = parts[part];
        r.get(f.number);
      }
    }
    if (!r.at_end()) return {};
    return s;
  } catch (const Damaged&) {
    return {};
  } catch (const Error&) {  // a shape or a program that can't be
    return {};
  }
}

}  // namespace weft::detail
