#include "weft/backends/cpu/interpreter/interpreted_operations.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

extern "C" void weft_library_lanes(int, int, int, std::uint64_t, const void*, const void*, void*);
extern "C" double weft_library_math(int, double, double);

namespace weft::detail::interpreted {
namespace {

template <class T>
T* at(char* m, int place) {
  return reinterpret_cast<T*>(m + place);
}
template <class T>
T get(const char* m, int place) {
  T v;
  std::memcpy(&v, m + place, sizeof v);
  return v;
}

template <class R, class T, class F>
void map1(const Op& o, char* m) {
  const T* a = at<T>(m, o.a);
  R* r = at<R>(m, o.out);
  for (int i = 0; i < o.lanes; ++i) r[i] = static_cast<R>(F()(a[i]));
}
template <class R, class T, class F>
void map2(const Op& o, char* m) {
  const T *a = at<T>(m, o.a), *b = at<T>(m, o.b);
  R* r = at<R>(m, o.out);
  for (int i = 0; i < o.lanes; ++i) r[i] = static_cast<R>(F()(a[i], b[i]));
}
template <class T, class F>
void map3(const Op& o, char* m) {
  const T *a = at<T>(m, o.a), *b = at<T>(m, o.b), *c = at<T>(m, o.c);
  T* r = at<T>(m, o.out);
  for (int i = 0; i < o.lanes; ++i) r[i] = F()(a[i], b[i], c[i]);
}

template <class T>
using Wide = std::conditional_t<sizeof(T) < 4, std::uint32_t, T>;
template <class T>
std::make_signed_t<T> with_sign(T v) {
  return static_cast<std::make_signed_t<T>>(v);
}

#define WEFT_OPERATION2(name, expression) \
  struct name {                           \
    template <class T>                    \
    auto operator()(T a, T b) const {     \
      return expression;                  \
    }                                     \
  };
#define WEFT_OPERATION1(name, expression) \
  struct name {                           \
    template <class T>                    \
    auto operator()(T a) const {          \
      return expression;                  \
    }                                     \
  };
// Unsigned integers.
WEFT_OPERATION2(Add, static_cast<T>(Wide<T>(a) + Wide<T>(b)))
WEFT_OPERATION2(Sub, static_cast<T>(Wide<T>(a) - Wide<T>(b)))
WEFT_OPERATION2(Mul, static_cast<T>(Wide<T>(a) * Wide<T>(b)))
WEFT_OPERATION2(UDiv, b == 0 ? T(0) : static_cast<T>(a / b))
WEFT_OPERATION2(URem, b == 0 ? a : static_cast<T>(a % b))
WEFT_OPERATION2(And, static_cast<T>(a& b))
WEFT_OPERATION2(Or, static_cast<T>(a | b))
WEFT_OPERATION2(Xor, static_cast<T>(a ^ b))
WEFT_OPERATION2(Shl, b >= 8 * sizeof(T) ? T(0) : static_cast<T>(Wide<T>(a) << b))
WEFT_OPERATION2(LShr, b >= 8 * sizeof(T) ? T(0) : static_cast<T>(a >> b))
WEFT_OPERATION2(AShr, static_cast<T>(with_sign(a) >> (b >= 8 * sizeof(T) ? 8 * sizeof(T) - 1 : b)))
WEFT_OPERATION2(Eq, a == b)
WEFT_OPERATION2(Ne, a != b)
WEFT_OPERATION2(ULt, a < b)
WEFT_OPERATION2(ULe, a <= b)
WEFT_OPERATION2(UGt, a > b)
WEFT_OPERATION2(UGe, a >= b)
WEFT_OPERATION2(SLt, with_sign(a) < with_sign(b))
WEFT_OPERATION2(SLe, with_sign(a) <= with_sign(b))
WEFT_OPERATION2(SGt, with_sign(a) > with_sign(b))
WEFT_OPERATION2(SGe, with_sign(a) >= with_sign(b))
WEFT_OPERATION2(UMin, a < b ? a : b)
WEFT_OPERATION2(UMax, a > b ? a : b)
WEFT_OPERATION2(SMin, with_sign(a) < with_sign(b) ? a : b)
WEFT_OPERATION2(SMax, with_sign(a) > with_sign(b) ? a : b)
WEFT_OPERATION1(Abs, with_sign(a) < 0 ? static_cast<T>(T(0) - a) : a)
WEFT_OPERATION1(LeadingZeros, static_cast<T>(std::countl_zero(a)))
WEFT_OPERATION1(Ones, static_cast<T>(std::popcount(a)))
// Floating-point numbers.
WEFT_OPERATION2(FAdd, a + b)
WEFT_OPERATION2(FSub, a - b)
WEFT_OPERATION2(FMul, a* b)
WEFT_OPERATION2(FDiv, a / b)
WEFT_OPERATION2(CopySign, std::copysign(a, b))
WEFT_OPERATION1(FNeg, -a)
WEFT_OPERATION1(FAbs, std::fabs(a))
WEFT_OPERATION1(Sqrt, std::sqrt(a))
WEFT_OPERATION1(Floor, std::floor(a))
WEFT_OPERATION1(Ceil, std::ceil(a))
WEFT_OPERATION1(Trunc, std::trunc(a))
WEFT_OPERATION1(RoundEven, std::nearbyint(a))
WEFT_OPERATION2(OLt, a < b)
WEFT_OPERATION2(OLe, a <= b)
WEFT_OPERATION2(OGt, a > b)
WEFT_OPERATION2(OGe, a >= b)
WEFT_OPERATION2(OEq, a == b)
WEFT_OPERATION2(ONe, a<b || a> b)
WEFT_OPERATION2(Ord, a == a && b == b)
WEFT_OPERATION2(Uno, a != a || b != b)
WEFT_OPERATION2(ULtF, !(a >= b))
WEFT_OPERATION2(ULeF, !(a > b))
WEFT_OPERATION2(UGtF, !(a <= b))
WEFT_OPERATION2(UGeF, !(a < b))
WEFT_OPERATION2(UEqF, !(a < b || a > b))
WEFT_OPERATION2(UNeF, a != b)
#undef WEFT_OPERATION1
#undef WEFT_OPERATION2
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
template <class R>
struct Saturate {
  template <class T>
  R operator()(T a) const {
    if (a != a) return 0;
    // The limits as this type has them: the upper one is rounded up, so that what is below it fits.
    const T low = static_cast<T>(std::numeric_limits<R>::min());
    const T high = std::ldexp(static_cast<T>(1), std::numeric_limits<R>::digits);
    return a < low ? std::numeric_limits<R>::min() : a >= high ? std::numeric_limits<R>::max() : static_cast<R>(a);
  }
};
template <class R>
struct Convert {
  template <class T>
  R operator()(T a) const {
    return static_cast<R>(a);
  }
};
struct LowBit {
  template <class T>
  std::uint8_t operator()(T a) const {
    return a & 1;
  }
};
template <class R>
struct SpreadBit {
  template <class T>
  R operator()(T a) const {
    return a ? static_cast<R>(-1) : R(0);
  }
};

template <class F>
Run floats1(llvm::Type* t) {
  return t->isFloatTy() ? map1<float, float, F> : t->isDoubleTy() ? map1<double, double, F> : nullptr;
}
template <class F>
Run floats2(llvm::Type* t) {
  return t->isFloatTy() ? map2<float, float, F> : t->isDoubleTy() ? map2<double, double, F> : nullptr;
}
template <class F>
Run truths2(llvm::Type* t) {
  return t->isFloatTy() ? map2<std::uint8_t, float, F> : t->isDoubleTy() ? map2<std::uint8_t, double, F> : nullptr;
}
bool is_mask(const llvm::Type* t) { return t->isIntegerTy(2) || t->isIntegerTy(4); }
int bits_of(llvm::Type* t) { return t->isPointerTy() ? 64 : t->isIntegerTy() ? static_cast<int>(t->getIntegerBitWidth()) : 0; }
template <class F>
Run integers1(llvm::Type* t) {
  switch (bits_of(t)) {
    case 8: return map1<std::uint8_t, std::uint8_t, F>;
    case 16: return map1<std::uint16_t, std::uint16_t, F>;
    case 32: return map1<std::uint32_t, std::uint32_t, F>;
    case 64: return map1<std::uint64_t, std::uint64_t, F>;
    default: return nullptr;
  }
}
template <class F>
Run integers2(llvm::Type* t) {
  switch (bits_of(t)) {
    case 8: return map2<std::uint8_t, std::uint8_t, F>;
    case 16: return map2<std::uint16_t, std::uint16_t, F>;
    case 32: return map2<std::uint32_t, std::uint32_t, F>;
    case 64: return map2<std::uint64_t, std::uint64_t, F>;
    default: return nullptr;
  }
}
template <class F>
Run integer_truths2(llvm::Type* t, bool with_bits = false) {
  switch (bits_of(t)) {
    case 1: return with_bits ? map2<std::uint8_t, std::uint8_t, F> : nullptr;
    case 8: return map2<std::uint8_t, std::uint8_t, F>;
    case 16: return map2<std::uint8_t, std::uint16_t, F>;
    case 32: return map2<std::uint8_t, std::uint32_t, F>;
    case 64: return map2<std::uint8_t, std::uint64_t, F>;
    default: return nullptr;
  }
}
/// `f` is called with a value of the type.
template <bool is_signed, class F>
Run with_integer(llvm::Type* t, F f) {
  switch (bits_of(t)) {
    case 8: return f(std::conditional_t<is_signed, std::int8_t, std::uint8_t>());
    case 16: return f(std::conditional_t<is_signed, std::int16_t, std::uint16_t>());
    case 32: return f(std::conditional_t<is_signed, std::int32_t, std::uint32_t>());
    case 64: return f(std::conditional_t<is_signed, std::int64_t, std::uint64_t>());
    default: return nullptr;
  }
}
template <class F>
Run with_float(llvm::Type* t, F f) {
  return t->isFloatTy() ? f(float()) : t->isDoubleTy() ? f(double()) : nullptr;
}

template <bool is_signed>
Run cast_integer(llvm::Type* from, llvm::Type* to) {
  return with_integer<is_signed>(from, [&](auto f) {
    return with_integer<is_signed>(to, [](auto t) -> Run { return map1<decltype(t), decltype(f), Convert<decltype(t)>>; });
  });
}
template <bool is_signed>
Run integer_to_float(llvm::Type* from, llvm::Type* to) {
  if (bits_of(from) == 1)
    return with_float(to, [](auto t) -> Run {
      if constexpr (is_signed)
        return nullptr;
      else
        return map1<decltype(t), std::uint8_t, Convert<decltype(t)>>;
    });
  return with_integer<is_signed>(
      from, [&](auto f) { return with_float(to, [](auto t) -> Run { return map1<decltype(t), decltype(f), Convert<decltype(t)>>; }); });
}
template <bool is_signed>
Run saturate(llvm::Type* from, llvm::Type* to) {
  return with_integer<is_signed>(
      to, [&](auto t) { return with_float(from, [](auto f) -> Run { return map1<decltype(t), decltype(f), Saturate<decltype(t)>>; }); });
}

template <int bytes>
void select_elements(const Op& o, char* m) {
  for (int i = 0; i < o.lanes; ++i) std::memcpy(m + o.out + i * bytes, m + (m[o.a + i] ? o.b : o.c) + i * bytes, bytes);
}
template <int bytes>
void shuffle_elements(const Op& o, char* m) {
  for (int i = 0; i < o.lanes; ++i) std::memcpy(m + o.out + i * bytes, m + o.table[i], bytes);
}
template <bool one, int bytes>
void load_masked(const Op& o, char* m) {
  for (int i = 0; i < o.lanes; ++i) {
    const char* from = m + o.c + i * bytes;
    if (m[o.b + i]) from = one ? get<const char*>(m, o.a) + i * bytes : get<const char*>(m, o.a + 8 * i);
    std::memcpy(m + o.out + i * bytes, from, bytes);
  }
}
template <bool one, int bytes>
void store_masked(const Op& o, char* m) {
  for (int i = 0; i < o.lanes; ++i)
    if (m[o.c + i]) std::memcpy(one ? get<char*>(m, o.b) + i * bytes : get<char*>(m, o.b + 8 * i), m + o.a + i * bytes, bytes);
}
template <class Index, bool pointers, bool indices>
void add_index(const Op& o, char* m) {
  const Index* index = at<Index>(m, o.b);
  // Unsigned arithmetic, since addresses that a condition keeps from being read may be invalid.
  const std::uint64_t *pointer = at<std::uint64_t>(m, o.a), stride = static_cast<std::uint64_t>(o.number);
  std::uint64_t* r = at<std::uint64_t>(m, o.out);
  for (int i = 0; i < o.lanes; ++i)
    r[i] = pointer[pointers ? i : 0] + static_cast<std::uint64_t>(static_cast<std::int64_t>(index[indices ? i : 0])) * stride;
}

void call_lanes(const Op& o, char* m) {
  const int* p = o.table;
  weft_library_lanes(get<std::int32_t>(m, p[0]), get<std::int32_t>(m, p[1]), get<std::int32_t>(m, p[2]), get<std::uint64_t>(m, p[3]),
                     get<const void*>(m, p[4]), get<const void*>(m, p[5]), get<void*>(m, p[6]));
}
void call_math(const Op& o, char* m) {
  const int* p = o.table;
  *at<double>(m, o.out) = weft_library_math(get<std::int32_t>(m, p[0]), get<double>(m, p[1]), get<double>(m, p[2]));
}

#if defined(__x86_64__)
#define WEFT_WIDE __attribute__((target("avx512f,avx512dq")))
// As sixteen_lanes.cpp has them. GCC 12 takes the forms without a mask for uses of what was never set.
constexpr __mmask16 kAll = 0xffff;
WEFT_WIDE void least_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_min_ps(kAll, _mm512_load_ps(m + o.a), _mm512_load_ps(m + o.b)));
}
WEFT_WIDE void greatest_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_max_ps(kAll, _mm512_load_ps(m + o.a), _mm512_load_ps(m + o.b)));
}
WEFT_WIDE void lookup_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_permutexvar_ps(kAll, _mm512_load_si512(m + o.b), _mm512_load_ps(m + o.a)));
}
WEFT_WIDE void scale_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_scalef_ps(kAll, _mm512_load_ps(m + o.a), _mm512_load_ps(m + o.b)));
}
WEFT_WIDE void exponent_512(const Op& o, char* m) { _mm512_store_ps(m + o.out, _mm512_maskz_getexp_ps(kAll, _mm512_load_ps(m + o.a))); }
template <int interval, int sign>
WEFT_WIDE void mantissa_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_getmant_ps(kAll, _mm512_load_ps(m + o.a), static_cast<_MM_MANTISSA_NORM_ENUM>(interval),
                                                     static_cast<_MM_MANTISSA_SIGN_ENUM>(sign)));
}
template <int how>
WEFT_WIDE void range_512(const Op& o, char* m) {
  _mm512_store_ps(m + o.out, _mm512_maskz_range_ps(kAll, _mm512_load_ps(m + o.a), _mm512_load_ps(m + o.b), how));
}
template <int how>
WEFT_WIDE void range_of_doubles(const Op& o, char* m) {
  constexpr __mmask8 all = 0xff;
  _mm512_store_pd(m + o.out, _mm512_maskz_range_pd(all, _mm512_load_pd(m + o.a), _mm512_load_pd(m + o.b), how));
}
#undef WEFT_WIDE

template <class Word>
void upper_halves(const Op& o, char* m) {
  using Wide = std::conditional_t<std::is_signed_v<Word>, std::int32_t, std::uint32_t>;
  const Word *a = at<Word>(m, o.a), *b = at<Word>(m, o.b);
  Word* r = at<Word>(m, o.out);
  for (int i = 0; i < o.lanes; ++i) r[i] = static_cast<Word>(Wide{a[i]} * Wide{b[i]} >> 16);
}

/// The instructions that sixteen_lanes.cpp and vector_builder.cpp name, for all lanes and with the usual rounding.
Run wide_instruction(const llvm::CallInst& c) {
  const auto number = [&](unsigned k) {
    const auto* v = llvm::dyn_cast<llvm::ConstantInt>(c.getArgOperand(k));
    return v ? v->getSExtValue() : std::int64_t{-99};
  };
  const auto usual = [&](unsigned mask, unsigned rounding) { return number(mask) == -1 && number(rounding) == 4; };
  switch (c.getIntrinsicID()) {
    case llvm::Intrinsic::x86_avx512_min_ps_512: return number(2) == 4 ? least_512 : nullptr;
    case llvm::Intrinsic::x86_avx512_max_ps_512: return number(2) == 4 ? greatest_512 : nullptr;
    case llvm::Intrinsic::x86_sse2_pmulh_w:
    case llvm::Intrinsic::x86_avx2_pmulh_w:
    case llvm::Intrinsic::x86_avx512_pmulh_w_512: return upper_halves<std::int16_t>;
    case llvm::Intrinsic::x86_sse2_pmulhu_w:
    case llvm::Intrinsic::x86_avx2_pmulhu_w:
    case llvm::Intrinsic::x86_avx512_pmulhu_w_512: return upper_halves<std::uint16_t>;
    case llvm::Intrinsic::x86_avx512_permvar_sf_512: return lookup_512;
    case llvm::Intrinsic::x86_avx512_mask_scalef_ps_512: return usual(3, 4) ? scale_512 : nullptr;
    case llvm::Intrinsic::x86_avx512_mask_getexp_ps_512: return usual(2, 3) ? exponent_512 : nullptr;
    case llvm::Intrinsic::x86_avx512_mask_getmant_ps_512: return usual(3, 4) && number(1) == 8 ? mantissa_512<0, 2> : nullptr;
    case llvm::Intrinsic::x86_avx512_mask_range_ps_512:
      if (!usual(4, 5)) return nullptr;
      switch (number(2)) {
        case 0: return range_512<0>;
        case 2: return range_512<2>;
        case 4: return range_512<4>;
        case 5: return range_512<5>;
        case 6: return range_512<6>;
        default: return nullptr;
      }
    case llvm::Intrinsic::x86_avx512_mask_range_pd_512:
      if (!usual(4, 5)) return nullptr;
      return number(2) == 4 ? range_of_doubles<4> : number(2) == 5 ? range_of_doubles<5> : nullptr;
    default: return nullptr;
  }
}
#else
Run wide_instruction(const llvm::CallInst&) { return nullptr; }
#endif

}  // namespace

bool is_bool_or_mask(const llvm::Type* t) { return t->isIntegerTy(1) || is_mask(t); }

Run binary(llvm::Instruction::BinaryOps op, llvm::Type* t) {
  using I = llvm::Instruction;
  const bool truth = t->isIntegerTy(1);
  const auto bitwise = [&]<class F>(F) -> Run { return truth ? map2<std::uint8_t, std::uint8_t, F> : integers2<F>(t); };
  switch (op) {
    case I::Add: return integers2<Add>(t);
    case I::Sub: return integers2<Sub>(t);
    case I::Mul: return integers2<Mul>(t);
    case I::UDiv: return integers2<UDiv>(t);
    case I::URem: return integers2<URem>(t);
    case I::And: return bitwise(And());
    case I::Or: return bitwise(Or());
    case I::Xor: return bitwise(Xor());
    case I::Shl: return integers2<Shl>(t);
    case I::LShr: return integers2<LShr>(t);
    case I::AShr: return integers2<AShr>(t);
    case I::FAdd: return floats2<FAdd>(t);
    case I::FSub: return floats2<FSub>(t);
    case I::FMul: return floats2<FMul>(t);
    case I::FDiv: return floats2<FDiv>(t);
    default: return nullptr;  // quotients with signs and remainders of floating-point numbers are rare
  }
}
Run negate(llvm::Type* t) { return floats1<FNeg>(t); }

Run compare(llvm::CmpInst::Predicate p, llvm::Type* t) {
  using C = llvm::CmpInst;
  switch (p) {
    case C::ICMP_EQ: return is_mask(t) ? map2<std::uint8_t, std::uint8_t, Eq> : integer_truths2<Eq>(t, true);
    case C::ICMP_NE: return is_mask(t) ? map2<std::uint8_t, std::uint8_t, Ne> : integer_truths2<Ne>(t, true);
    case C::ICMP_ULT: return integer_truths2<ULt>(t, true);
    case C::ICMP_ULE: return integer_truths2<ULe>(t, true);
    case C::ICMP_UGT: return integer_truths2<UGt>(t, true);
    case C::ICMP_UGE: return integer_truths2<UGe>(t, true);
    case C::ICMP_SLT: return integer_truths2<SLt>(t);
    case C::ICMP_SLE: return integer_truths2<SLe>(t);
    case C::ICMP_SGT: return integer_truths2<SGt>(t);
    case C::ICMP_SGE: return integer_truths2<SGe>(t);
    case C::FCMP_OEQ: return truths2<OEq>(t);
    case C::FCMP_ONE: return truths2<ONe>(t);
    case C::FCMP_OLT: return truths2<OLt>(t);
    case C::FCMP_OLE: return truths2<OLe>(t);
    case C::FCMP_OGT: return truths2<OGt>(t);
    case C::FCMP_OGE: return truths2<OGe>(t);
    case C::FCMP_ORD: return truths2<Ord>(t);
    case C::FCMP_UNO: return truths2<Uno>(t);
    case C::FCMP_ULT: return truths2<ULtF>(t);
    case C::FCMP_ULE: return truths2<ULeF>(t);
    case C::FCMP_UGT: return truths2<UGtF>(t);
    case C::FCMP_UGE: return truths2<UGeF>(t);
    case C::FCMP_UEQ: return truths2<UEqF>(t);
    case C::FCMP_UNE: return truths2<UNeF>(t);
    default: return nullptr;
  }
}

Run cast(llvm::Instruction::CastOps op, llvm::Type* from, llvm::Type* to) {
  using I = llvm::Instruction;
  switch (op) {
    case I::Trunc:
      if (to->isIntegerTy(1)) return with_integer<false>(from, [](auto f) -> Run { return map1<std::uint8_t, decltype(f), LowBit>; });
      return cast_integer<false>(from, to);
    case I::ZExt:
      if (is_bool_or_mask(from))
        return with_integer<false>(to, [](auto t) -> Run { return map1<decltype(t), std::uint8_t, Convert<decltype(t)>>; });
      return cast_integer<false>(from, to);
    case I::SExt:
      if (from->isIntegerTy(1))
        return with_integer<false>(to, [](auto t) -> Run { return map1<decltype(t), std::uint8_t, SpreadBit<decltype(t)>>; });
      return cast_integer<true>(from, to);
    case I::SIToFP: return integer_to_float<true>(from, to);
    case I::UIToFP: return integer_to_float<false>(from, to);
    case I::FPToSI: return saturate<true>(from, to);
    case I::FPToUI: return saturate<false>(from, to);
    case I::FPTrunc: return from->isDoubleTy() && to->isFloatTy() ? map1<float, double, Convert<float>> : nullptr;
    case I::FPExt: return from->isFloatTy() && to->isDoubleTy() ? map1<double, float, Convert<double>> : nullptr;
    default: return nullptr;  // what doesn't fit is the machine's affair
  }
}

Run select(int bytes) {
  return bytes == 1 ? select_elements<1> : bytes == 2 ? select_elements<2> : bytes == 4 ? select_elements<4> : select_elements<8>;
}

Run shuffle(int bytes) {
  return bytes == 1 ? shuffle_elements<1> : bytes == 2 ? shuffle_elements<2> : bytes == 4 ? shuffle_elements<4> : shuffle_elements<8>;
}

Run intrinsic(const llvm::CallInst& call, llvm::Type* t) {
  namespace id = llvm::Intrinsic;
  switch (call.getIntrinsicID()) {
    case id::fma: return t->isFloatTy() ? map3<float, Fma> : t->isDoubleTy() ? map3<double, Fma> : nullptr;
    case id::fabs: return floats1<FAbs>(t);
    case id::sqrt: return floats1<Sqrt>(t);
    case id::floor: return floats1<Floor>(t);
    case id::ceil: return floats1<Ceil>(t);
    case id::trunc: return floats1<Trunc>(t);
    case id::roundeven: return floats1<RoundEven>(t);
    case id::copysign: return floats2<CopySign>(t);
    case id::smin: return integers2<SMin>(t);
    case id::smax: return integers2<SMax>(t);
    case id::umin: return integers2<UMin>(t);
    case id::umax: return integers2<UMax>(t);
    case id::abs: return integers1<Abs>(t);
    case id::ctlz: return integers1<LeadingZeros>(t);
    case id::ctpop: return integers1<Ones>(t);
    case id::fptosi_sat: return saturate<true>(call.getArgOperand(0)->getType()->getScalarType(), t);
    case id::fptoui_sat: return saturate<false>(call.getArgOperand(0)->getType()->getScalarType(), t);
    default: return wide_instruction(call);
  }
}

Run library(llvm::StringRef name) { return name == "weft_library_lanes" ? call_lanes : name == "weft_library_math" ? call_math : nullptr; }

Run address(int index_bits, bool pointers, bool indices) {
  if (index_bits == 32)
    return pointers ? (indices ? add_index<std::int32_t, true, true> : add_index<std::int32_t, true, false>)
                    : (indices ? add_index<std::int32_t, false, true> : add_index<std::int32_t, false, false>);
  return pointers ? (indices ? add_index<std::int64_t, true, true> : add_index<std::int64_t, true, false>)
                  : (indices ? add_index<std::int64_t, false, true> : add_index<std::int64_t, false, false>);
}

Run masked_load(bool one, int bytes) {
  switch (bytes) {
    case 1: return one ? load_masked<true, 1> : load_masked<false, 1>;
    case 2: return one ? load_masked<true, 2> : load_masked<false, 2>;
    case 4: return one ? load_masked<true, 4> : load_masked<false, 4>;
    default: return one ? load_masked<true, 8> : load_masked<false, 8>;
  }
}
Run masked_store(bool one, int bytes) {
  switch (bytes) {
    case 1: return one ? store_masked<true, 1> : store_masked<false, 1>;
    case 2: return one ? store_masked<true, 2> : store_masked<false, 2>;
    case 4: return one ? store_masked<true, 4> : store_masked<false, 4>;
    default: return one ? store_masked<true, 8> : store_masked<false, 8>;
  }
}

void copy(const Op& o, char* m) { std::memcpy(m + o.out, m + o.a, static_cast<std::size_t>(o.number)); }
void select_whole(const Op& o, char* m) { std::memcpy(m + o.out, m + (m[o.a] ? o.b : o.c), static_cast<std::size_t>(o.number)); }
void load(const Op& o, char* m) { std::memcpy(m + o.out, get<const char*>(m, o.a), static_cast<std::size_t>(o.number)); }
void store(const Op& o, char* m) { std::memcpy(get<char*>(m, o.b), m + o.a, static_cast<std::size_t>(o.number)); }
void address_of(const Op& o, char* m) { *at<std::int64_t>(m, o.out) = reinterpret_cast<std::int64_t>(m + o.number); }
void offset(const Op& o, char* m) { *at<std::int64_t>(m, o.out) = get<std::int64_t>(m, o.a) + o.number; }
void extract(const Op& o, char* m) { std::memcpy(m + o.out, m + o.a + o.c, static_cast<std::size_t>(o.number)); }
void insert(const Op& o, char* m) {
  std::memcpy(m + o.out, m + o.a, static_cast<std::size_t>(o.lanes));
  std::memcpy(m + o.out + o.c, m + o.b, static_cast<std::size_t>(o.number));
}
void pack_bits(const Op& o, char* m) {
  std::uint64_t bits = 0;
  for (int i = 0; i < o.lanes; ++i) bits |= static_cast<std::uint64_t>(m[o.a + i] != 0) << i;
  std::memcpy(m + o.out, &bits, static_cast<std::size_t>(o.number));
}

}  // namespace weft::detail::interpreted
