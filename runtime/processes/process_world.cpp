#include "weft/runtime/processes/process_world.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>

#include "weft/core/base/hash.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/cpu_limit.h"
#include "weft/runtime/processes/collective_thread.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t h = mix(a, b);
  return h ^ (h >> 33);
}
int tag_of(std::uint64_t hash) { return static_cast<int>(hash & ((1u << 30) - 1)); }

std::string place(SourceLoc loc) { return loc ? fmt::format(" at {}:{}", loc.file(), loc.line()) : std::string(); }

/// The number of processors of the machine, whichever of them this process is bound to.
int processors() {
  std::ifstream in("/proc/self/cgroup");
  const std::string groups{std::istreambuf_iterator<char>(in), {}};
  const int online = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), limit = cgroup_processors("/sys/fs/cgroup", groups);
  return limit > 0 ? std::min(limit, online) : online;
}

/// A process's answer to the question what it is doing.
struct State {
  bool there = false, left = false, silent = false;
  std::uint64_t group = 0, calls = 0, signature = 0;  ///< of the collective that it is in; group 0: in none
  std::uint64_t put_group = 0, put_calls = 0;         ///< of the last one that it put into its devices' streams
  std::string text;
};
constexpr char kSeparator = '\x1f';

State read_state(const std::optional<std::string>& answer) {
  State s;
  if (!answer || answer->empty()) return s.silent = true, s;
  if ((*answer)[0] == '=') return s.left = true, s;
  if ((*answer)[0] != '+') return s;
  s.there = true;
  std::uint64_t* const numbers[] = {&s.group, &s.calls, &s.signature, &s.put_group, &s.put_calls};
  std::size_t at = 1;
  for (std::uint64_t* n : numbers) {
    const std::size_t end = answer->find(kSeparator, at);
    if (end == std::string::npos) return s.silent = true, s;
    *n = std::strtoull(answer->c_str() + at, nullptr, 16);
    at = end + 1;
  }
  s.text = answer->substr(at);
  return s;
}

}  // namespace

std::string named_processes(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "process" : "processes", fmt::join(ranks, ", "));
}
std::string missing_processes(const std::vector<int>& ranks) {
  return named_processes(ranks) + (ranks.size() == 1 ? " is missing" : " are missing");
}

ProcessWorld::ProcessWorld(std::unique_ptr<ControlServer> server, std::unique_ptr<ControlClient> client, Transport* transport, int rank,
                           int size, Seconds timeout, bool check)
    : server_(std::move(server)),
      client_(std::move(client)),
      transport_(transport),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      check_(check),
      crowded_(transport && transport->processes_here() > processors()) {}

ProcessGroup& ProcessWorld::group(const std::vector<int>& ranks) {
  const std::lock_guard lock(running_);
  ProcessGroup& g = groups_[ranks];
  if (g.ranks.empty()) {
    g.ranks = ranks;
    g.id = 1;
    for (int r : ranks) g.id = mixed(g.id, static_cast<std::uint64_t>(r) + 1);
  }
  return g;
}

ProcessLayout& ProcessWorld::layout(const ProcessGroup& everyone, const std::vector<std::vector<int>>& groups) {
  ProcessLayout made;
  for (const std::vector<int>& ranks : groups)
    if (ranks.size() > 1 && std::binary_search(ranks.begin(), ranks.end(), rank_)) made.groups.push_back(&group(ranks));
  const std::lock_guard lock(running_);
  return layouts_.try_emplace({everyone.id, groups}, std::move(made)).first->second;
}

const CollectiveLabel* ProcessWorld::keep(const CollectiveLabel& label) {
  if (label.kept) return label.kept;
  for (const CollectiveLabel& known : labels_)
    if (known.signature == label.signature && known.loc.line() == label.loc.line() && known.loc.file() == label.loc.file())
      return label.kept = &known;
  return label.kept = &labels_.emplace_back(label);
}

void ProcessWorld::write(Now& now, const CollectiveLabel* label, std::uint64_t group, std::uint64_t calls) {
  const std::uint64_t version = now.version.load(std::memory_order_relaxed);
  now.version.store(version + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  now.label.store(label, std::memory_order_relaxed);
  now.group.store(group, std::memory_order_relaxed);
  now.calls.store(calls, std::memory_order_relaxed);
  now.version.store(version + 2, std::memory_order_release);
}

ProcessWorld::Seen ProcessWorld::read(const Now& now) {
  for (;;) {
    const std::uint64_t version = now.version.load(std::memory_order_acquire);
    const Seen seen{now.label.load(std::memory_order_relaxed), now.group.load(std::memory_order_relaxed),
                    now.calls.load(std::memory_order_relaxed)};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version % 2 == 0 && version == now.version.load(std::memory_order_relaxed)) return seen;
    std::this_thread::yield();
  }
}

void ProcessWorld::put(const CollectiveLabel& label, std::uint64_t processes, std::uint64_t calls) {
  const std::lock_guard lock(running_);
  write(put_, keep(label), processes, calls);
}

ProcessWorld::Late ProcessWorld::late_for(const std::vector<int>& ranks, std::uint64_t processes, std::uint64_t calls) {
  const std::vector<std::optional<std::string>> answers = control().ask_all(Seconds(1));
  Late late;
  for (int r : ranks) {
    if (r == rank_) continue;
    const State s = read_state(answers[static_cast<std::size_t>(r)]);
    if (s.there && s.put_group == processes && s.put_calls >= calls) continue;
    late.processes.push_back(r);
    late.left |= s.left || (!s.there && !s.silent);
    late.text += fmt::format("{}process {} {}", late.text.empty() ? "" : "; ", r,
                             s.left     ? std::string("has finished the program")
                             : s.silent ? std::string("does not answer")
                             : !s.there ? std::string("has ended")
                                        : "is " + s.text);
  }
  return late;
}

std::string ProcessWorld::describe() {
  const Seen now = read(now_), last = read(put_);
  const auto numbers = [&](std::uint64_t group, std::uint64_t calls, std::uint64_t signature) {
    std::string text;
    for (std::uint64_t n : {group, calls, signature, last.group, last.calls}) text += fmt::format("{:x}{}", n, kSeparator);
    return text;
  };
  const std::string between_devices =
      last.label ? fmt::format("; its last between GPUs was {}{}", last.label->text, place(last.label->loc)) : std::string();
  if (now.group != 0)
    return fmt::format("{}in {}{}", numbers(now.group, now.calls, now.label->signature), now.label->text, place(now.label->loc));
  return numbers(0, 0, 0) + "in no collective" +
         (now.label    ? fmt::format("; its last was {}{}", now.label->text, place(now.label->loc))
          : last.label ? std::string()
                       : std::string("; it has not come to one yet")) +
         between_devices;
}

void ProcessWorld::on_failure(const std::vector<int>& missing, const std::string& report) {
  {
    const std::lock_guard lock(state_);
    missing_ = missing;
    failure_ = report;
  }
  failed_.store(true, std::memory_order_release);
  if (std::find(missing.begin(), missing.end(), rank_) == missing.end()) return;
  // The other processes have given up on this one, which must not wait forever.
  const auto end_later = [this] {
    std::this_thread::sleep_for(timeout_);
    if (noticed_.load()) return;
    std::fprintf(stderr, "weft: process %d did not come to a collective that the others waited for, and they have given up; it ends (%s)\n",
                 rank_, failure_.c_str());
    std::fflush(nullptr);
    std::_Exit(1);
  };
  try {
    std::thread(end_later).detach();
  } catch (const std::system_error&) {
    // If no thread can be created, the process learns of the failure at its next collective.
  }
}

void ProcessWorld::throw_earlier_failure(const CollectiveLabel& label) {
  noticed_.store(true);
  std::string report;
  std::vector<int> missing;
  {
    const std::lock_guard lock(state_);
    report = failure_, missing = missing_;
  }
  const bool own = std::find(missing.begin(), missing.end(), rank_) != missing.end();
  throw DistributedError(
      fmt::format(
          "{}: {}; {}. No collective over several processes can run any more: end the program, and start it again from its last checkpoint",
          label.text,
          own               ? std::string("the others have given up waiting for this process")
          : missing.empty() ? std::string("the processes no longer run together")
                            : missing_processes(missing),
          report),
      label.loc);
}

void ProcessWorld::give_up(const CollectiveLabel& label, const std::vector<int>& missing, const std::string& why) {
  noticed_.store(true);
  const std::string report = fmt::format("process {} was in {}{}: {}", rank_, label.text, place(label.loc), why);
  bool first = false;
  {
    const std::lock_guard lock(state_);
    if (failure_.empty()) failure_ = report, missing_ = missing, first = true;
  }
  failed_.store(true, std::memory_order_release);
  if (first) client_->report_failure(missing, report);
  throw DistributedError(
      fmt::format(
          "{}: {}. No collective over several processes can run any more: end the program, and start it again from its last checkpoint",
          label.text, why),
      label.loc);
}

void ProcessWorld::end() {
  if (ended_.exchange(true)) return;
  wait_for_queued_collectives();
  if (dry_) {
    fmt::print("{}", dry_->report());
    return;
  }
  std::fflush(nullptr);
  // A process that has not failed waits for as long as the others live and don't fail.
  if (!failed_ && client_->leave(Seconds(365.0 * 86400))) {
    if (transport_) transport_->finalize();
    client_.reset();
    server_.reset();
    failed_ = true;
    failure_ = "distributed::shutdown() has been called";
    return;
  }
  noticed_.store(true);
  client_->leave_failed(std::min(timeout_ + Seconds(1), Seconds(30)));
  std::fflush(nullptr);
  if (transport_) transport_->abort(1);
}

namespace {
constexpr std::uint64_t kTogether = 0x6b7e;  // in place of a group
}

ProcessWorld::Together::Together(ProcessWorld& world, const CollectiveLabel& label, std::uint64_t number)
    : world_(world), label_(label), number_(number) {
  wait_for_queued_collectives();
  if (world.has_failed()) world.throw_earlier_failure(label);
  const std::lock_guard lock(world.running_);
  world.set_now(world.keep(label), kTogether, number);
}
ProcessWorld::Together::~Together() {
  const std::lock_guard lock(world_.running_);
  world_.set_now(label_.kept, 0, number_);
}

void ProcessWorld::Together::expect(int rank) {
  if (world_.has_failed()) world_.throw_earlier_failure(label_);
  const State s = read_state(world_.control().ask_all(Seconds(1))[static_cast<std::size_t>(rank)]);
  if (world_.has_failed()) world_.throw_earlier_failure(label_);
  if (s.there && s.group == kTogether && s.calls >= number_) return;
  world_.give_up(label_, {rank},
                 fmt::format("process {} {}", rank,
                             s.left     ? std::string("has finished the program")
                             : s.silent ? std::string("does not answer")
                             : !s.there ? std::string("has ended")
                                        : "is " + s.text));
}

namespace {
/// One collective at a time, in the order in which the program begins them.
std::unique_lock<std::mutex> turn_of(std::mutex& running) {
  wait_for_queued_collectives();
  return std::unique_lock(running);
}
}  // namespace

CollectiveCall::CollectiveCall(ProcessWorld& world, ProcessGroup& group, const CollectiveLabel& label,
                               std::span<ProcessLayout* const> layouts)
    : world_(world), group_(group), label_(label), lock_(turn_of(world.running_)), messages_(world.messages_) {
  messages_.clear();
  if (world_.failed_.load(std::memory_order_acquire)) world_.throw_earlier_failure(label);
  if (!world_.transport_)
    throw DistributedError(
        fmt::format(
            "{}: it spans {}, and nothing carries data of host devices between them; start the program under mpirun, with the plugin "
            "weft/libweft_mpi.so beside the library",
            label.text, named_processes(group.ranks)),
        label.loc);
  ++group_.calls;
  group_.history = mixed(group_.history, label.signature);
  tag_ = tag_of(mixed(mixed(group_.id, group_.calls), label.signature));
  world_.set_now(world_.keep(label), group_.id, group_.calls);
  const auto is_closed = [](const ProcessLayout* l) { return !l->open; };
  const bool opens = !world_.dry_ && (group_.channel < 0 || std::any_of(layouts.begin(), layouts.end(), is_closed));
  if (!opens && !world_.check_) return;
  try {
    if (opens) open(layouts);
    if (world_.check_) compare_histories();
  } catch (...) {
    world_.set_now(label.kept, 0, 0);
    throw;
  }
}

CollectiveCall::~CollectiveCall() {
  world_.num_messages_ += num_sent_;
  if (world_.dry_) world_.dry_->add(label_.text, label_.loc, static_cast<int>(group_.ranks.size()), num_sent_, bytes_sent_, rounds_);
  world_.set_now(label_.kept, 0, 0);
}

namespace {
constexpr std::string_view kOtherProgram = " of another program (an index, a number or a parameter in it isn't the same)";
}  // namespace

void CollectiveCall::compare_histories() {
  struct Entry {
    std::uint64_t history = 0;
    char text[248] = {};
  };
  std::vector<Entry> entries(group_.ranks.size());
  Entry own;
  own.history = group_.history;
  const std::string text = label_.text + place(label_.loc);
  std::memcpy(own.text, text.data(), std::min(text.size(), sizeof own.text - 1));
  const int tag = tag_;
  tag_ = tag_of(mixed(mixed(group_.id, group_.calls), 0x5eed));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (group_.ranks[i] == world_.rank()) continue;
    receive(group_.ranks[i], &entries[i], sizeof(Entry));
    send(group_.ranks[i], &own, sizeof(Entry));
  }
  // After a failure, messages may still arrive in `entries`, so that memory must stay allocated.
  try {
    wait({});
  } catch (...) {
    new std::vector<Entry>(std::move(entries));
    throw;
  }
  tag_ = tag;
  std::vector<int> different;
  std::string what;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (group_.ranks[i] == world_.rank() || entries[i].history == own.history) continue;
    entries[i].text[sizeof entries[i].text - 1] = 0;
    different.push_back(group_.ranks[i]);
    what += fmt::format("{}process {} runs {}{}", what.empty() ? "" : "; ", group_.ranks[i], entries[i].text,
                        entries[i].text == std::string_view(own.text) ? kOtherProgram : "");
  }
  if (!different.empty())
    world_.give_up(label_, {},
                   fmt::format("the processes don't run the same collectives in the same order: number {} of those of {} differs; {}",
                               group_.calls, named_processes(group_.ranks), what));
}

void CollectiveCall::wait(std::initializer_list<std::span<const Ref<Buffer>>> keep) {
  post_joints();
  std::size_t open = messages_.size();
  ++rounds_;
  Clock::time_point begin{};
  bool looked = false;
  try {
    for (std::int64_t round = 0; open > 0; ++round) {
      for (Message& m : messages_)
        if (!m.done && world_.transport_->test(m.request)) m.done = true, --open;
      if (open == 0) break;
      if ((round & 63) != 63) continue;
      const Clock::time_point now = Clock::now();
      if (begin == Clock::time_point{}) begin = now;
      const Seconds waited = now - begin;
      // No caller is waiting, so the thread yields the processor to threads that compute.
      if (runs_unawaited()) std::this_thread::sleep_for(std::chrono::microseconds(20));
      // Yielding to an unrelated process costs its whole time slice, so it is done only if the processes of the job share processors.
      if (waited > Seconds(5e-3))
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      else if (world_.crowded_ && waited > Seconds(50e-6))
        std::this_thread::yield();
      const bool late = waited > world_.timeout(), look = !looked && waited > std::min(Seconds(1), world_.timeout() / 4);
      if (!late && !look && !world_.failed_.load(std::memory_order_acquire)) continue;
      std::vector<int> peers;
      for (const Message& m : messages_)
        if (!m.done && std::find(peers.begin(), peers.end(), m.peer) == peers.end()) peers.push_back(m.peer);
      if (world_.failed_.load(std::memory_order_acquire)) world_.throw_earlier_failure(label_);
      looked = true;
      look_for_faults(peers, late);
    }
  } catch (const std::exception& e) {
    for (std::span<const Ref<Buffer>> list : keep) world_.abandoned_.insert(world_.abandoned_.end(), list.begin(), list.end());
    if (dynamic_cast<const Error*>(&e)) throw;
    world_.give_up(label_, {}, e.what());
  }
  messages_.clear();
}

void CollectiveCall::look_for_faults(const std::vector<int>& waiting_for, bool late) {
  const std::vector<std::optional<std::string>> answers = world_.control().ask_all(Seconds(late ? 1.0 : 0.5));
  if (world_.failed_.load(std::memory_order_acquire)) world_.throw_earlier_failure(label_);
  std::vector<int> absent, elsewhere;
  std::string who, other;
  for (int r : group_.ranks) {
    if (r == world_.rank()) continue;
    const State s = read_state(answers[static_cast<std::size_t>(r)]);
    const bool same_call = s.there && s.group == group_.id && s.calls == group_.calls;
    if (same_call && s.signature != label_.signature) {
      elsewhere.push_back(r);
      other += fmt::format("{}process {} is {}{}", other.empty() ? "" : "; ", r, s.text,
                           s.text == "in " + label_.text + place(label_.loc) ? kOtherProgram : "");
      continue;
    }
    if (same_call || (s.there && s.group == group_.id && s.calls > group_.calls)) continue;
    const bool for_certain = s.left || (!s.there && !s.silent);
    if (!late && !for_certain) continue;
    absent.push_back(r);
    who += fmt::format("{}process {} {}", who.empty() ? "" : "; ", r,
                       s.left     ? std::string("has finished the program")
                       : s.silent ? std::string("does not answer")
                       : !s.there ? std::string("has ended")
                                  : "is " + s.text);
  }
  if (!elsewhere.empty())
    world_.give_up(
        label_, {},
        fmt::format("the processes don't run the same program, or not in the same order: it is number {} of the collectives of {}; {}",
                    group_.calls, named_processes(group_.ranks), other));
  // The processes that this one waits for or, if they are waiting too, the others.
  std::vector<int> missing;
  for (int r : absent)
    if (std::find(waiting_for.begin(), waiting_for.end(), r) != waiting_for.end()) missing.push_back(r);
  if (missing.empty()) missing = absent;
  const double seconds = world_.timeout().count();
  if (!missing.empty())
    world_.give_up(
        label_, missing,
        late ? fmt::format("{} did not come within {:.3g} s (WEFT_COLLECTIVE_TIMEOUT): {}", named_processes(missing), seconds, who)
             : fmt::format("{}: {}", missing_processes(missing), who));
  if (late)
    world_.give_up(label_, waiting_for,
                   fmt::format("a message from or to {} has not come through within {:.3g} s, though all processes are in it",
                               named_processes(waiting_for), seconds));
}

}  // namespace weft::detail
