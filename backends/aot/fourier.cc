// Fourier transforms along any axes, computed in double. Inverse ones are the conjugates of the transforms of conjugates.
#include <cstring>

#include "weft/aot.h"
#include "weft/backends/aot/plans.h"
#include "weft/backends/aot/routines.h"
#include "weft/core/ops/linalg/fourier_plan.h"

namespace {

using weft::aot::Axis;
using weft::aot::TransformPlan;
using weft::detail::CBlock;
using weft::detail::FourierPlan;
using Complex = std::complex<double>;

template <class T>
struct Number {
  T real, imag;
};

/// A complex axis of `x`, in place.
template <class T>
bool transform(Number<T>* x, const Axis& a, bool inverse) {
  FourierPlan plan(a.n);
  CBlock<Complex> line(a.n);
  if (!plan.ready() || !line) return false;
  for (std::int64_t o = 0; o < a.outer; ++o)
    for (std::int64_t i = 0; i < a.inner; ++i) {
      Number<T>* const at = x + o * a.n * a.inner + i;
      for (std::int64_t k = 0; k < a.n; ++k) {
        const Number<T> v = at[k * a.inner];
        line[k] = {static_cast<double>(v.real), static_cast<double>(inverse ? -v.imag : v.imag)};
      }
      plan.run(line.data());
      for (std::int64_t k = 0; k < a.n; ++k) {
        const Complex v = line[k];
        at[k * a.inner] = {static_cast<T>(v.real()), static_cast<T>(inverse ? -v.imag() : v.imag())};
      }
    }
  return true;
}

/// The half spectrum of real lines.
template <class T>
bool from_real(const T* in, Number<T>* out, const Axis& a) {
  FourierPlan plan(a.n);
  CBlock<Complex> line(a.n);
  if (!plan.ready() || !line) return false;
  const std::int64_t half = a.n / 2 + 1;
  for (std::int64_t o = 0; o < a.outer; ++o) {
    for (std::int64_t k = 0; k < a.n; ++k) line[k] = {static_cast<double>(in[o * a.n + k]), 0.};
    plan.run(line.data());
    for (std::int64_t k = 0; k < half; ++k) out[o * half + k] = {static_cast<T>(line[k].real()), static_cast<T>(line[k].imag())};
  }
  return true;
}

/// Real lines of half spectra. Of what has no mirror image only the real part counts.
template <class T>
bool to_real(const Number<T>* in, T* out, const Axis& a, double scale) {
  FourierPlan plan(a.n);
  CBlock<Complex> line(a.n);
  if (!plan.ready() || !line) return false;
  const std::int64_t half = a.n / 2 + 1;
  for (std::int64_t o = 0; o < a.outer; ++o) {
    for (std::int64_t k = 0; k < half; ++k) {
      const Number<T> v = in[o * half + k];
      const bool alone = k == 0 || 2 * k == a.n;
      const Complex c(static_cast<double>(v.real), alone ? 0. : static_cast<double>(v.imag));
      line[k] = std::conj(c);
      if (!alone) line[a.n - k] = c;
    }
    plan.run(line.data());
    for (std::int64_t k = 0; k < a.n; ++k) out[o * a.n + k] = static_cast<T>(line[k].real() * scale);
  }
  return true;
}

template <class T>
bool run(const TransformPlan& plan, const void* given, void* result) {
  const auto* const axes = reinterpret_cast<const Axis*>(&plan + 1);
  const bool inverse = plan.kind == TransformPlan::inverse || plan.kind == TransformPlan::to_real;
  if (plan.kind == TransformPlan::to_real) {
    CBlock<Number<T>> work(plan.elements_in);
    if (!work) return false;
    std::memcpy(work.data(), given, static_cast<std::size_t>(plan.elements_in) * sizeof(Number<T>));
    for (std::int64_t i = 1; i < plan.axes; ++i)
      if (!transform(work.data(), axes[i], true)) return false;
    return to_real(work.data(), static_cast<T*>(result), axes[0], plan.scale);
  }
  auto* const out = static_cast<Number<T>*>(result);
  if (plan.kind == TransformPlan::from_real) {
    if (!from_real(static_cast<const T*>(given), out, axes[0])) return false;
  } else {
    std::memmove(result, given, static_cast<std::size_t>(plan.elements_in) * sizeof(Number<T>));
  }
  for (std::int64_t i = plan.kind == TransformPlan::from_real ? 1 : 0; i < plan.axes; ++i)
    if (!transform(out, axes[i], inverse)) return false;
  if (plan.scale != 1)
    for (std::int64_t i = 0; i < plan.elements_out; ++i)
      out[i].real = static_cast<T>(out[i].real * plan.scale), out[i].imag = static_cast<T>(out[i].imag * plan.scale);
  return true;
}

}  // namespace

std::int32_t weft_aot_fourier(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const TransformPlan*>(data);
  if (plan.elements_out == 0 || plan.elements_in == 0) return WEFT_AOT_OK;
  const bool done =
      plan.part == weft::aot::Element::float64 ? run<double>(plan, arrays[0], arrays[1]) : run<float>(plan, arrays[0], arrays[1]);
  return done ? WEFT_AOT_OK : WEFT_AOT_NO_MEMORY;
}
