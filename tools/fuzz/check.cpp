#include "tools/fuzz/check.h"

#include <fmt/format.h>

#include "tools/fuzz/compare.h"
#include "tools/fuzz/generator.h"
#include "tools/fuzz/values.h"
#include "tools/modes.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft::fuzz {

using namespace detail;

namespace {

/// Printed, parsed and printed again it is the same.
std::string broken_text(const Jaxpr& program) {
  const std::string text = program.to_string();
  const Jaxpr again = parse(text);
  if (again.to_string() != text) return "printed again it is\n" + again.to_string() + "\nand not\n" + text;
  if (program.data().num_consts == 0 && again != program) return "what is parsed is not the same:\n" + text;
  again.check();
  return {};
}

/// Whether an error says that a transform isn't defined for a program, as it should.
bool is_refusal(const std::string& kind, const std::string& message) {
  const auto has = [&](const char* part) { return message.find(part) != std::string::npos; };
  if (kind == "jvp") return has("not differentiable:") || has("may overlap in part") || has("custom_vjp");
  if (kind == "linearize" || kind == "vjp" || kind == "grad")
    return has("not differentiable:") || has("max_steps") || has("no reverse derivative") || has("unique_indices") ||
           has("may overlap in part") || has("custom_vjp");
  return false;
}

/// Beside the interpreter and the CPU backend, which every program goes through.
std::vector<const tools::Mode*> further_modes() {
  std::vector<const tools::Mode*> out;
  for (const tools::Mode& m : tools::modes())
    if (m.name != "interp" && m.name != "cpu") out.push_back(&m);
  return out;
}

/// The program executed in another way, of which the interpreter's results are known. Where lanes are mapped, there is a second one.
std::string broken_mode(const tools::Mode& mode, const Applied& now, const Arrays& want) {
  std::vector<Arrays> lanes{now.inputs};
  if (mode.maps) lanes.push_back(tools::other_lane(now.inputs));
  const std::vector<Arrays> got = mode.run(tools::function_of(now.program), lanes);
  if (std::string wrong = differing(now.program, lanes[0], got[0], want); !wrong.empty() || !mode.maps) return wrong;
  return differing(now.program, lanes[1], got[1], tools::run_on("interp", "program", now.program, lanes[1]));
}

}  // namespace

std::string print_case(const Case& c) {
  std::string s;
  if (!c.stack.empty()) s += "# transforms " + print_stack(c.stack) + "\n";
  if (c.fixed > 0) s += fmt::format("# fixed {}\n", c.fixed);
  if (!c.mode.empty()) s += fmt::format("# mode {}\n", c.mode);
  for (const Array& x : c.inputs) s += "# input " + print_value(x) + "\n";
  return s + c.program.to_string() + "\n";
}
Case parse_case(std::string_view text) {
  Case c;
  while (!text.empty() && text[0] != '{' && text.substr(0, 3) != "let") {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end);
    if (line.substr(0, 13) == "# transforms ") c.stack = parse_stack(line.substr(13));
    if (line.substr(0, 7) == "# mode ") c.mode = line.substr(7);
    if (line.substr(0, 8) == "# fixed ") c.fixed = std::stoul(std::string(line.substr(8)));
    if (line.substr(0, 8) == "# input ") c.inputs.push_back(parse_value(line.substr(8)));
    text.remove_prefix(end + 1);
  }
  c.program = parse(text);
  return c;
}

Case random_case(std::uint64_t seed) {
  Random random(seed);
  GeneratorOptions options;
  options.steps = random.pick({2, 4, 6, 8, 10, 14, 20});
  options.depth = random.pick({0, 1, 1, 2, 2, 3});
  if (random.chance(0.03)) options.largest = 20000;
  options.heavy = random.chance(0.7);
  Case c;
  const std::vector<const tools::Mode*> modes = further_modes();
  c.mode = modes[seed % modes.size()]->name;
  c.stack = random_stack(random);
  const Values values = random.chance(0.12) ? Values::special : Values::tame;
  options.special = values == Values::special;
  Generator generator(random.bits(), options);
  const std::vector<Aval> inputs = generator.input_types();
  for (const Aval& a : inputs) c.inputs.push_back(random_value(a, random, values));
  c.program = trace_jaxpr({"random program", inputs, {}}, [&](std::span<const Array> in) { return generator.body(in, options.steps); });
  if (c.program.data().num_consts > 0 && (!c.stack.empty() || random.chance(0.7))) {
    Applied hoisted = without_constants(c.program, c.inputs);
    c.program = hoisted.program, c.inputs = hoisted.inputs, c.fixed = hoisted.fixed;
  }
  return c;
}

Failure check_case(const Case& c, Case* reached) {
  std::string doing = "print";
  if (reached) *reached = c;
  try {
    Applied now{c.program, c.inputs, c.fixed};
    now.program.check();
    if (std::string wrong = broken_text(now.program); !wrong.empty()) return {doing, wrong};
    for (const Transform& t : c.stack) {
      doing = t.kind;
      if (t.kind != "vmap" && now.program.data().output_avals().empty()) break;
      Applied next;
      try {
        next = apply(t, now);
      } catch (const Error& e) {
        if (!is_refusal(t.kind, e.what())) return {doing, e.what()};
        break;
      }
      std::int64_t elements = 0;
      for (const Aval& a : next.program.data().avals) elements += a.size();
      if (elements > 400000 || next.program.eqns().size() > 3000) break;
      if (next.program.to_string().find("custom_lin[") != std::string::npos) break;  // a reverse rule: it can only be transposed
      doing = t.kind + ", check";
      next.program.check();
      doing = t.kind + ", print";
      if (std::string wrong = broken_text(next.program); !wrong.empty()) return {doing, wrong};
      doing = "law of " + t.kind;
      if (std::string wrong = broken_law(t, now, next); !wrong.empty()) return {doing, wrong};
      now = next;
      // What custom rules made are constants of the new program.
      if (now.program.data().num_consts > 0) {
        now = without_constants(next.program, next.inputs);
        now.fixed += next.fixed;
      }
    }
    if (reached) *reached = {now.program, now.inputs, {}, now.fixed, c.mode};
    doing = "interp";
    const Arrays want = tools::run_on("interp", "program", now.program, now.inputs);
    const std::vector<Aval> avals = now.program.data().output_avals();
    for (std::size_t k = 0; k < want.size(); ++k)
      if (want[k].shape() != avals[k].shape || want[k].dtype() != avals[k].dtype)
        return {doing, fmt::format("result {} is {}, the program says {}", k, to_string(want[k].aval()), to_string(avals[k]))};
    doing = "cpu";
    const Arrays got = tools::run_on("cpu", "program", now.program, now.inputs);
    doing = "compare";
    if (std::string wrong = differing(now.program, now.inputs, got, want); !wrong.empty()) return {doing, wrong};
    for (const tools::Mode* mode : further_modes()) {
      if (!(c.mode.empty() || c.mode == mode->name) || !tools::runs(*mode, now.inputs)) continue;
      doing = mode->name;
      if (std::string wrong = broken_mode(*mode, now, want); !wrong.empty()) return {doing, wrong};
    }
  } catch (const std::exception& e) {
    return {doing, e.what()};
  }
  return {};
}

}  // namespace weft::fuzz
