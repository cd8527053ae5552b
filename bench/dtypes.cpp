// Dtypes other than float32: products, chains of elementwise operations, integers, factorizations. bench/dtypes.py is the same in JAX.
#include "harness.h"

using namespace weft;

namespace bench {
namespace {

/// Whole numbers in [0, 256) minus `low`, of an integer dtype.
Array bytes(const Shape& shape, DType dtype, int low, unsigned seed = 0) { return astype(floor(fill(shape, 256, 128, seed)) - low, dtype); }

Array wide_product(const Array& a, const Array& b, DType dtype) {
  return dot_general(a, b, {.contracting = {{{1}, {0}}}}, {.preferred_element_type = dtype});
}

}  // namespace

void dtype_workloads(const Options& o) {
  workload(
      o, "matmul_i8_1024", [] { return std::tuple{bytes({1024, 1024}, int8, 128), bytes({1024, 1024}, int8, 128, 1)}; },
      jit([](Array a, Array b) { return wide_product(a, b, int32); }));
  for (const DType dtype : {int32, int64, float16, bfloat16, float64})
    for (const int n : {64, 256, 512, 1024}) {
      const bool is_integer = dtype.is_integer();
      workload(
          o, fmt::format("matmul_{}_{}", dtype.short_name(), n),
          [=] {
            return is_integer ? std::tuple{bytes({n, n}, dtype, 128), bytes({n, n}, dtype, 128, 1)}
                              : std::tuple{astype(fill({n, n}), dtype), astype(fill({n, n}, 1, 0, 1), dtype)};
          },
          jit([](Array a, Array b) { return matmul(a, b); }));
    }
  for (const DType dtype : {float32, float64, bfloat16})
    for (const int n : {4, 8, 16})
      workload(
          o, fmt::format("skinny_{}_4096x4096x{}", dtype.short_name(), n),
          [=] { return std::tuple{astype(fill({4096, 4096}), dtype), astype(fill({4096, n}, 1, 0, 1), dtype)}; },
          jit([](Array a, Array b) { return matmul(a, b); }));
  workload(
      o, "tall_f32_100000x64x4", [] { return std::tuple{fill({100000, 64}), fill({64, 4}, 1, 0, 1)}; },
      jit([](Array a, Array b) { return matmul(a, b); }));
  for (const DType dtype : {float64, bfloat16})
    workload(
        o, fmt::format("batched_{}_512x16", dtype.short_name()),
        [=] { return std::tuple{astype(fill({512, 16, 16}), dtype), astype(fill({512, 16, 16}, 1, 0, 1), dtype)}; },
        jit([](Array a, Array b) { return matmul(a, b); }));
  workload(
      o, "batched_c64_512x16",
      [] {
        return std::tuple{complex(fill({512, 16, 16}), fill({512, 16, 16}, 1, 0, 2)),
                          complex(fill({512, 16, 16}, 1, 0, 1), fill({512, 16, 16}, 1, 0, 3))};
      },
      jit([](Array a, Array b) { return abs(matmul(a, b)); }));
  workload(
      o, "einsum_three", [] { return std::tuple{fill({64, 32, 48}), fill({48, 256}, 1, 0, 1), fill({32, 256}, 1, 0, 2)}; },
      jit([](Array a, Array b, Array c) { return einsum("bij,jk,ik->bk", a, b, c); }));

  workload(
      o, "chain_bf16_1M", [] { return std::tuple{astype(fill(1 << 20), bfloat16), astype(fill(1 << 20, 1, 0, 1), bfloat16)}; },
      jit([](Array x, Array y) { return nn::gelu(x * 2.f + y) * y - x; }));
  workload(
      o, "chain_exp_div_f32_1M", [] { return std::tuple{fill(1 << 20), fill(1 << 20, 1, 2, 1)}; },
      jit([](Array x, Array y) { return exp(-x * x) / (1.f + exp(-y)) + x / y; }));
  for (const DType dtype : {bfloat16, float16})
    workload(
        o, fmt::format("rms_norm_{}_2048x1024", dtype.short_name()),
        [=] { return std::tuple{astype(fill({2048, 1024}), dtype), astype(fill(1024, 1, 1, 1), dtype)}; }, jit([](Array x, Array g) {
          const Array wide = astype(x, float32);
          return astype(wide * rsqrt(mean(wide * wide, -1, {.keepdims = true}) + 1e-6f), x.dtype()) * g;
        }));
  for (const DType dtype : {float32, bfloat16})
    workload(
        o, fmt::format("lstm_step_{}_128x256", dtype.short_name()),
        [=] {
          return std::tuple{astype(fill({128, 256}), dtype), astype(fill({128, 256}, 1, 0, 1), dtype),
                            astype(fill({128, 256}, 1, 0, 2), dtype), astype(fill({512, 1024}, 0.1, 0, 3), dtype),
                            astype(fill(1024, 1, 0, 4), dtype)};
        },
        jit([](Array x, Array h, Array c, Array w, Array b) {
          const Array gates = matmul(concatenate({x, h}, 1), w) + b;
          const auto gate = [&](int i) { return gates(slice(), slice(256 * i, 256 * i + 256)); };
          const Array cell = nn::sigmoid(gate(1)) * c + nn::sigmoid(gate(0)) * tanh(gate(2));
          return std::tuple{nn::sigmoid(gate(3)) * tanh(cell), cell};
        }));

  const auto words = [] { return (astype(fill(4 << 20, 65536, 32768), uint32) * 40503u + astype(fill(4 << 20, 65536, 32768, 1), uint32)); };
  workload(o, "mod_u32_constant_4M", [&] { return std::tuple{words()}; }, jit([](Array x) { return remainder(x, 10007u) + x / 1000u; }));
  workload(
      o, "mod_u32_4M", [&] { return std::tuple{words(), (astype(fill(4 << 20, 65536, 32768, 2), uint32) + 1u)}; },
      jit([](Array x, Array y) { return remainder(x, y); }));
  workload(
      o, "mod_i32_constant_4M", [&] { return std::tuple{astype(words(), int32)}; },
      jit([](Array x) { return remainder(x, 10007) + floor_divide(x, 1000); }));
  workload(
      o, "blend_u8_1080p",
      [] { return std::tuple{bytes({1080, 1920, 3}, uint8, 0), bytes({1080, 1920, 3}, uint8, 0, 1), bytes({1080, 1920, 1}, uint8, 0, 2)}; },
      jit([](Array a, Array b, Array alpha) {
        const Array w = astype(alpha, uint16);
        return astype((astype(a, uint16) * w + astype(b, uint16) * (255 - w) + 128) >> 8, uint8);
      }));
  workload(
      o, "saturating_add_u8_8M", [] { return std::tuple{bytes({8 << 20}, uint8, 0), bytes({8 << 20}, uint8, 0, 1)}; },
      jit([](Array a, Array b) { return astype(minimum(astype(a, int32) + astype(b, int32), 255), uint8); }));

  const auto definite = [](int n) {
    const Array a = astype(fill({n, n}), float64);
    return matmul(a, transpose(a)) + n * eye(n, float64);
  };
  workload(o, "cholesky_f64_512", [&] { return std::tuple{definite(512)}; }, jit([](Array a) { return linalg::cholesky(a); }));
  workload(o, "svd_f64_256", [] { return std::tuple{astype(fill({256, 256}), float64)}; }, jit([](Array a) { return linalg::svdvals(a); }));
  workload(
      o, "svd_vectors_f64_256", [] { return std::tuple{astype(fill({256, 256}), float64)}; }, jit([](Array a) {
        const auto d = linalg::svd(a);
        return std::tuple{abs(d.u), d.s};
      }));
  workload(
      o, "slogdet_f64_512", [] { return std::tuple{astype(fill({512, 512}), float64)}; },
      jit([](Array a) { return linalg::slogdet(a).logabsdet; }));
  workload(
      o, "solve_f64_512", [] { return std::tuple{astype(fill({512, 512}), float64), astype(fill({512, 512}, 1, 0, 1), float64)}; },
      jit([](Array a, Array b) { return linalg::solve(a, b); }));
  workload(
      o, "qr_f64_512", [] { return std::tuple{astype(fill({512, 512}), float64)}; }, jit([](Array a) { return abs(linalg::qr(a).r); }));
}

}  // namespace bench
