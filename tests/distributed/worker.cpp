// What each process of a distributed test runs: the checks of one name, given as the first argument. Says what is wrong on stderr; returns
// 0 if nothing is. tests/distributed/run.py starts several.
#include <fmt/core.h>
#include <weft/weft.h>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "tests/distributed/worker.h"
#include "tools/placed.h"
#include "tools/programs.h"
#include "weft/runtime/host/buffer.h"
#include "weft/runtime/host/collective_engine.h"
#include "weft/runtime/processes/process_world.h"
#include "weft/runtime/processes/processes.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

// devices() and what processes know of each other.
void topology() {
  const int n = process_count(), local = local_device_count();
  equal(device_count(), n * local, "device_count");
  const std::vector<Device> mine = local_devices();
  const int first = devices()[0].id();
  for (int i = 0; i < local; ++i) equal(mine[static_cast<std::size_t>(i)].id(), first + process_index() * local + i, "id");
  for (const Device& d : devices()) equal(d.process_index(), (d.id() - first) / local, "process_index");
  const bool on_gpus = mine[0].platform() != "cpu";
  equal((on_gpus ? jit([](Array x) { return x + 1; })(array({1, 2})) : array({1, 2})).devices()[0].id(), mine[0].id(),
        "the default device");
  if (n > 1) {
    const Device other = devices()[static_cast<std::size_t>((process_index() + 1) % n * local)];
    says(error_of([&] { device_put(1.f, other); }), "local_devices()");
    says(error_of([&] { auto scope = default_device(other); }), "local_devices()");
    says(error_of([] { distributed::initialize(); }), "called before");
  }
}

// Global arrays: made, read, moved.
void arrays(bool over_mpi = true) {
  const int n = process_count(), local = local_device_count(), all = n * local, me = process_index();
  const Mesh mesh = make_mesh({all}, {"x"});
  const Array whole = numbers({2 * all, 3});
  const NamedSharding rows(mesh, P("x"));
  const Array x = device_put(whole, rows);
  equal(x.is_fully_addressable(), n == 1, "is_fully_addressable");
  equal(x.addressable_shards().size(), static_cast<std::size_t>(local), "addressable_shards");
  for (const Shard& s : x.addressable_shards()) same(s.data, whole(s.index[0]), "a shard");
  if (n > 1) {
    says(error_of([&] { x.to_vector<float>(); }), "process_allgather(x)");
    says(error_of([&] { fmt::print("{}", x); }), "process_allgather(x)");
  }
  same(process_allgather(x), whole, "process_allgather of a global array");
  same(process_allgather(x + 1), whole + 1, "elementwise operations stay where they are");
  same(sum(x, 0), sum(whole, 0), "an operation of all processes");

  const Array part = whole(slice(2 * local * me, 2 * local * (me + 1)));
  const Array joined = make_array_from_process_local_data(rows, part);
  same(process_allgather(joined), whole, "make_array_from_process_local_data");
  same(process_allgather(make_array_from_process_local_data(rows, whole, whole.shape())), whole, "the same, of all rows");
  same(process_allgather(
           make_array_from_callback(whole.shape(), rows, [&](const std::vector<Slice>& index) { return whole(index[0], index[1]); })),
       whole, "make_array_from_callback");
  std::vector<Array> singles;
  for (const Shard& s : x.addressable_shards()) singles.push_back(s.data);
  same(process_allgather(make_array_from_single_device_arrays(whole.shape(), rows, singles)), whole,
       "make_array_from_single_device_arrays");
  const Array global = host_local_array_to_global_array(part, mesh, P("x"));
  const Array back = global_array_to_host_local_array(global, mesh, P("x"));
  expect(back.is_fully_addressable(), "a host-local array is addressable");
  same(device_get(back), part, "there and back");

  // Parts of it and single operations: the same on all processes, wherever the borders of blocks are.
  const auto all_of = [](const Array& v) { return v.is_fully_addressable() || v.is_fully_replicated() ? v : process_allgather(v); };
  for (int from = 0; from < 2 * all; ++from)
    for (int to : {from + 1, std::min(from + 2, 2 * all), 2 * all})
      same(all_of(x(slice(from, to))), whole(slice(from, to)), fmt::format("rows {} to {} of a global array", from, to));
  for (int row = 0; row < 2 * all; ++row) same(all_of(x[row]), whole[row], fmt::format("row {} of a global array", row));
  const auto alike = [&](auto f, const char* what) { same(all_of(f(x)), f(whole), what); };
  alike([](Array v) { return v(slice(), 1); }, "a column");
  alike([](Array v) { return v(slice(none, none, 2)); }, "every other row");
  alike([](Array v) { return v(array({3, 0, 1})); }, "rows by numbers");
  alike([](Array v) { return v[Array(1)]; }, "a row by an array");
  alike([](Array v) { return transpose(v); }, "transpose");
  alike([](Array v) { return sum(v, 1); }, "sum along a whole dimension");
  alike([](Array v) { return sum(v); }, "sum");
  alike([](Array v) { return max(v, 0); }, "max");
  alike([](Array v) { return sort(-v, 0); }, "sort");
  alike([](Array v) { return sort(-v, 1); }, "sort along a whole dimension");
  alike([](Array v) { return matmul(v, transpose(v)); }, "matmul");
  alike([](Array v) { return concatenate({v, v + 1}); }, "concatenate");
  alike([](Array v) { return reshape(v, {v.shape()[0] / 2, 6}); }, "reshape");
  alike([](Array v) { return cumsum(v, 0); }, "cumsum");
  // What several processes have is still read at once: over one axis of two.
  if (n > 1 && local > 1) {
    const Array twofold = device_put(whole, NamedSharding{make_mesh({n, local}, {"p", "d"}), P("d")});
    if (whole.shape()[0] % local == 0) {
      const Array head = twofold[0];
      expect(head.is_fully_addressable(), "a row that all processes have is read where it is");
      same(head, whole[0], "a row that all processes have");
    }
  }

  // Another division: rows to columns, and to everything everywhere.
  const Array square = numbers({2 * all, all});
  const Array by_rows = device_put(square, rows), by_columns = device_put(by_rows, NamedSharding(mesh, P(none, "x")));
  for (const Shard& s : by_columns.addressable_shards()) same(s.data, square(slice(), s.index[1]), "rows divided as columns");
  same(device_put(by_columns, NamedSharding(mesh, P())), square, "everywhere");

  const Array own = full({2}, me, int32);
  same(process_allgather(own), convert(broadcast_to(reshape(arange(n), {n, 1}), {n, 2}), int32), "process_allgather of each process's own");
  equal(process_allgather(own, {.tiled = true}).shape() == Shape{2 * n}, true, "tiled");
  same(broadcast_one_to_all(own, me == n - 1), full({2}, n - 1, int32), "broadcast_one_to_all");
  sync_global_devices("here");
  if (n > 1) {
    says(error_of([&] { sync_global_devices(me == 0 ? "left" : "right"); }),
         me == 0 ? "process 1 is at `right`" : "process 0 is at `left`");
    sync_global_devices("still together");
    if (over_mpi)
      for (const Array& unlike : {full({2}, me), full({}, me, int64)}) {
        const std::string problem = error_of([&] { device_put(unlike, NamedSharding(mesh, P())); });
        says(problem, "other elements than process " + std::to_string(me));
        says(problem, "broadcast_one_to_all");
      }
    same(device_put(broadcast_one_to_all(full({2}, me), me == 1), NamedSharding(mesh, P())), full({2}, 1), "after an error, what is alike");
    says(error_of([&] { device_put_sharded(std::vector<Array>(static_cast<std::size_t>(all), Array(1.f)), devices()); }),
         "local_devices()");
  }
}

// jit, and maps inside and outside of it, over the global mesh.
void programs() {
  const int n = process_count(), local = local_device_count(), all = n * local;
  const Mesh mesh = make_mesh({all}, {"x"});
  const Array a = numbers({2 * all, 3}) / 5, w = numbers({3, 4}) / 7;
  const Array x = device_put(a, NamedSharding{mesh, P("x", none)}), v = device_put(w, NamedSharding{mesh, P()});
  const auto close = [](const Array& got, const Array& wanted, const std::string& what) {
    const std::string wrong = tools::difference(process_allgather(got), wanted, nullptr, {1e-5, 1e-5, false});
    expect(wrong.empty(), what + ": " + wrong);
  };
  close(jit([](Array p, Array q) { return matmul(p, q); })(x, v), matmul(a, w), "a jitted product");
  const Array y = jit([](Array p) { return sin(p) * 2; })(x);
  equal(y.is_fully_addressable(), n == 1, "the result of a jitted function stays divided");
  close(y, sin(a) * 2, "a jitted elementwise function");
  const auto loss = [](Array q, Array p) { return mean(square(matmul(p, q))); };
  close(jit(grad(loss))(v, x), grad(loss)(w, a), "a jitted gradient");
  close(jit([](Array p) { return p + 1; }, {.in_shardings = {NamedSharding{mesh, P("x")}}})(a), a + 1, "in_shardings");
  close(jit([](Array p) { return p + 1; }, {.out_shardings = {NamedSharding{mesh, P()}}})(x), a + 1, "out_shardings");
  close(jit([&](Array p) { return with_sharding_constraint(p * 2, NamedSharding{mesh, P("x", none)}) + 1; })(x), a * 2 + 1,
        "with_sharding_constraint");
  close(jit([](Array p) { return fori_loop(0, 3, [](Array, Array c) { return sin(c); }, p); })(x), sin(sin(sin(a))), "a jitted loop");
  close(x + a, a + a, "a global array and each process's own");

  const Mesh square_mesh = make_mesh({n, local}, {"p", "d"});
  const Array g = device_put(numbers({2 * n, 2 * local}), NamedSharding{square_mesh, P("p", "d")});
  const auto total =
      jit(shard_map([](Array p) { return psum(sum(p), {"p", "d"}); }, {.mesh = square_mesh, .in_specs = {P("p", "d")}, .out_specs = P()}));
  close(total(g), sum(numbers({2 * n, 2 * local})), "psum over both axes");
  const auto joined = shard_map([](Array p) { return psum(p, "x"); }, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = P()});
  const auto alone = [&](Array p) { return sum(reshape(p, {all, 2, 3}), 0); };
  close(joined(x), alone(a), "shard_map");
  close(vmap(joined)(stack({a, 2 * a})), stack({alone(a), 2 * alone(a)}), "vmap of shard_map");
  close(grad([&](Array p) { return sum(square(joined(p))); })(x), grad([&](Array p) { return sum(square(alone(p))); })(a),
        "grad of shard_map");
  const auto mapped = jit([](Array p) { return pmap([](Array q) { return pmean(q, "i"); }, {.axis_name = "i"})(p) + 1; });
  same(device_get(mapped(ones({local, 2}))), full({local, 2}, 2.f), "jit of pmap");
  same(pmap([](Array p) { return psum(p, "i"); }, {.axis_name = "i"})(ones({local, 3}))[0], full({3}, static_cast<float>(all)),
       "a row of pmap's result");
}

void collectives() {
  const int all = device_count();
  const Array x = numbers({all, all}) / 7 - 3;
  as_vmap([](Array a) { return psum(a, "i"); }, x, "psum");
  as_vmap([](Array a) { return a - pmean(a, "i"); }, x, "pmean");
  as_vmap([](Array a) { return pmax(a, "i") + pmin(a * a, "i"); }, x, "pmax");
  as_vmap([](Array a) { return all_gather(a, "i"); }, x, "all_gather");
  as_vmap([](Array a) { return all_gather(reshape(a, {1, -1}), "i", {.axis = 1}); }, x, "all_gather along 1");
  as_vmap([](Array a) { return all_gather(a, "i", {.tiled = true}); }, x, "all_gather, tiled");
  as_vmap([](Array a) { return psum_scatter(a, "i"); }, x, "psum_scatter");
  as_vmap([](Array a) { return psum_scatter(stack({a, 2 * a}), "i", {.scatter_dimension = 1, .tiled = true}); }, x, "psum_scatter, tiled");
  as_vmap([](Array a) { return all_to_all(a, "i", 0, 0); }, x, "all_to_all");
  as_vmap([](Array a) { return all_to_all(stack({a, a * a, 3 * a}), "i", 1, 0); }, x, "all_to_all of other axes");
  as_vmap([](Array a) { return all_to_all(stack({a, a * a, 3 * a}, 1), "i", 0, 1); }, x, "all_to_all of others");
  std::vector<int> turned;
  for (int i = 0; i < all; ++i) turned.push_back((i + 1) % all);
  as_vmap([&](Array a) { return pshuffle(a, "i", turned); }, x, "pshuffle");
  as_vmap([&](Array a) { return ppermute(a, "i", {{0, all - 1}, {all - 1, 0}}); }, x, "ppermute");
  as_vmap([&](Array a) { return pbroadcast(a, "i", all - 1); }, x, "pbroadcast");
  as_vmap([](Array a) { return a * (axis_index("i") + axis_size("i")); }, x, "axis_index");
  if (all % 2 == 0) {
    AxisIndexGroups groups(2);
    for (int i = 0; i < all; ++i) groups[static_cast<std::size_t>(i % 2)].push_back(i);
    const Array own = x(slice(local_device_count() * process_index(), local_device_count() * (process_index() + 1)));
    const Array got = device_get(pmap([&](Array a) { return psum(a, "i", {.axis_index_groups = groups}); }, {.axis_name = "i"})(own));
    for (int i = 0; i < local_device_count(); ++i) {
      const Array wanted = sum(x(slice((local_device_count() * process_index() + i) % 2, none, 2)), 0);
      expect(tools::difference(got[i], wanted, nullptr, {1e-5, 1e-5, false}).empty(), "psum in groups");
    }
  }
  as_vmap([](Array a) { return fori_loop(0, 3, [](Array, Array b) { return psum(sin(b), "i"); }, a); }, x, "psum in a loop");
  for (DType t :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}) {
    const Array y = convert(numbers({all, 3}) % 5, t);
    as_vmap([](Array a) { return psum(a, "i"); }, y, fmt::format("psum of {}", t.name()));
    as_vmap([](Array a) { return all_gather(a, "i"); }, y, fmt::format("all_gather of {}", t.name()));
    if (!t.is_complex()) as_vmap([](Array a) { return pmax(a, "i"); }, y, fmt::format("pmax of {}", t.name()));
  }
  // Longer than what each process reduces alone.
  const Array large = sin(numbers({all, 70001}));
  as_vmap([](Array a) { return psum(a, "i"); }, large, "a large psum");
  as_vmap([](Array a) { return pmax(convert(a, bfloat16), "i"); }, large, "a large pmax of bfloat16");
  // Derivatives through them.
  const int local = local_device_count(), me = process_index();
  const Array own = x(slice(local * me, local * (me + 1)));
  const auto loss = [](Array a) { return sum(square(psum(a, "i"))); };
  const Array gradient = pmap([&](Array a) { return grad(loss)(a); }, {.axis_name = "i"})(own);
  const Array gradients = vmap([&](Array a) { return grad(loss)(a); }, {.axis_name = "i"})(x);
  expect(tools::difference(device_get(gradient), gradients(slice(local * me, local * (me + 1))), nullptr, {1e-5, 1e-5, false}).empty(),
         "grad inside pmap");
  // Outside: of this process's own rows.
  const auto mapped = pmap([](Array a) { return psum(sin(a), "i"); }, {.axis_name = "i"});
  const Array outside = grad([&](Array a) { return sum(mapped(a)); })(own);
  expect(tools::difference(device_get(outside), static_cast<float>(all) * cos(own), nullptr, {1e-5, 1e-5, false}).empty(), "grad of pmap");
}

/// Each set of processes along an axis of a mesh has a channel of its own, made when the mesh is first used; and what goes from one process
/// to another in a step of a collective is one message, however many devices and groups they share.
void channels() {
  const int n = process_count(), local = local_device_count(), all = n * local, me = process_index();
  if (n == 1) return;
  detail::ProcessWorld& world = *detail::process_world();
  const auto whole = numbers({all, 2 * all}) / 3;
  const auto over = [&](const Mesh& mesh, auto f, const PartitionSpec& in, const PartitionSpec& out) {
    return shard_map(f, {.mesh = mesh, .in_specs = {in}, .out_specs = out})(device_put(whole, NamedSharding{mesh, in}));
  };
  const auto wrong = [](const Array& got, const Array& wanted) {
    return tools::difference(process_allgather(got), wanted, nullptr, {1e-5, 1e-5, false});
  };
  // All devices of a process have other groups over `p`, each with the same processes.
  const Mesh mesh = make_mesh({n, local}, {"p", "d"});
  over(mesh, [](Array a) { return psum(a, "p"); }, P("p", "d"), P(none, "d"));  // channels are open
  const auto messages = [&](auto f, const PartitionSpec& out, const Array& wanted, std::int64_t count, const std::string& what) {
    const auto mapped = shard_map(f, {.mesh = mesh, .in_specs = {P("p", "d")}, .out_specs = out, .check_vma = false});
    const Array x = device_put(whole, NamedSharding{mesh, P("p", "d")});
    const std::int64_t before = world.num_messages();
    const Array y = mapped(x);
    counts(world.num_messages() - before, count, "messages of " + what);
    expect(wrong(y, wanted).empty(), what + ": " + wrong(y, wanted));
  };
  const Array parts = reshape(whole, {n, local, 2 * all});
  const auto processes = static_cast<unsigned>(n);
  const std::int64_t steps = std::has_single_bit(processes) ? std::countr_zero(processes) : n - 1;
  messages([](Array a) { return psum(a, "p"); }, P(none, "d"), sum(parts, 0), steps, "a psum in groups of the same processes");
  messages([](Array a) { return pmax(a, "p"); }, P(none, "d"), max(parts, 0), steps, "a pmax in them");
  messages([](Array a) { return psum(a, {"p", "d"}); }, P(),
           sum(reshape(transpose(reshape(parts, {n, local, local, 2 * n}), {0, 2, 1, 3}), {all, local, 2 * n}), 0), steps,
           "a psum over all devices");
  messages([](Array a) { return all_gather(a, "p", {.tiled = true}); }, P(none, "d"), whole, n - 1, "all_gather");
  messages([](Array a) { return psum_scatter(a, "p", {.scatter_dimension = 1, .tiled = true}); }, P(none, {"d", "p"}), sum(parts, 0), n - 1,
           "psum_scatter");
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < n; ++i) next.emplace_back(i, (i + 1) % n);
  messages([&](Array a) { return ppermute(a, "p", next); }, P("p", "d"), roll(whole, local, 0), 1, "ppermute");
  messages([&](Array a) { return pbroadcast(a, "p", n - 1); }, P(none, "d"), parts[n - 1], me == n - 1 ? n - 1 : 0, "pbroadcast");
  const Array by_columns = device_put(whole, NamedSharding{make_mesh({all}, {"x"}), P(none, "x")});
  const std::int64_t before = world.num_messages();
  const Array by_rows = device_put(by_columns, NamedSharding{make_mesh({all}, {"x"}), P("x")});
  counts(world.num_messages() - before, std::int64_t{n - 1}, "messages of moving rows to columns");
  expect(wrong(by_rows, whole).empty(), "rows to columns");

  if (n != 4) return;
  const auto is_open = [&](const std::vector<int>& ranks) {
    const auto list = world.open_channels();
    return std::count(list.begin(), list.end(), ranks);
  };
  // The processes 0 and 1, below them 3 and 2: other pairs than those of earlier tests.
  const std::vector<int> along_a = me == 0 || me == 3 ? std::vector{0, 3} : std::vector{1, 2}, along_b{me / 2 * 2, me / 2 * 2 + 1};
  std::vector<Device> placed;
  for (int p : {0, 1, 3, 2})
    for (int i = 0; i < local; ++i) placed.push_back(devices()[static_cast<std::size_t>(p * local + i)]);
  counts(is_open({0, 1, 2, 3}), 1, "the channel of all");
  counts(is_open(along_a) + is_open(along_b), 0, "those of a mesh that was not used yet");
  const Mesh square(placed, {2, 2, local}, {"a", "b", "d"});
  const Array sums = over(square, [](Array a) { return psum(a, "a"); }, P({"a", "b"}, "d"), P("b", "d"));
  expect(wrong(sums, sum(reshape(whole, {2, 2 * local, 2 * all}), 0)).empty(), "psum over a");
  counts(is_open(along_a), 1, "the channel along a");
  counts(is_open(along_b), 1, "that along b, which nothing has used yet");
  const std::size_t open = world.open_channels().size();
  counts(world.open_channels()[open - 2] == along_a, true, "channels are opened in the order of the axes");
  const Array others = over(square, [](Array a) { return psum(psum(a, "b"), "a"); }, P({"a", "b"}, "d"), P(none, "d"));
  expect(wrong(others, sum(parts, 0)).empty(), "psum over b and a");
  counts(static_cast<std::int64_t>(world.open_channels().size()), static_cast<std::int64_t>(open), "nothing is opened twice");
  // Processes that share a mesh with some others only.
  std::vector<Device> some = devices();
  some.erase(some.begin() + 3 * local, some.end());
  if (me < 3) {
    const Mesh three(some, {3, local}, {"p", "d"});
    const Array y = shard_map([](Array a) { return psum(a, "p"); }, {.mesh = three, .in_specs = {P("p", "d")}, .out_specs = P(none, "d")})(
        device_put(ones({3, local}), NamedSharding{three, P("p", "d")}));
    for (const Shard& s : y.addressable_shards()) same(s.data, full({1, 1}, 3.f), "psum among three of four");
    counts(is_open({0, 1, 2}), 1, "the channel of three");
  } else {
    counts(is_open({0, 1, 2}), 0, "a channel of others");
  }
  sync_global_devices("together again");
}

/// A hash of the results' bits, the same for any number of processes.
void bits() {
  const int all = device_count(), local = local_device_count(), me = process_index();
  std::string text;
  for (DType t : {float16, bfloat16, float32, float64}) {
    const Array x = convert(sin(1e3 * numbers({all, 20011}, float64)), t);
    const Array total = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(x(slice(local * me, local * (me + 1))))[0];
    std::uint64_t h = 0xcbf29ce484222325u;
    for (double v : total.to_vector<double>()) {
      std::uint64_t b;
      std::memcpy(&b, &v, sizeof b);
      h = (h ^ b) * 0x100000001b3u;
    }
    text += fmt::format(" {:016x}", h);
  }
  for (const Array& gradient : overlapped_gradients()) {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (float v : gradient.to_vector<float>()) h = (h ^ std::bit_cast<std::uint32_t>(v)) * 0x100000001b3u;
    text += fmt::format(" {:016x}", h);
  }
  if (me == 0) fmt::print("bits{}\n", text);
}

// A short sum writes into the memory of the last result that it is handed, unless somebody else has it or it doesn't fit.
void memory_of_results() {
  using namespace detail;
  std::vector<int> ids;
  for (int i = 0; i < device_count(); ++i) ids.push_back(i);
  const std::vector<std::size_t> here = local_positions(ids);
  const std::size_t first = here[0];
  for (const DType dtype : {float32, bfloat16}) {
    CollectivePlan plan;
    plan.operation = "psum", plan.axes = {"i"};
    plan.groups = device_groups({ids});
    plan.in = plan.out = Aval{Shape{3}, dtype, false};
    const auto join = collective_engine(ids).prepare(plan, ids, std::array{static_cast<std::int64_t>(ids.size())});
    std::vector<Ref<Buffer>> in(ids.size()), out(ids.size());
    const auto run = [&](float each, const std::string& what) {
      const Array x = device_get(full({3}, each, dtype));
      for (std::size_t k : here) {
        in[k] = Ref<Buffer>(new HostBuffer(static_cast<std::size_t>(plan.in.bytes()), ids[k]));
        std::memcpy(in[k]->data(), host_data(x), in[k]->bytes());
      }
      join->run(in, out);
      for (std::size_t k : here) same(wrap_buffer(plan.out, out[k]), full({3}, each * static_cast<float>(ids.size()), dtype), what);
    };
    run(1, "a sum");
    const Ref<Buffer> kept = out[first];
    run(2, "a sum while the last one is in use");
    expect(out[first].get() != kept.get(), "a result that is in use was written again");
    same(wrap_buffer(plan.out, kept), full({3}, static_cast<float>(ids.size()), dtype), "the sum before");
    const bool by_doubling = process_count() > 1 && std::has_single_bit(static_cast<unsigned>(process_count()));
    const Buffer* const last = out[first].get();
    run(3, "a sum over the last one");
    if (by_doubling) expect(out[first].get() == last, "a result that nobody uses was not written again");
    for (Ref<Buffer>& o : out) o = Ref<Buffer>(new HostBuffer(64, ids[first]));
    run(4, "a sum over another result's memory");
    counts(static_cast<std::int64_t>(out[first]->bytes()), plan.out.bytes(), "bytes of the result");
  }
}

/// Without MPI: processes know of each other, work for themselves, save together; what needs messages says what is missing.
void without_transport(const std::string& folder) {
  const int local = local_device_count();
  const auto mapped = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"});
  const std::string message = error_of([&] { mapped(ones({local, 2})); });
  says(message, "nothing carries data of host devices between them");
  says(message, "psum over `i` of f32[2]");
  says(message, "mpirun");
  says(message, "worker.cpp:");
  says(error_of([] { sync_global_devices("here"); }), "nothing carries data");
  same(sum(ones({3})), Array(3.f), "local work");
  const Mesh mine(local_devices(), {local}, {"x"});
  same(device_get(shard_map([](Array a) { return psum(a, "x"); },
                            {.mesh = mine, .in_specs = {P("x")}, .out_specs = P()})(arange(static_cast<float>(local)))),
       array({static_cast<float>(local * (local - 1) / 2)}), "a map over this process's devices");
  save_checkpoint(folder, full({3}, 7.f));
  same(load_checkpoint(folder, zeros({3})), full({3}, 7.f), "a checkpoint");
}

/// Collectives whose messages are known: a dry run counts as many bytes as a real one.
void counted() {
  const int all = device_count(), local = local_device_count();
  const auto mapped = [](auto f) { return pmap(f, {.axis_name = "i"}); };
  mapped([](Array a) { return psum(a, "i"); })(ones({local, 256}));
  mapped([](Array a) { return psum(a, "i"); })(ones({local, 65536}));
  mapped([](Array a) { return all_gather(a, "i"); })(ones({local, 16}));
  mapped([](Array a) { return all_to_all(a, "i", 0, 0); })(ones({local, all, 4}));
  std::vector<std::pair<int, int>> next;
  for (int i = 0; i < all; ++i) next.emplace_back(i, (i + 1) % all);
  mapped([&](Array a) { return ppermute(a, "i", next); })(ones({local, 16}));
  const Mesh mesh = make_mesh({process_count(), local}, {"x", "y"});
  const Array x = make_array_from_callback({process_count() * 2, local * 3}, {mesh, P("x", "y")},
                                           [](const std::vector<Slice>&) { return ones({2, 3}); });
  shard_map([](Array a) { return psum(psum(a, "y"), "x"); }, {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = P()})(x);
  if (process_index() == 0) fmt::print("moved {} in {}\n", detail::collective_counters().bytes_moved, detail::collective_counters().calls);
}

// Programs in JAX's notation that map over devices, against JAX's results: all for which there are devices, each on as many as it was
// made for, spread over the processes as evenly as can be.
void golden(const std::string& folder) {
  int run = 0;
  std::map<int, int> too_large;  // by the devices they need
  const int n = process_count(), local = local_device_count();
  for (const std::string set : {"cases", "random"}) {
    const std::string path = folder + "/golden/data/jaxprs/" + set;
    for (const tools::ProgramEntry& entry : tools::read_index(path)) {
      if (entry.devices_needed == 1) continue;
      if (entry.devices_needed > device_count()) {
        ++too_large[entry.devices_needed];
        continue;
      }
      std::string wrong;
      try {
        std::vector<int> ids;
        for (int p = 0; p < n; ++p)
          for (int i = 0; i < entry.devices_needed / n + (p < entry.devices_needed % n); ++i) ids.push_back(p * local + i);
        wrong = tools::check_program(path, entry, "cpu", {}, [&](const Jaxpr& j) { return tools::placed_on(j, ids); });
      } catch (const Error& e) {
        wrong = e.what();
      }
      expect(wrong.empty(), entry.name + ": " + wrong);
      ++run;
    }
  }
  if (process_index() > 0) return;
  fmt::print("golden: {} programs", run);
  for (const auto& [devices, count] : too_large)
    fmt::print("; not applicable: {} that need {} devices, there are {}", count, devices, device_count());
  fmt::print("\n");
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}  // the same in all processes

// A few thousand collectives, so that something is under way when another process fails; and ways to fail. "kill in halo": within a call of
// that program.
void faulty(std::string how, int who, const std::string& folder) {
  const std::size_t in = how.find(" in ");
  const bool within = in != std::string::npos && !how.ends_with("a communicator");
  const int local = local_device_count();
  const bool me = process_index() == who;
  const Array x = ones({local, 4});
  const std::function<Array(Array)> step = faulty_program(within ? how.substr(in + 4) : "");
  if (within) how.resize(in);
  const auto fail_within = [&] {
    std::thread([how] {
      std::this_thread::sleep_for(std::chrono::milliseconds(7));
      std::fprintf(stderr, "FAULT at %.2f\n", now());
      raise(how == "stop" ? SIGSTOP : SIGKILL);
    }).detach();
  };
  const NamedSharding rows(make_mesh({device_count()}, {"i"}), P("i"));
  try {
    Array y = step(x);
    const Array whole = make_array_from_process_local_data(rows, ones({4 * local, 4}));
    sync_global_devices("go");
    for (int i = 0; i < 1000000; ++i) {
      if (me && within && i == 20) fail_within();
      if (me && !within && i == 20) {
        std::fprintf(stderr, "FAULT at %.2f\n", now());
        if (how == "kill") raise(SIGKILL);
        if (how == "segv") {
          signal(SIGSEGV, SIG_DFL);
          raise(SIGSEGV);
        }
        if (how == "stop") raise(SIGSTOP);
        if (how == "loop")
          for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (how == "throw") throw std::runtime_error("the user's own error");
        if (how == "exit") std::exit(0);
        if (how == "shape") y = pmap([](Array a) { return psum(a, "i"); }, {.axis_name = "i"})(ones({local, 5}));
        if (how == "order") y = pmap([](Array a) { return pmax(a, "i"); }, {.axis_name = "i"})(x);
        if (how == "skip") continue;
        if (how == "other") sync_global_devices("elsewhere");
        if (how == "stop before a save") raise(SIGSTOP);
        if (how == "no save") continue;
      }
      if (how == "row" && i == 20) (void)process_allgather(whole[me ? 1 : 0]);
      if (how == "number" && i == 20) (void)process_allgather(jit([&](Array a) { return sum(a * (me ? 2. : 1.)); })(whole));
      if (how.ends_with("save") && i == 20) save_checkpoint(folder, y);
      y = step(y);
      if (how == "skip" && i == 60) std::exit(0);
    }
  } catch (const DistributedError& e) {
    const double when = now();
    std::string report = e.what();
    std::replace(report.begin(), report.end(), '\n', ' ');
    std::fprintf(stderr, "REPORT %d at %.2f: %s\n", process_index(), when, report.c_str());
    // The library is usable for what is one process's own.
    if (sum(ones({3})).item<float>() != 3) std::fprintf(stderr, "local work fails after a report\n");
    std::exit(3);
  }
}

struct State {
  Array rows, columns, everywhere;
  int kind = 3;
};
State state(double value) {
  const int all = device_count();
  const Mesh mesh = make_mesh({all}, {"x"});
  const auto filled = [&](Shape shape, const PartitionSpec& spec) {
    return device_put(full(shape, value, float32), NamedSharding{mesh, spec});
  };
  return {filled({24, 5}, P("x")), filled({3, 24}, P(none, "x")), full({7}, value, float64)};
}

/// Saves one state after the other, the n-th full of the number n.
void save(const std::string& folder, int times) {
  for (int i = 1; i <= times; ++i) save_checkpoint(folder, state(i));
}

/// Reads what was saved, on this number of processes and devices: it must be all of one save. `last`: of which.
void load(const std::string& folder, int last) {
  const State s = load_checkpoint(folder, state(0));
  const double value = s.everywhere.to_vector<double>()[0];
  if (last > 0) equal(value, static_cast<double>(last), "the last save");
  for (const Array& leaf : tree::leaves(process_allgather(State{s.rows, s.columns, s.everywhere})))
    for (double v : leaf.to_vector<double>()) {
      if (v == value) continue;
      equal(v, value, "an element");
      return;
    }
  if (process_count() > 1) {
    says(error_of([&] { save_checkpoint(folder, array({process_index(), 1})); }), "own, and not what process 0 has");
    const State again = load_checkpoint(folder, state(0));
    equal(again.everywhere.to_vector<double>()[0], value, "after a save that failed");
  }
  says(error_of([&] { load_checkpoint(folder, zeros({7})); }), "it has 3 arrays");
  says(error_of([&] { load_checkpoint(folder, State{zeros({24, 5}), zeros({3, 24}), zeros({7}), 3}); }), ".everywhere");
  says(error_of([&] { load_checkpoint(folder + "-not", state(0)); }), "no whole checkpoint");
  sync_global_devices("loaded");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (const char* late = std::getenv("WORKER_LATE")) std::this_thread::sleep_for(std::chrono::duration<double>(std::atof(late)));
    if (what == "arguments")  // a folder, the coordinator's address, the number of processes and this one's
      distributed::initialize({.coordinator_address = argv[3],
                               .num_processes = std::atoi(argv[4]),
                               .process_id = std::atoi(argv[5]),
                               .token = "of the arguments"});
    else
      distributed::initialize();
    if (what == "all" || what == "topology") topology();
    if (what == "all" || what == "arrays") arrays();
    if (what == "all" || what == "programs") programs();
    if (what == "all" || what == "collectives") collectives();
    if (what == "all" || what == "nested") nested_maps();
    if (what == "all" || what == "donation") donation();
    if (what == "all" || what == "overlap") overlap();
    if (what == "all" || what == "channels") channels();
    if (what == "all" || what == "pieces") sharded_pieces();
    if (what == "all" || what == "results") memory_of_results();
    if (what == "all" || what == "nestings") nestings();
    if (what == "bits") bits();
    if (what == "golden") golden(argv[2]);
    if (what == "save") save(argv[2], std::atoi(argv[3]));
    if (what == "load") load(argv[2], std::atoi(argv[3]));
    if (what == "fault") faulty(argv[2], std::atoi(argv[3]), argv[4]);
    if (what == "tcp" || what == "arguments") topology(), without_transport(argv[2]);
    if (what == "counted") counted();
    if (what == "many") many_collectives();
    if (what == "gpus") {
      topology(), arrays(false), programs(), collectives();
      gpus(argv[2]);
    }
    if (what == "gpu failures") gpu_failures();
    if (what == "gpu collective failures") gpu_collective_failures();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "process %d: uncaught: %s\n", process_index(), e.what());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
