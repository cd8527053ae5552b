#include "weft/backends/cpu/executable/schedule_search.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "weft/backends/codegen/planner/signature.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/backends/codegen/schedule/proposals.h"
#include "weft/backends/codegen/schedule/schedule_text.h"
#include "weft/backends/common/code_cache.h"
#include "weft/backends/cpu/code_tiers.h"
#include "weft/backends/cpu/jit.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/base/environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/stated_schedule.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {
namespace {

constexpr double kLeastCycles = 20e3, kMostCycles = 30e6;  // of a run
constexpr std::int64_t kMostBytes = 64 << 20;              // of all arrays of a kernel
constexpr double kMostWork = 15e3;                         // of emission: at most a third of a second for one schedule
constexpr int kFirstRounds = 5, kLastRounds = 9;           // in which each schedule is measured in turn
constexpr double kSample = 200e-6;                         // seconds that are measured at once
constexpr double kFaster = 0.95;                           // of the usual schedule's time, at most
constexpr double kShare = 0.05, kMostSeconds = 2;          // of the process's time, for all searches

std::atomic<int> switched{-1};  // by the user; -1: as the environment says
std::atomic<std::int64_t> spent_nanoseconds{0};

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::int64_t bytes_of(const KernelArg& a) { return a.elements * a.dtype.itemsize(); }

/// The arrays of a kernel's arguments. Inputs hold numbers of both signs between a quarter and two in absolute value, or integers from 0 to
/// 3; indices are clamped or masked by the kernel itself, as they are with a user's data.
class Arrays {
 public:
  explicit Arrays(const Kernel& k) {
    for (const KernelArg& a : k.args) {
      if (a.scratch) continue;
      const auto bytes = static_cast<std::size_t>(bytes_of(a));
      blocks_.emplace_back(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64)));
      if (!blocks_.back()) throw std::bad_alloc();
      addresses_.push_back(blocks_.back().get());
      if (a.written)
        results_.push_back({blocks_.back().get(), bytes});
      else
        fill(blocks_.back().get(), a);
    }
    clear_results();
  }
  void* const* addresses() { return addresses_.data(); }
  std::vector<std::byte> results() const {
    std::vector<std::byte> all;
    for (const auto& [at, bytes] : results_) all.insert(all.end(), at, at + bytes);
    return all;
  }
  bool has_results(const std::vector<std::byte>& wanted) const {
    const std::byte* next = wanted.data();
    for (const auto& [at, bytes] : results_) {
      if (std::memcmp(at, next, bytes) != 0) return false;
      next += bytes;
    }
    return true;
  }
  void clear_results() {
    for (const auto& [at, bytes] : results_) std::memset(at, 0, bytes);
  }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  static void fill(std::byte* at, const KernelArg& a) {
    constexpr int kValues = 251;
    const auto size = static_cast<std::size_t>(a.dtype.itemsize());
    std::vector<std::byte> values(kValues * size);
    for (int i = 0; i < kValues; ++i) {
      const double magnitude = 0.25 + (i * 83 % kValues) / 143.0;
      const Number n = a.dtype.is_inexact() ? Number(i % 3 == 0 ? -magnitude : magnitude) : Number(i % (a.dtype.is_bool() ? 2 : 4));
      std::memcpy(values.data() + static_cast<std::size_t>(i) * size, as_literal(make_literal(n, a.dtype))->bits.data(), size);
    }
    const auto bytes = static_cast<std::size_t>(bytes_of(a));
    for (std::size_t i = 0; i < bytes; i += values.size()) std::memcpy(at + i, values.data(), std::min(values.size(), bytes - i));
  }

  std::vector<std::unique_ptr<std::byte, Free>> blocks_;
  std::vector<std::pair<std::byte*, std::size_t>> results_;
  std::vector<void*> addresses_;
};

/// A schedule, its code, and the least time that a run took so far.
struct Candidate {
  Schedule schedule;
  std::unique_ptr<NativeCode> code;
  double least = 1e9;

  Candidate(const Kernel& k, const Schedule& s) : schedule(s), code(compile_kernel(k, s)) {}
  void run(void* const* args) const { code->functions[0](args, 0, schedule.num_blocks); }
  /// Whether the thread had the processor most of the time.
  bool measure(void* const* args, int runs) {
    const double begun = seconds_of(CLOCK_MONOTONIC), start = thread_seconds();
    for (int i = 0; i < runs; ++i) run(args);
    const double took = thread_seconds() - start;
    least = std::min(least, took / runs);
    return seconds_of(CLOCK_MONOTONIC) - begun < 1.25 * took + 20e-6;
  }
};

std::string signature_text(const Kernel& k) {
  const std::vector<std::int64_t> numbers = code_signature(k, Schedule());
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]};
}

constexpr std::string_view kEntry = "schedule found by measurement, 1", kProgram = "program whose schedules were measured, 1";

/// The part of the key that identifies the machine, on which the fastest schedule depends; empty if there is no cache.
const std::string& measured_machine() {
  static const auto& identity = *[] {
    const std::string code = CodeCache::of_process().enabled() ? code_identity() : std::string();
    return new std::string(code.empty() ? code : fmt::format("{}, {}, {}", code, devices("cpu").front().kind(), num_threads()));
  }();
  return identity;
}

}  // namespace

bool searches_schedules() {
  if (const int on = switched.load(std::memory_order_relaxed); on >= 0) return on > 0;
  static const bool wanted = is_switched_on("WEFT_SCHEDULE_SEARCH");
  return wanted;
}
void switch_schedule_search(bool on) { switched = on ? 1 : 0; }

double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double search_seconds_left() {
  return std::min(kShare * seconds_of(CLOCK_PROCESS_CPUTIME_ID), kMostSeconds) - 1e-9 * static_cast<double>(spent_nanoseconds.load());
}
void spend_search_seconds(double seconds) { spent_nanoseconds += static_cast<std::int64_t>(1e9 * seconds); }

bool is_worth_searching(const Kernel& k, const Schedule& usual) {
  std::int64_t bytes = 0;
  for (std::size_t a = 0; a < k.args.size(); ++a) {
    if (k.args[a].scratch) continue;
    bytes += bytes_of(k.args[a]);
    if (k.args[a].written && is_loaded(k, static_cast<int>(a))) return false;
  }
  if (k.cost.cycles < kLeastCycles || k.cost.cycles > kMostCycles || bytes > kMostBytes || emission_work(k, usual) > kMostWork)
    return false;
  const int threads = is_forked(usual.num_blocks, usual.grain) ? num_threads() : 1;
  return threads == 1 || bytes <= threads * Target{}.middle_cache;
}

std::optional<Schedule> found_schedule(const Kernel& k, const Schedule& usual) try {
  if (measured_machine().empty()) return {};
  const std::optional<std::string> text = CodeCache::of_process().find({measured_machine(), kEntry, signature_text(k)});
  if (!text) return {};
  Schedule found = parse_schedule(std::string_view(*text).substr(text->find('\n') + 1), k, native_vector_bytes());
  return same_bits(k, usual, found) ? std::optional(std::move(found)) : std::nullopt;
} catch (const CompileError&) {
  return {};
}

void keep_schedule(const Kernel& k, const SearchResult& found) {
  if (measured_machine().empty()) return;
  CodeCache::of_process().put(
      {measured_machine(), kEntry, signature_text(k)},
      fmt::format("{} others were measured; microseconds of a run on one thread: {:.2f} by the usual schedule, {:.2f} by this one\n{}",
                  found.measured, found.before * 1e6, found.after * 1e6, to_string(found.schedule, k)));
}

bool is_searched_program(const std::string& program_key) {
  return !measured_machine().empty() && CodeCache::of_process().find({measured_machine(), kProgram, program_key}).has_value();
}
void note_searched_program(const std::string& program_key) {
  if (!measured_machine().empty()) CodeCache::of_process().put({measured_machine(), kProgram, program_key}, {});
}

std::optional<SearchResult> search_schedule(const Kernel& k, const Schedule& usual, const std::vector<Schedule>& others,
                                            const std::function<bool()>& stop) {
  if (stop()) return {};
  SearchResult found{usual, 0, 0, 0, 0};
  if (others.empty()) return found;
  std::vector<Candidate> candidates;
  candidates.reserve(others.size() + 1);
  candidates.emplace_back(k, usual);
  Arrays arrays(k);
  void* const* const args = arrays.addresses();
  candidates[0].run(args);
  const std::vector<std::byte> results = arrays.results();
  candidates[0].measure(args, 1);
  const int runs = static_cast<int>(std::clamp(kSample / std::max(candidates[0].least, 1e-9), 1.0, 1000.0));
  int samples = 0, disturbed = 0;
  const auto take_turns = [&](int rounds) {
    for (int i = 0; i < rounds; ++i)
      for (Candidate& c : candidates) {
        if (stop()) return false;
        ++samples, disturbed += !c.measure(args, runs);
        if (samples >= 8 && 2 * disturbed > samples) return false;
      }
    return true;
  };
  if (!take_turns(8)) return {};
  for (const Schedule& s : others) {
    if (stop()) return {};
    if (emission_work(k, s) > kMostWork) continue;
    Candidate c(k, s);
    arrays.clear_results();
    c.run(args);
    ++found.measured;
    if (arrays.has_results(results))
      candidates.push_back(std::move(c));
    else
      ++found.different;
  }
  for (Candidate& c : candidates) c.least = 1e9;
  if (!take_turns(kFirstRounds)) return {};
  const auto best =
      std::min_element(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return a.least < b.least; });
  found.before = found.after = candidates[0].least;
  if (best->least > kFaster * candidates[0].least) return found;
  std::swap(candidates[1], *best);
  candidates.erase(candidates.begin() + 2, candidates.end());
  for (Candidate& c : candidates) c.least = 1e9;
  if (!take_turns(kLastRounds)) return {};
  found.before = found.after = candidates[0].least;
  if (candidates[1].least <= kFaster * candidates[0].least) found.schedule = candidates[1].schedule, found.after = candidates[1].least;
  return found;
}

}  // namespace weft::detail
