#include "weft/transforms/numbers.h"

#include <algorithm>

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

Jaxpr trace_with_numbers(FlatFunction& f, TraceRequest& request, const std::function<std::vector<Array>(std::span<const Array>)>& body) {
  NumbersMet met;
  request.numbers = &met;
  const Jaxpr narrow = trace_jaxpr(request, body);
  if (!met.widened || !(widen_numbers(request.inputs) || met.made)) return narrow;
  request.wide_numbers = true;
  const std::vector<Array> widened = as_widened(f.args, request.inputs);
  std::copy(widened.begin(), widened.end(), f.args.begin());  // in place: callers may hold a span of them
  if (!request.values.empty()) request.values = f.args;
  const Jaxpr wide = trace_jaxpr(request, body);
  if (current_trace()) return wide;
  const std::vector<Aval> wanted = narrow.data().output_avals(), now = wide.data().output_avals();
  const auto differs = [](const Aval& a, const Aval& b) { return a.weak && a.shape == b.shape && a.dtype != b.dtype; };
  if (std::equal(now.begin(), now.end(), wanted.begin(), wanted.end(), std::not_fn(differs))) return wide;
  return trace_jaxpr({request.what, request.inputs, {}, request.axes}, [&](std::span<const Array> args) {
    std::vector<Array> out = eval_jaxpr(wide, args);
    for (std::size_t i = 0; i < out.size(); ++i)
      if (differs(now[i], wanted[i])) out[i] = convert_element_type(out[i], wanted[i].dtype, true, {});
    return out;
  });
}

}  // namespace weft::detail
