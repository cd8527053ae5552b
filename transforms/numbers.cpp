#include "weft/transforms/numbers.h"

#include <algorithm>

#include "weft/core/array/host.h"
#include "weft/core/ops/promotion.h"

namespace weft::detail {

bool widen_numbers(std::span<Aval> types) {
  bool any = false;
  for (Aval& a : types) {
    if (!is_narrow_number(a)) continue;
    a.dtype = a.dtype.is_complex() ? complex128 : float64;
    any = true;
  }
  return any;
}

std::vector<Array> as_widened(std::span<const Array> args, std::span<const Aval> inputs) {
  std::vector<Array> out(args.begin(), args.end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Aval& now = out[i].aval();
    if (!now.weak || now.dtype == inputs[i].dtype) continue;
    out[i] = out[i].impl()->kind == ArrayImpl::Kind::abstract ? make_abstract({now.shape, inputs[i].dtype, true})
                                                              : convert_element_type(out[i], inputs[i].dtype, true, {});
  }
  return out;
}

Jaxpr trace_with_numbers(FlatFunction& f, TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body,
                         std::vector<bool>* numbers) {
  NumbersMet met;
  request.numbers = &met;
  const Jaxpr narrow = trace_jaxpr(request, body);
  if (!met.widened || !(widen_numbers(request.inputs) || met.made)) return narrow;
  request.wide_numbers = true;
  const std::vector<Array> widened = as_widened(f.args, request.inputs);
  std::copy(widened.begin(), widened.end(), f.args.begin());  // in place: callers may hold a span of them
  if (!request.values.empty()) request.values = f.args;
  const Jaxpr wide = trace_jaxpr(request, body);
  const std::vector<Aval> wanted = narrow.data().output_avals(), now = wide.data().output_avals();
  std::vector<bool> differs;
  for (std::size_t i = 0; i < now.size() && i < wanted.size(); ++i)
    differs.push_back(now[i].weak && is_narrow_number(wanted[i]) && now[i].shape.empty() && now[i].dtype != wanted[i].dtype);
  if (std::find(differs.begin(), differs.end(), true) == differs.end()) return wide;
  if (numbers) *numbers = std::move(differs);
  if (numbers || current_trace()) return wide;
  return trace_jaxpr({request.what, request.inputs, {}, request.axes}, [&](std::span<const Array> args) {
    std::vector<Array> out = eval_jaxpr(wide, args);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (differs[i]) out[i] = convert_element_type(out[i], wanted[i].dtype, true, {});
    return out;
  });
}

std::vector<Array> as_numbers(std::vector<Array> results, const std::vector<bool>& numbers, SourceLoc loc) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i]) continue;
    const Aval& wide = results[i].aval();
    const DType dtype = wide.dtype.is_complex() ? complex64 : float32;
    const ConcreteArray* c = as_concrete(results[i]);
    if (c && c->buffer && !c->placement) {
      ScalarBits bits{};
      host().read(*c, bits.data(), loc);
      results[i] = make_literal(number_of(*as_literal(make_literal(wide, bits))), dtype, true);
    } else {
      results[i] = convert_element_type(results[i], dtype, true, loc);
    }
  }
  return results;
}

}  // namespace weft::detail
