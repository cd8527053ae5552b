#include "tools/fuzz/shrink.h"

#include <sys/resource.h>

#include <algorithm>
#include <set>

#include "tools/fuzz/interpret.h"
#include "tools/fuzz/values.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/host.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::fuzz {

using namespace detail;

namespace {

/// Throws behind so many equations.
struct Steps final : Hook {
  int left = 20000;  // equations
  void before(const Eqn&, Arrays&) override {
    if (--left < 0) throw Error("goes on too long");
  }
};

/// Replaces a branch or a loop by one of its programs.
struct InPlaceTransform {
  using Function = Arrays(const Eqn& e, std::span<const Array> in, int which);
};
const Rule<InPlaceTransform, Cond> cond_in_place([](const Eqn& e, std::span<const Array> in, int which) {
  const auto& branches = params_as<Cond::Params>(*e.params).branches;
  if (which >= static_cast<int>(branches.size())) throw Error("no such branch");
  return eval_jaxpr(branches[static_cast<std::size_t>(which)], in.subspan(1));
});
const Rule<InPlaceTransform, While> while_in_place([](const Eqn& e, std::span<const Array> in, int which) {
  const auto& p = params_as<While::Params>(*e.params);
  if (which > 0) throw Error("one body");
  return eval_jaxpr(p.body_jaxpr, in.subspan(static_cast<std::size_t>(p.cond_nconsts)));
});
/// A scan of fewer steps, whose ys are repeated: only where there are none.
const Rule<InPlaceTransform, Scan> scan_in_place([](const Eqn& e, std::span<const Array> in, int which) {
  const auto& p = params_as<Scan::Params>(*e.params);
  const auto kept = static_cast<std::size_t>(p.num_consts + p.num_carry);
  if (which > 0 || e.outputs.size() != static_cast<std::size_t>(p.num_carry) || p.length < 1) throw Error("has ys");
  Arrays args(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(kept));
  for (std::size_t k = kept; k < in.size(); ++k) args.push_back(in[k](0));
  return eval_jaxpr(p.jaxpr, args);
});

class Shrinker {
 public:
  Shrinker(Case c, const Fails& fails, double seconds) : best_(std::move(c)), fails_(fails), end_(cpu_seconds() + seconds) {}

  Case run() {
    if (best_.program.data().num_consts > 0)
      attempt([&] {
        Applied a = without_constants(best_.program, best_.inputs);
        return Case{a.program, a.inputs, best_.stack, a.fixed};
      });
    for (bool better = true; better && in_time();) {
      better = false;
      better |= drop_transforms();
      better |= one_result();
      better |= earlier_results();
      better |= cut_front();
      better |= drop_equations();
      better |= inline_calls_of_all();
      better |= shrink_bodies();
      better |= drop_inputs();
      better |= smaller_sizes();
      better |= simpler_inputs();
    }
    return best_;
  }

 private:
  /// The processor time of this process and its children.
  static double cpu_seconds() {
    double sum = 0;
    for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage u{};
      getrusage(who, &u);
      sum +=
          static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
    }
    return sum;
  }
  bool in_time() const { return cpu_seconds() < end_; }
  bool accept(Case c) {
    if (!in_time()) return false;
    c.fixed = std::max(c.fixed, best_.fixed);
    c.mode = best_.mode;
    try {
      c.program.check();
      if (!fails_(c)) return false;
    } catch (const std::exception&) {
      return false;
    }
    best_ = std::move(c);
    return true;
  }
  /// The same inputs, another program.
  template <class F>
  bool attempt(F&& make) {
    try {
      return accept(make());
    } catch (const std::exception&) {
      return false;
    }
  }

  bool drop_transforms() {
    bool any = false;
    for (std::size_t i = best_.stack.size(); i-- > 0;)
      any |= attempt([&] {
        Case c = best_;
        c.stack.erase(c.stack.begin() + static_cast<std::ptrdiff_t>(i));
        return c;
      });
    return any;
  }

  bool one_result() {
    const std::vector<Atom> outputs = best_.program.data().outputs;
    if (outputs.size() < 2) return false;
    for (Atom a : outputs)
      if (attempt([&] { return with_program(dce_program(with_outputs(best_.program, {a}))); })) return true;
    bool any = false;
    for (std::size_t i = outputs.size(); i-- > 0;)
      any |= attempt([&] {
        std::vector<Atom> some = best_.program.data().outputs;
        if (i >= some.size()) throw Error("gone");
        some.erase(some.begin() + static_cast<std::ptrdiff_t>(i));
        return with_program(dce_program(with_outputs(best_.program, some)));
      });
    return any;
  }

  /// What the result's equation has been given, in place of the result.
  bool earlier_results() {
    bool any = false;
    for (bool better = true; better && in_time();) {
      better = false;
      const JaxprData& d = best_.program.data();
      if (d.outputs.size() != 1 || d.outputs[0].is_literal()) break;
      std::vector<Atom> operands;
      for (const Eqn& e : d.eqns)
        if (std::find(e.outputs.begin(), e.outputs.end(), d.outputs[0].var()) != e.outputs.end())
          for (Atom a : e.inputs)
            if (!a.is_literal()) operands.push_back(a);
      for (Atom a : operands)
        if ((better = attempt([&] { return with_program(dce_program(with_outputs(best_.program, {a}))); }))) break;
      any = any || better;
    }
    return any;
  }

  Case with_program(Jaxpr j) const { return {std::move(j), best_.inputs, best_.stack}; }

  /// The program from an equation on: all values that are used behind it are inputs.
  bool cut_front() {
    bool any = false;
    for (std::size_t step = std::max<std::size_t>(best_.program.eqns().size() / 2, 1); step > 0; step /= 2) {
      for (int tries = 0; tries < 50; ++tries) {
        const std::size_t n = best_.program.eqns().size();
        if (step > n) break;
        std::set<std::size_t> removed;
        for (std::size_t i = 0; i < step; ++i) removed.insert(i);
        if (!attempt([&] { return without(removed); })) break;
        any = true;
      }
    }
    return any;
  }
  /// Each equation's results as inputs.
  bool drop_equations() {
    bool any = false;
    for (std::size_t i = best_.program.eqns().size(); i-- > 0 && in_time();)
      if (i < best_.program.eqns().size()) {
        any |= attempt([&] { return bypassed(i); });
        if (i < best_.program.eqns().size()) any |= attempt([&] { return without({i}); });
      }
    return any;
  }

  Case without(const std::set<std::size_t>& removed) const {
    const JaxprData& d = best_.program.data();
    if (d.num_consts > 0) throw Error("has constants");
    const Arrays values = all_values(best_.program, best_.inputs);
    std::set<Var> used;
    for (std::size_t i = 0; i < d.eqns.size(); ++i)
      if (!removed.count(i))
        for (Atom a : d.eqns[i].inputs)
          if (!a.is_literal()) used.insert(a.var());
    for (Atom a : d.outputs)
      if (!a.is_literal()) used.insert(a.var());

    JaxprCopy copy(best_.program);
    Case c{{}, best_.inputs, best_.stack};
    copy.add_inputs();
    for (std::size_t i : removed)
      for (Var v : d.eqns[i].outputs)
        if (used.count(v)) {
          copy.add_input(v);
          c.inputs.push_back(make_concrete(d.avals[v], bytes_of(values[v]).data()));
        }
    for (std::size_t i = 0; i < d.eqns.size(); ++i)
      if (!removed.count(i)) copy.add(d.eqns[i]);
    c.program = dce_program(std::move(copy).finish(d.outputs));
    return without_unused_inputs(std::move(c));
  }

  /// An equation left out, its result taken to be an operand of its type.
  Case bypassed(std::size_t i) const {
    return {rewritten(best_.program,
                      [&](std::size_t at, const Eqn& e, std::span<const Array> in, std::vector<Array>& out) {
                        if (at != i) return false;
                        const Aval want = best_.program.data().avals[e.outputs[0]];
                        for (const Array& x : in)
                          if (e.outputs.size() == 1 && x.aval() == want) {
                            out = {x};
                            return true;
                          }
                        throw Error("no operand is like the result");
                      }),
            best_.inputs, best_.stack};
  }

  /// The program traced again; `change(position, equation, operands, results)` may give other results.
  template <class F>
  static Jaxpr rewritten(const Jaxpr& j, F&& change) {
    const JaxprData& d = j.data();
    if (d.num_consts > 0) throw Error("has constants");
    const auto avals = d.input_avals();
    return dce_program(trace_jaxpr({"shrunk", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
      std::size_t i = 0;
      return walk(j, args, [&](const Eqn& e, std::span<const Array> in) {
        Arrays out;
        if (!change(i++, e, in, out)) out = bind_primitive(*e.op, e.params, in, {});
        return out;
      });
    }));
  }

  /// A call's body in its place, a branch that is taken, one step of a scan, the body of a while once.
  bool inline_calls_of_all() {
    bool any = false;
    for (std::size_t i = best_.program.eqns().size(); i-- > 0 && in_time();)
      if (i < best_.program.eqns().size()) {
        const Eqn e = best_.program.eqns()[i];
        if (e.op->kind != Kind::call && e.op->kind != Kind::control) continue;
        for (int which = 0; which < 4; ++which)
          if (attempt([&] { return with_program(inlined(i, which)); })) {
            any = true;
            break;
          }
      }
    return any;
  }
  Jaxpr inlined(std::size_t i, int which) const {
    return rewritten(best_.program, [&](std::size_t at, const Eqn& e, std::span<const Array> in, std::vector<Array>& out) {
      if (at != i) return false;
      if (e.op->kind == Kind::call) {
        if (which > 0) throw Error("one body");
        out = eval_jaxpr(executed_body(*e.op, *e.params, avals_of(in)), in);
      } else {
        InPlaceTransform::Function* const rule = find_rule<InPlaceTransform>(*e.op);
        if (!rule) throw Error("no program to put in its place");
        out = rule(e, in, which);
      }
      return true;
    });
  }

  /// Equations inside sub-programs.
  bool shrink_bodies() {
    bool any = false;
    for (std::size_t i = best_.program.eqns().size(); i-- > 0 && in_time();) {
      if (i >= best_.program.eqns().size()) continue;
      for (int at = 200; at-- > 0 && in_time();) any |= attempt([&] { return with_program(body_shrunk(i, at)); });
    }
    return any;
  }
  Jaxpr body_shrunk(std::size_t i, int at) const {
    struct Target {
      int left;
      bool done = false;
    } target{at};
    const Jaxpr j = rewritten(best_.program, [&](std::size_t k, const Eqn& e, std::span<const Array> in, std::vector<Array>& out) {
      if (k != i) return false;
      if (find_rule<LinkedBodyTransform>(*e.op)) throw Error("its rules would stay what they are");
      const ParamsRef params = map_programs(e, [&](const Jaxpr& body) { return without_one(body, target); });
      out = bind_primitive(*e.op, params, in, {});
      return true;
    });
    if (!target.done) throw Error("there is no such equation");
    return j;
  }
  template <class Target>
  static Jaxpr without_one(const Jaxpr& body, Target& t) {
    const int n = static_cast<int>(body.eqns().size());
    if (t.done || t.left >= n) {
      t.left -= n;
      return body;
    }
    const int which = t.left;
    t.done = true;
    return rewritten(body, [&](std::size_t k, const Eqn& e, std::span<const Array> in, std::vector<Array>& out) {
      if (static_cast<int>(k) != which) return false;
      for (Var v : e.outputs) {
        const Aval want = body.data().avals[v];
        Array y;
        for (const Array& x : in)
          if (x.aval() == want) y = x;
        if (y.is_empty_handle()) y = broadcast_in_dim(make_literal(Number(1), want.dtype), want.shape, {}, {});
        out.push_back(y);
      }
      return true;
    });
  }
  bool drop_inputs() {
    if (!best_.stack.empty()) return false;
    return attempt([&] {
      Case c = without_unused_inputs(best_);
      if (c.inputs.size() == best_.inputs.size()) throw Error("all are used");
      return c;
    });
  }
  static Case without_unused_inputs(Case c) {
    if (!c.stack.empty()) return c;  // its choices depend on the inputs
    const JaxprData& d = c.program.data();
    std::set<Var> used;
    for (const Eqn& e : d.eqns)
      for (Atom a : e.inputs)
        if (!a.is_literal()) used.insert(a.var());
    for (Atom a : d.outputs)
      if (!a.is_literal()) used.insert(a.var());
    JaxprCopy copy(c.program);
    Arrays inputs;
    for (Var v = 0; v < static_cast<Var>(d.num_inputs); ++v)
      if (used.count(v)) copy.add_input(v), inputs.push_back(c.inputs[v]);
    for (const Eqn& e : d.eqns) copy.add(e);
    return {std::move(copy).finish(d.outputs), inputs, {}};
  }

  /// A size replaced by a smaller one wherever its number is in the text; a text that is not a program is skipped.
  bool smaller_sizes() {
    bool any = false;
    const std::string text = best_.program.to_string();
    std::set<long> sizes;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (std::isdigit(static_cast<unsigned char>(text[i])) && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))
        sizes.insert(std::strtol(&text[i], nullptr, 10));
    for (auto at = sizes.rbegin(); at != sizes.rend() && in_time(); ++at)
      for (const long to : {1L, 2L, 3L, *at / 2, *at - 1})
        if (to < *at && to > 0 && attempt([&] { return resized(*at, to); })) {
          any = true;
          break;
        }
    return any;
  }
  Case resized(long from, long to) const {
    const std::string text = best_.program.to_string();
    std::string changed;
    for (std::size_t i = 0; i < text.size();) {
      const bool starts = std::isdigit(static_cast<unsigned char>(text[i])) &&
                          (i == 0 || (!std::isalnum(static_cast<unsigned char>(text[i - 1])) && text[i - 1] != '.'));
      std::size_t n = 0;
      while (i + n < text.size() && std::isdigit(static_cast<unsigned char>(text[i + n]))) ++n;
      if (starts && text.substr(i, n) == std::to_string(from) && (i + n >= text.size() || text[i + n] != '.')) {
        changed += std::to_string(to);
        i += n;
      } else {
        changed += text[i++];
      }
    }
    Case c{parse(changed), {}, best_.stack};
    const auto avals = c.program.data().input_avals();
    for (std::size_t k = 0; k < avals.size(); ++k) c.inputs.push_back(cropped(best_.inputs[k], avals[k]));
    return c;
  }
  static Array cropped(const Array& x, const Aval& want) {
    if (x.shape() == want.shape) return x;
    const std::vector<std::byte> all = bytes_of(x);
    std::vector<std::byte> some(static_cast<std::size_t>(want.bytes()));
    for (std::size_t i = 0; i < some.size(); ++i) some[i] = all.empty() ? std::byte{0} : all[i % all.size()];
    return make_concrete(want, some.data());
  }

  bool simpler_inputs() {
    bool any = false;
    for (std::size_t i = 0; i < best_.inputs.size() && in_time(); ++i) {
      const Aval a = best_.inputs[i].aval();
      if (a.size() == 0) continue;
      std::string zeros = to_string(Aval{a.shape, a.dtype});
      const std::string type = zeros, now = print_value(best_.inputs[i]);
      std::string ones = zeros, count = zeros;
      for (std::int64_t k = 0; k < a.size() * (a.dtype.is_complex() ? 2 : 1); ++k)
        zeros += " 0", ones += " 1", count += a.dtype.is_bool() ? " " + std::to_string(k % 2) : " " + std::to_string(k % 100);
      for (const std::string& text : {zeros, ones, count}) {
        if (text == now) break;
        if (attempt([&] {
              Case c = best_;
              c.inputs[i] = parse_value(text);
              return c;
            })) {
          any = true;
          break;
        }
      }
    }
    return any;
  }

  Case best_;
  const Fails& fails_;
  const double end_;
};

}  // namespace

bool ends_soon(const Case& c) {
  Steps steps;
  try {
    interpret_with(steps, c.program, c.inputs);
  } catch (const Error&) {
    return false;
  }
  return true;
}

Case shrunk(Case c, const Fails& fails, double seconds) { return Shrinker(std::move(c), fails, seconds).run(); }

}  // namespace weft::fuzz
