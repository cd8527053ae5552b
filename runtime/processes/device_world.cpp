#include "weft/runtime/processes/device_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "weft/core/base/hash.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t hash_of(const std::vector<int>& ranks) {
  std::uint64_t h = kFnvStart;
  for (int r : ranks) h = fnv_with(h, static_cast<std::uint64_t>(r + 1));
  return h;
}
std::string key_of(std::uint64_t era) { return fmt::format("gpu/given up/{}", era); }

}  // namespace

std::uint64_t DeviceWorld::era() {
  const std::lock_guard lock(mutex_);
  return era_;
}

std::optional<std::string> DeviceWorld::given_up() {
  if (world_.has_failed() || world_.has_ended()) return {};
  const std::lock_guard lock(mutex_);
  if (!question_) question_ = world_.control().ask_for(key_of(era_));
  return world_.control().answer_to(*question_);
}

void DeviceWorld::next_era(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!why.empty() && !world_.has_failed() && !world_.has_ended())
    world_.control().set(key_of(era_), fmt::format("process {} gave up: {}", world_.rank(), why));
  ++era_;
  question_.reset();
  meetings_.clear();
  calls_.clear();
}

void DeviceWorld::look(const CollectiveLabel& label) {
  if (world_.has_failed()) world_.throw_earlier_failure(label);
  if (const std::optional<std::string> why = given_up())
    throw DistributedError(fmt::format("{}: {}; the communicators are aborted, the next collective makes new ones", label.text, *why),
                           label.loc);
}

std::string DeviceWorld::wait_for(const std::string& key, int whom, const CollectiveLabel& label) {
  const Clock::time_point begin = Clock::now();
  Clock::time_point next_look = begin + std::chrono::seconds(1);
  for (;;) {
    if (std::optional<std::string> text = world_.control().get(key, Seconds(0.2))) return *text;
    look(label);
    const Clock::time_point now = Clock::now();
    const bool late = now - begin > world_.timeout();
    if (!late && now < next_look) continue;
    next_look = now + std::chrono::seconds(2);
    const ProcessWorld::Late who = world_.late_for({whom}, 0, ~std::uint64_t{0});
    look(label);
    if (late || who.left)
      world_.give_up(label, {whom},
                     late ? fmt::format("process {} did not come within {:.3g} s (WEFT_COLLECTIVE_TIMEOUT): {}", whom,
                                        world_.timeout().count(), who.text)
                          : fmt::format("process {} is missing: {}", whom, who.text));
  }
}

std::string DeviceWorld::next_place(const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  return fmt::format("gpu/{}/{:x}/{}", era_, hash_of(ranks), ++meetings_[ranks]);
}

DeviceWorld::Verdict DeviceWorld::come(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& text, bool yes,
                                       const std::function<std::string()>& tell) {
  look(label);
  const std::string place = next_place(ranks), answer = place + "/answer";
  const ProcessWorld::Together here(world_, label, 1);
  ControlClient& control = world_.control();
  const auto with = [](bool says, const std::string& rest) { return (says ? "y" : "n") + rest; };
  std::string told;  // y or n, then what the first tells; or ! and what is wrong
  if (world_.rank() != ranks[0]) {
    control.set(fmt::format("{}/{}", place, world_.rank()), with(yes, text));
    told = wait_for(answer, ranks[0], label);
  } else {
    std::string other;
    for (int r : ranks) {
      if (r == ranks[0]) continue;
      const std::string key = fmt::format("{}/{}", place, r), theirs = wait_for(key, r, label);
      control.erase(key);
      yes &= !theirs.empty() && theirs[0] == 'y';
      if (theirs.empty() || theirs.substr(1) != text)
        other += fmt::format("{}process {} comes to {}", other.empty() ? "" : "; ", r, theirs.empty() ? theirs : theirs.substr(1));
    }
    if (!other.empty()) {
      told = fmt::format("!the processes don't do the same in the same order: process {} comes to {}; {}", ranks[0], text, other);
    } else {
      try {
        told = with(yes, tell ? tell() : std::string());
      } catch (const Error& e) {
        told = fmt::format("!process {}: {}", ranks[0], e.message());
      } catch (const std::exception& e) {
        told = fmt::format("!process {}: {}", ranks[0], e.what());
      }
    }
    control.set(answer, told);
  }
  if (told.empty() || told[0] == '!')
    throw DistributedError(fmt::format("{}: {}", label.text, told.empty() ? told : told.substr(1)), label.loc);
  return {told[0] == 'y', told.substr(1)};
}

std::string DeviceWorld::meet(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& text,
                              const std::function<std::string()>& tell) {
  return come(ranks, label, text, true, tell).told;
}

bool DeviceWorld::all_say(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& what, bool yes) {
  return come(ranks, label, what, yes, {}).yes;
}

std::uint64_t DeviceWorld::calls(const std::vector<int>& ranks) {
  const std::lock_guard lock(mutex_);
  return calls_[ranks];
}

void DeviceWorld::put(const std::vector<int>& ranks, const CollectiveLabel& label) {
  std::uint64_t calls, era;
  {
    const std::lock_guard lock(mutex_);
    calls = ++calls_[ranks], era = era_;
  }
  world_.put(label, hash_of(ranks) + era, calls);
}

void DeviceWorld::expect(const std::vector<int>& ranks, const CollectiveLabel& label, std::uint64_t calls) {
  const ProcessWorld::Late who = world_.late_for(ranks, hash_of(ranks) + era(), calls);
  look(label);
  if (who.processes.empty()) return;
  world_.give_up(
      label, who.processes,
      fmt::format("{} {} did not come within {:.3g} s (WEFT_COLLECTIVE_TIMEOUT): {}", who.processes.size() == 1 ? "process" : "processes",
                  fmt::join(who.processes, ", "), world_.timeout().count(), who.text));
}

DeviceWorld* device_world() {
  if (!process_world()) return nullptr;
  static DeviceWorld& only = *new DeviceWorld(*process_world());
  return &only;
}

}  // namespace weft::detail
