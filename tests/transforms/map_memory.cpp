// The memory that memory_analysis counts for maps: that of values while something needs them.
#include "tests/runtime/devices.h"
#include "tests/transforms/capture.h"
#include "weft/runtime/host/allocator.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

constexpr std::int64_t kRow = 64 * 1024;  // elements of a device's value

template <class F, class... Args>
std::int64_t temporaries(const F& f, const Args&... args) {
  return f.lower(args...).compile().memory_analysis().temp_size_in_bytes;
}

/// Layers of which each needs only the one before.
auto chain(int layers) {
  return [layers](Array v) {
    for (int i = 0; i < layers; ++i) v = tanh(ppermute(v * 2 + 1, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
    return v;
  };
}
/// Layers of which the last one needs all.
auto kept(int layers) {
  return [layers](Array v) {
    std::vector<Array> all;
    for (int i = 0; i < layers; ++i) all.push_back(v = tanh(ppermute(v * 2 + 1, "i", {{0, 1}, {1, 2}, {2, 3}, {3, 0}})));
    Array total = psum(v, "i");
    for (const Array& a : all) total = total * a;
    return total;
  };
}

}  // namespace

TEST_CASE("memory of maps: values between collectives count while they are needed") {
  const Mesh mesh = make_mesh({4}, {"i"});
  const auto mapped = [&](auto f) { return jit(shard_map(f, {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i")})); };
  const Array x = device_put(sin(arange(4 * kRow, float32)), NamedSharding{mesh, P("i")});
  const std::int64_t value = 4 * kRow * 4;  // bytes on all devices
  CHECK(temporaries(mapped(chain(1)), x) == 2 * value);
  for (const int layers : {2, 5, 40}) {
    CAPTURE(layers);
    CHECK(temporaries(mapped(chain(layers)), x) == 2 * value);
  }
  const std::int64_t few = temporaries(mapped(kept(3)), x), many = temporaries(mapped(kept(13)), x);
  CHECK(many - few == 10 * value);
  const auto in_pmap = jit(pmap(chain(20), {.axis_name = "i", .devices = mesh.devices()}));
  CHECK(temporaries(in_pmap, reshape(x, {4, kRow})) == 2 * value);
}

TEST_CASE("memory of maps: what is between maps counts while it is needed, and no longer") {
  const Mesh mesh = make_mesh({4}, {"i"});
  const auto layer = shard_map([](Array v) { return v - psum(v, "i"); }, {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i")});
  const auto layers = [&](int count) {
    return jit([=](Array v) {
      for (int i = 0; i < count; ++i) v = cumsum(layer(sin(v)), 0);
      return v;
    });
  };
  const Array x = ones({4 * kRow});
  CHECK(temporaries(layers(3), x) == temporaries(layers(30), x));
  CHECK(temporaries(layers(3), x) >= 2 * x.aval().bytes());
  // A branch and a loop with maps inside.
  const auto in_branch =
      jit([&](Array v) { return cond(v[0] > 0, [&](Array u) { return sin(layer(sin(u))); }, [](Array u) { return u; }, v); });
  CHECK(temporaries(in_branch, x) >= x.aval().bytes());
  const auto in_loop = jit([&](Array v) { return fori_loop(0, 3, [&](Array, Array u) { return sin(layer(sin(u))); }, v); });
  CHECK(temporaries(in_loop, x) >= x.aval().bytes());
}

TEST_CASE("memory of maps: loops and branches with collectives hold two iterations, or one branch") {
  const Mesh mesh = make_mesh({4}, {"i"});
  const auto mapped = [&](auto f) {
    return jit(shard_map(f, {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i"), .check_vma = false}));
  };
  const Array x = device_put(sin(arange(4 * kRow, float32)), NamedSharding{mesh, P("i")});
  const std::int64_t value = 4 * kRow * 4;
  const auto loop = [&](int steps) {
    return mapped([=](Array v) { return fori_loop(0, steps, [](Array, Array c) { return chain(3)(c); }, v) * 2; });
  };
  CHECK(temporaries(loop(2), x) == temporaries(loop(50), x));
  CHECK(temporaries(loop(2), x) <= 4 * value + 1024);
  const auto branch =
      mapped([](Array v) { return cond(psum(v[0], "i") > 0, [](Array u) { return chain(4)(u); }, [](Array u) { return kept(4)(u); }, v); });
  CHECK(temporaries(branch, x) <= temporaries(mapped(kept(4)), x) + 1024);
}

TEST_CASE("memory of maps: a call takes what memory_analysis said") {
  const Mesh mesh = make_mesh({4}, {"i"});
  const Array x = device_put(sin(arange(4 * kRow, float32)), NamedSharding{mesh, P("i")});
  for (const int layers : {6, 12}) {
    const auto f = jit(shard_map(kept(layers), {.mesh = mesh, .in_specs = P("i"), .out_specs = P("i")}));
    const MemoryAnalysis said = f.lower(x).compile().memory_analysis();
    f(x).block_until_ready();
    const int device = devices()[2].id();
    const detail::AllocatorStats start = detail::host_allocator_stats(device);
    const auto ballast = static_cast<std::size_t>(start.peak_bytes_in_use - start.bytes_in_use);
    void* held = detail::allocate_host(ballast, device);
    const std::int64_t before = detail::host_allocator_stats(device).bytes_in_use;
    f(x).block_until_ready();
    const double took = static_cast<double>(detail::host_allocator_stats(device).peak_bytes_in_use - before);
    const double told = static_cast<double>(said.temp_size_in_bytes + said.output_size_in_bytes) / 4;
    CAPTURE(took);
    CAPTURE(told);
    CHECK(took <= 1.25 * told + 4096);
    CHECK(took >= .75 * told);
    detail::release_host(held, ballast, device);
  }
}
