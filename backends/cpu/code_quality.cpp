#include "backends/cpu/code_quality.h"

#include <algorithm>

#include "backends/codegen/cost.h"

namespace weft::detail {
namespace {

constexpr double kGuessedTrips = 100;  // of loops that end when they like

// Cycles that quick code takes for an instruction, and that good code takes longer: for each instruction, and for each kernel or step.
constexpr double kQuickInstruction = 25e3;
constexpr double kGoodInstruction = 45e3;
constexpr double kGoodFunction = 1e6;

double price(double work) { return kGoodFunction + kGoodInstruction * work; }

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
  for (const Step& s : p.steps)
    if (s.kind == Step::Kind::kernel) runs[static_cast<std::size_t>(s.number)] += times;
  for (const ControlStep& c : p.controls)
    for (const KernelProgram& inner : c.programs) count_runs(inner, times * trips(c), runs);
}

}  // namespace

double emission_work(const Kernel& k, const Schedule& s) {
  double nodes = 0, copies = 1;
  const std::vector<char> live = live_nodes(k);
  for (std::size_t i = 0; i < live.size(); ++i)
    if (live[i]) nodes += 1 + node_cost(k.dag.nodes[i]);
  const auto unroll = [](const std::vector<LoopPlan>& loops) {
    double n = 1;
    for (const LoopPlan& l : loops) n *= l.unroll;
    return n;
  };
  for (const NestSchedule& n : s.nests) copies = std::max(copies, unroll(n.parallel) * unroll(n.reduce));
  return nodes * (1 + copies * unroll(s.outer));
}

double emission_work(const ControlStep& c, const KernelProgram& root, const std::vector<Schedule>& schedules) {
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
  double sum = 0;
  for (const KernelProgram& p : c.programs) {
    for (const Step& s : p.steps) {
      if (s.kind == Step::Kind::kernel) sum += schedules[static_cast<std::size_t>(s.number)].slack + 20;
      if (s.kind == Step::Kind::control) sum += slack(p.controls[static_cast<std::size_t>(s.number)], schedules);
    }
  }
  return sum * trips(c);
}

std::vector<Schedule> quick_schedules(const KernelProgram& p, const std::vector<Schedule>& schedules) {
  std::vector<double> runs(schedules.size());
  count_runs(p, 1, runs);
  std::vector<Schedule> quick;
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    const Schedule& s = schedules[i];
    Schedule lean = lean_schedule(s);
    const double saved = kQuickInstruction * (emission_work(p.kernels[i], s) - emission_work(p.kernels[i], lean));
    quick.push_back((lean.slack - s.slack) * runs[i] <= saved ? std::move(lean) : s);
  }
  return quick;
}

Qualities first_qualities(const KernelProgram& p, const std::vector<Schedule>& schedules) {
  Qualities q;
  const auto choose = [](double waste, double work) { return waste > price(work) ? CodeQuality::good : CodeQuality::quick; };
  for (std::size_t i = 0; i < schedules.size(); ++i)
    q.kernels.push_back(choose(schedules[i].slack, emission_work(p.kernels[i], schedules[i])));
  for (const ControlStep& c : p.controls) q.controls.push_back(choose(slack(c, schedules), emission_work(c, p, schedules)));
  return q;
}

Improvement improvement(const KernelProgram& p, const std::vector<Schedule>& schedules, const Qualities& made) {
  const std::vector<Schedule> quick = quick_schedules(p, schedules);
  Improvement r;
  r.better.kernels.resize(schedules.size()), r.better.controls.resize(p.controls.size());
  double waste = 0, cost = 0;
  for (const Step& s : p.steps) {
    const auto n = static_cast<std::size_t>(s.number);
    if (s.kind == Step::Kind::kernel && made.kernels[n] == CodeQuality::quick) {
      waste += quick[n].slack + 1;
      if (!r.better.kernels[n]) cost += price(emission_work(p.kernels[n], schedules[n]));
      r.better.kernels[n] = CodeQuality::good;
    }
    if (s.kind == Step::Kind::control && made.controls[n] == CodeQuality::quick) {
      waste += slack(p.controls[n], quick) + 1;
      cost += price(emission_work(p.controls[n], p, schedules));
      r.better.controls[n] = CodeQuality::good;
    }
  }
  r.waste = static_cast<std::int64_t>(waste), r.patience = static_cast<std::int64_t>(cost);
  return r;
}

}  // namespace weft::detail
