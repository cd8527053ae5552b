#include "weft/runtime/host/reduce.h"

#include <algorithm>
#include <bit>

#include "weft/core/array/half.h"
#include "weft/core/base/extrema.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kBlock = 512;  // elements that are reduced in the first-level cache
constexpr std::int64_t kUnit = 16;
constexpr int kMaxDepth = 24;

int middle(int begin, int end) { return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1))); }

void add_balanced(int begin, int end, std::vector<int>& program) {
  if (end - begin == 1) return program.push_back(begin);
  const int mid = middle(begin, end);
  add_balanced(begin, mid, program);
  add_balanced(mid, end, program);
  program.push_back(ReductionOrder::kMerge);
}

void add_split(std::span<const int> owners, int begin, int end, SplitReduction& out) {
  bool one_owner = true;
  for (int i = begin; i < end; ++i) one_owner &= owners[static_cast<std::size_t>(i)] == owners[static_cast<std::size_t>(begin)];
  if (one_owner) {
    out.order.program.push_back(static_cast<int>(out.parts.size()));
    out.parts.push_back({owners[static_cast<std::size_t>(begin)], begin, end});
    return;
  }
  const int mid = middle(begin, end);
  add_split(owners, begin, mid, out);
  add_split(owners, mid, end, out);
  out.order.program.push_back(ReductionOrder::kMerge);
}

struct Sum {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_same_v<T, bool>)
      return a || b;
    else
      return static_cast<T>(a + b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return larger(a, b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return smaller(a, b);
  }
};

/// f(i) for i in [0, n), in pieces of a fixed length, which the compiler turns into vector code.
template <class F>
inline void each(std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kUnit <= n; i += kUnit)
    for (std::int64_t k = 0; k < kUnit; ++k) f(i + k);
  for (; i < n; ++i) f(i);
}

template <class A, class Op>
void reduce_pairs(const A* __restrict a, const A* __restrict b, A* __restrict out, std::int64_t n, Op op) {
  std::int64_t i = 0;
  for (; i + kUnit <= n; i += kUnit)
    for (std::int64_t k = 0; k < kUnit; ++k) out[i + k] = op(a[i + k], b[i + k]);
  for (; i < n; ++i) out[i] = op(a[i], b[i]);
}

/// Arithmetic in A.
template <class From, class A, class To, class Op>
void reduce_in_order(const ArrayReduction& r, std::int64_t begin, std::int64_t end, Op op) {
  alignas(64) A stack[kMaxDepth][kBlock];
  const std::span<const void* const> sources = r.sources;
  void* const target = r.target;
  const std::vector<int>& program = r.order.program;
  if constexpr (std::is_same_v<From, A> && std::is_same_v<A, To>) {
    if (program.size() == 3) {  // two operands
      const auto operand = [&](int i) {
        return static_cast<const A*>(sources[static_cast<std::size_t>(program[static_cast<std::size_t>(i)])]) + begin;
      };
      return reduce_pairs(operand(0), operand(1), static_cast<A*>(target) + begin, end - begin, op);
    }
  }
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t n = std::min(kBlock, end - at);
    int top = -1;
    for (std::size_t p = 0; p < program.size(); ++p) {
      if (program[p] == ReductionOrder::kMerge) {
        A* __restrict a = stack[top - 1];
        const A* __restrict b = stack[top];
        each(n, [=](std::int64_t i) { a[i] = op(a[i], b[i]); });
        --top;
        continue;
      }
      const From* __restrict next = static_cast<const From*>(sources[static_cast<std::size_t>(program[p])]) + at;
      if (p + 1 < program.size() && program[p + 1] == ReductionOrder::kMerge) {  // a leaf on the right
        A* __restrict a = stack[top];
        each(n, [=](std::int64_t i) { a[i] = op(a[i], static_cast<A>(next[i])); });
        ++p;
        continue;
      }
      A* __restrict a = stack[++top];
      each(n, [=](std::int64_t i) { a[i] = static_cast<A>(next[i]); });
    }
    To* __restrict out = static_cast<To*>(target) + at;
    const A* __restrict a = stack[0];
    each(n, [=](std::int64_t i) { out[i] = static_cast<To>(a[i]); });
  }
}

template <class Half, class Op>
void reduce_half(const ArrayReduction& r, std::int64_t begin, std::int64_t end, Op op) {
  const bool from_float = r.source_dtype == float32, to_float = r.target_dtype == float32;
  if (from_float && to_float) return reduce_in_order<float, float, float>(r, begin, end, op);
  if (from_float) return reduce_in_order<float, float, Half>(r, begin, end, op);
  if (to_float) return reduce_in_order<Half, float, float>(r, begin, end, op);
  reduce_in_order<Half, float, Half>(r, begin, end, op);
}

/// f(T{}) for the C++ type of a dtype that is not complex.
template <class F>
auto with_type(DType dtype, F as) {
  switch (dtype.id()) {
    case 0: return as(false);
    case 1: return as(std::int8_t{});
    case 2: return as(std::int16_t{});
    case 3: return as(std::int32_t{});
    case 4: return as(std::int64_t{});
    case 5: return as(std::uint8_t{});
    case 6: return as(std::uint16_t{});
    case 7: return as(std::uint32_t{});
    case 8: return as(std::uint64_t{});
    case 9: return as(Float16{});
    case 10: return as(BFloat16{});
    case 11: return as(0.f);
    case 12: return as(0.0);
    default: throw DTypeError("collective: a complex dtype has no order");
  }
}

template <class T>
constexpr bool is_half = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// `as`: the dtype that the elements are computed in, of the operands' size.
template <class Op>
void reduce_real(DType as, const ArrayReduction& r, std::int64_t begin, std::int64_t end, Op op) {
  with_type(as, [&]<class T>(T) {
    if constexpr (is_half<T>)
      reduce_half<T>(r, begin, end, op);
    else
      reduce_in_order<T, T, T>(r, begin, end, op);
  });
}

template <class Op>
CombineTwo combine_two_real(DType dtype) {
  return with_type(dtype, []<class T>(T) -> CombineTwo {
    if constexpr (is_half<T>)
      return nullptr;
    else
      return [](const void* a, const void* b, void* out, std::int64_t n) {
        reduce_pairs(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), n, Op());
      };
  });
}

/// A signed sum is one of the bits.
DType summed_as(DType dtype) { return dtype.is_signed() ? DType(dtype.id() + 4) : dtype; }

}  // namespace

ReductionOrder balanced_order(int n) {
  ReductionOrder order;
  add_balanced(0, n, order.program);
  return order;
}

SplitReduction split_reduction(std::span<const int> owners) {
  SplitReduction out;
  add_split(owners, 0, static_cast<int>(owners.size()), out);
  return out;
}

DType partial_dtype(DType dtype) { return dtype == float16 || dtype == bfloat16 ? float32 : dtype; }

void ArrayReduction::run(std::int64_t begin, std::int64_t end) const {
  if (combiner == Combiner::max) return reduce_real(dtype, *this, begin, end, Max());
  if (combiner == Combiner::min) return reduce_real(dtype, *this, begin, end, Min());
  // A complex sum is one of the parts.
  if (dtype.is_complex()) return reduce_real(dtype.real_part(), *this, 2 * begin, 2 * end, Sum());
  reduce_real(summed_as(dtype), *this, begin, end, Sum());
}

CombineTwo combine_two(Combiner what, DType dtype) {
  if (what == Combiner::max) return combine_two_real<Max>(dtype);
  if (what == Combiner::min) return combine_two_real<Min>(dtype);
  if (dtype == complex64)
    return [](const void* a, const void* b, void* out, std::int64_t n) {
      reduce_pairs(static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(out), 2 * n, Sum());
    };
  if (dtype == complex128)
    return [](const void* a, const void* b, void* out, std::int64_t n) {
      reduce_pairs(static_cast<const double*>(a), static_cast<const double*>(b), static_cast<double*>(out), 2 * n, Sum());
    };
  return combine_two_real<Sum>(summed_as(dtype));
}

}  // namespace weft::detail
