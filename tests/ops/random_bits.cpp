// The bits of random numbers are JAX's where nothing but bits, products and sums makes them: hashes of 3000 numbers each, eagerly,
// compiled, interpreted, mapped. The table is printed by random_bits.py.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weft/runtime/host/executable.h"

using namespace weft;

namespace {

struct Row {
  const char* name;
  std::uint64_t hash;
};
// clang-format off
const Row kRows[] = {
    {"uniform float32", 0x0f4b78f2c580d842},
    {"uniform float32 -0.001 1000.0", 0x10b823d0d8ab3e4c},
    {"uniform float32 0.1 0.7", 0x194f1c838d50d8d8},
    {"uniform float32 -3.3 5.7", 0x181799056b2a3cc7},
    {"uniform float32 2 3", 0x5fbad6d3a11373be},
    {"uniform float32 -1 1", 0xbc2e31a65fe57c20},
    {"uniform float32 arrays", 0x5e88954d015a11b9},
    {"uniform float64", 0xd7770e646934858e},
    {"uniform float64 -0.001 1000.0", 0x3ab0d5f36125de1b},
    {"uniform float64 0.1 0.7", 0x944ecc6aeac0eecb},
    {"uniform float64 -3.3 5.7", 0x90dfff9e557d1309},
    {"uniform float64 2 3", 0xe261e05d7350170d},
    {"uniform float64 -1 1", 0xce6eda8cbb0229c8},
    {"uniform float64 arrays", 0x695772b5f960bda3},
    {"uniform float16", 0xe7efef3c96eaf21f},
    {"uniform float16 -0.001 1000.0", 0x0647a43db55f8bd7},
    {"uniform float16 0.1 0.7", 0xd8d857fae82e3aa9},
    {"uniform float16 -3.3 5.7", 0x24fcd130d60fb66c},
    {"uniform float16 2 3", 0x0cdfe7e275c3bf01},
    {"uniform float16 -1 1", 0x83a1697982cab507},
    {"uniform float16 arrays", 0x8f22608629924307},
    {"uniform bfloat16", 0x08b9cb08ad22b8d4},
    {"uniform bfloat16 -0.001 1000.0", 0x32e55996403bb55d},
    {"uniform bfloat16 0.1 0.7", 0x18965cfe425c2434},
    {"uniform bfloat16 -3.3 5.7", 0x7ed342bc53f6039c},
    {"uniform bfloat16 2 3", 0x82b9c1d3edffce0f},
    {"uniform bfloat16 -1 1", 0x1da9969aa64daf94},
    {"uniform bfloat16 arrays", 0xb493300d6932ee8c},
    {"randint int8", 0x6f2757ca93cc91e3},
    {"bits uint8", 0x8c63d08140fa2118},
    {"randint uint8", 0x6f2757ca93cc91e3},
    {"randint int16", 0x4979b40b60120963},
    {"bits uint16", 0xf8515dd0a36993cc},
    {"randint uint16", 0x4979b40b60120963},
    {"randint int32", 0xc404110014a6b933},
    {"bits uint32", 0xefeb3e761d193a6d},
    {"randint uint32", 0xc404110014a6b933},
    {"randint int64", 0x0dafd0b5f6dbcfdd},
    {"bits uint64", 0x63522ec65d799781},
    {"randint uint64", 0x0dafd0b5f6dbcfdd},
    {"bernoulli", 0x29fe3190045e0321},
    {"permutation", 0xd981fa834227d661},
    {"choice", 0x1c0107054aac1e19},
    {"choice without replacement", 0xd32a8d3df9c6162c},
    {"rademacher", 0x5c846f37e36836e5},
    {"split", 0x831ad1a778493827},
    {"fold_in", 0x831ad1a778493827},
};
// clang-format on

template <class T>
std::uint64_t hash_of_elements(const Array& x) {
  std::uint64_t h = 14695981039346656037ull;
  for (const T v : x.to_vector<T>())
    for (std::size_t i = 0; i < sizeof v; ++i) h = (h ^ (static_cast<std::uint64_t>(v) >> 8 * i & 0xff)) * 1099511628211ull;
  return h;
}
std::uint64_t hash_of(const Array& x) {
  switch (x.dtype().itemsize()) {
    case 1: return hash_of_elements<std::uint8_t>(convert(x, uint8));
    case 2: return hash_of_elements<std::uint16_t>(bitcast_convert(x, uint16));
    case 4: return hash_of_elements<std::uint32_t>(bitcast_convert(x, uint32));
    default: return hash_of_elements<std::uint64_t>(bitcast_convert(x, uint64));
  }
}

using Draw = std::function<Array(Array)>;
std::map<std::string, Draw> draws() {
  std::map<std::string, Draw> all;
  const Shape shape{3000};
  for (const DType t : {float32, float64, float16, bfloat16}) {
    const std::string name = "uniform " + std::string(t.name());
    all[name] = [=](Array k) { return random::uniform(k, shape, t); };
    const std::pair<const char*, std::pair<double, double>> bounds[] = {
        {"-0.001 1000.0", {-1e-3, 1e3}}, {"0.1 0.7", {.1, .7}}, {"-3.3 5.7", {-3.3, 5.7}}, {"2 3", {2, 3}}, {"-1 1", {-1, 1}}};
    for (const auto& [text, b] : bounds)
      all[name + " " + text] = [=, b = b](Array k) { return random::uniform(k, shape, t, b.first, b.second); };
    all[name + " arrays"] = [=](Array k) {
      const Array n = convert(arange(3000) % 64, t);
      return random::uniform(k, shape, t, n * .25 - 7, n * .5 + 3);
    };
  }
  for (const DType t : {int8, uint8, int16, uint16, int32, uint32, int64, uint64}) {
    if (t.is_unsigned()) all["bits " + std::string(t.name())] = [=](Array k) { return random::bits(k, shape, t); };
    all["randint " + std::string(t.name())] = [=](Array k) { return random::randint(k, shape, 3, 101, t); };
  }
  all["bernoulli"] = [=](Array k) { return random::bernoulli(k, .3f, shape); };
  all["permutation"] = [](Array k) { return random::permutation(k, arange(3000)); };
  all["choice"] = [=](Array k) { return random::choice(k, arange(100), shape); };
  all["choice without replacement"] = [=](Array k) { return random::choice(k, arange(4000), shape, {.replace = false}); };
  all["rademacher"] = [=](Array k) { return random::rademacher(k, shape); };
  all["split"] = [](Array k) { return random::key_data(random::split(k, 100)); };
  all["fold_in"] = [](Array k) { return random::key_data(vmap([&](Array i) { return random::fold_in(k, i); })(arange(100, uint32))); };
  return all;
}

}  // namespace

TEST_CASE("random: the bits are those of JAX in every mode") {
  const std::map<std::string, Draw> all = draws();
  CHECK(all.size() == std::size(kRows));
  const Array key = random::key(7);
  for (const Row& row : kRows) {
    const std::string name = row.name;
    CAPTURE(name);
    REQUIRE(all.contains(name));
    const Draw& draw = all.at(name);
    CHECK(hash_of(draw(key)) == row.hash);
    CHECK(hash_of(jit(draw)(key)) == row.hash);
    CHECK(hash_of(detail::backend("interp").compile(make_jaxpr(draw)(key), {"draw"})->call(std::vector<Array>{key}, 0)[0]) == row.hash);
    CHECK(hash_of(jit(vmap(draw))(stack({key, key}))(1)) == row.hash);
  }
}
