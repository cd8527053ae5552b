#include "weft/library/view/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/primitive.h"
#include "weft/library/plot/graph.h"
#include "weft/library/plot/svg_text.h"
#include "weft/library/view/view_json.h"
#include "weft/runtime/profile/machine_peaks.h"
#include "weft/runtime/sharded/print_sharding.h"
#include "weft/transforms/jaxpr_api.h"
#include "weft/transforms/jit/compiled_function.h"
#include "weft/transforms/jit/jit_sharded.h"

namespace weft {
namespace detail {
namespace {

constexpr int kRuns = 7, kWarmRuns = 3;
constexpr const char* kSimplify = "simplify";  // what the backends' first pass is called
constexpr int kDrawn = 150;                    // equations of a program that is drawn as a graph

/// The programs of all stages, each of them once.
class Programs {
 public:
  explicit Programs(SourceFiles& files) : files_(files) {}
  std::size_t add(const Jaxpr& j, const std::vector<std::vector<std::size_t>>& steps = {}) {
    const auto [at, is_new] = numbers_.try_emplace(&j.data(), texts_.size());
    if (is_new) {
      kept_.push_back(j);
      texts_.push_back(json_of_program(j, files_, steps));
    }
    return at->second;
  }
  std::string json() const { return fmt::format("[{}]", fmt::join(texts_, ",\n")); }
  /// Graphs of those that can be read as such: `{number: svg}`.
  std::string graphs() const {
    std::string out;
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      try {
        out += fmt::format("{}\"{}\":{}", out.empty() ? "" : ",", i, json_text(graph_svg(kept_[i], {.max_equations = kDrawn})));
      } catch (const Error&) {
        continue;  // too large
      }
    }
    return "{" + out + "}";
  }

 private:
  SourceFiles& files_;
  std::map<const JaxprData*, std::size_t> numbers_;
  std::vector<Jaxpr> kept_;
  std::vector<std::string> texts_;
};

/// A form of the compiled program; empty where the backend doesn't have it.
std::string text_of_form(const Executable& code, std::string_view form) {
  try {
    return code.as_text(form);
  } catch (const Error&) {
    return {};
  }
}

bool all_concrete(std::span<const Array> xs) {
  return std::all_of(xs.begin(), xs.end(), [](const Array& x) {
    return x.impl()->kind == ArrayImpl::Kind::concrete || x.impl()->kind == ArrayImpl::Kind::literal;
  });
}
bool is_spread(const Array& x) { return x.impl()->kind == ArrayImpl::Kind::concrete && x.devices().size() > 1; }

bool has_any_effects(const Jaxpr& j) {
  return std::any_of(j.eqns().begin(), j.eqns().end(), [](const Eqn& e) { return has_effects(e); });
}

/// The shortest of several times of each step.
std::vector<double> measured(StepReporter& steps, std::span<const Array> inputs, int device) {
  std::vector<double> best;
  for (int run = 0; run < kWarmRuns + kRuns; ++run) {
    const std::vector<double> times = steps.time_steps(inputs, device);
    if (run < kWarmRuns) continue;
    best.resize(times.size(), INFINITY);
    for (std::size_t i = 0; i < times.size(); ++i) best[i] = std::min(best[i], times[i]);
  }
  return best;
}

std::string json_of_arrays(const FlatFunction& f) {
  const std::vector<std::string> paths = leaf_paths(f.arguments());
  std::string out;
  for (std::size_t i = 0; i < f.args.size(); ++i) {
    const Array& x = f.args[i];
    out += fmt::format(
        "{}{{\"name\":{},\"type\":{},\"bytes\":{}{}}}", i ? "," : "", json_text(paths[i]), json_text(to_string(x.aval())), x.aval().bytes(),
        is_spread(x) ? fmt::format(",\"sharding\":{},\"svg\":{}", json_text(text_of(x.sharding())), json_text(sharding_svg(x))) : "");
  }
  return "[" + out + "]";
}

}  // namespace

std::string flat_to_html(FlatFunction& f, const ViewOptions& options) {
  SourceFiles files;
  Programs programs(files);
  std::vector<std::string> stages;
  const auto add_stage = [&](const std::string& name, std::optional<std::size_t> before, std::size_t after) {
    stages.push_back(
        fmt::format("{{\"name\":{},\"before\":{},\"after\":{}}}", json_text(name), before ? std::to_string(*before) : "null", after));
  };
  const auto add_notes = [&](const std::vector<PassNote>& notes) {
    for (const PassNote& n : notes) {
      const std::size_t before = programs.add(n.before);
      add_stage(n.pass, before, programs.add(n.after));
    }
  };
  Jaxpr traced;
  {
    const PassNotes notes;
    traced = flat_make_jaxpr(f);
    // What is executed meanwhile, to make constants, is compiled on its own.
    std::vector<PassNote> of_tracing = notes.notes();
    std::erase_if(of_tracing, [](const PassNote& n) { return n.pass == kSimplify; });
    add_notes(of_tracing);
  }
  add_stage("traced", {}, programs.add(traced));

  // What runs it: of sharded arguments, one program for all devices.
  Ref<CompiledFunction> function = make_ref<CompiledFunction>(f.name, traced, std::vector<bool>(), -1);
  const bool concrete = all_concrete(f.args);
  std::optional<PassNotes> notes(std::in_place);
  ShardedPrograms sharded;
  if (concrete)
    if (const Ref<CompiledFunction> partitioned = sharded.find(*function, f.args, [&] { return f.arguments(); }, f.loc))
      function = partitioned;
  Executable& code = function->executable();
  auto* const reporter = dynamic_cast<StepReporter*>(&code);
  // The passes of the whole program, one after the other; those of loops' bodies show in what the first ones make. A program for several
  // devices is compiled in parts, between its collectives, each of which is simplified on its own.
  std::vector<PassNote> compiling, parts;
  for (const PassNote& n : notes->notes()) {
    if (!reporter && n.pass == kSimplify)
      parts.push_back(n);
    else if (compiling.empty() || &n.before.data() == &compiling.back().after.data())
      compiling.push_back(n);
  }
  notes.reset();  // what runs from here on is not this program's way
  std::string steps = "[]", peaks;
  if (reporter) {
    const std::vector<StepReport> reports = reporter->step_reports();
    const Jaxpr& simple = reporter->program_of_steps();
    std::vector<std::vector<std::size_t>> steps_of_eqn(simple.eqns().size());
    for (std::size_t s = 0; s < reports.size(); ++s)
      for (const int e : reports[s].eqns) steps_of_eqn[static_cast<std::size_t>(e)].push_back(s);
    programs.add(simple, steps_of_eqn);
    std::vector<double> times;
    const bool spread = std::any_of(f.args.begin(), f.args.end(), is_spread);
    if (options.measured && concrete && !spread && !has_any_effects(simple)) times = measured(*reporter, f.args, default_device_id());
    steps = json_of_steps(reports, times);
    if (!times.empty())
      peaks = fmt::format(",\"peaks\":{{\"flops\":{},\"bytes\":{}}}", json_number(host_peaks().flops), json_number(host_peaks().bytes));
  }
  add_notes(compiling);
  const std::size_t shown = stages.size() - 1;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].pass = parts.size() == 1 ? std::string(kSimplify) : fmt::format("{}, part {} of {}", kSimplify, i + 1, parts.size());
    add_notes({parts[i]});
  }
  // A program that was compiled before by another caller is not simplified again.
  const bool simplified = std::any_of(compiling.begin(), compiling.end(), [](const PassNote& n) { return n.pass == kSimplify; });
  if (reporter && !simplified) add_stage(kSimplify, programs.add(function->jaxpr()), programs.add(reporter->program_of_steps()));

  const CostAnalysis cost = code.cost_analysis();
  const MemoryAnalysis memory = code.memory_analysis();
  const auto kernels = [&](const char* form, bool wanted) {
    return wanted ? json_of_kernels(text_of_form(code, form), form) : std::string("{}");
  };
  const std::string title = options.title.empty() ? f.name : options.title;
  const std::string data = fmt::format(
      "{{\"title\":{},\"stages\":[{}],\"shown\":{},\n\"programs\":{},\n\"graphs\":{},\n\"steps\":{}{},\n\"kernels\":{{\"loops\":{},"
      "\"llvm\":{},\"asm\":{"
      "}}},\n"
      "\"cost\":{{\"flops\":{},\"bytes\":{},\"arguments\":{},\"results\":{},\"temporaries\":{}}},\n\"arrays\":{},\n\"files\":{}}}",
      json_text(title), fmt::join(stages, ","), reporter ? stages.size() - 1 : shown, programs.json(), programs.graphs(), steps, peaks,
      kernels("kernels", true), kernels("llvm", options.code), kernels("asm", options.code), json_number(cost.flops),
      json_number(cost.bytes_accessed), memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes,
      json_of_arrays(f), files.json_of_all(options.sources, options.source_folder));
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}<noscript><pre>{}</pre></noscript>\n"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      escaped(title), kViewStyle, kViewBody, escaped(traced.to_string()), data, kViewScript);
}

}  // namespace detail

void save_html(const std::string& path, const std::string& page, SourceLoc loc) { detail::write_file(path, {page}, loc, "save_html"); }

}  // namespace weft
