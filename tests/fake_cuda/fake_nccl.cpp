// An NCCL for tests: the calls of a group are carried out at its end, on the memory of the fake driver. It checks that every rank of a
// clique takes part, with the same count and type. Ranks of several processes meet in a folder (fake_meeting.h).
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "control.h"
#include "fake_meeting.h"
#include "weft/backends/cuda/libraries/nccl.h"
#include "weft/core/array/half.h"

using namespace weft::detail::cuda;

namespace {

using fake_cuda::Folder;

struct Clique {
  int ranks = 0;
  std::shared_ptr<Folder> folder{};  // null: all ranks are this process's
  int splits = 0, collectives = 0;   // so far
  std::map<std::pair<int, int>, int> messages{};
};
struct FakeComm {
  Clique* clique = nullptr;
  int rank = 0, device = 0;
};
enum class What { reduce, gather, scatter, broadcast, send, receive };
struct Call {
  What what;
  const void* in;
  void* out;
  std::size_t count;
  int type, op, peer;
  FakeComm* comm;
  Stream stream;
};

struct Split {
  FakeComm* parent;
  int color, key;
  nccl::Comm* made;
};

struct Init {
  nccl::Comm* made;
  int ranks, rank, device;
  std::string folder;
};

thread_local int depth = 0;  // a group is a thread's
thread_local std::vector<Call> calls;
thread_local std::vector<Split> splits;
thread_local std::vector<Init> inits;
std::atomic<int> async_error{0};
std::mutex& guard() {
  static std::mutex& m = *new std::mutex;
  return m;
}
std::set<FakeComm*>& comms() {
  static auto& all = *new std::set<FakeComm*>;
  return all;
}
bool is_comm(FakeComm* c) {
  const std::lock_guard lock(guard());
  return comms().count(c) > 0;
}
nccl::Comm add_comm(Clique* clique, int rank, int device) {
  const std::lock_guard lock(guard());
  auto* comm = new FakeComm{clique, rank, device};
  comms().insert(comm);
  return reinterpret_cast<nccl::Comm>(comm);
}
fake_cuda::Calls& counted() {
  static fake_cuda::Calls& c = *new fake_cuda::Calls;
  return c;
}

std::size_t size_of(int type) {
  switch (type) {
    case nccl::kInt8:
    case nccl::kUint8: return 1;
    case nccl::kFloat16:
    case nccl::kBFloat16: return 2;
    case nccl::kInt32:
    case nccl::kUint32:
    case nccl::kFloat32: return 4;
    default: return 8;
  }
}

template <class T, class A>
void reduce_as(int op, const std::vector<Call>& group, void* out, std::size_t begin, std::size_t count) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    A sum = static_cast<A>(static_cast<const T*>(group[0].in)[begin + i]);
    for (std::size_t k = 1; k < group.size(); ++k) {
      const A v = static_cast<A>(static_cast<const T*>(group[k].in)[begin + i]);
      sum = op == nccl::kSum ? static_cast<A>(sum + v) : op == nccl::kMax ? (v > sum ? v : sum) : (v < sum ? v : sum);
    }
    result[i] = static_cast<T>(sum);
  }
  std::memcpy(out, result.data(), count * sizeof(T));
}
void reduce(const std::vector<Call>& group, void* out, std::size_t begin, std::size_t count) {
  const int op = group[0].op;
  switch (group[0].type) {
    case nccl::kInt8: return reduce_as<std::int8_t, std::int8_t>(op, group, out, begin, count);
    case nccl::kUint8: return reduce_as<std::uint8_t, std::uint8_t>(op, group, out, begin, count);
    case nccl::kInt32: return reduce_as<std::int32_t, std::int64_t>(op, group, out, begin, count);
    case nccl::kUint32: return reduce_as<std::uint32_t, std::uint32_t>(op, group, out, begin, count);
    case nccl::kInt64: return reduce_as<std::int64_t, std::int64_t>(op, group, out, begin, count);
    case nccl::kUint64: return reduce_as<std::uint64_t, std::uint64_t>(op, group, out, begin, count);
    case nccl::kFloat16: return reduce_as<weft::detail::Float16, float>(op, group, out, begin, count);
    case nccl::kBFloat16: return reduce_as<weft::detail::BFloat16, float>(op, group, out, begin, count);
    case nccl::kFloat32: return reduce_as<float, float>(op, group, out, begin, count);
    case nccl::kFloat64: return reduce_as<double, double>(op, group, out, begin, count);
  }
}

constexpr int kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5;

/// Devices of one process work on each other's arrays directly.
bool all_reach(const std::vector<Call>& group) {
  static const auto reaches = fake_cuda::driver_function<bool(int, const void*)>("fake_cuda_reaches");
  for (const Call& c : group)
    for (const Call& other : group)
      for (const void* p : {c.in, static_cast<const void*>(c.out)})
        if (p && c.count > 0 && !reaches(other.comm->device, p)) return false;
  return true;
}

int run_clique(std::vector<Call> group) {
  const auto ranks = static_cast<std::size_t>(group[0].comm->clique->ranks);
  if (group[0].what == What::send || group[0].what == What::receive) {
    for (const Call& r : group) {
      if (r.what != What::receive) continue;
      bool found = false;
      for (Call& s : group)
        if (!found && s.what == What::send && s.in && s.comm->rank == r.peer && s.peer == r.comm->rank) {
          if (s.count != r.count || s.type != r.type) return kInvalidUsage;
          std::memcpy(r.out, s.in, r.count * size_of(r.type));
          s.in = nullptr, found = true;
        }
      if (!found) return kInvalidUsage;
    }
    for (const Call& s : group)
      if (s.what == What::send && s.in) return kInvalidUsage;  // nobody received it
    return 0;
  }
  if (group.size() != ranks) return kInvalidUsage;
  std::vector<Call> sorted(ranks);
  for (const Call& c : group) sorted[static_cast<std::size_t>(c.comm->rank)] = c;
  for (const Call& c : sorted)
    if (!c.comm || c.what != group[0].what || c.count != group[0].count || c.type != group[0].type || c.op != group[0].op)
      return kInvalidUsage;
  const std::size_t bytes = group[0].count * size_of(group[0].type);
  // In place is allowed, so that results wait until all are computed.
  std::vector<std::vector<char>> results;
  for (const Call& c : sorted) {
    const auto rank = static_cast<std::size_t>(c.comm->rank);
    std::vector<char> r(c.what == What::gather ? bytes * ranks : bytes);
    if (c.what == What::reduce) reduce(sorted, r.data(), 0, c.count);
    if (c.what == What::scatter) reduce(sorted, r.data(), rank * c.count, c.count);
    if (c.what == What::gather)
      for (std::size_t k = 0; k < ranks; ++k) std::memcpy(r.data() + k * bytes, sorted[k].in, bytes);
    if (c.what == What::broadcast) std::memcpy(r.data(), sorted[static_cast<std::size_t>(c.peer)].in, bytes);
    results.push_back(std::move(r));
  }
  for (std::size_t k = 0; k < ranks; ++k)
    if (sorted[k].out) std::memcpy(sorted[k].out, results[k].data(), results[k].size());  // null: another process's
  return 0;
}

std::size_t bytes_given(const Call& c) {
  if (c.what == What::receive || (c.what == What::broadcast && c.peer != c.comm->rank)) return 0;
  return c.count * size_of(c.type) * (c.what == What::scatter ? static_cast<std::size_t>(c.comm->clique->ranks) : 1);
}

/// A collective whose ranks are several processes': what each gives is a file, and all read all. It is done when all have given.
class Remote {
 public:
  explicit Remote(std::vector<Call> group) : group_(std::move(group)), clique_(*group_[0].comm->clique) {}
  int run() {
    for (const Call& c : group_)
      if (!is_comm(c.comm)) return 0;  // aborted
    return group_[0].what == What::send || group_[0].what == What::receive ? exchange() : collect();
  }

 private:
  static std::string header(const Call& c) {
    std::string text = std::to_string(static_cast<int>(c.what)) + " " + std::to_string(c.count) + " " + std::to_string(c.type) + " " +
                       std::to_string(c.op) + " " + (c.what == What::broadcast ? std::to_string(c.peer) : "");
    text.resize(63, ' ');  // so that what follows is aligned
    return text + "\n";
  }
  std::string name(int rank) const { return "collective." + std::to_string(number_) + "." + std::to_string(rank); }

  int collect() {
    Folder& folder = *clique_.folder;
    if (!given_) {
      number_ = clique_.collectives++;
      for (const Call& c : group_)
        folder.write(name(c.comm->rank), header(c) + std::string(static_cast<const char*>(c.in), bytes_given(c)));
      given_ = true;
    }
    for (int r = 0; r < clique_.ranks; ++r)
      if (!folder.has(name(r))) return fake_cuda::kNotYet;
    std::vector<std::string> all;
    std::vector<FakeComm> others(static_cast<std::size_t>(clique_.ranks));
    std::vector<Call> sorted;
    for (int r = 0; r < clique_.ranks; ++r) {
      all.push_back(folder.read(name(r)));
      if (all.back().empty()) return fake_cuda::kNotYet;  // it has aborted meanwhile
      const std::string want = header(group_[0]), got = all.back().substr(0, all.back().find('\n') + 1);
      if (got != want) {
        std::fprintf(stderr, "fake NCCL: rank %d is in another collective: %s here %s", r, got.c_str(), want.c_str());
        return kInvalidUsage;
      }
      others[static_cast<std::size_t>(r)] = {&clique_, r, 0};
      Call c = group_[0];
      c.comm = &others[static_cast<std::size_t>(r)], c.out = nullptr;
      for (const Call& own : group_)
        if (own.comm->rank == r) c.out = own.out;
      sorted.push_back(c);
    }
    for (std::size_t r = 0; r < sorted.size(); ++r) sorted[r].in = all[r].data() + header(sorted[r]).size();
    given_ = false;
    // All have come to this one, so that nobody reads the last one any more.
    for (const Call& c : group_) folder.remove("collective." + std::to_string(number_ - 1) + "." + std::to_string(c.comm->rank));
    return run_clique(sorted);
  }

  int exchange() {
    Folder& folder = *clique_.folder;
    if (!given_) {
      names_.clear();
      for (const Call& c : group_) {
        const bool sends = c.what == What::send;
        const int from = sends ? c.comm->rank : c.peer, to = sends ? c.peer : c.comm->rank;
        // Counted on each side by itself: messages of two ranks match in their order.
        int& count = clique_.messages[{sends ? from : -1 - from, to}];
        names_.push_back("message." + std::to_string(from) + "." + std::to_string(to) + "." + std::to_string(count++));
        if (sends) folder.write(names_.back(), size_header(c) + std::string(static_cast<const char*>(c.in), bytes_given(c)));
      }
      given_ = true;
    }
    bool done = true;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const Call& c = group_[i];
      if (names_[i].empty()) continue;
      if (folder.has(names_[i]) == (c.what == What::send)) {
        done = false;
        continue;
      }
      if (c.what == What::receive) {
        const std::string text = folder.read(names_[i]), want = size_header(c);
        if (text.empty()) {
          done = false;  // it has aborted meanwhile
          continue;
        }
        if (text.compare(0, want.size(), want) != 0) {
          std::fprintf(stderr, "fake NCCL: a message of another size or type than rank %d sends\n", c.peer);
          return kInvalidUsage;
        }
        std::memcpy(c.out, text.data() + want.size(), text.size() - want.size());
        folder.remove(names_[i]);
      }
      names_[i].clear();
    }
    if (done) given_ = false;
    return done ? 0 : fake_cuda::kNotYet;
  }
  static std::string size_header(const Call& c) { return std::to_string(c.count) + " " + std::to_string(c.type) + "\n"; }

  const std::vector<Call> group_;
  Clique& clique_;
  bool given_ = false;
  int number_ = 0;
  std::vector<std::string> names_;
};

/// Carries a clique's calls out when all streams come to them.
template <class Join>
int join_clique(Join join, const std::vector<Call>& group) {
  std::vector<Stream> streams;
  for (const Call& c : group)
    if (std::find(streams.begin(), streams.end(), c.stream) == streams.end()) streams.push_back(c.stream);
  int status = 0;
  if (!all_reach(group)) return 1;
  if (group[0].comm->clique->folder) {
    const auto remote = std::make_shared<Remote>(group);
    status = join(streams.data(), static_cast<int>(streams.size()), new std::function<int()>([remote] { return remote->run(); }));
    return status != 0 ? kInvalidUsage : 0;
  }
  const auto done = std::make_shared<int>(0);
  status =
      join(streams.data(), static_cast<int>(streams.size()), new std::function<int()>([group, done] { return *done = run_clique(group); }));
  return *done != 0 ? *done : status != 0 ? kInvalidUsage : 0;
}

int add(const char* name, Call c) {
  if (const int r = counted().enter(name)) return r;
  if (!is_comm(c.comm) || depth == 0) return kInvalidArgument;
  calls.push_back(c);
  return 0;
}
FakeComm* of(nccl::Comm c) { return reinterpret_cast<FakeComm*>(c); }

int version() {
  const char* given = std::getenv("FAKE_NCCL_VERSION");
  return given ? std::atoi(given) : 22809;
}
/// Since 2.30 several ranks may share a GPU, if NCCL is told so.
bool shares_gpus() {
  const char* given = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return given && std::atoi(given) == 1 && version() >= 23000;
}

int run_remote_splits(const std::vector<Split>& all) {
  Clique& parent = *all[0].parent->clique;
  const std::string prefix = "split." + std::to_string(parent.splits++) + ".";
  std::vector<int> own;
  for (const Split& s : all) {
    own.push_back(s.parent->rank);
    parent.folder->write(prefix + std::to_string(own.back()), std::to_string(s.color) + " " + std::to_string(s.key));
  }
  std::vector<std::string> texts;
  if (!parent.folder->read_of_all(prefix, parent.ranks, own, "ncclCommSplit", texts)) return kSystemError;
  struct Place {
    int color, key, rank;
  };
  std::vector<Place> places;
  for (int r = 0; r < parent.ranks; ++r) {
    Place p{0, 0, r};
    std::sscanf(texts[static_cast<std::size_t>(r)].c_str(), "%d %d", &p.color, &p.key);
    places.push_back(p);
  }
  std::map<int, Clique*> cliques;
  for (const Split& s : all) {
    if (s.color == nccl::kNoColor) continue;
    Clique*& clique = cliques[s.color];
    int before = 0, ranks = 0;
    for (const Place& p : places) {
      if (p.color != s.color) continue;
      ++ranks;
      before += std::pair(p.key, p.rank) < std::pair(s.key, s.parent->rank);
    }
    if (!clique) clique = new Clique{ranks, std::make_shared<Folder>(parent.folder->path() + "-" + prefix + std::to_string(s.color))};
    *s.made = add_comm(clique, before, s.parent->device);
  }
  return 0;
}

/// All ranks of the parent take part; those of a color make a clique, in the order of their keys.
int run_splits(std::vector<Split> all) {
  if (all[0].parent->clique->folder) return run_remote_splits(all);
  if (static_cast<int>(all.size()) != all[0].parent->clique->ranks) return kInvalidUsage;
  std::stable_sort(all.begin(), all.end(),
                   [](const Split& a, const Split& b) { return std::pair(a.color, a.key) < std::pair(b.color, b.key); });
  std::map<int, Clique*> cliques;
  for (const Split& s : all) {
    if (s.color == nccl::kNoColor) continue;
    Clique*& clique = cliques[s.color];
    if (!clique) clique = new Clique;
    *s.made = add_comm(clique, clique->ranks, s.parent->device);
    ++clique->ranks;
  }
  return 0;
}

/// Ranks of several processes make a communicator of the folder that its first process named. One GPU may be no two ranks', unless these
/// look like different machines, or NCCL is told that they may.
int run_inits(const std::vector<Init>& all) {
  const auto folder = std::make_shared<Folder>(all[0].folder);
  const char* host = std::getenv("NCCL_HOSTID");
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  std::vector<int> own;
  for (const Init& i : all) {
    own.push_back(i.rank);
    if (i.rank < 0 || i.rank >= i.ranks || i.folder != all[0].folder) return kInvalidArgument;
    const std::string file = "init." + std::to_string(i.rank);
    if (folder->has(file)) return kInvalidUsage;  // there is one of this rank
    folder->write(file, std::to_string(i.ranks) + " " + std::to_string(i.device) + "@" + (host ? host : name));
  }
  std::vector<std::string> texts;
  if (!folder->read_of_all("init.", all[0].ranks, own, "ncclCommInitRank", texts)) return kSystemError;
  std::set<std::string> gpus;
  for (int r = 0; r < all[0].ranks; ++r) {
    const std::string& text = texts[static_cast<std::size_t>(r)];
    const std::size_t space = text.find(' ');
    if (std::atoi(text.c_str()) != all[0].ranks) {
      std::fprintf(stderr, "fake NCCL: rank %d says that there are %s ranks, here it is %d\n", r, text.substr(0, space).c_str(),
                   all[0].ranks);
      return kInvalidUsage;
    }
    if (!gpus.insert(text.substr(space)).second && !shares_gpus()) {
      std::fprintf(stderr, "fake NCCL: duplicate GPU detected: rank %d and another one are both on device%s\n", r,
                   text.substr(space).c_str());
      return kInvalidUsage;
    }
  }
  auto* clique = new Clique{all[0].ranks, folder};
  for (const Init& i : all) *i.made = add_comm(clique, i.rank, i.device);
  return 0;
}

}  // namespace

extern "C" {

void fake_nccl_fail(const char* call, int n, int code) { counted().fail(call, n, code); }
int fake_nccl_calls(const char* call) { return counted().count(call); }
void fake_nccl_reset_calls() { counted().reset(); }
void fake_nccl_async_error(int status) { async_error = status; }
int fake_nccl_live() {
  const std::lock_guard lock(guard());
  return static_cast<int>(comms().size());
}
const char* fake_nccl_name(int k) {
  static const char* const names[] = {
#define NAME(name, parameters) #name,
      WEFT_NCCL(NAME)
#undef NAME
          nullptr};
  return names[k];
}

#define ENTER(name) \
  if (const int r = counted().enter(#name)) return r;

int ncclGetVersion(int* v) {
  ENTER(ncclGetVersion);
  return *v = version(), 0;
}
const char* ncclGetErrorString(int status) { return status == 6 ? "remote error" : "an error"; }
int ncclCommInitAll(nccl::Comm* c, int n, const int* devices) {
  ENTER(ncclCommInitAll)
  if (static_cast<int>(std::set<int>(devices, devices + n).size()) != n && !shares_gpus()) return kInvalidUsage;
  auto* clique = new Clique{n};
  for (int k = 0; k < n; ++k) c[k] = add_comm(clique, k, devices[k]);
  return 0;
}
int ncclGetUniqueId(nccl::UniqueId* id) {
  ENTER(ncclGetUniqueId)
  const std::string folder = Folder::make();
  std::strncpy(id->bytes, folder.c_str(), sizeof id->bytes - 1);
  return folder.empty() || folder.size() >= sizeof id->bytes ? kSystemError : 0;
}
int ncclCommInitRank(nccl::Comm* c, int n, nccl::UniqueId id, int rank) {
  ENTER(ncclCommInitRank)
  static const auto current = fake_cuda::driver_function<int()>("fake_cuda_current_device");
  if (current() < 0) return 1;
  inits.push_back({c, n, rank, current(), std::string(id.bytes, strnlen(id.bytes, sizeof id.bytes))});
  if (depth > 0) return 0;
  return run_inits(std::exchange(inits, {}));
}
int ncclCommSplit(nccl::Comm c, int color, int key, nccl::Comm* made, void*) {
  ENTER(ncclCommSplit)
  if (!is_comm(of(c)) || depth == 0) return kInvalidArgument;
  splits.push_back({of(c), color, key, made});
  return 0;
}
int ncclCommAbort(nccl::Comm c) {
  const int injected = counted().enter("ncclCommAbort");
  static const auto abort_collectives = fake_cuda::driver_function<void()>("fake_cuda_abort_collectives");
  abort_collectives();
  const std::lock_guard lock(guard());
  if (!comms().erase(of(c))) return kInvalidArgument;
  if (of(c)->clique->folder) of(c)->clique->folder->leave();
  return injected;
}
int ncclCommGetAsyncError(nccl::Comm, int* status) {
  ENTER(ncclCommGetAsyncError);
  return *status = async_error.exchange(0), 0;
}
int ncclGroupStart() {
  ENTER(ncclGroupStart);
  return ++depth, 0;
}
int ncclGroupEnd() {
  if (--depth > 0) return 0;
  std::map<Clique*, std::vector<Call>> by_clique;
  for (const Call& c : calls) by_clique[c.comm->clique].push_back(c);
  calls.clear();
  const std::vector<Split> split = std::exchange(splits, {});
  const std::vector<Init> init = std::exchange(inits, {});
  ENTER(ncclGroupEnd)
  static const auto flush = fake_cuda::driver_function<void()>("fake_cuda_collective");
  static const auto join = fake_cuda::driver_function<int(const Stream*, int, std::function<int()>*)>("fake_cuda_join");
  if (!init.empty())
    if (const int status = run_inits(init)) return status;
  if (!split.empty()) flush();
  if (!split.empty())
    if (const int status = run_splits(split)) return status;
  for (auto& [clique, group] : by_clique)
    if (const int status = join_clique(join, group)) return status;
  return 0;
}
int ncclAllReduce(const void* in, void* out, std::size_t n, int type, int op, nccl::Comm c, Stream stream) {
  return add("ncclAllReduce", {What::reduce, in, out, n, type, op, 0, of(c), stream});
}
int ncclAllGather(const void* in, void* out, std::size_t n, int type, nccl::Comm c, Stream stream) {
  return add("ncclAllGather", {What::gather, in, out, n, type, 0, 0, of(c), stream});
}
int ncclReduceScatter(const void* in, void* out, std::size_t n, int type, int op, nccl::Comm c, Stream stream) {
  return add("ncclReduceScatter", {What::scatter, in, out, n, type, op, 0, of(c), stream});
}
int ncclBroadcast(const void* in, void* out, std::size_t n, int type, int root, nccl::Comm c, Stream stream) {
  return add("ncclBroadcast", {What::broadcast, in, out, n, type, 0, root, of(c), stream});
}
int ncclSend(const void* in, std::size_t n, int type, int peer, nccl::Comm c, Stream stream) {
  return add("ncclSend", {What::send, in, nullptr, n, type, 0, peer, of(c), stream});
}
int ncclRecv(void* out, std::size_t n, int type, int peer, nccl::Comm c, Stream stream) {
  return add("ncclRecv", {What::receive, nullptr, out, n, type, 0, peer, of(c), stream});
}

}  // extern "C"
