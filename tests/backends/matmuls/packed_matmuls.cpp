// Matmuls of all dtypes by the processor's dot-product instructions.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/backends/agree.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/backends/cpu/packed/packing.h"
#include "weft/core/array/convert_elements.h"
#include "weft/core/array/half.h"
#include "weft/runtime/host/buffer.h"

using namespace weft;
using namespace weft::test;
using namespace weft::detail;

namespace {

struct Dtypes {
  DType a, b, out;
};
const Dtypes kDtypes[] = {
    {int8, int8, int32},           {uint8, uint8, int32},       {uint8, uint8, uint32},       {int8, int8, int8},
    {uint8, uint8, uint8},         {int8, int8, int64},         {int8, uint8, int32},         {uint8, int8, int16},
    {int16, int16, int32},         {int16, int16, int16},       {uint16, uint16, uint16},     {uint16, uint16, uint32},
    {int8, int16, int32},          {int32, int32, int32},       {uint32, uint32, uint32},     {int64, int64, int64},
    {int32, int32, int64},         {uint32, uint32, uint64},    {uint64, int64, int32},       {bfloat16, bfloat16, bfloat16},
    {bfloat16, bfloat16, float32}, {float16, float16, float16}, {float16, bfloat16, float32}, {float32, bfloat16, float16},
    {float32, float32, float32},   {float64, float64, float64}};

/// Where elements lie: rows, columns, or every other element of rows.
enum class Layout { rows, columns, strided };
struct Strides {
  std::int64_t row, column;
};
Strides strides(Layout l, std::int64_t rows, std::int64_t columns, std::int64_t gap) {
  if (l == Layout::columns) return {1, rows + gap};
  return l == Layout::rows ? Strides{columns + gap, 1} : Strides{2 * (columns + gap), 2};
}

std::int64_t integer_at(const std::vector<char>& x, DType dtype, std::int64_t i) {
  std::int64_t v = 0;
  convert_elements(x.data() + i * dtype.itemsize(), dtype, &v, int64, 1);
  return v;
}
double float_at(const std::vector<char>& x, DType dtype, std::int64_t i) {
  double v = 0;
  convert_elements(x.data() + i * dtype.itemsize(), dtype, &v, float64, 1);
  return v;
}
void set(std::vector<char>& x, DType dtype, std::int64_t i, std::int64_t value) {
  convert_elements(&value, int64, x.data() + i * dtype.itemsize(), dtype, 1);
}

struct Sizes {
  std::int64_t m, n, k, batch = 1;
};

/// Integers of all bits; floats are whole numbers, so that sums are exact in any order. The result's gaps must stay as they are.
void check_matmul(const Dtypes& t, const Sizes& s, Layout a_layout, Layout b_layout) {
  constexpr std::int64_t gap = 3;
  MatmulStep p;
  p.dtype = t.a, p.right_dtype = t.b, p.out_dtype = t.out, p.m = s.m, p.n = s.n, p.k = s.k;
  const Strides a = strides(a_layout, s.m, s.k, gap), b = strides(b_layout, s.k, s.n, gap);
  p.a_row = a.row, p.a_col = a.column, p.b_row = b.row, p.b_col = b.column, p.out_row = s.n + gap, p.a_offset = 1, p.b_offset = 2;
  const std::int64_t a_size = 2 * (s.m + gap) * (s.k + gap), b_size = 2 * (s.k + gap) * (s.n + gap), out_size = s.m * p.out_row;
  if (s.batch > 1) p.batch = {{s.batch, a_size, 0, out_size}};
  const std::unique_ptr<Matmul> matmul = make_packed_matmul(p);
  REQUIRE((matmul != nullptr) == has_packed_matmul(t.a, t.b, t.out));
  if (!matmul) return;
  std::vector<char> x(static_cast<std::size_t>((1 + s.batch * a_size) * t.a.itemsize())),
      y(static_cast<std::size_t>((2 + b_size) * t.b.itemsize())), out(static_cast<std::size_t>(s.batch * out_size * t.out.itemsize()), 77);
  std::uint64_t state = 7;
  const auto fill = [&](std::vector<char>& v, DType dtype) {
    const auto count = static_cast<std::int64_t>(v.size()) / dtype.itemsize();
    for (std::int64_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      set(v, dtype, i, dtype.is_integer() ? static_cast<std::int64_t>(state >> 3) : static_cast<std::int64_t>(state >> 40) % 9 - 4);
    }
  };
  fill(x, t.a), fill(y, t.b);
  matmul->run(x.data(), y.data(), out.data());
  const std::int64_t step = std::max<std::int64_t>(1, s.m * s.n * s.k / 200000);  // of a large one some elements
  int wrong = 0;
  for (std::int64_t e = 0; e < s.batch * out_size; e += step) {
    const std::int64_t i = e % out_size / p.out_row, j = e % p.out_row;
    char want[8];
    std::memset(want, 77, sizeof want);
    const std::int64_t from_a = 1 + e / out_size * a_size + i * a.row, from_b = 2 + j * b.column;
    if (j < s.n && t.out.is_integer()) {
      std::uint64_t sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k)
        sum += static_cast<std::uint64_t>(integer_at(x, t.a, from_a + k * a.column)) *
               static_cast<std::uint64_t>(integer_at(y, t.b, from_b + k * b.row));
      convert_elements(&sum, uint64, want, t.out, 1);
    } else if (j < s.n) {
      double sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k) sum += float_at(x, t.a, from_a + k * a.column) * float_at(y, t.b, from_b + k * b.row);
      convert_elements(&sum, float64, want, t.out, 1);
    }
    wrong += std::memcmp(want, out.data() + e * t.out.itemsize(), static_cast<std::size_t>(t.out.itemsize())) != 0;
  }
  CAPTURE(fmt::format("{} by {} to {}: {} x {} x {}, {} matrices; layouts {}, {}", t.a.name(), t.b.name(), t.out.name(), s.m, s.n, s.k,
                      s.batch, static_cast<int>(a_layout), static_cast<int>(b_layout)));
  CHECK(wrong == 0);
}

Arrays operands(DType dtype, const Shape& a, const Shape& b) {
  if (dtype.is_floating()) return {samples(a, 1, dtype), samples(b, 2, dtype)};
  return {astype(astype(samples(a, 1, float64) * 1e6f, int64), dtype), astype(astype(samples(b, 2, float64) * 1e6f, int64), dtype)};
}

}  // namespace

TEST_CASE("packed matmuls: all dtypes, layouts, whole and partial tiles, sums and columns in several blocks") {
  for (const Dtypes& t : kDtypes)
    for (const Sizes& s : {Sizes{1, 1, 1}, Sizes{4, 5, 6}, Sizes{12, 32, 512}, Sizes{13, 33, 1030}, Sizes{75, 96, 70, 2},
                           Sizes{3, 500, 2100}, Sizes{61, 17, 4, 3}, Sizes{2100, 3, 5}, Sizes{16, 16, 16, 70}})
      for (const Layout a : {Layout::rows, Layout::columns, Layout::strided})
        for (const Layout b : {Layout::rows, Layout::columns, Layout::strided}) check_matmul(t, s, a, b);
  for (const Dtypes& t : {Dtypes{bfloat16, bfloat16, bfloat16}, Dtypes{int8, int8, int8}, Dtypes{float64, float64, float64}})
    check_matmul(t, {37, 1100, 2600}, Layout::rows, Layout::rows);
}

TEST_CASE("packed matmuls: rests of rows, columns and steps in tiles of 16") {
  for (const Dtypes& t : kDtypes)
    if (t.a.itemsize() <= 2 && t.b.itemsize() <= 2)
      for (const Sizes& s :
           {Sizes{8, 8, 64}, Sizes{9, 15, 65}, Sizes{32, 32, 128}, Sizes{33, 47, 130}, Sizes{55, 16, 97, 3}, Sizes{64, 70, 2050}})
        for (const Layout a : {Layout::rows, Layout::columns, Layout::strided})
          for (const Layout b : {Layout::rows, Layout::columns}) check_matmul(t, s, a, b);
}

TEST_CASE("packed matmuls: conversions by vectors are those of elements") {
  std::vector<std::uint16_t> small(1 << 16);
  for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<std::uint16_t>(i);
  const auto n = static_cast<std::int64_t>(small.size()) - 5;
  for (const DType dtype : {float16, bfloat16}) {
    std::vector<float> wide(small.size()), want(small.size());
    packed::convert_run(small.data(), dtype, wide.data(), float32, n);
    convert_elements(small.data(), dtype, want.data(), float32, n);
    int wrong = 0;
    for (std::size_t i = 0; i < wide.size(); ++i) wrong += !(wide[i] == want[i] || (wide[i] != wide[i] && want[i] != want[i]));
    CHECK(wrong == 0);
    // Around each of them, and between it and the next one: ties, subnormal numbers, overflow.
    std::vector<float> near;
    for (const float v : want)
      for (const std::uint32_t off : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xfffu, 0x1000u, 0x1001u})
        near.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) + off));
    std::vector<std::uint16_t> got(near.size()), expected(near.size());
    packed::convert_run(near.data(), float32, got.data(), dtype, static_cast<std::int64_t>(near.size()));
    convert_elements(near.data(), float32, expected.data(), dtype, static_cast<std::int64_t>(near.size()));
    wrong = 0;
    for (std::size_t i = 0; i < near.size(); ++i) wrong += near[i] == near[i] && got[i] != expected[i];
    CHECK(wrong == 0);
  }
  std::vector<std::int32_t> words(1003);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i) * 2654435761u);
  for (const DType narrow : {int8, uint8, int16, uint16}) {
    std::vector<char> got(4 * words.size()), want(4 * words.size()), back(4 * words.size()), back_want(4 * words.size());
    packed::convert_run(words.data(), int32, got.data(), narrow, 1003);
    convert_elements(words.data(), int32, want.data(), narrow, 1003);
    CHECK(got == want);
    for (const DType wide : {int16, int32, int64}) {
      packed::convert_run(got.data(), narrow, back.data(), wide, 500);
      convert_elements(got.data(), narrow, back_want.data(), wide, 500);
      CHECK(back == back_want);
    }
  }
}

TEST_CASE("packed matmuls: in programs, with batches, transposed operands, vmap and gradients") {
  for (const DType dtype : {int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float64}) {
    CAPTURE(dtype.name());
    const double tolerance = dtype == bfloat16 ? 2e-2 : dtype == float16 ? 4e-3 : 1e-10;
    const Arrays x = operands(dtype, {310, 330}, {330, 305});
    const std::string plain = same([](Xs a) { return matmul(a[0], a[1]); }, x, tolerance);
    const std::string transposed = same([](Xs a) { return matmul(transpose(a[1]), transpose(a[0])); }, x, tolerance);
    // Shorter vectors have instructions for fewer types.
    if (detail::native_vector_bytes() >= 64) {
      CHECK(has(plain, "m="));
      CHECK(has(transposed, "m="));
    }
    same([](Xs a) { return matmul(a[0](slice(), slice(5, 330)), a[1](slice(5, none), slice(none, none, 2))); }, x, tolerance);
    same([](Xs a) { return vmap([](Array r, Array c) { return matmul(r, c); })(a[0], a[1]); }, operands(dtype, {5, 40, 64}, {5, 64, 48}),
         tolerance);
    same([](Xs a) { return matmul(a[0], a[1]); }, operands(dtype, {0, 64}, {64, 48}), tolerance);
    same([](Xs a) { return matmul(a[0], a[1]); }, operands(dtype, {64, 0}, {0, 48}), tolerance);
    if (dtype.is_floating())
      same([](Xs a) { return Arrays{grad([&](const Array& w) { return astype(sum(tanh(matmul(a[0], w) / 8.f)), float32); })(a[1])}; }, x,
           4 * tolerance);
  }
  const Arrays bytes = operands(int8, {3, 70, 130}, {3, 130, 50});
  const auto wide = [](DType out) {
    return [out](Xs a) {
      return dot_general(a[0], a[1], {.contracting = {{{2}, {1}}}, .batch = {{{0}, {0}}}}, {.preferred_element_type = out});
    };
  };
  for (const DType out : {int8, int16, int32, int64, uint32}) {
    const std::string kernels = same(wide(out), bytes);
    if (detail::native_vector_bytes() >= 64) CHECK(has(kernels, "m="));
  }
  for (const DType in : {float16, bfloat16}) same(wide(float32), operands(in, {3, 70, 130}, {3, 130, 50}), 1e-5);
}

namespace {

/// A hash of the bits of matmuls of floats, whose sums depend on their order, of sizes that are divided among threads.
std::uint64_t hash_of_matmuls() {
  std::uint64_t hash = 14695981039346656037u;
  for (const DType dtype : {float16, bfloat16, float64})
    for (const Sizes& s : {Sizes{500, 700, 1030}, Sizes{1100, 40, 300}, Sizes{48, 900, 513}, Sizes{60, 70, 80, 5}}) {
      MatmulStep p;
      p.dtype = p.right_dtype = p.out_dtype = dtype, p.m = s.m, p.n = s.n, p.k = s.k;
      p.a_row = s.k, p.a_col = 1, p.b_row = 1, p.b_col = s.k, p.out_row = s.n;
      if (s.batch > 1) p.batch = {{s.batch, s.m * s.k, 0, s.m * s.n}};
      const std::unique_ptr<Matmul> matmul = make_packed_matmul(p);
      if (!matmul) continue;
      const Array a = samples({s.batch, s.m, s.k}, 1, dtype), b = samples({s.n, s.k}, 2, dtype);
      std::vector<unsigned char> out(static_cast<std::size_t>(s.batch * s.m * s.n * dtype.itemsize()));
      matmul->run(host_data(a), host_data(b), out.data());
      for (const unsigned char byte : out) hash = (hash ^ byte) * 1099511628211u;
    }
  return hash;
}

}  // namespace

TEST_CASE("[child of packed matmuls] writes the hash of its results" * doctest::skip()) {
  std::ofstream(std::getenv("WEFT_BITS_FILE")) << hash_of_matmuls();
}

TEST_CASE("packed matmuls: the same bits for every number of threads") {
  const std::string wanted = std::to_string(hash_of_matmuls());
  for (const int threads : {1, 2, 3, 5}) {
    const std::string file = "/tmp/weft-matmul-bits-" + std::to_string(::getpid());
    const std::string command =
        fmt::format("WEFT_NUM_THREADS={} WEFT_BITS_FILE={} {} --no-skip --test-case='[child of packed matmuls]*' >/dev/null 2>&1", threads,
                    file, std::filesystem::read_symlink("/proc/self/exe").string());
    REQUIRE(std::system(command.c_str()) == 0);
    std::string got;
    std::ifstream(file) >> got;
    CAPTURE(threads);
    CHECK(got == wanted);
    std::remove(file.c_str());
  }
}
