// The messages of a collective: channels are opened before their first use, and data for one process is joined into one message.
#include <fmt/format.h>

#include <condition_variable>
#include <thread>

#include "weft/core/errors/error.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

// A message slightly above MPI's eager limit is sent as two below it (Open MPI: 4 KB between processes of one machine).
constexpr std::int64_t kAtOnce = 4000;
bool goes_as_two(std::int64_t bytes) { return bytes > kAtOnce && bytes <= 2 * kAtOnce; }

constexpr std::int64_t kShort = 512;  // messages up to this size are sent before receives are posted

/// Channels are opened by a separate thread, since that waits for the other processes without a time limit and may have to be abandoned.
struct Opening {
  std::vector<ProcessGroup> groups;  // copies: the world may be left, too
  std::mutex mutex;
  std::condition_variable over;
  bool done = false;
  std::string problem;

  void run(Transport& transport) {
    std::string why;
    try {
      for (ProcessGroup& g : groups) g.channel = transport.open(g.ranks, static_cast<int>(g.id & ((1u << 30) - 1)));
    } catch (const std::exception& e) {
      why = e.what();
    }
    const std::lock_guard lock(mutex);
    done = true, problem = why;
    over.notify_all();
  }
};

}  // namespace

std::vector<int> processes_at(std::span<const int> device_ids, std::span<const int> positions) {
  std::vector<int> ids;
  for (int k : positions) ids.push_back(device_ids[static_cast<std::size_t>(k)]);
  return processes().processes_of(ids);
}

std::vector<std::vector<int>> process_lines(std::span<const int> device_ids, std::span<const std::int64_t> mesh_shape) {
  std::vector<std::vector<int>> lines;
  const auto num_devices = static_cast<std::int64_t>(device_ids.size());
  std::int64_t stride = num_devices;
  for (const std::int64_t size : mesh_shape) {
    stride /= size;
    for (std::int64_t first = 0; first < num_devices; ++first) {
      if (first / stride % size != 0) continue;
      std::vector<int> positions;
      for (std::int64_t i = 0; i < size; ++i) positions.push_back(static_cast<int>(first + i * stride));
      std::vector<int> ranks = processes_at(device_ids, positions);
      if (ranks.size() > 1 && std::find(lines.begin(), lines.end(), ranks) == lines.end()) lines.push_back(std::move(ranks));
    }
  }
  return lines;
}

std::vector<std::vector<int>> ProcessWorld::open_channels() {
  const std::lock_guard lock(running_);
  std::vector<std::vector<int>> list;
  for (const ProcessGroup* g : opened_) list.push_back(g->ranks);
  return list;
}

std::int64_t ProcessWorld::num_messages() {
  const std::lock_guard lock(running_);
  return num_messages_;
}

// A dissemination barrier: each process waits for those 1, 2, 4, ... positions before it in the group.
void CollectiveCall::meet() {
  const auto n = static_cast<int>(group_.ranks.size()), place = group_.place(world_.rank());
  char* token = world_.tokens_.data();
  for (int distance = 1; distance < n; distance *= 2, token += 2) {
    const int to = group_.ranks[static_cast<std::size_t>((place + distance) % n)],
              from = group_.ranks[static_cast<std::size_t>((place + n - distance) % n)];
    const Transport::Piece going{token, 1}, coming{token + 1, 1};
    messages_.push_back({world_.transport_->receive(0, from, tag_, {&coming, 1}), from, false});
    messages_.push_back({world_.transport_->send(0, to, tag_, {&going, 1}), to, false});
    wait({});
  }
}

// A barrier comes first, so that the call, which can't be interrupted, begins only when no process is missing; a process that fails after
// that is detected as usual, since a separate thread makes the call.
void CollectiveCall::open(std::span<ProcessLayout* const> layouts) {
  std::vector<ProcessGroup*> closed;
  const auto needs = [&](ProcessGroup* g) {
    if (g->channel < 0 && std::find(closed.begin(), closed.end(), g) == closed.end()) closed.push_back(g);
  };
  needs(&group_);
  for (const ProcessLayout* l : layouts)
    for (ProcessGroup* g : l->groups) needs(g);
  meet();
  const auto opening = std::make_shared<Opening>();
  std::vector<int> others;
  for (const ProcessGroup* g : closed) {
    opening->groups.push_back(*g);
    for (int r : g->ranks)
      if (r != world_.rank() && std::find(others.begin(), others.end(), r) == others.end()) others.push_back(r);
  }
  if (!closed.empty()) {
    std::thread opener([opening, transport = world_.transport_] { opening->run(*transport); });
    const Clock::time_point begin = Clock::now();
    try {
      std::unique_lock lock(opening->mutex);
      for (bool looked = false; !opening->done;) {
        opening->over.wait_for(lock, std::chrono::milliseconds(20), [&] { return opening->done; });
        if (opening->done) break;
        lock.unlock();
        const Seconds waited = Clock::now() - begin;
        const bool late = waited > world_.timeout(), look = !looked && waited > std::min(Seconds(1), world_.timeout() / 4);
        if (world_.has_failed()) world_.throw_earlier_failure(label_);
        if (late || look) looked = true, look_for_faults(others, late);
        lock.lock();
      }
    } catch (...) {
      opener.detach();
      throw;
    }
    opener.join();
    if (!opening->problem.empty()) world_.give_up(label_, {}, opening->problem);
    for (std::size_t i = 0; i < closed.size(); ++i) {
      closed[i]->channel = opening->groups[i].channel;
      world_.opened_.push_back(closed[i]);
    }
  }
  for (ProcessLayout* l : layouts) l->open = true;
  rounds_ = 0;
}

void CollectiveCall::post(const Joint& m) {
  const auto one = [&](std::span<const Transport::Piece> pieces) {
    Transport& t = *world_.transport_;
    const int place = m.among->place(m.peer);
    const Transport::Request request =
        m.going ? t.send(m.among->channel, place, tag_, pieces) : t.receive(m.among->channel, place, tag_, pieces);
    messages_.push_back({request, m.peer, false});
    if (m.going) ++num_sent_;
  };
  if (m.going) bytes_sent_ += m.bytes;
  if (!goes_as_two(m.bytes)) return one(m.pieces);
  std::vector<Transport::Piece> halves[2];
  auto left = static_cast<std::size_t>((m.bytes + 1) / 2);
  for (const Transport::Piece& p : m.pieces) {
    const std::size_t first = std::min(left, p.bytes);
    if (first > 0) halves[0].push_back({p.data, first});
    if (first < p.bytes) halves[1].push_back({static_cast<char*>(p.data) + first, p.bytes - first});
    left -= first;
  }
  for (const auto& half : halves) one(half);
}

void CollectiveCall::add(const ProcessGroup& among, int peer, bool going, void* data, std::int64_t bytes) {
  if (bytes == 0) return;
  const Transport::Piece piece{data, static_cast<std::size_t>(bytes)};
  if (joins_) {
    for (Joint& m : joints_) {
      if (m.among != &among || m.peer != peer || m.going != going) continue;
      m.bytes += bytes;
      Transport::Piece& last = m.pieces.back();
      if (static_cast<char*>(last.data) + last.bytes == data)
        last.bytes += piece.bytes;
      else
        m.pieces.push_back(piece);
      return;
    }
    joints_.push_back({&among, peer, going, bytes, {piece}});
    return;
  }
  if (goes_as_two(bytes)) return post({&among, peer, going, bytes, {piece}});
  Transport& t = *world_.transport_;
  const std::span<const Transport::Piece> pieces(&piece, 1);
  const int place = among.place(peer);
  messages_.push_back({going ? t.send(among.channel, place, tag_, pieces) : t.receive(among.channel, place, tag_, pieces), peer, false});
  if (going) ++num_sent_, bytes_sent_ += bytes;
}

// The message is sent first, so that the rest of the work overlaps with its transfer.
void CollectiveCall::exchange(const ProcessGroup& among, int peer, int place, const void* from, void* to, std::int64_t bytes) {
  if (bytes == 0) return;
  Transport& t = *world_.transport_;
  const auto size = static_cast<std::size_t>(bytes);
  const Transport::Piece going{const_cast<void*>(from), size}, coming{to, size};
  messages_.push_back({t.send(among.channel, place, tag_, {&going, 1}), peer, false});
  messages_.push_back({t.receive(among.channel, place, tag_, {&coming, 1}), peer, false});
  ++num_sent_, bytes_sent_ += bytes;
}

void CollectiveCall::post_joints() {
  if (joints_.empty()) return;
  // Short messages are sent first, so that they travel while the rest is prepared. For long ones, the receive is posted before the data
  // arrives.
  std::stable_sort(joints_.begin(), joints_.end(), [](const Joint& a, const Joint& b) {
    const auto when = [](const Joint& m) { return m.going ? m.bytes <= kShort ? 0 : 2 : 1; };
    return when(a) < when(b);
  });
  for (const Joint& m : joints_) post(m);
  joints_.clear();
}

void CollectiveCall::send(const ProcessGroup& among, int to, const void* data, std::int64_t bytes) {
  add(among, to, true, const_cast<void*>(data), bytes);
}
void CollectiveCall::receive(const ProcessGroup& among, int from, void* data, std::int64_t bytes) { add(among, from, false, data, bytes); }

}  // namespace weft::detail
