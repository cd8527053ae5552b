// Fixed workloads of integers and texts: characters, digits, hashes, remainders, runs, distances.
#include <weft/jnp.h>

#include "rows.h"
#include "written.h"

using namespace weft;

namespace bench::random_programs {
namespace {

const Row kRows[] = {
    {"upper_case_u8_4M",
     [](Writer& w) {
       return written(w, {{{1 << 22}, uint8, 96, 80}}, "return jnp.where((a >= 97) & (a <= 122), a - 32, a)",
                      [](A a) { return where((a >= 97) & (a <= 122), a - 32, a); });
     }},
    {"count_words_u8_4M",
     [](Writer& w) {
       return written(w, {{{1 << 22}, uint8, 96, 80}}, "s = a == 32\nreturn jnp.sum((~s[1:] & s[:-1]).astype(jnp.int32))", [](A a) {
         const Array s = a == 32;
         return sum(f(~s(slice(1, none)) & s(slice(none, -1)), int32));
       });
     }},
    {"crc32_bytes_u8_20000",
     [](Writer& w) {
       return written(w, {{{20000}, uint8, 256, 128}},
                      "t = jnp.arange(256, dtype=jnp.uint32)\nfor _ in range(8): t = jnp.where(t & 1, (t >> 1) ^ jnp.uint32(0xEDB88320), t "
                      ">> 1)\nreturn lax.scan(lambda c, x: ((c >> 8) ^ t[(c ^ x) & 255], None), jnp.uint32(0xFFFFFFFF), "
                      "a.astype(jnp.uint32))[0]",
                      [](A a) {
                        Array t = f(arange(256), uint32);
                        for (int k = 0; k < 8; ++k) t = where((t & 1) != 0, (t >> 1) ^ full({}, 0xEDB88320u, uint32), t >> 1);
                        return scan([&](const Array& c, const Array& x) { return std::pair{(c >> 8) ^ t((c ^ x) & 255), none}; },
                                    full({}, 0xFFFFFFFFu, uint32), f(a, uint32))
                            .first;
                      });
     }},
    {"base64_u8_900k",
     [](Writer& w) {
       return written(w, {{{300000, 3}, uint8, 256, 128}, {{64}, uint8, 64, 64}},
                      "x = a.astype(jnp.int32)\nv = (x[:, 0] << 16) | (x[:, 1] << 8) | x[:, 2]\n"
                      "return b[jnp.stack([v >> 18, (v >> 12) & 63, (v >> 6) & 63, v & 63], 1)]",
                      [](A a, A b) {
                        const Array x = f(a, int32), v = (x(everything, 0) << 16) | (x(everything, 1) << 8) | x(everything, 2);
                        return b(stack({v >> 18, (v >> 12) & 63, (v >> 6) & 63, v & 63}, 1));
                      });
     }},
    {"digits_to_numbers_u8_100kx8",
     [](Writer& w) {
       return written(w, {{{100000, 8}, uint8, 10, 53}},
                      "x = a.astype(jnp.int32) - 48\nr = x[:, 0]\nfor k in range(1, 8): r = r * 10 + x[:, k]\nreturn r", [](A a) {
                        const Array x = f(a, int32) - 48;
                        Array r = x(everything, 0);
                        for (int k = 1; k < 8; ++k) r = r * 10 + x(everything, k);
                        return r;
                      });
     }},
    {"modular_power_u64_20000",
     [](Writer& w) {
       return written(w, {{{20000}, int64, 1e6, 6e5}},
                      "m = jnp.uint64(998244353)\nb, r = a.astype(jnp.uint64), jnp.ones(20000, jnp.uint64)\n"
                      "for k in range(10):\n    r = jnp.where((677 >> k) & 1, r * b % m, r)\n    b = b * b % m\nreturn r",
                      [](A a) {
                        const Array m = full({}, 998244353, uint64);
                        Array b = f(a, uint64), r = ones({20000}, uint64);
                        for (int k = 0; k < 10; ++k) {
                          if ((677 >> k) & 1) r = remainder(r * b, m);
                          b = remainder(b * b, m);
                        }
                        return r;
                      });
     }},
    {"polynomial_hash_i64_rows",
     [](Writer& w) {
       return written(w, {{{2000, 64}, int64, 200, 100}},
                      "return lax.fori_loop(0, 64, lambda i, h: (h * 131 + a[:, i]) % 1000000007, jnp.zeros(2000, jnp.int64))", [](A a) {
                        return fori_loop(
                            0, 64, [&](const Array& i, const Array& h) { return remainder(h * 131 + a(everything, i), 1000000007); },
                            zeros({2000}, int64));
                      });
     }},
    {"fibonacci_matrix_i64",
     [](Writer& w) {
       return written(w, {{{5000, 2, 2}, int64, 1000, 500}},
                      "m = a\nfor _ in range(6): m = jnp.einsum('nij,njk->nik', m, m) % 1000003\nreturn m", [](A a) {
                        Array m = a;
                        for (int k = 0; k < 6; ++k) m = remainder(einsum("nij,njk->nik", m, m), 1000003);
                        return m;
                      });
     }},
    {"mix_rounds_u32_500k",
     [](Writer& w) {
       return written(w, {{{500000}, uint32, 1e9, 6e8}, {{500000}, uint32, 1e9, 6e8}},
                      "rot = lambda x, r: (x << r) | (x >> (32 - r))\nx, y = a, b\n"
                      "for k in range(8):\n    x = rot(x, 7) + y\n    y = rot(y, 13) ^ (x + jnp.uint32(k * 77777))\nreturn x ^ y",
                      [](A a, A b) {
                        const auto rot = [](A x, int r) { return (x << r) | (x >> (32 - r)); };
                        Array x = a, y = b;
                        for (int k = 0; k < 8; ++k) {
                          x = rot(x, 7) + y;
                          y = rot(y, 13) ^ (x + k * 77777);
                        }
                        return x ^ y;
                      });
     }},
    {"morton_u32_1M",
     [](Writer& w) {
       return written(
           w, {{{1 << 20}, int32, 1000, 500}, {{1 << 20}, int32, 1000, 500}},
           "def spread(x):\n    x = x.astype(jnp.uint32)\n    x = (x | (x << 8)) & 0x00FF00FF\n    x = (x | (x << 4)) & 0x0F0F0F0F\n"
           "    x = (x | (x << 2)) & 0x33333333\n    return (x | (x << 1)) & 0x55555555\nreturn spread(a) | (spread(b) << 1)",
           [](A a, A b) {
             const auto spread = [](A y) {
               Array x = f(y, uint32);
               x = (x | (x << 8)) & 0x00FF00FF;
               x = (x | (x << 4)) & 0x0F0F0F0F;
               x = (x | (x << 2)) & 0x33333333;
               return (x | (x << 1)) & 0x55555555;
             };
             return spread(a) | (spread(b) << 1);
           });
     }},
    {"runs_i32_500k",
     [](Writer& w) {
       return written(w, {{{500000}, int32, 3}},
                      "s = jnp.concatenate([jnp.ones(1, bool), a[1:] != a[:-1]])\ni = jnp.cumsum(s) - 1\nreturn jnp.zeros(500000, "
                      "jnp.int32).at[i].add(1)",
                      [](A a) {
                        const Array s = concatenate({ones({1}, bool_), a(slice(1, none)) != a(slice(none, -1))});
                        return zeros({500000}, int32).at(cumsum(f(s, int32)) - 1).add(1);
                      });
     }},
    {"counts_by_sorting_i32_200k",
     [](Writer& w) {
       return written(w, {{{200000}, int32, 5000}},
                      "s = jnp.sort(a)\nn = jnp.concatenate([jnp.ones(1, bool), s[1:] != s[:-1]])\nreturn [jnp.where(n, s, 0), "
                      "jnp.sum(n.astype(jnp.int32))]",
                      [](A a) {
                        const Array s = sort(a), n = concatenate({ones({1}, bool_), s(slice(1, none)) != s(slice(none, -1))});
                        return Arrays{where(n, s, 0), sum(f(n, int32))};
                      });
     }},
    {"sieve_u8_1M",
     [](Writer& w) {
       return written(w, {{{1 << 20}, uint8, 2, 1}},
                      "n = jnp.arange(1 << 20)\ndef step(s, p): return jnp.where((n % p == 0) & (n > p), jnp.uint8(0), s), None\n"
                      "return lax.scan(step, a, jnp.array([2, 3, 5, 7, 11, 13]))[0]",
                      [](A a) {
                        const Array n = arange(1 << 20);
                        return scan(
                                   [&](const Array& s, const Array& p) {
                                     return std::pair{where((remainder(n, p) == 0) & (n > p), zeros_like(s), s), none};
                                   },
                                   a, array({2, 3, 5, 7, 11, 13}))
                            .first;
                      });
     }},
    {"gcd_i32_100k",
     [](Writer& w) {
       return written(w, {{{100000}, int32, 100000, 50001}, {{100000}, int32, 100000, 50001}}, "return jnp.gcd(a, b)",
                      [](A a, A b) { return gcd(a, b); });
     }},
    {"gcd_i64_20000",
     [](Writer& w) {
       return written(w, {{{20000}, int64, 1e9, 6e8}, {{20000}, int64, 1e9, 6e8}}, "return jnp.gcd(a, b)",
                      [](A a, A b) { return gcd(a, b); });
     }},
    {"edit_distances_batch_i32",
     [](Writer& w) {
       return written(w, {{{64, 60}, int32, 4}, {{64, 50}, int32, 4}},
                      "n = jnp.arange(51)\ndef one(a, b):\n    def row(p, x):\n        q = jnp.minimum(p[:-1] + (b != x), p[1:] + 1)\n"
                      "        r = lax.cummin(jnp.concatenate([p[:1] + 1, q]) - n) + n\n        return r, None\n"
                      "    return lax.scan(row, n, a)[0][-1]\nreturn jax.vmap(one)(a, b)",
                      [](A a, A b) {
                        return vmap([](Array a, Array b) {
                          const Array n = arange(51);
                          return scan(
                                     [&](const Array& p, const Array& x) {
                                       const Array q = minimum(p(slice(none, -1)) + f(b != x, int32), p(slice(1, none)) + 1);
                                       return std::pair{cummin(concatenate({p(slice(0, 1)) + 1, q}) - n) + n, none};
                                     },
                                     n, a)
                              .first(-1);
                        })(a, b);
                      });
     }},
    {"minmax_i16_columns",
     [](Writer& w) {
       return written(w, {{{3000, 700}, int16, 20000}}, "return [jnp.min(a, 0), jnp.max(a, 0)]",
                      [](A a) { return Arrays{min(a, 0), max(a, 0)}; });
     }},
    {"sum_i8_rows_of_300",
     [](Writer& w) {
       return written(w, {{{5000, 300}, int8, 200}}, "return jnp.sum(a, 1, dtype=jnp.int32)", [](A a) { return sum(f(a, int32), 1); });
     }},
};

}  // namespace

std::span<const Row> integer_rows() { return kRows; }

}  // namespace bench::random_programs
