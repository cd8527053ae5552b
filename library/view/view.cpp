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

/// What the page shows of a function: the program after each stage, the steps that execute it, costs and arrays.
class Page {
 public:
  Page(FlatFunction& f, const ViewOptions& options) : f_(f), options_(options), programs_(files_) {}

  std::string html() {
    trace();
    const Ref<CompiledFunction> function = compile();
    const std::string title = options_.title.empty() ? f_.name : options_.title;
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, "
        "initial-scale=1\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}<noscript><pre>{}</pre></noscript>\n"
        "<script type=\"application/json\" id=\"data\">{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
        escaped(title), kViewStyle, kViewBody, escaped(traced_.to_string()), json(title, function->executable()), kViewScript);
  }

 private:
  void add_stage(const std::string& name, std::optional<std::size_t> before, std::size_t after) {
    stages_.push_back(
        fmt::format("{{\"name\":{},\"before\":{},\"after\":{}}}", json_text(name), before ? std::to_string(*before) : "null", after));
  }
  void add_notes(const std::vector<PassNote>& notes) {
    for (const PassNote& n : notes) {
      const std::size_t before = programs_.add(n.before);
      add_stage(n.pass, before, programs_.add(n.after));
    }
  }

  void trace() {
    const PassNotes notes;
    traced_ = flat_make_jaxpr(f_);
    // What is executed meanwhile, to make constants, is compiled on its own.
    std::vector<PassNote> of_tracing = notes.notes();
    std::erase_if(of_tracing, [](const PassNote& n) { return n.pass == kSimplify; });
    add_notes(of_tracing);
    add_stage("traced", {}, programs_.add(traced_));
  }

  /// The function that runs it, which for sharded arguments is one program for all devices, with the passes that made it.
  Ref<CompiledFunction> compile() {
    Ref<CompiledFunction> function = make_ref<CompiledFunction>(f_.name, traced_, std::vector<bool>(), -1);
    std::optional<PassNotes> notes(std::in_place);
    ShardedPrograms sharded;
    if (all_concrete(f_.args))
      if (const Ref<CompiledFunction> partitioned = sharded.find(*function, f_.args, [&] { return f_.arguments(); }, f_.loc))
        function = partitioned;
    auto* const reporter = dynamic_cast<StepReporter*>(&function->executable());
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
    if (reporter) report_steps(*reporter);
    add_notes(compiling);
    shown_ = stages_.size() - 1;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].pass = parts.size() == 1 ? std::string(kSimplify) : fmt::format("{}, part {} of {}", kSimplify, i + 1, parts.size());
      add_notes({parts[i]});
    }
    if (!reporter) return function;
    // A program that was compiled before by another caller is not simplified again.
    const bool simplified = std::any_of(compiling.begin(), compiling.end(), [](const PassNote& n) { return n.pass == kSimplify; });
    if (!simplified) add_stage(kSimplify, programs_.add(function->jaxpr()), programs_.add(reporter->program_of_steps()));
    shown_ = stages_.size() - 1;
    return function;
  }

  /// The steps with the equations that each executes, and their times if they are wanted and can be measured.
  void report_steps(StepReporter& reporter) {
    const std::vector<StepReport> reports = reporter.step_reports();
    const Jaxpr& simple = reporter.program_of_steps();
    std::vector<std::vector<std::size_t>> steps_of_eqn(simple.eqns().size());
    for (std::size_t s = 0; s < reports.size(); ++s)
      for (const int e : reports[s].eqns) steps_of_eqn[static_cast<std::size_t>(e)].push_back(s);
    programs_.add(simple, steps_of_eqn);
    std::vector<double> times;
    const bool spread = std::any_of(f_.args.begin(), f_.args.end(), is_spread);
    if (options_.measured && all_concrete(f_.args) && !spread && !has_any_effects(simple))
      times = measured(reporter, f_.args, default_device_id());
    steps_ = json_of_steps(reports, times);
    if (!times.empty())
      peaks_ = fmt::format(",\"peaks\":{{\"flops\":{},\"bytes\":{}}}", json_number(host_peaks().flops), json_number(host_peaks().bytes));
  }

  std::string json(const std::string& title, const Executable& code) {
    const CostAnalysis cost = code.cost_analysis();
    const MemoryAnalysis memory = code.memory_analysis();
    const auto kernels = [&](const char* form, bool wanted) {
      return wanted ? json_of_kernels(text_of_form(code, form), form) : std::string("{}");
    };
    return fmt::format(
        "{{\"title\":{},\"stages\":[{}],\"shown\":{},\n\"programs\":{},\n\"graphs\":{},\n\"steps\":{}{},\n\"kernels\":{{\"loops\":{},"
        "\"llvm\":{},\"asm\":{"
        "}}},\n"
        "\"cost\":{{\"flops\":{},\"bytes\":{},\"arguments\":{},\"results\":{},\"temporaries\":{}}},\n\"arrays\":{},\n\"files\":{}}}",
        json_text(title), fmt::join(stages_, ","), shown_, programs_.json(), programs_.graphs(), steps_, peaks_, kernels("kernels", true),
        kernels("llvm", options_.code), kernels("asm", options_.code), json_number(cost.flops), json_number(cost.bytes_accessed),
        memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes, json_of_arrays(f_),
        files_.json_of_all(options_.sources, options_.source_folder));
  }

  FlatFunction& f_;
  const ViewOptions& options_;
  SourceFiles files_;
  Programs programs_;
  std::vector<std::string> stages_;
  std::size_t shown_ = 0;  // the stage that the page opens with
  Jaxpr traced_;
  std::string steps_ = "[]", peaks_;
};

}  // namespace

std::string flat_to_html(FlatFunction& f, const ViewOptions& options) { return Page(f, options).html(); }

}  // namespace detail

void save_html(const std::string& path, const std::string& page, SourceLoc loc) { detail::write_file(path, {page}, loc, "save_html"); }

}  // namespace weft
