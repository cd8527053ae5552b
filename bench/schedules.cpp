// schedules [NAME...]: what measuring schedules finds for some kernels, in microseconds of processor time of one thread: by the usual
// schedule, by the best of those that a search proposes, and by the best of all combinations of loops' order, unrolling, lanes and
// streaming (at most 400, those left out that the emitter refuses or that would change bits). One JSON object a kernel; the schedules on
// stderr.
#include <fmt/format.h>
#include <weft/nn.h>
#include <weft/weft.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/proposals.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/cpu/executable/schedule_search.h"
#include "weft/backends/cpu/expand.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using detail::Kernel, detail::LoopPlan, detail::Schedule;

namespace {

constexpr std::size_t kMostCombinations = 400;

struct Case {
  std::string name;
  Jaxpr program;
};
template <class F>
Case make_case(std::string name, F f, const std::vector<Array>& args) {
  return {std::move(name), make_jaxpr([&](const std::vector<Array>& xs) { return std::vector<Array>{f(xs)}; })(args)};
}

std::vector<Case> cases() {
  using Xs = const std::vector<Array>&;
  const auto zero = [](Shape s, DType t = float32) { return zeros(s, t); };
  return {
      make_case("matmul_epilogue_96", [](Xs x) { return nn::relu(matmul(x[0], x[1]) + x[2]); },
                {zero({96, 96}), zero({96, 96}), zero({96})}),
      make_case("row_reduce_3000x500", [](Xs x) { return sum(x[0] * x[0], 1); }, {zero({3000, 500})}),
      make_case("column_reduce_3000x500", [](Xs x) { return sum(x[0] * x[0], 0); }, {zero({3000, 500})}),
      make_case("stencil_1000x1000",
                [](Xs x) {
                  const Array& u = x[0];
                  const auto inner = slice(1, -1);
                  return u(slice(none, -2), inner) + u(slice(2, none), inner) + u(inner, slice(none, -2)) + u(inner, slice(2, none)) -
                         4.f * u(inner, inner);
                },
                {zero({1000, 1000})}),
      make_case("transpose_1000x1500", [](Xs x) { return transpose(x[0]) * 2.f; }, {zero({1000, 1500})}),
      make_case("conv_100k_9_taps", [](Xs x) { return convolve(x[0], x[1], "same"); }, {zero({100000}), zero({9})}),
      make_case("softmax_1024x333", [](Xs x) { return nn::softmax(x[0]); }, {zero({1024, 333})}),
      make_case("gather_10000_of_rows", [](Xs x) { return x[0](x[1]) * 2.f; }, {zero({1000, 64}), zero({10000}, int32)}),
      make_case("scan_body_64x96",
                [](Xs x) {
                  return scan(
                             [&](const Array& h, const Array& row) {
                               const Array next = h * x[1] + row * (1.f - x[1]);
                               return std::pair{next, next * 2.f};
                             },
                             x[0](0), x[0])
                      .second;
                },
                {zero({16, 64, 96}), zero({64, 96})}),
      make_case("batched_matmul_1000x8x8", [](Xs x) { return matmul(x[0], x[1]); }, {zero({1000, 8, 8}), zero({1000, 8, 8})}),
      make_case("axpy_500k", [](Xs x) { return 2.f * x[0] + x[1]; }, {zero({500000}), zero({500000})}),
      make_case("gelu_100k", [](Xs x) { return nn::gelu(x[0]); }, {zero({100000})}),
      make_case("layer_norm_2000x96", [](Xs x) { return nn::layer_norm(x[0], x[1], x[2]); }, {zero({2000, 96}), zero({96}), zero({96})}),
      make_case("short_rows_100000x7", [](Xs x) { return sum(x[0], 1); }, {zero({100000, 7})}),
      make_case("outer_product_300x300x8", [](Xs x) { return expand_dims(x[0], 1) * expand_dims(x[1], 0); },
                {zero({300, 8}), zero({300, 8})}),
      make_case("records_300000x3", [](Xs x) { return x[0](slice(), 0) * x[0](slice(), 1) + x[0](slice(), 2); }, {zero({300000, 3})}),
      make_case("bf16_chain_300k", [](Xs x) { return x[0] * x[1] + x[0] * x[0]; }, {zero({300000}, bfloat16), zero({300000}, bfloat16)}),
  };
}

/// All combinations of unrolled loops and of streaming, of the schedules that differ in their lanes; on one thread, in one block.
std::vector<Schedule> combinations(const Kernel& k, const Schedule& usual, int vector_bytes) {
  std::vector<Schedule> bases{usual}, all;
  for (const int d : k.outer) bases.push_back(detail::make_schedule(k, detail::Target{.vector_bytes = vector_bytes}, d));
  bases.push_back(detail::make_schedule(k, detail::Target{.vector_bytes = vector_bytes / 2}));
  for (Schedule s : bases) {
    s.task_loops = 0, s.block.clear(), s.blocks.clear(), s.num_blocks = 1, s.grain = 0;
    const std::size_t first = all.size();
    all.push_back(s);
    const auto multiply = [&](auto&& changes) {
      const std::size_t end = all.size();
      for (std::size_t i = first; i < end; ++i) changes(Schedule(all[i]));  // a copy: `all` grows
    };
    const auto unroll = [&](auto&& loop) {
      multiply([&](const Schedule& from) {
        for (const int by : {1, 2, 4, 8}) {
          Schedule changed = from;
          LoopPlan& l = loop(changed);
          if (l.unroll == by) continue;
          l.unroll = by;
          all.push_back(std::move(changed));
        }
      });
    };
    for (std::size_t i = 0; i < s.outer.size(); ++i) unroll([&](Schedule& c) -> LoopPlan& { return c.outer[i]; });
    for (std::size_t n = 0; n < s.nests.size(); ++n)
      for (std::size_t i = 0; i < s.nests[n].parallel.size(); ++i) unroll([&](Schedule& c) -> LoopPlan& { return c.nests[n].parallel[i]; });
    if (s.outer.size() > 1)
      multiply([&](Schedule from) {
        std::reverse(from.outer.begin(), from.outer.end() - (s.vector_dim >= 0 ? 1 : 0));
        all.push_back(std::move(from));
      });
    multiply([&](Schedule from) {
      const bool streams = !from.streamed.empty();
      from.streamed.clear();
      for (std::size_t a = 0; a < k.args.size() && !streams; ++a)
        if (k.args[a].written && !k.args[a].scratch) from.streamed.push_back(static_cast<int>(a));
      all.push_back(std::move(from));
    });
  }
  std::vector<Schedule> kept = detail::proposed_schedules(k, usual, vector_bytes, kMostCombinations);
  for (Schedule& s : all) {
    if (kept.size() >= kMostCombinations || s == usual || detail::contains(kept, s) || !detail::same_bits(k, usual, s)) continue;
    try {
      detail::check_schedule(s, k, vector_bytes);
    } catch (const CompileError&) {
      continue;
    }
    kept.push_back(std::move(s));
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  const int vector_bytes = detail::native_vector_bytes();
  const auto never = [] { return false; };
  for (const Case& c : cases()) {
    if (argc > 1 && std::none_of(argv + 1, argv + argc, [&](const char* name) { return c.name == name; })) continue;
    const detail::KernelProgram p =
        detail::form_program(detail::simplify(c.program, &detail::expand_for_cpu),
                             {.vector_bytes = vector_bytes, .matmuls_by_library = false, .vectors_in_epilogue = true}, {});
    for (const Kernel& k : p.kernels) {
      const Schedule usual = detail::make_schedule(k, vector_bytes);
      const std::vector<Schedule> proposed = detail::proposed_schedules(k, usual, vector_bytes), all = combinations(k, usual, vector_bytes);
      const double start = detail::thread_seconds();
      const auto found = detail::search_schedule(k, usual, proposed, never);
      const double took = detail::thread_seconds() - start;
      const auto best = detail::search_schedule(k, usual, all, never);
      if (!found || !best) {
        fmt::print(stderr, "{}/{}: other work had the processor\n", c.name, k.name);
        continue;
      }
      fmt::print(
          "{{\"kernel\": \"{}/{}\", \"usual_us\": {:.2f}, \"proposed\": {}, \"found_us\": {:.2f}, \"found_ratio\": {:.3f}, \"search_s\": "
          "{:.3f}, "
          "\"combinations\": {}, \"usual_again_us\": {:.2f}, \"best_us\": {:.2f}, \"best_ratio\": {:.3f}, \"different\": {}}}\n",
          c.name, k.name, found->before * 1e6, found->measured, found->after * 1e6, found->after / found->before, took, best->measured,
          best->before * 1e6, best->after * 1e6, best->after / best->before, found->different + best->different);
      if (!(found->schedule == usual)) fmt::print(stderr, "{} found:\n{}\n", c.name, detail::to_string(found->schedule, k));
      if (!(best->schedule == usual)) fmt::print(stderr, "{} best:\n{}\n", c.name, detail::to_string(best->schedule, k));
      std::fflush(stdout);
    }
  }
  return 0;
}
