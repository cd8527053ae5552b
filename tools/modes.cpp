#include "tools/modes.h"

#include <fmt/format.h>

#include "tools/programs.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/control/control_flow.h"
#include "weft/transforms/jit/jit.h"
#include "weft/transforms/maps/vmap.h"

namespace weft::tools {
namespace {

using detail::Aval;
using Lanes = std::vector<Arrays>;
using Tree = std::vector<Array>;  // the arguments, as a pytree

template <class F>
Lanes each(const Lanes& lanes, F&& f) {
  Lanes out;
  for (const Arrays& in : lanes) out.push_back(f(in));
  return out;
}

/// The function of one argument, for transforms.
auto of_tree(const Function& f) {
  return [&f](const Tree& in) { return f(in); };
}
Jaxpr traced(const Function& f, const Arrays& in) { return detail::trace_jaxpr({"mode", detail::avals_of(in), {}}, f); }
Lanes on_backend(const char* platform, const Function& f, const Lanes& lanes) {
  const Jaxpr j = traced(f, lanes[0]);
  return each(lanes, [&](const Arrays& in) { return run_on(platform, "mode", j, in); });
}

Lanes by_text(const Function& f, const Lanes& lanes) {
  const detail::Hoisted h = detail::hoist_consts(traced(f, lanes[0]));
  const std::string text = h.jaxpr.to_string();
  const Jaxpr again = parse(text);
  if (again.to_string() != text) throw Error(fmt::format("printed again it is\n{}\nand not\n{}", again.to_string(), text));
  return each(lanes, [&](const Arrays& in) {
    Arrays all = h.consts;
    all.insert(all.end(), in.begin(), in.end());
    return run_on("interp", "mode", again, all);
  });
}

Tree stacked(const Lanes& lanes) {
  Tree all;
  for (std::size_t i = 0; i < lanes[0].size(); ++i) {
    Arrays one;
    for (const Arrays& in : lanes) one.push_back(in[i]);
    all.push_back(stack(one));
  }
  return all;
}
Lanes rows(const Tree& all, std::size_t lanes) {
  Lanes out(lanes);
  for (std::size_t k = 0; k < lanes; ++k)
    for (const Array& x : all) out[k].push_back(x(static_cast<int>(k)));
  return out;
}

constexpr Mode kModes[] = {
    {"eager", false, [](const Function& f, const Lanes& lanes) { return each(lanes, f); }},
    {"jaxpr", false, [](const Function& f, const Lanes& lanes) { return each(lanes, function_of(traced(f, lanes[0]))); }},
    {"text", false, by_text},
    {"interp", false, [](const Function& f, const Lanes& lanes) { return on_backend("interp", f, lanes); }},
    {"cpu", false, [](const Function& f, const Lanes& lanes) { return on_backend("cpu", f, lanes); }},
    {"jit", false, [](const Function& f, const Lanes& lanes) { return each(lanes, jit(of_tree(f))); }},
    {"disable_jit", false,
     [](const Function& f, const Lanes& lanes) {
       const auto scope = disable_jit();
       return each(lanes, jit(of_tree(f)));
     }},
    {"vmap", true, [](const Function& f, const Lanes& lanes) { return rows(vmap(of_tree(f))(stacked(lanes)), lanes.size()); }},
    {"jit of vmap", true, [](const Function& f, const Lanes& lanes) { return rows(jit(vmap(of_tree(f)))(stacked(lanes)), lanes.size()); }},
    {"loop", true,
     [](const Function& f, const Lanes& lanes) {
       return rows(jit([&](const Tree& all) { return weft::map(of_tree(f), all); })(stacked(lanes)), lanes.size());
     }},
};

}  // namespace

std::span<const Mode> modes() { return kModes; }

const Mode& mode_named(std::string_view name) {
  for (const Mode& m : kModes)
    if (m.name == name) return m;
  throw Error(fmt::format("there is no mode `{}`", name));
}

Function function_of(const Jaxpr& program) {
  return [program](std::span<const Array> in) { return detail::eval_jaxpr(program, in); };
}

Arrays other_lane(const Arrays& inputs) {
  Arrays out;
  for (const Array& x : inputs) out.push_back(x.dtype().is_inexact() ? x * convert(Array(0.75), x.dtype()) : x);
  return out;
}

bool runs(const Mode& mode, const Arrays& inputs) { return !mode.maps || !inputs.empty(); }

}  // namespace weft::tools
