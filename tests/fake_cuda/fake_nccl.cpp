// An NCCL for tests: the calls of a group are carried out at its end, on the memory of the fake driver. It checks that every rank of a
// clique takes part, with the same count and type.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backends/cuda/nccl.h"
#include "calls.h"
#include "control.h"
#include "core/half.h"

using namespace weft::detail::cuda;

namespace {

struct Clique {
  int ranks = 0;
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

int depth = 0, async_error = 0;
std::vector<Call> calls;
std::vector<Split> splits;
std::set<FakeComm*> comms;
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
void fold_as(int op, const std::vector<Call>& group, void* out, std::size_t begin, std::size_t count) {
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
void fold(const std::vector<Call>& group, void* out, std::size_t begin, std::size_t count) {
  const int op = group[0].op;
  switch (group[0].type) {
    case nccl::kInt8: return fold_as<std::int8_t, std::int8_t>(op, group, out, begin, count);
    case nccl::kUint8: return fold_as<std::uint8_t, std::uint8_t>(op, group, out, begin, count);
    case nccl::kInt32: return fold_as<std::int32_t, std::int64_t>(op, group, out, begin, count);
    case nccl::kUint32: return fold_as<std::uint32_t, std::uint32_t>(op, group, out, begin, count);
    case nccl::kInt64: return fold_as<std::int64_t, std::int64_t>(op, group, out, begin, count);
    case nccl::kUint64: return fold_as<std::uint64_t, std::uint64_t>(op, group, out, begin, count);
    case nccl::kFloat16: return fold_as<weft::detail::Float16, float>(op, group, out, begin, count);
    case nccl::kBFloat16: return fold_as<weft::detail::BFloat16, float>(op, group, out, begin, count);
    case nccl::kFloat32: return fold_as<float, float>(op, group, out, begin, count);
    case nccl::kFloat64: return fold_as<double, double>(op, group, out, begin, count);
  }
}

constexpr int kInvalidUsage = 5;

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
  if (!all_reach(group)) return 1;
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
    if (c.what == What::reduce) fold(sorted, r.data(), 0, c.count);
    if (c.what == What::scatter) fold(sorted, r.data(), rank * c.count, c.count);
    if (c.what == What::gather)
      for (std::size_t k = 0; k < ranks; ++k) std::memcpy(r.data() + k * bytes, sorted[k].in, bytes);
    if (c.what == What::broadcast) std::memcpy(r.data(), sorted[static_cast<std::size_t>(c.peer)].in, bytes);
    results.push_back(std::move(r));
  }
  for (std::size_t k = 0; k < ranks; ++k) std::memcpy(sorted[k].out, results[k].data(), results[k].size());
  return 0;
}

/// Carries a clique's calls out when all streams come to them.
template <class Join>
int join_clique(Join join, const std::vector<Call>& group) {
  std::vector<Stream> streams;
  for (const Call& c : group)
    if (std::find(streams.begin(), streams.end(), c.stream) == streams.end()) streams.push_back(c.stream);
  int status = 0;
  const auto done = std::make_shared<int>(0);
  status =
      join(streams.data(), static_cast<int>(streams.size()), new std::function<int()>([group, done] { return *done = run_clique(group); }));
  return *done != 0 ? *done : status != 0 ? kInvalidUsage : 0;
}

int add(const char* name, Call c) {
  if (const int r = counted().enter(name)) return r;
  if (!comms.count(c.comm)) return 4;
  calls.push_back(c);
  return 0;
}
FakeComm* of(nccl::Comm c) { return reinterpret_cast<FakeComm*>(c); }

/// All ranks of the parent take part; those of a color make a clique, in the order of their keys.
int run_splits(std::vector<Split> all) {
  if (static_cast<int>(all.size()) != all[0].parent->clique->ranks) return kInvalidUsage;
  std::stable_sort(all.begin(), all.end(),
                   [](const Split& a, const Split& b) { return std::pair(a.color, a.key) < std::pair(b.color, b.key); });
  std::map<int, Clique*> cliques;
  for (const Split& s : all) {
    if (s.color == nccl::kNoColor) continue;
    Clique*& clique = cliques[s.color];
    if (!clique) clique = new Clique;
    auto* comm = new FakeComm{clique, clique->ranks++, s.parent->device};
    comms.insert(comm);
    *s.made = reinterpret_cast<nccl::Comm>(comm);
  }
  return 0;
}

}  // namespace

extern "C" {

void fake_nccl_fail(const char* call, int n, int code) { counted().fail(call, n, code); }
int fake_nccl_calls(const char* call) { return counted().count(call); }
void fake_nccl_reset_calls() { counted().reset(); }
void fake_nccl_async_error(int status) { async_error = status; }
int fake_nccl_live() { return static_cast<int>(comms.size()); }
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
  return *v = 22809, 0;
}
const char* ncclGetErrorString(int status) { return status == 6 ? "remote error" : "an error"; }
int ncclCommInitAll(nccl::Comm* c, int n, const int* devices) {
  ENTER(ncclCommInitAll)
  auto* clique = new Clique{n};
  for (int k = 0; k < n; ++k) {
    auto* comm = new FakeComm{clique, k, devices[k]};
    comms.insert(comm);
    c[k] = reinterpret_cast<nccl::Comm>(comm);
  }
  return 0;
}
int ncclCommSplit(nccl::Comm c, int color, int key, nccl::Comm* made, void*) {
  ENTER(ncclCommSplit)
  if (!comms.count(of(c)) || depth == 0) return 4;
  splits.push_back({of(c), color, key, made});
  return 0;
}
int ncclCommAbort(nccl::Comm c) {
  const int injected = counted().enter("ncclCommAbort");
  static const auto abort_collectives = fake_cuda::driver_function<void()>("fake_cuda_abort_collectives");
  abort_collectives();
  return comms.erase(of(c)) ? injected : 4;
}
int ncclCommGetAsyncError(nccl::Comm, int* status) {
  ENTER(ncclCommGetAsyncError);
  return *status = async_error, async_error = 0, 0;
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
  const std::vector<Split> split = std::move(splits);
  splits.clear();
  ENTER(ncclGroupEnd)
  static const auto flush = fake_cuda::driver_function<void()>("fake_cuda_collective");
  static const auto join = fake_cuda::driver_function<int(const Stream*, int, std::function<int()>*)>("fake_cuda_join");
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
