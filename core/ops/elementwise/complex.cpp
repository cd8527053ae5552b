// Complex numbers and their parts. The rules treat a complex array as JAX does: tangents of real parts pull back without conjugation.
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

Array zero_of_parts(const Array& x) { return make_literal(Number(0), x.dtype().real_part(), x.aval().weak); }

struct Real : LinearUnary<Real> {
  static constexpr std::string_view name = "real", doc = "The real part.";
  static constexpr unsigned dtypes = kComplex;
  static constexpr unsigned values = kExact;
  static constexpr DType result(DType t) { return t.real_part(); }
  static double ref(std::complex<double> z) { return z.real(); }
  static Array pull(const Array& ct, const Aval&) { return weft::complex(ct, zero_of_parts(ct)); }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V z) { return b.real(z); }
};
struct Imag : LinearUnary<Imag> {
  static constexpr std::string_view name = "imag", doc = "The imaginary part.";
  static constexpr unsigned dtypes = kComplex;
  static constexpr unsigned values = kExact;
  static constexpr DType result(DType t) { return t.real_part(); }
  static double ref(std::complex<double> z) { return z.imag(); }
  static Array pull(const Array& ct, const Aval&) { return weft::complex(zero_of_parts(ct), -ct); }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V z) { return b.imag(z); }
};

DType complex_of(DType part) { return part == float64 ? complex128 : complex64; }

/// Linear in both parts at once.
struct Complex : Binary<Complex> {
  static constexpr std::string_view name = "complex", doc = "A complex number of its real and its imaginary part.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact | kReadsSpecials;
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c, 2, dtypes);
    if (c.in[0].dtype.itemsize() < 4)
      c.fail<DTypeError>("has no type with parts of " + std::string(c.in[0].dtype.name()), "the parts are float32 or float64");
    return elementwise_aval(c, complex_of(c.in[0].dtype));
  }
  static std::complex<double> ref(double re, double im) { return {re, im}; }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Tangent &t = c.tangents[0], &u = c.tangents[1];
    if (!t && !u) return {std::nullopt};
    const Array tangent = weft::complex(t ? *t : zero_of_parts(*u), u ? *u : zero_of_parts(*t));
    return {broadcast_tangent(tangent, c.out[0], c.loc)};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out(2);
    if (!c.cotangents[0]) return out;
    const Array& ct = *c.cotangents[0];
    if (c.in[0].is_linear()) out[0] = unbroadcast(weft::real(ct), c.in[0].aval, c.loc);
    if (c.in[1].is_linear()) out[1] = unbroadcast(weft::imag(-ct), c.in[1].aval, c.loc);
    return out;
  }
  static V kernel(KernelBuilder& b, V re, V im) { return b.complex(re, im); }
};

struct ConjParams {
  DType input_dtype = complex64;
  friend bool operator==(const ConjParams&, const ConjParams&) = default;
};
/// A real operand gives a complex result: the transpose of that is the real part.
struct Conj : LinearUnary<Conj> {
  static constexpr std::string_view name = "conj", doc = "The complex conjugate.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr unsigned values = kExact;
  using Params = ConjParams;
  static Params sample(DType t) { return {.input_dtype = t}; }
  static Aval abstract_eval(const OpContext& c) {
    check_operands(c, 1, dtypes);
    const DType t = c.in[0].dtype;
    if (!t.is_complex() && t.itemsize() < 4)
      c.fail<DTypeError>("has no complex type with parts of " + std::string(t.name()), "convert it to float32");
    return elementwise_aval(c, t.is_complex() ? t : complex_of(t));
  }
  template <class T>
  static std::complex<double> ref(T z) {
    return std::conj(std::complex<double>(z));
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt};
    const Array& ct = *c.cotangents[0];
    return {c.in[0].aval.dtype.is_complex() ? weft::conj(ct) : weft::real(ct)};
  }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V z) {
    if (!z.dtype.is_complex()) return b.complex(z, b.neg(b.constant(z.dtype, 0)));
    return b.complex(b.real(z), b.neg(b.imag(z)));
  }
};

constexpr ParamValue kConjIgnored[] = {{"input_dtype", ""}};
const TextRule<Conj> conj_text([] { return TextTraits{.ignored = kConjIgnored}; });

}  // namespace

std::vector<ElementwiseInfo> complex_infos() { return elementwise_info_list<Complex, Conj, Imag, Real>(); }

}  // namespace detail

using namespace detail;

Array real(Arg x) { return x.aval().dtype.is_complex() ? bind_one<Real>({}, {x.array()}, x.where()) : x.array(); }
Array imag(Arg x) {
  if (x.aval().dtype.is_complex()) return bind_one<Imag>({}, {x.array()}, x.where());
  const LocScope scope(x.where());
  return zeros_of({x.aval().shape, x.aval().dtype, x.aval().weak}, x.where());
}
Array conj(Arg x) {
  if (!x.aval().dtype.is_complex()) return x.array();
  return bind_one<Conj>({.input_dtype = x.aval().dtype}, {x.array()}, x.where());
}
Array complex(Arg re, Arg im) { return binary_inexact<Complex>(re, im); }

}  // namespace weft
