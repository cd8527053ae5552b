// GPUs of several processes: the parts of the worker that tests/distributed/gpus.py starts. On the fake libraries of the tests they also
// count calls and make them fail.
#include <fmt/core.h>
#include <unistd.h>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/distributed/worker.h"
#include "weft/runtime/host/collectives.h"
#include "weft/runtime/processes/process_world.h"

namespace weft::test {
using sharding::P;
namespace {

/// A function of a fake library that the environment names; null where the real one is used.
template <class F>
F* fake(const char* variable, const char* name) {
  const char* path = std::getenv(variable);
  void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
  return library ? reinterpret_cast<F*>(dlsym(library, name)) : nullptr;
}
int driver_calls(const char* call) {
  static const auto count = fake<int(const char*)>("WEFT_LIBCUDA", "fake_cuda_calls");
  return count ? count(call) : -1;
}
int nccl_calls(const char* call) {
  static const auto count = fake<int(const char*)>("WEFT_LIBNCCL", "fake_nccl_calls");
  return count ? count(call) : -1;
}
int live(const char* kind) {
  static const auto count = fake<int(const char*)>("WEFT_LIBCUDA", "fake_cuda_live");
  return count ? count(kind) : -1;
}

void close(const Array& got, const Array& wanted, const std::string& what) {
  const std::string wrong = tools::difference(got, wanted, nullptr, {1e-4, 1e-4, false});
  expect(wrong.empty(), what + ": " + wrong);
}

/// This process's rows of what all have.
Array own_rows(const Array& whole) {
  const std::int64_t rows = whole.shape()[0] / process_count();
  return whole(slice(rows * process_index(), rows * (process_index() + 1)));
}

void topology() {
  const int n = process_count(), me = process_index(), local = local_device_count();
  test::equal(devices()[0].platform(), std::string("cuda"), "the default platform");
  test::equal(device_count("cuda"), n * local, "device_count");
  test::equal(device_count("cpu"), n * local_device_count("cpu"), "device_count of the hosts");
  for (const Device& d : devices()) expect(!d.kind().empty(), "a device without a kind");
  test::equal(fmt::format("{}", local_devices()[0]), fmt::format("cuda:{}", me * local), "the name of a device");
  const Device other = devices()[static_cast<std::size_t>((me + 1) % n * local)];
  says(error_of([&] { other.memory_stats(); }), "local_devices()");
  expect(local_devices()[0].memory_stats().bytes_limit > 0, "memory_stats");
  test::equal(local_devices("cpu")[0].process_index(), me, "process_index of a host");
}

/// Groups of a mesh's axes, in several orders.
void groups() {
  const int n = process_count(), local = local_device_count(), all = n * local;
  const Array x = numbers({2 * n, 2 * local}) / 3;
  const auto over = [&](const Mesh& mesh, auto f, const PartitionSpec& out) {
    const auto g = jit(shard_map(f, {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = out, .check_vma = false}));
    return process_allgather(g(device_put(x, NamedSharding{mesh, P("p", "d")})));
  };
  std::vector<Device> backwards = devices();
  std::reverse(backwards.begin(), backwards.end());
  for (const Mesh& mesh : {make_mesh({n, local}, {"p", "d"}), Mesh(backwards, {n, local}, {"p", "d"})}) {
    const int before = nccl_calls("ncclCommSplit");
    for (int i = 0; i < 2; ++i) {
      close(over(mesh, [](Array a) { return psum(a, "p"); }, P(none, "d")), sum(reshape(x, {n, 2, 2 * local}), 0), "psum over p");
      close(over(mesh, [](Array a) { return pmax(a, "d"); }, P("p")), max(reshape(x, {2 * n, local, 2}), 1), "pmax over d");
      close(over(
                mesh, [](Array a) { return psum(psum(a, "d"), "p"); }, P()),
            sum(sum(reshape(x, {n, 2, local, 2}), 2), 0), "psum over both, one after the other");
      close(over(mesh, [](Array a) { return all_gather(a, "p", {.tiled = true}) * 2.f; }, P(none, "d")), x * 2.f, "all_gather over p");
    }
    // One split of a process's devices for each division of the mesh into groups of several; the other mesh was used before.
    if (before >= 0 && mesh.devices() == backwards)
      counts(nccl_calls("ncclCommSplit") - before, std::int64_t{local} * ((n > 1 && local > 1) + (local > 1)), "splits");
  }
  if (n < 3) return;
  // Processes that share a mesh with some others only.
  std::vector<Device> some = devices();
  some.erase(some.begin() + 2 * local, some.end());
  if (process_index() < 2) {
    const Mesh two(some, {2 * local}, {"x"});
    const Array y = shard_map([](Array a) { return psum(a, "x"); }, {.mesh = two, .in_specs = {P("x")}, .out_specs = P()})(
        device_put(ones({2 * local}), NamedSharding{two, P("x")}));
    for (const Shard& s : y.addressable_shards())
      same(device_get(s.data), full({1}, 2.f * static_cast<float>(local)), "psum of two among more");
  }
  sync_global_devices("together again");
  counts(all, device_count(), "devices");
}

/// A step of training again and again, with its state given back: by the third call it is a graph on each device.
void replays() {
  const int all = device_count();
  const auto step = [](Array w, Array x) {
    const Array gradient = pmean(tanh(w * x) * x, "i");
    return w - 0.1f * gradient - 0.01f * sum(pmax(gradient, "i"));
  };
  const auto mapped = pmap(step, {.axis_name = "i"});
  const Array x = sin(numbers({all, 3, 40})), start = cos(numbers({all, 3, 40}));
  Array w = start, mine = own_rows(start);
  const Array inputs = own_rows(x);
  for (int i = 0; i < 3; ++i) mine = mapped(mine, inputs);
  const int launches = driver_calls("cuGraphLaunch"), sums = nccl_calls("ncclAllReduce");
  const auto before = detail::collective_counters();
  for (int i = 0; i < 5; ++i) mine = mapped(mine, inputs);
  const auto after = detail::collective_counters();
  for (int i = 0; i < 8; ++i) w = vmap(step, {.axis_name = "i"})(w, x);
  close(device_get(mine), own_rows(w), "a step that is replayed");
  counts(after.calls - before.calls, 10, "collectives of five steps");
  if (launches < 0) return;
  counts(driver_calls("cuGraphLaunch") - launches, std::int64_t{5} * local_device_count(), "launches of graphs");
  counts(nccl_calls("ncclAllReduce"), sums, "sums outside of graphs");
}

struct State {
  Array rows, columns, everywhere;
};

void checkpoints(const std::string& folder) {
  const int all = device_count();
  const Mesh mesh = make_mesh({all}, {"x"});
  const auto state = [&](float factor) {
    return State{device_put(numbers({2 * all, 3}) * factor, NamedSharding{mesh, P("x")}),
                 device_put(numbers({3, all}) * factor, NamedSharding{mesh, P(none, "x")}),
                 device_put(numbers({5}) * factor, NamedSharding{mesh, P()})};
  };
  const State saved = state(3);
  save_checkpoint(folder, saved);
  const State read = load_checkpoint(folder, state(0));
  for (const Shard& s : read.rows.addressable_shards()) test::equal(s.device.platform(), std::string("cuda"), "where a part was read to");
  same(process_allgather(read.rows), numbers({2 * all, 3}) * 3.f, "rows of a checkpoint");
  same(process_allgather(read.columns), numbers({3, all}) * 3.f, "columns of a checkpoint");
  same(process_allgather(read.everywhere), numbers({5}) * 3.f, "what a checkpoint has everywhere");
}

/// Waits for all processes without a collective: after it nobody is in one.
void apart() {
  static int number = 0;
  detail::ControlClient& control = detail::process_world()->control();
  const auto key = [](int rank) { return fmt::format("test/{}/{}", number, rank); };
  ++number;
  control.set(key(process_index()), "here");
  for (int r = 0; r < process_count(); ++r)
    expect(control.get(key(r), std::chrono::seconds(60)).has_value(), fmt::format("process {} does not come", r));
}

/// Runs it; what it throws.
template <class F>
std::string refused(F f) {
  try {
    f();
  } catch (const DistributedError& e) {
    return e.what();
  } catch (const std::exception& e) {
    return fmt::format("another error: {}", e.what());
  }
  return {};
}

/// What there is of the fake libraries' things.
std::string all_live() {
  std::string text = fmt::format("{} communicators", fake<int()>("WEFT_LIBNCCL", "fake_nccl_live")());
  for (const char* kind : {"memory", "graph", "exec", "module"}) text += fmt::format(", {} {}", live(kind), kind);
  return text;
}

/// Several algorithms are proposed (FAKE_CUBLASLT_CANDIDATES): none is timed, since each process could find another one the fastest.
void products() {
  const auto count = fake<int(const char*)>("WEFT_LIBCUBLASLT", "fake_cublaslt_calls");
  const int before = count ? count("cublasLtMatmul") : 0;
  const Array x = sin(numbers({200, 200})), y = jit([](Array a) { return matmul(a, a); })(device_put(x, local_devices()[0]));
  y.block_until_ready();
  if (count) counts(count("cublasLtMatmul") - before, 1, "products");
}

/// Linear algebra of each process on its own devices, by their library where there is one.
void algebra() {
  const auto count = fake<int(const char*)>("WEFT_LIBCUSOLVER", "fake_cusolver_calls");
  const int before = count ? count("cusolverDnXpotrf") : 0;
  const int all = device_count();
  const Array a = sin(numbers({all, 70, 70})), hermitian = matmul(a, swapaxes(a, 1, 2)) + 70 * eye(70);
  const auto factor = [](Array x) { return linalg::cholesky(x); };
  const Array factors = pmap(factor)(own_rows(hermitian));
  close(device_get(factors), own_rows(vmap(factor)(device_put(hermitian, local_devices("cpu")[0]))), "Cholesky factors");
  if (count) counts(count("cusolverDnXpotrf") - before, local_device_count(), "factorisations by the devices' library");
}

}  // namespace

void gpus(const std::string& folder) {
  topology();
  products();
  algebra();
  groups();
  replays();
  checkpoints(folder);
  says(error_of([] { distributed::initialize(); }), "called before");
  sync_global_devices("the end");
}

void gpu_failures() {
  const auto fail = fake<void(const char*, int, int)>("WEFT_LIBNCCL", "fake_nccl_fail");
  const auto fail_driver = fake<void(const char*, int, int)>("WEFT_LIBCUDA", "fake_cuda_fail");
  const int n = process_count(), me = process_index(), local = local_device_count();
  const Mesh mesh = make_mesh({n, local}, {"p", "d"});
  const Array x = numbers({n, local * 2}) / 3;
  const auto there = device_put(x, NamedSharding{mesh, P("p", "d")});
  const auto f = jit(shard_map([](Array a) { return psum(a, "p") + pmax(a, "d"); },
                               {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = P("p", "d"), .check_vma = false}));
  const auto run = [&] {
    const Array y = f(there);
    y.block_until_ready();
    return device_get(y.addressable_shards()[0].data);
  };
  const auto all_good = [&](const Array& wanted, const std::string& what) {
    std::string wrong = refused([&] {
      for (int i = 0; i < 4; ++i) same(run(), wanted, what);
    });
    expect(wrong.empty(), what + ": " + wrong);
  };
  const Array wanted = run();
  all_good(wanted, "before anything fails");
  const int comms = fake<int()>("WEFT_LIBNCCL", "fake_nccl_live")();
  const auto ends_together = [&](const std::string& what) {
    all_good(wanted, "after " + what);
    counts(fake<int()>("WEFT_LIBNCCL", "fake_nccl_live")(), comms, "communicators after " + what);
  };
  // What makes communicators: they are made anew after each failure.
  for (const char* call : {"ncclGetUniqueId", "ncclCommInitRank", "ncclCommSplit", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce"})
    for (int who = 0; who < n; ++who) {
      if (std::string(call) == "ncclGetUniqueId" && who > 0) continue;   // the first process alone calls it
      if (std::string(call) == "ncclCommSplit" && local == 1) continue;  // there is nothing to divide
      // Steps that are graphs call NCCL no more: another collective fails first, after which all is made anew.
      for (const char* next : {"ncclSend", call}) {
        apart();
        if (me == who) fail(next, 1, 3);
        const std::string message = next == call ? refused(run) : refused([] { sync_global_devices("no communicators"); });
        if (me == who) fail(nullptr, 0, 0);
        says(message, me == who ? std::string(next) + " gives ncclInternalError (3)" : fmt::format("process {}", who));
        says(message, next == call ? "between GPUs" : "sync_global_devices");
      }
      apart();
      ends_together(fmt::format("{} of process {}", call, who));
    }
  // An error that NCCL reports to one of them while a collective runs: the others, which were done with it, hear of it at their next.
  const auto busy = fake<void(int)>("WEFT_LIBCUDA", "fake_cuda_busy");
  const auto async = fake<void(int)>("WEFT_LIBNCCL", "fake_nccl_async_error");
  for (int who = 0; who < n; ++who) {
    apart();
    std::string message;
    if (me == who) {
      Array y = f(there);
      busy(1'000'000), async(6);
      message = refused([&] { y.block_until_ready(); });
      busy(0), async(0);
      says(message, "NCCL reports ncclRemoteError (6)");
    } else {
      for (int i = 0; i < 3 && message.empty(); ++i) message = refused(run);
      says(message, fmt::format("process {} gave up", who));
    }
    apart();
    ends_together(fmt::format("an asynchronous error of process {}", who));
  }
  // A driver that fails on one process while all capture, or launch what they captured.
  for (const char* call : {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"}) {
    // A program of its own, which is noted, run and captured anew.
    static float factor = 1;
    factor += 1;
    const auto g = jit(shard_map([=](Array a) { return psum(a * factor, "p"); },
                                 {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = P(none, "d"), .check_vma = false}));
    const auto once = [&] {
      const Array y = g(there);
      y.block_until_ready();
      return device_get(y.addressable_shards()[0].data);
    };
    const Array right = once();
    apart();
    if (me == n - 1) fail_driver(call, 1, 719);
    std::string message;
    try {
      for (int i = 0; i < 6; ++i) once();
    } catch (const Error& e) {
      message = e.what();
    }
    if (me == n - 1) fail_driver(nullptr, 0, 0);
    if (me == n - 1) says(message, "CUDA_ERROR_LAUNCH_FAILED (719)");
    if (me != n - 1) says(message, fmt::format("process {} gave up", n - 1));
    apart();
    std::string wrong = refused([&] {
      for (int i = 0; i < 5; ++i) same(once(), right, std::string("after ") + call);
    });
    expect(wrong.empty(), wrong);
  }
  // One that a driver does not capture on one process is captured nowhere.
  {
    const auto g = jit(shard_map([](Array a) { return pmin(a - 7.f, "p"); },
                                 {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = P(none, "d"), .check_vma = false}));
    const Array right = device_get(g(there).addressable_shards()[0].data);
    device_get(g(there).addressable_shards()[0].data);
    const int before = driver_calls("cuGraphLaunch");
    apart();
    if (me == 0) fail_driver("cuStreamEndCapture", 1, 900);
    for (int i = 0; i < 4; ++i) same(device_get(g(there).addressable_shards()[0].data), right, "a step that one process can't capture");
    if (me == 0) fail_driver(nullptr, 0, 0);
    counts(driver_calls("cuGraphLaunch"), before, "graphs launched though one process could not capture");
  }
  // Processes that don't do the same.
  const Mesh other(devices(), {n * local}, {"x"});
  if (n * local == 4) {
    const AxisIndexGroups these{{0, 3}, {1, 2}}, those{{3, 0}, {1, 2}};
    const auto in_groups = [&](const AxisIndexGroups& g) {
      return shard_map([&](Array a) { return psum(a, "x", {.axis_index_groups = g}); },
                       {.mesh = other, .in_specs = {P("x")}, .out_specs = P("x"), .check_vma = false})(
          device_put(numbers({n * local}), NamedSharding{other, P("x")}));
    };
    apart();
    says(refused([&] { in_groups(me == 0 ? these : those).block_until_ready(); }),
         "the processes don't do the same in the same order: process 0 comes to communicators of groups");
    apart();
    ends_together("groups that differ");
  }
  counts(live("graph"), 0, "graphs");
  sync_global_devices("the end");
}

void gpu_collective_failures() {
  const auto fail = fake<void(const char*, int, int)>("WEFT_LIBNCCL", "fake_nccl_fail");
  const int n = process_count(), me = process_index(), local = local_device_count();
  const Mesh mesh = make_mesh({n, local}, {"p", "d"});
  const auto there = device_put(numbers({n * n, local * 2}) / 3, NamedSharding{mesh, P("p", "d")});
  constexpr int kRuns = 5;  // with the third one a program is a graph
  struct Kind {
    std::string operation;
    std::vector<std::string> calls;
    std::function<Array(Array)> f;
  };
  std::vector<std::pair<int, int>> ring;
  for (int p = 0; p < n; ++p) ring.emplace_back(p, (p + 1) % n);
  const Kind kinds[] = {
      {"psum", {"ncclAllReduce"}, [](Array a) { return psum(a, "p"); }},
      {"all_gather", {"ncclAllGather"}, [](Array a) { return all_gather(a, "p", {.tiled = true}); }},
      {"reduce_scatter", {"ncclReduceScatter"}, [](Array a) { return psum_scatter(a, "p", {.tiled = true}); }},
      {"pbroadcast", {"ncclBroadcast"}, [n](Array a) { return pbroadcast(a, "p", n - 1); }},
      {"ppermute", {"ncclSend", "ncclRecv"}, [&](Array a) { return ppermute(a, "p", ring); }},
      {"all_to_all", {"ncclSend", "ncclRecv"}, [](Array a) { return all_to_all(a, "p", 0, 0, {.tiled = true}); }},
      // process_allgather, which is not a program: messages between the first devices of all processes.
      {"moving", {"ncclSend", "ncclRecv"}, {}},
  };
  // All communicators are given up, and with them the graphs: what comes then is run, noted and captured anew.
  const auto begin_anew = [&] {
    apart();
    if (me == 0) fail("ncclSend", 1, 3);
    expect(!refused([] { sync_global_devices("no communicators"); }).empty(), "nothing was given up");
    if (me == 0) fail(nullptr, 0, 0);
    apart();
  };
  int failed = 0;
  const int events = live("event");
  for (const Kind& kind : kinds) {
    const auto g = jit(shard_map([&](Array a) { return kind.f ? kind.f(a) : a; },
                                 {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = P("p", "d"), .check_vma = false}));
    const auto run = [&] {
      if (!kind.f) return process_allgather(there);
      const Array y = g(there);
      y.block_until_ready();
      return device_get(y.addressable_shards()[0].data);
    };
    for (const std::string& call : kind.calls) {
      begin_anew();
      const int calls = nccl_calls(call.c_str());
      Array wanted;
      for (int i = 0; i < kRuns; ++i) wanted = run();
      const int number = nccl_calls(call.c_str()) - calls;
      expect(number >= (kind.f ? 3 : kRuns), fmt::format("{} calls of {} by {}", number, call, kind.operation));
      apart();
      const std::string before = all_live();
      for (int who = 0; who < n; ++who)
        for (int k = 1; k <= number; ++k, ++failed) {
          const std::string what = fmt::format("{} number {} of {} of process {}", call, k, kind.operation, who);
          begin_anew();
          if (me == who) fail(call.c_str(), k, 3);
          // The others hear of it at the latest at their next.
          std::string message;
          for (int i = 0; i < kRuns + 2 && message.empty(); ++i) message = refused(run);
          if (me == who) fail(nullptr, 0, 0);
          const std::string part = me == who ? call + " gives ncclInternalError (3)" : fmt::format("process {} gave up", who);
          expect(message.find(part) != std::string::npos, fmt::format("{}: no `{}` in the message `{}`", what, part, message));
          if (me == who) says(message, kind.operation + (kind.f ? " over `p` of f32[" : " f32["));
          apart();
          const std::string wrong = refused([&] {
            for (int i = 0; i < kRuns; ++i) same(run(), wanted, "after " + what);
          });
          expect(wrong.empty(), fmt::format("after {}: {}", what, wrong));
          apart();
          test::equal(all_live(), before, "what is there after " + what);
        }
    }
  }
  // Two for each collective that a device has not been found to be done with, which are 64 at most.
  expect(live("event") <= events + 128 * local, fmt::format("{} events, before {} failures {}", live("event"), failed, events));
  std::fprintf(stderr, "%d calls have failed, %d events\n", failed, live("event"));
  sync_global_devices("the end");
}

}  // namespace weft::test
