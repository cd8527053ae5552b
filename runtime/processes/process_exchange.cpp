#include "weft/runtime/processes/process_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail {
namespace {

/// The call that a process is in, as it announces it to the others.
struct Entry {
  std::uint64_t signature = 0;
  char text[248] = {};
};

}  // namespace

ProcessExchange::ProcessExchange(ProcessWorld& world, const std::vector<int>& ranks, const CollectiveLabel& label)
    : world_(world), ranks_(ranks), label_(label) {
  const Processes& all = processes();
  const bool gpus = std::all_of(ranks.begin(), ranks.end(), [&](int r) { return all.num_accelerators(r) > 0; });
  if (world.has_transport() || !gpus || ranks.size() == 1) {
    call_.emplace(world, world.group(ranks), label);
    call_->join_messages();
    return;
  }
  if (world.has_failed()) world.throw_earlier_failure(label);
  for (int r : ranks) devices_.push_back(all.first_accelerator[static_cast<std::size_t>(r)]);
  compare();
}

void ProcessExchange::compare() {
  std::vector<Message> going, coming;
  Entry own;
  own.signature = label_.signature;
  const std::string text = label_.text + (label_.loc ? fmt::format(" at {}:{}", label_.loc.file(), label_.loc.line()) : std::string());
  std::memcpy(own.text, text.data(), std::min(text.size(), sizeof own.text - 1));
  const auto entry = [&] {
    const Ref<Buffer> b(new HostBuffer(sizeof own, processes().first_local()));
    std::memcpy(b->data(), &own, sizeof own);
    return b;
  };
  for (int r : ranks_) {
    if (r == world_.rank()) continue;
    going.push_back({r, entry()});
    coming.push_back({r, entry()});
  }
  by_devices(going, coming);
  std::string different;
  for (const Message& m : coming) {
    Entry theirs;
    std::memcpy(&theirs, m.memory->data(), sizeof theirs);
    theirs.text[sizeof theirs.text - 1] = 0;
    if (theirs.signature != own.signature)
      different += fmt::format("{}process {} runs {}", different.empty() ? "" : "; ", m.peer, theirs.text);
  }
  if (!different.empty())
    world_.give_up(label_, {}, fmt::format("the processes don't run the same program, or not in the same order: {}", different));
}

void ProcessExchange::send(int to, const Ref<Buffer>& from) {
  if (call_)
    call_->send(to, from->data(), static_cast<std::int64_t>(from->bytes()));
  else
    going_.push_back({to, from});
}

void ProcessExchange::receive(int from, const Ref<Buffer>& to) {
  if (call_)
    call_->receive(from, to->data(), static_cast<std::int64_t>(to->bytes()));
  else
    coming_.push_back({from, to});
}

void ProcessExchange::wait(std::initializer_list<std::span<const Ref<Buffer>>> keep) {
  if (call_) return call_->wait(keep);
  by_devices(going_, coming_);
  going_.clear(), coming_.clear();
}

void ProcessExchange::by_devices(const std::vector<Message>& going, const std::vector<Message>& coming) {
  const int mine = processes().first_local_accelerator();
  const auto place = [&](int rank) { return static_cast<std::size_t>(std::find(ranks_.begin(), ranks_.end(), rank) - ranks_.begin()); };
  std::vector<Accelerators::DeviceMessage> out, in;
  for (const Message& m : going)
    if (m.memory->bytes() > 0) out.push_back({place(m.peer), accelerators().upload(m.memory->data(), m.memory->bytes(), mine)});
  for (const Message& m : coming)
    if (m.memory->bytes() > 0) in.push_back({place(m.peer), accelerators().allocate(m.memory->bytes(), mine)});
  if (out.empty() && in.empty()) return;  // nor has anybody anything for this process
  accelerators().exchange(devices_, out, in, label_);
  std::size_t next = 0;
  for (const Message& m : coming)
    if (m.memory->bytes() > 0) accelerators().download(in[next++].memory, m.memory->data());
  if (in.empty()) accelerators().wait(out.front().memory);
}

}  // namespace weft::detail
