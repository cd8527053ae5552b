// Integers of which only low bits are wanted: computed in narrower types, with the same bits.
#include <doctest/doctest.h>

#include "tests/backends/agree.h"
#include "tests/backends/code_from.h"
#include "tests/lcg.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

const std::vector<DType> kNarrow{bool_, int8, uint8, int16, uint16}, kWide{int16, uint16, int32, uint32, int64, uint64};

/// All numbers of a byte, and as many of 16 bits, the extremes among them.
Array numbers(DType t, int seed) {
  const Array all = arange(-32768, 32768, 77);
  return astype(concatenate({Array(all * (2 * seed + 1)), Array(all(slice(none, none, -1)))}), t);
}

/// A random expression of arrays that were converted to one dtype.
class Expression {
 public:
  Expression(std::uint64_t seed, DType dtype, std::vector<Array> leaves) : random_{seed}, dtype_(dtype), leaves_(std::move(leaves)) {}
  Array of_depth(int depth) {
    if (depth == 0 || below(8) == 0) return leaf();
    const Array a = of_depth(depth - 1);
    switch (below(15)) {
      case 0: return a + of_depth(depth - 1);
      case 1: return a - of_depth(depth - 1);
      case 2: return a * of_depth(depth - 1);
      case 3: return a & of_depth(depth - 1);
      case 4: return a | of_depth(depth - 1);
      case 5: return a ^ of_depth(depth - 1);
      case 6: return ~a;
      case 7: return -a;
      case 8: return a << number(below(18));
      case 9:
      case 10: return a >> number(below(18));
      case 11: return floor_divide(a, number(1 + below(300)));
      case 12: return remainder(a, number(1 + below(300)));
      case 13: return clip(a, number(below(20)), number(100 + below(200)));
      default: return where(a > number(below(100)), of_depth(depth - 1), abs(a));
    }
  }

 private:
  int below(int n) { return static_cast<int>(random_.next() >> 33) % n; }
  Array number(int n) { return astype(Array(n), dtype_); }
  Array leaf() {
    if (below(3) == 0) return number(below(300) - (dtype_.is_signed() ? 150 : 0));
    return astype(leaves_[static_cast<std::size_t>(below(static_cast<int>(leaves_.size())))], dtype_);
  }
  Lcg random_;
  const DType dtype_;
  const std::vector<Array> leaves_;
};

}  // namespace

TEST_CASE("narrow integers: random expressions of converted numbers, converted to narrower types") {
  const CodeFrom code("baseline");
  Lcg random{5};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const auto one_of = [&](const std::vector<DType>& types) { return types[(random.next() >> 33) % types.size()]; };
    const DType wide = one_of(kWide), to = one_of(kNarrow), first = one_of(kNarrow), second = one_of(kNarrow);
    same([&](Xs x) { return astype(Expression(seed, wide, {x[0], x[1]}).of_depth(3), to); }, {numbers(first, 1), numbers(second, 2)}, 0);
  }
}

TEST_CASE("narrow integers: kernels of bytes have no wider numbers than they need") {
  const CodeFrom code("optimized");
  const Array r = numbers(uint8, 1), g = numbers(uint8, 2), b = numbers(uint8, 3);
  const auto wide = [](const Array& x) { return astype(x, int32); };
  const std::string luma =
      same([&](Xs x) { return astype(((66 * wide(x[0]) + 129 * wide(x[1]) + 25 * wide(x[2]) + 128) >> 8) + 16, uint8); }, {r, g, b}, 0);
  CHECK(!has(luma, "i32 mul"));
  CHECK(has(luma, "u16 mul"));
  const std::string chroma =
      same([&](Xs x) { return astype(((-38 * wide(x[0]) - 74 * wide(x[1]) + 112 * wide(x[2]) + 128) >> 8) + 128, uint8); }, {r, g, b}, 0);
  CHECK(!has(chroma, "i32 mul"));
  CHECK(has(chroma, "i16 shr_arithmetic"));
  // More than 16 bits, of which the high ones are read.
  CHECK(has(same([&](Xs x) { return astype((wide(x[0]) * wide(x[1]) * 300) >> 8, uint8); }, {r, g}, 0), "i32 mul"));
  // What is loaded as it is gains nothing.
  CHECK(has(same([&](Xs x) { return astype(x[0] * 3, uint8); }, {astype(numbers(int16, 1), int32)}, 0), "i32 mul"));
}

TEST_CASE("narrow integers: sums of widened bytes, of which the low bits are read") {
  const CodeFrom code("optimized");
  for (const DType t : {bool_, uint8, int8, int16}) {
    const Array x = reshape(numbers(t, 1)(slice(0, 1696)), {212, 8});
    for (const DType to : {uint8, int8, uint16, int16}) {
      CAPTURE(t.name());
      CAPTURE(to.name());
      for (const int axis : {0, 1}) {
        same([&](Xs v) { return astype(sum(astype(v[0], int32), axis), to); }, {x}, 0);
        // The sum is read as it is, too.
        same(
            [&](Xs v) {
              const Array s = sum(astype(v[0], int64), axis);
              return Arrays{astype(s, to), s};
            },
            {x}, 0);
      }
    }
  }
  const std::string bits = same([](Xs v) { return packbits(v[0]); }, {numbers(bool_, 1)}, 0);
  CHECK(!has(bits, "u32"));
}

TEST_CASE("bits and bytes in reverse order, by shifts and masks") {
  const CodeFrom code("optimized");
  for (const DType t : {uint16, int16, uint32, int32, uint64}) {
    CAPTURE(t.name());
    const int bits = 8 * t.itemsize();
    const Array x = astype(numbers(int16, 3), t) * astype(Array(40503), t) + astype(numbers(uint8, 5), t);
    const auto shifted = [&](const Array& v, int n) {
      const Array by = astype(Array(n < 0 ? -n : n), t);
      return n < 0 ? shift_right_logical(v, by) : v << by;
    };
    const auto swapped = [&](Array v, int from, int to) {
      for (int s = from; s <= to; s *= 2) {
        std::uint64_t mask = 0;
        for (int i = 0; i < bits; ++i)
          if ((i / s) % 2 == 0) mask |= std::uint64_t{1} << i;
        const Array low = astype(Array(mask), t);
        v = (shifted(v, -s) & low) | shifted(v & low, s);
      }
      return v;
    };
    same([&](Xs v) { return swapped(v[0], 1, bits / 2); }, {x}, 0);
    same([&](Xs v) { return swapped(v[0], 8, bits / 2); }, {x}, 0);
    same([&](Xs v) { return swapped(v[0], 1, 4); }, {x}, 0);
    same([&](Xs v) { return swapped(v[0], 2, bits / 2); }, {x}, 0);
    same([&](Xs v) { return shifted(v[0], 3) | shifted(v[0], 3 - bits); }, {x}, 0);
  }
}
