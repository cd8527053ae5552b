// Sample programs of each operation, and arguments for them.
#include <algorithm>
#include <complex>
#include <random>

#include "samples.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/trace/trace.h"

namespace weft::test {

using namespace detail;

Array sample_array(const Aval& aval, Domain domain, int from, int to, int seed) {
  std::mt19937 random(static_cast<unsigned>(seed) * 7919u + 17u);
  const auto n = static_cast<std::size_t>(aval.size());
  if (!aval.dtype.is_inexact()) {
    std::vector<int> v(n);
    for (int& x : v) x = from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
    return convert(array(v, aval.shape), aval.dtype);
  }
  // Evenly spaced, in any order, so that nothing is a tie; each seed elsewhere between two of the others.
  auto spread = [&] {
    std::vector<double> v(n);
    const double shift = 0.1 + 0.8 * static_cast<double>(random() % 1000) / 1000;
    for (std::size_t i = 0; i < n; ++i)
      v[i] = domain.lo + (domain.hi - domain.lo) * (static_cast<double>(i) + shift) / static_cast<double>(n);
    for (std::size_t i = n; i > 1; --i) std::swap(v[i - 1], v[random() % i]);
    return v;
  };
  const std::vector<double> re = spread();
  if (!aval.dtype.is_complex()) return convert(array(re, aval.shape), aval.dtype);
  const std::vector<double> im = spread();
  std::vector<std::complex<double>> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = {re[i], im[i]};
  return convert(array(v, aval.shape), aval.dtype);
}

std::vector<Array> Sample::arguments(int seed) const {
  std::vector<Array> out;
  for (const Aval& a : program.data().input_avals())
    out.push_back(sample_array(a, domain, ints_from, ints_to, 31 * seed + static_cast<int>(out.size())));
  if (op->name == "clamp" && dtype.is_inexact()) out[0] = -abs(out[0]), out[2] = abs(out[2]);  // its bounds must be in order
  return out;
}

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

/// Integers that a sample's operands of its own dtype are drawn from.
constexpr int kFrom = -3, kTo = 4;
int lowest(DType dtype) { return dtype.is_bool() || dtype.is_unsigned() ? 0 : kFrom; }

std::vector<Shape> elementwise_shapes(int operands, int form) {
  std::vector<Shape> shapes(static_cast<std::size_t>(operands), Shape{2, 3});
  if (form == 1) shapes[0] = Shape{}, shapes.back() = Shape{2, 1};
  return shapes;
}

Sample elementwise_sample(const ElementwiseInfo& info, DType dtype, int form) {
  std::vector<Aval> avals;
  for (const Shape& s : elementwise_shapes(info.operands, form))
    avals.push_back({s, avals.empty() && info.predicate_first ? bool_ : dtype});
  const ParamsRef params = info.params(dtype);
  Sample s{std::string(info.op->name) + " of " + std::string(dtype.name()) + (form ? ", broadcast" : ""), info.op, dtype, {}};
  s.form = form;
  s.program = trace_jaxpr({"sample", avals, {}}, [&](std::span<const Array> in) { return bind_primitive(*info.op, params, in, {}); });
  s.smooth = info.differentiable && info.op->name != "reduce_precision" && info.op->name != "convert_element_type";
  s.domain = info.domain;
  s.ints_from = lowest(dtype), s.ints_to = dtype.is_bool() || info.predicate_first ? 1 : kTo;
  return s;
}

}  // namespace

bool is_among(DType dtype, unsigned dtypes) {
  return (dtypes & kind_of(dtype)) || ((dtypes & kWideFloat) && (dtype == float32 || dtype == float64)) ||
         ((dtypes & kUint32) && dtype == uint32);
}

Sample make_sample(const SampleText& t, DType dtype) {
  std::string text = replaced(t.text, "$d", dtype.short_name());
  text = replaced(replaced(text, "$n", dtype.name()), "$r", dtype.real_part().short_name());
  text = replaced(text, "$c", dtype.real_part() == float64 ? "c128" : "c64");
  Sample s{std::string(t.op) + " of " + std::string(dtype.name()), find_primitive(t.op), dtype,
           t.trace ? t.trace(dtype) : parse("{ lambda ; " + text + " }")};
  s.text = &t;
  s.smooth = t.smooth;
  s.rounding = t.rounding;
  s.ints_from = t.ints_from, s.ints_to = t.ints_to;
  const auto inputs = s.program.data().input_avals();
  if (std::none_of(inputs.begin(), inputs.end(), [](const Aval& a) { return a.dtype == int32; }))
    s.ints_from = lowest(dtype), s.ints_to = dtype.is_bool() ? 1 : kTo;
  return s;
}

Sample in_dtype(const Sample& s, DType dtype) {
  if (s.text) return make_sample(*s.text, dtype);
  const auto& infos = elementwise_infos();
  const auto found = std::find_if(infos.begin(), infos.end(), [&](const ElementwiseInfo& i) { return i.op == s.op; });
  return elementwise_sample(*found, dtype, s.form);
}

std::vector<Sample> samples_in(DType dtype) {
  std::vector<Sample> out;
  for (const SampleText& t : sample_texts())
    if (is_among(dtype, t.dtypes)) out.push_back(make_sample(t, dtype));
  for (const ElementwiseInfo& info : elementwise_infos()) {
    if (!(info.dtypes & kind_of(dtype))) continue;
    try {
      for (int form = 0; form < (info.operands > 1 ? 2 : 1); ++form) out.push_back(elementwise_sample(info, dtype, form));
    } catch (const DTypeError&) {
      // The sample's parameters exclude it, e.g. an exponent that is negative.
    }
  }
  return out;
}

}  // namespace weft::test
