#include "weft/backends/cpu/code_tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>

#include "weft/backends/codegen/emit/emit.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/nesting.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

constexpr double kGuessedTrips = 100;  // of loops with an unknown trip count

// Cycles that it takes to make baseline code for an instruction, and that optimised code takes longer: for each instruction, and for each
// kernel or step.
constexpr double kBaselineInstruction = 25e3;
constexpr double kOptimizedInstruction = 45e3;
constexpr double kOptimizedFunction = 1e6;

// Cycles of optimisation after which the finished code is installed, and the largest number of such stages that are due at once.
constexpr double kStage = 30e6;
constexpr double kMostStages = 8;
// A thread that has nothing else to do begins after this share of what pays off.
constexpr double kIdleShare = 0.1;
// What gains little is optimised after so many times the runs after which optimising everything pays off.
constexpr double kLatest = 10;

// Cycles that an interpreted instruction takes. Interpreting is to take much less than making baseline code does.
constexpr double kInterpreted = 40;
constexpr double kWorthInterpreting = 0.2;

// In the first call is optimised, too, what pays off within so many calls, for at most this share of what baseline code costs.
constexpr double kFewCalls = 4;
constexpr double kFirstShare = 0.5;

double price(double work) { return kOptimizedFunction + kOptimizedInstruction * work; }

double trips(const ControlStep& c) {
  switch (c.kind) {
    case ControlStep::Kind::scan: return static_cast<double>(c.length);
    case ControlStep::Kind::while_loop: return kGuessedTrips;
    case ControlStep::Kind::cond: return 1 / static_cast<double>(std::max<std::size_t>(1, c.programs.size()));
  }
  return 1;
}

/// How often each kernel runs.
void count_runs(const KernelProgram& p, double times, std::vector<double>& runs) {
  check_nesting("programs inside programs", nesting_depth(p.jaxpr));
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::kernel) runs[static_cast<std::size_t>(s.number)] += times;
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& inner : c.programs) count_runs(inner, times * trips(c), runs);
}

/// Functions that a kernel calls are emitted once.
double emitted_nodes(const Kernel& k, const Schedule& s) {
  constexpr double kCall = 3;
  struct Function {
    int count = 0;
    double cost = 0;
  };
  double sum = 0;
  std::map<MathFunction, Function> functions;
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < live.size(); ++i) {
    const Node& n = k.dag.nodes[i];
    if (!live[i]) continue;
    if (n.kind != NodeKind::math)
      sum += 1 + node_cost(n);
    else
      ++functions[n.function].count, functions[n.function].cost = 1 + node_cost(n);
  }
  for (const auto& [which, f] : functions) sum += contains(s.called, which) ? f.cost + kCall * f.count : f.cost * f.count;
  return sum;
}

/// The estimated cycles to interpret the kernel; infinite if unknown.
double interpreting(const Kernel& k, const Schedule& s) {
  double instructions = 0, nodes = 0;
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i]) nodes += 1 + node_cost(k.dag.nodes[i]);
  const auto trips = [&](const std::vector<LoopPlan>& loops) {
    double n = 1;
    for (const LoopPlan& l : loops)
      n *= std::ceil(static_cast<double>(k.dag.dims[static_cast<std::size_t>(l.dim)]) / (l.vector ? s.lanes : 1));
    return n;
  };
  const double outer = trips(s.outer);
  for (std::size_t i = 0; i < k.nests.size(); ++i) {
    if (!k.nests[i].repeats.empty()) return std::numeric_limits<double>::infinity();
    instructions += outer * trips(s.nests[i].parallel) * trips(s.nests[i].reduce) * nodes;
  }
  return kInterpreted * instructions;
}

}  // namespace

double emission_work(const Kernel& k, const Schedule& s) {
  double copies = 1;
  const double nodes = emitted_nodes(k, s);
  const auto unroll = [](const std::vector<LoopPlan>& loops) {
    double n = 1;
    for (const LoopPlan& l : loops) n *= l.unroll;
    return n;
  };
  for (const NestSchedule& n : s.nests) copies = std::max(copies, unroll(n.parallel) * unroll(n.reduce));
  return nodes * (1 + copies * unroll(s.outer));
}

double emission_work(const ControlStep& c, const KernelProgram& root, const std::vector<Schedule>& schedules) {
  check_nesting("programs inside programs");
  double sum = 100;
  for (const KernelProgram& p : c.programs) {
    for (const Step& s : p.steps)
      if (const auto n = static_cast<std::size_t>(s.number); s.kind == Step::Kind::kernel)
        sum += emission_work(root.kernels[n], schedules[n]);
    for (const ControlStep& inner : p.controls) sum += emission_work(inner, root, schedules);
  }
  return sum;
}

double slack(const ControlStep& c, const std::vector<Schedule>& schedules) {
  check_nesting("programs inside programs");
  double sum = 0;
  for (const KernelProgram& p : c.programs) {
    for (const Step& s : p.steps) {
      if (s.kind == Step::Kind::kernel) sum += schedules[static_cast<std::size_t>(s.number)].slack + 20;
      if (s.kind == Step::Kind::control) sum += slack(p.controls[static_cast<std::size_t>(s.number)], schedules);
    }
  }
  return sum * trips(c);
}

std::vector<Schedule> baseline_schedules(const KernelProgram& p, const std::vector<Schedule>& schedules) {
  std::vector<double> runs(schedules.size());
  count_runs(p, 1, runs);
  std::vector<Schedule> baseline;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const Schedule& s = schedules[i];
    Schedule lean = lean_schedule(s);
    const double saved = kBaselineInstruction * (emission_work(p.kernels[i], s) - emission_work(p.kernels[i], lean));
    baseline.push_back((lean.slack - s.slack) * runs[i] <= saved ? std::move(lean) : s);
  }
  return baseline;
}

std::optional<CodeTier> lowest_tier() {
  const std::string_view least = word_in_environment("WEFT_CODE");
  if (least.empty()) return {};
  return least == "optimized" ? CodeTier::optimized : CodeTier::baseline;
}

CodeTiers first_tiers(const KernelProgram& p, const std::vector<Schedule>& schedules) {
  const std::optional<CodeTier> least = lowest_tier();
  CodeTiers q;
  const auto choose = [&](double excess, double work) {
    return excess > price(work) || least == CodeTier::optimized ? CodeTier::optimized : CodeTier::baseline;
  };
  std::vector<int> runs(schedules.size());  // outside of loops and branches, whose code is one with that of their kernels
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::kernel) ++runs[static_cast<std::size_t>(s.number)];
  struct Candidate {
    std::size_t number;
    double excess, cost;
  };
  std::vector<Candidate> soon;  // pay off within few calls
  double affordable = 0;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const double work = emission_work(p.kernels[i], schedules[i]), excess = std::max(runs[i], 1) * schedules[i].slack;
    const bool interpreted = !least && interpreting(p.kernels[i], schedules[i]) < kWorthInterpreting * kBaselineInstruction * work;
    q.kernels.push_back(interpreted ? CodeTier::interpreted : choose(excess, work));
    if (q.kernels.back() != CodeTier::baseline || runs[i] == 0) continue;
    affordable += kFirstShare * kBaselineInstruction * work;
    if (kFewCalls * excess > price(work)) soon.push_back({i, excess, price(work)});
  }
  std::stable_sort(soon.begin(), soon.end(), [](const Candidate& a, const Candidate& b) { return a.excess * b.cost > b.excess * a.cost; });
  for (const Candidate& k : soon)
    if (affordable >= k.cost) affordable -= k.cost, q.kernels[k.number] = CodeTier::optimized;
  for (const ControlStep& c : p.controls) q.controls.push_back(choose(slack(c, schedules), emission_work(c, p, schedules)));
  return q;
}

namespace {

/// Whether most of the kernels' time is spent on all threads of the pool.
bool keeps_threads_busy(const KernelProgram& p, const std::vector<Schedule>& schedules) {
  double all = 0, forked = 0;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    all += p.kernels[i].cost.cycles;
    if (is_forked(schedules[i].num_blocks, schedules[i].grain)) forked += p.kernels[i].cost.cycles;
  }
  return num_threads() == 1 || 2 * forked > all;
}

}  // namespace

Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const CodeTiers& made) {
  const std::vector<Schedule> baseline = baseline_schedules(p, schedules);
  struct Part {
    bool is_kernel = true;
    std::size_t number = 0;
    double excess = 0, cost = 0;
  };
  std::map<std::pair<Step::Kind, std::size_t>, Part> parts;  // a kernel may be several steps
  double excess = 0, cost = 0;
  const auto add = [&](const Step& s, double of_run, auto&& costs) {
    const auto [at, is_new] = parts.emplace(std::pair(s.kind, static_cast<std::size_t>(s.number)), Part());
    Part& part = at->second;
    if (is_new) part = {s.kind == Step::Kind::kernel, static_cast<std::size_t>(s.number), 0, costs()}, cost += part.cost;
    part.excess += of_run, excess += of_run;
  };
  for (const Step& s : p.steps) {
    const auto n = static_cast<std::size_t>(s.number);
    if (s.kind == Step::Kind::kernel && made.kernels[n] != CodeTier::optimized)
      add(s, made.kernels[n] == CodeTier::interpreted ? interpreting(p.kernels[n], schedules[n]) : baseline[n].slack + 1,
          [&] { return price(emission_work(p.kernels[n], schedules[n])); });
    if (s.kind == Step::Kind::control && made.controls[n] != CodeTier::optimized)
      add(s, slack(p.controls[n], baseline) + 1, [&] { return price(emission_work(p.controls[n], p, schedules)); });
  }
  std::vector<Part> order;
  for (const auto& [_, part] : parts) order.push_back(part);
  std::stable_sort(order.begin(), order.end(), [](const Part& a, const Part& b) { return a.excess * b.cost > b.excess * a.cost; });
  Improvement r;
  r.excess = static_cast<std::int64_t>(excess);
  const double share = keeps_threads_busy(p, schedules) ? 1 : kIdleShare;
  const auto runs_of = [&](double times_excess, double of_cost) {
    return static_cast<std::int64_t>(std::ceil(std::min(share * of_cost / std::max(times_excess, 1.), 1e15)));
  };
  const std::int64_t latest = runs_of(excess / kLatest, cost);
  double stage_cost = 0;
  for (const Part& part : order) {
    const std::int64_t runs = std::min(runs_of(part.excess, part.cost), latest);
    if (r.stages.empty() || stage_cost > std::max(kStage, cost / kMostStages) || runs > 2 * r.stages.back().runs) {
      CodeTiers& tiers = r.stages.emplace_back(Improvement::Stage{{}, runs}).tiers;
      tiers.kernels.resize(schedules.size()), tiers.controls.resize(p.controls.size());
      stage_cost = 0;
    }
    CodeTiers& tiers = r.stages.back().tiers;
    (part.is_kernel ? tiers.kernels : tiers.controls)[part.number] = CodeTier::optimized;
    stage_cost += part.cost;
  }
  return r;
}

}  // namespace weft::detail
