// Descriptions of a program's steps, for profiles and for the page of a program: names, equations, costs, times.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "weft/backends/codegen/schedule/program_cost.h"
#include "weft/backends/cpu/executable.h"
#include "weft/backends/cpu/executable/step_timing.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/trace/named_scope.h"

namespace weft::detail {
namespace {

constexpr std::size_t kTold = 3;  // scopes and lines of a step

using Clock = std::chrono::steady_clock;

thread_local std::vector<double>* step_times = nullptr;

/// `root`: the outermost program, which has the tables.
std::vector<StepReport> reports_of(const KernelProgram& p, const KernelProgram& root) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  std::vector<StepReport> out;
  for (const Step& s : p.steps) {
    const CostAnalysis cost = step_cost(s, p, root);
    StepReport r{StepReport::Kind::routine, {}, s.eqns, cost.flops, cost.bytes_accessed};
    const auto number = static_cast<std::size_t>(s.number);
    switch (s.kind) {
      case Step::Kind::kernel:
        r.kind = StepReport::Kind::kernel;
        r.name = root.kernels[number].name;
        break;
      case Step::Kind::matmul: {
        const MatmulStep& m = root.matmuls[number];
        r.name = fmt::format("matmul {}x{}x{}", m.m, m.n, m.k);
        for (const MatmulStep::Batch& b : m.batch) r.name += fmt::format(", {} times", b.size);
        break;
      }
      case Step::Kind::opaque: r.name = std::string(p.jaxpr.data().eqns[number].op->name); break;
      case Step::Kind::control: {
        const ControlStep& c = p.controls[number];
        r.kind = StepReport::Kind::loop;
        r.name = c.kind == ControlStep::Kind::scan   ? fmt::format("scan of {}", c.length)
                 : c.kind == ControlStep::Kind::cond ? "branch"
                                                     : "while loop";
        for (const KernelProgram& part : c.programs)
          for (StepReport& inner : reports_of(part, root)) r.steps.push_back(std::move(inner));
        break;
      }
    }
    out.push_back(std::move(r));
  }
  return out;
}

/// The user's names for what equations compute and, of the first few, the lines that they come from.
std::string origin_of(const JaxprData& program, const std::vector<int>& eqns) {
  std::vector<std::string> scopes, lines;
  const auto add = [](std::vector<std::string>& to, std::string text) {
    if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) to.push_back(std::move(text));
  };
  for (const int i : eqns) {
    const SourceLoc loc = program.eqns[static_cast<std::size_t>(i)].loc;
    add(scopes, std::string(name_scope_of(loc)));
    const std::string_view file = loc.file();
    if (loc) add(lines, fmt::format("{}:{}", file.substr(file.rfind('/') + 1), loc.line()));
  }
  const auto joined = [](const std::vector<std::string>& all) {
    std::string text;
    for (std::size_t i = 0; i < std::min(all.size(), kTold); ++i) text += (i ? ", " : "") + all[i];
    return text + (all.size() > kTold ? ", ..." : "");
  };
  const std::string named = joined(scopes), where = joined(lines);
  return named + (named.empty() || where.empty() ? "" : "; ") + where;
}

Work work_of(Step::Kind kind) {
  return kind == Step::Kind::kernel ? Work::kernel : kind == Step::Kind::control ? Work::control : Work::routine;
}

}  // namespace

bool steps_are_timed() { return step_times != nullptr; }

std::vector<StepReport> CpuExecutable::step_reports() const { return reports_of(whole_plan().program, whole_plan().program); }

const std::vector<const WorkLabel*>& CpuExecutable::labels() const {
  std::call_once(labelled_, [&] {
    for (const StepReport& r : step_reports())
      labels_.push_back(&lasting({r.name, name_, origin_of(plan_.program.jaxpr.data(), r.eqns), r.flops, r.bytes}));
  });
  return labels_;
}

void CpuExecutable::run_watched(const NativeCode& code, void* const* addresses, std::size_t& begun) const {
  const std::vector<const WorkLabel*>* const names = timeline_is_on.load(std::memory_order_relaxed) ? &labels() : nullptr;
  std::vector<double>* const times = std::exchange(step_times, nullptr);  // not those of calls within
  while (begun < plan_.program.steps.size()) {
    const std::size_t i = begun++;
    std::optional<TimelineRange> range;
    if (names) range.emplace(work_of(plan_.program.steps[i].kind), *(*names)[i]);
    const auto start = times ? Clock::now() : Clock::time_point();
    run_step(code, i, addresses);
    if (times) times->push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
}

std::vector<double> CpuExecutable::time_steps(std::span<const Array> inputs, int device) {
  std::vector<double> times;
  struct Timed {
    explicit Timed(std::vector<double>* to) { step_times = to; }
    ~Timed() { step_times = nullptr; }
  } timed(&times);
  call(inputs, device);
  return times;
}

}  // namespace weft::detail
