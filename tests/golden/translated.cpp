// The golden cases that no text holds, as JAX 0.10 does not run them, or as they place arrays: written in C++, with JAX's values.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdlib>

#include "tools/programs.h"
#include "weft/core/io/npy.h"

namespace weft::test {
using sharding::P;
namespace {

/// The arrays of one case by their names.
struct GoldenArrays {
  explicit GoldenArrays(std::string name) : prefix(std::move(name) + "/") {
    config.num_cpu_devices = 8;
    const char* tests = std::getenv("WEFT_TEST_DATA");
    all = load_npz(std::string(tests ? tests : "tests") + "/golden/data/arrays.npz");
  }
  const Array& operator[](const std::string& name) const { return all.at(prefix + name); }
  /// Each result as the case names it.
  void check(const std::vector<Array>& got, const std::vector<std::string>& names, double tolerance) const {
    REQUIRE(got.size() == names.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      CAPTURE(names[k]);
      CHECK(tools::difference(got[k], (*this)[names[k]], nullptr, {tolerance, tolerance, false}) == "");
    }
  }
  std::string prefix;
  std::map<std::string, Array> all;
};

}  // namespace

TEST_CASE("nested_pmap_two_axes") {
  const GoldenArrays arrays("nested_pmap_two_axes");
  auto f = [](Array v) {
    return std::tuple{psum(v, "i"),      psum(v, "j"), psum(v, {"i", "j"}), v / pmax(v, {"j", "i"}), axis_index("i") * 10 + axis_index("j"),
                      all_gather(v, "j")};
  };
  const Jaxpr program = make_jaxpr(pmap(pmap(f, {.axis_name = "j"}), {.axis_name = "i"}))(arrays["x"]);
  for (const std::string platform : {"interp", "cpu"})
    arrays.check(tools::run_on(platform, "nested_pmap_two_axes", program, {arrays["x"]}), {"si", "sj", "sij", "ratio", "idx", "ag"}, 1e-5);
}

TEST_CASE("nested_pmap_grad_jit") {
  const GoldenArrays arrays("nested_pmap_grad_jit");
  auto loss = [](Array w, Array v) { return pmean(sum(square(v * w)), {"i", "j"}) + psum(sum(sin(v)), "j"); };
  auto centred = [](Array v) { return v - pmean(v, "j"); };
  auto product = [](Array v) { return prod(psum(v, {"i", "j"})); };
  auto program = [=](Array x, Array w) {
    const auto [gw, gx] =
        pmap(pmap(grad<0, 1>(loss), {.in_axes = {none, 0}, .axis_name = "j"}), {.in_axes = {none, 0}, .axis_name = "i"})(w, x);
    const Array row = pmap(jit(pmap(centred, {.axis_name = "j"})), {.axis_name = "i"})(x);
    const Array out = grad([=](Array a) { return sum(pmap(pmap(product, {.axis_name = "j"}), {.axis_name = "i"})(a)); })(x);
    return std::tuple{gw, gx, row, out};
  };
  const Jaxpr traced = make_jaxpr(program)(arrays["x"], arrays["w"]);
  for (const std::string platform : {"interp", "cpu"})
    arrays.check(tools::run_on(platform, "nested_pmap_grad_jit", traced, {arrays["x"], arrays["w"]}), {"gw", "gx", "row", "out"}, 2e-5);
}

TEST_CASE("device_put_named_sharding") {
  const GoldenArrays arrays("device_put_named_sharding");
  const std::vector<Device> all = devices();
  const Mesh mesh(std::vector<Device>(all.begin(), all.begin() + 8), {2, 4}, {"x", "y"});
  const Array s = device_put(arrays["x"], NamedSharding{mesh, P("y", "x")});
  std::vector<Array> shards;
  for (const Device& device : mesh.devices())
    for (const auto& shard : s.addressable_shards())
      if (shard.device == device) shards.push_back(device_put(shard.data, all[0]));
  const Array y = jit([](Array a) { return matmul(sin(a), transpose(a)); })(s);
  const Array r = device_put(s, NamedSharding{mesh, P()});
  CHECK(r.is_fully_replicated());
  CHECK(s.addressable_shards()[0].data.shape() == Shape{2, 4});
  CHECK(r.addressable_shards()[0].data.shape() == Shape{8, 8});
  arrays.check({stack(shards), y, r}, {"shards", "y", "r"}, 2e-5);
}

}  // namespace weft::test
