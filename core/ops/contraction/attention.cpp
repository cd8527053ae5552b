#include "weft/core/ops/contraction/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/environment.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

Attributes attributes_of(const AttentionForm& f) { return {{"bias", f.bias}, {"causal", f.causal}, {"mask", f.mask}, {"scale", f.scale}}; }

Array wide(const Array& x) { return as_dtype(x, wide_dtype(inexact_dtype(x.dtype()))); }
/// (B, T, N, H) with the heads as two dimensions: those of k, and those of q for each.
Array grouped(const Array& q, std::int64_t heads, SourceLoc loc) {
  const Shape& s = q.shape();
  return reshape_to(q, {s[0], s[1], heads, s[2] / heads, s[3]}, loc);
}
/// (B, N, ...) likewise; N may be 1.
Array grouped_rows(const Array& x, std::int64_t heads, SourceLoc loc) {
  const Shape& s = x.shape();
  Shape split{s[0], s[1] == 1 ? 1 : heads, s[1] == 1 ? 1 : s[1] / heads};
  for (int d = 2; d < s.size(); ++d) split.push_back(s[d]);
  return reshape_to(x, split, loc);
}

/// The mask of visible columns, broadcastable to the scores (B, K, N / K, T, S); nothing if all are visible.
std::vector<Array> visible(const AttentionForm& form, const AttentionOperands& o, SourceLoc loc) {
  std::vector<Array> all;
  const std::int64_t rows = o.q.shape()[1], columns = o.k.shape()[1];
  if (o.mask) all.push_back(grouped_rows(*o.mask, o.k.shape()[2], loc));
  if (form.causal) all.push_back(iota_array(int32, {1, 1, 1, 1, columns}, 4, loc) <= iota_array(int32, {1, 1, 1, rows, 1}, 3, loc));
  return all;
}
/// (B, K, N / K, T, S).
Array scores_of(const AttentionForm& form, const AttentionOperands& o, SourceLoc loc) {
  const std::int64_t heads = o.k.shape()[2];
  Array scores = einsum("btkgh,bskh->bkgts", grouped(wide(o.q), heads, loc), wide(o.k)) * form.scale;
  if (o.bias) scores = scores + as_dtype(grouped_rows(*o.bias, heads, loc), scores.dtype());
  for (const Array& seen : visible(form, o, loc)) scores = where(seen, scores, scalar_like(scores, masked_score(scores.dtype())));
  return scores;
}

std::vector<Array> forward_body(const AttentionForm& form, std::span<const Array> in, SourceLoc loc) {
  const AttentionOperands o(in, form);
  const Shape q = o.q.shape();
  const Array scores = scores_of(form, o, loc);
  Array weights = scores, highest = sum(scores, -1), total = highest;
  if (scores.size() != 0) {
    highest = stop_gradient_of(max(Arg(scores, loc), -1, keepdims), loc);
    const Array e = exp(scores - highest);
    total = sum(e, -1, keepdims);
    weights = e / total;
  }
  const Array mixed = einsum("bkgts,bskh->btkgh", weights, wide(o.v));
  return {as_dtype(reshape_to(mixed, {q[0], q[1], q[2], o.v.shape()[3]}, loc), inexact_dtype(o.q.dtype())),
          reshape_to(highest, {q[0], q[2], q[1]}, loc), reshape_to(total, {q[0], q[2], q[1]}, loc)};
}

/// (B, N, T) beside the scores.
Array column_of(const AttentionOperands& o, const Array& rows, SourceLoc loc) {
  return insert_axes(grouped_rows(rows, o.k.shape()[2], loc), {4}, loc);
}
/// The exponentials of the scores minus the maxima of their rows.
Array exponentials_of(const AttentionForm& form, const AttentionOperands& o, const Array& highest, SourceLoc loc) {
  return exp(scores_of(form, o, loc) - column_of(o, stop_gradient_of(highest, loc), loc));
}
/// x where the score depends on q and k, 0 where it is masked.
Array where_visible(const AttentionForm& form, const AttentionOperands& o, Array x, SourceLoc loc) {
  for (const Array& seen : visible(form, o, loc)) x = where(seen, x, scalar_like(x, 0));
  return x;
}

std::vector<Array> tangent_body(const AttentionForm& form, std::span<const Array> in, SourceLoc loc) {
  const AttentionOperands o(in, form);
  const std::int64_t heads = o.k.shape()[2];
  const auto rest = in.subspan(o.count);  // highest scores, sums, result, tangents
  const Array e = exponentials_of(form, o, rest[0], loc), weights = e / column_of(o, rest[1], loc);
  Array scores = (einsum("btkgh,bskh->bkgts", grouped(wide(rest[3]), heads, loc), wide(o.k)) +
                  einsum("btkgh,bskh->bkgts", grouped(wide(o.q), heads, loc), wide(rest[4]))) *
                 form.scale;
  if (o.bias) scores = scores + as_dtype(grouped_rows(rest[6], heads, loc), scores.dtype());
  scores = where_visible(form, o, scores, loc);
  const Array weighted = weights * scores;
  const Array mixed = einsum("bkgts,bskh->btkgh", weighted - weights * sum(weighted, -1, keepdims), wide(o.v)) +
                      einsum("bkgts,bskh->btkgh", weights, wide(rest[5]));
  return {as_dtype(reshape_to(mixed, rest[2].shape(), loc), rest[2].dtype()), reshape_to(sum(e * scores, -1), rest[1].shape(), loc)};
}

std::vector<Array> gradient_body(const AttentionForm& form, std::span<const Array> in, SourceLoc loc) {
  const AttentionOperands o(in, form);
  const std::int64_t heads = o.k.shape()[2];
  const auto rest = in.subspan(o.count);  // highest scores, sums, the cotangents' sums, cotangent
  const Array weights = exponentials_of(form, o, rest[0], loc) / column_of(o, rest[1], loc);
  const Array cotangent = grouped(wide(rest[3]), heads, loc);
  const Array d_weights = einsum("btkgh,bskh->bkgts", cotangent, wide(o.v));
  const Array d_scores = where_visible(form, o, weights * (d_weights - column_of(o, rest[2], loc)), loc);
  std::vector<Array> out{einsum("bkgts,bskh->btkgh", d_scores, wide(o.k)) * form.scale,
                         einsum("bkgts,btkgh->bskh", d_scores, grouped(wide(o.q), heads, loc)) * form.scale,
                         einsum("bkgts,btkgh->bskh", weights, cotangent)};
  if (o.bias) out.push_back(unbroadcast(d_scores, {grouped_rows(*o.bias, heads, loc).shape(), d_scores.dtype(), false}, loc));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = as_dtype(reshape_to(out[i], in[i].shape(), loc), in[i].dtype());
  return out;
}

template <class F>
std::vector<Array> bind_with_body(std::string_view name, const AttentionForm& form, std::span<const Array> in, SourceLoc loc, F&& body) {
  TraceRequest request{std::string(name), {}, {}};
  for (const Array& x : in) request.inputs.push_back(x.aval());
  const Jaxpr program = trace_jaxpr(request, [&](std::span<const Array> args) { return body(form, args, loc); });
  return bind_composite({attributes_of(form), program, std::string(name), 0}, in, loc);
}

/// The size of the scores, in bytes, from which the derivative recomputes them: this saves memory and takes up to twice the time.
double recomputed_bytes() {
  constexpr std::int64_t kDefault = 512;
  return 1e6 * static_cast<double>(integer_in_environment("WEFT_ATTENTION_KEPT_MB").value_or(kDefault));
}

std::optional<JvpResult> differentiate(const JvpContext& c) {
  const std::vector<Aval> types = avals_of(c.in);
  const std::optional<AttentionForm> known = attention_form(c.get<CompositeParams>(), types);
  if (!known || score_bytes(types) < std::max(kLongAttention, recomputed_bytes())) return {};
  const AttentionForm& form = *known;
  JvpResult r;
  r.out = bind_with_body(kAttention, form, c.in, c.loc, forward_body);
  std::vector<Array> in(c.in.begin(), c.in.end());
  in.push_back(r.out[1]), in.push_back(r.out[2]), in.push_back(r.out[0]);
  for (std::size_t i = 0; i < (form.bias ? 4u : 3u); ++i) in.push_back(instantiate(c.tangents[i], c.in[i].aval(), c.loc));
  const std::vector<Array> tangents = bind_with_body(kAttentionTangent, form, in, c.loc, tangent_body);
  r.tangents = {tangents[0], Tangent(), tangents[1]};
  return r;
}
const CompositeRule<CompositeJvp> attention_jvp(kAttention, differentiate);
const CompositeRule<CompositeLinearize> attention_linearize(kAttention, differentiate);

const CompositeRule<CompositeTranspose> tangent_transpose(
    kAttentionTangent, [](const TransposeContext& c) -> std::optional<std::vector<Tangent>> {
      std::vector<Aval> types;
      for (const Operand& o : c.in) types.push_back(o.aval);
      const std::optional<AttentionForm> known = attention_form(c.get<CompositeParams>(), types);
      if (!known) return {};
      const AttentionForm& form = *known;
      const std::size_t count = 3u + form.bias + form.mask, tangents = form.bias ? 4 : 3;
      for (std::size_t i = 0; i < count + 3; ++i)
        if (c.in[i].is_linear()) return {};
      std::vector<Array> in;
      for (std::size_t i = 0; i < count + 2; ++i) in.push_back(c.in[i].known());
      const Array total = in.back(), &result = c.in[count + 2].known();
      const Array cotangent = instantiate(c.cotangents[0], c.out_avals[0], c.loc);
      Array sums = as_dtype(permute(sum(wide(cotangent) * wide(result), -1), {0, 2, 1}, c.loc), total.dtype());
      if (c.cotangents[1]) sums = sums - total * *c.cotangents[1];
      in.push_back(sums), in.push_back(cotangent);
      const std::vector<Array> back = bind_with_body(kAttentionGradient, form, in, c.loc, gradient_body);
      std::vector<Tangent> out(c.in.size());
      for (std::size_t i = 0; i < tangents; ++i)
        if (c.in[count + 3 + i].is_linear()) out[count + 3 + i] = back[i];
      return out;
    });

/// The mapped axis becomes a part of the batch dimension, which all operands and results have in front. Bias and mask may have size 1
/// there; a bias whose cotangent is asked for has its own for each example.
template <class F>
std::optional<BatchResult> batch_in_front(const BatchContext& c, std::string_view name, bool own_bias, F&& body) {
  std::vector<Aval> types = avals_of(c.in);
  for (std::size_t i = 0; i < types.size(); ++i)
    if (c.dims[i] != kNotMapped) types[i].shape = types[i].shape.erased(c.dims[i]);
  const std::optional<AttentionForm> known = attention_form(c.get<CompositeParams>(), types);
  if (!known) return {};
  const AttentionForm& form = *known;
  const auto size_in_front = [&](std::size_t i) { return c.in[i].shape()[c.dims[i] == 0 ? 1 : 0]; };
  const std::int64_t n = c.axis.size, batch = size_in_front(0);
  std::vector<Array> in;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const bool shared = i >= 3 && i < 3u + form.bias + form.mask && !(own_bias && form.bias && i == 3);
    if (shared && c.dims[i] == kNotMapped && size_in_front(i) == 1) {
      in.push_back(c.in[i]);
      continue;
    }
    Array x = materialize_batch_dim(c.in[i], c.dims[i], n, 0, c.loc);
    const Shape each = x.shape().with(1, batch);
    x = broadcast_to(Arg(x, c.loc), each);
    in.push_back(reshape_to(x, each.erased(0).with(0, n * batch), c.loc));
  }
  BatchResult r;
  for (const Array& x : bind_with_body(name, form, in, c.loc, body)) {
    r.out.push_back(reshape_to(x, x.shape().with(0, batch).inserted(0, n), c.loc));
    r.dims.push_back(0);
  }
  if (own_bias && form.bias && size_in_front(3) != batch) r.out[3] = sum(Arg(r.out[3], c.loc), 1, keepdims);
  return r;
}
const CompositeRule<CompositeBatch> attention_batch(kAttention, [](const BatchContext& c) {
  return batch_in_front(c, kAttention, false, forward_body);
});
const CompositeRule<CompositeBatch> gradient_batch(kAttentionGradient, [](const BatchContext& c) {
  return batch_in_front(c, kAttentionGradient, true, gradient_body);
});

}  // namespace

std::optional<AttentionForm> attention_form(const CompositeParams& p, std::span<const Aval> in) {
  AttentionForm f;
  f.scale = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [name, value] : p.attributes)
    if (value.kind() == Attribute::Kind::number && name == "scale")
      f.scale = value.number();
    else if (value.kind() == Attribute::Kind::boolean && (name == "bias" || name == "causal" || name == "mask"))
      (name == "bias" ? f.bias : name == "causal" ? f.causal : f.mask) = value.boolean();
    else
      return {};
  const std::size_t count = 3u + f.bias + f.mask, behind = p.name == kAttentionTangent ? 6u + f.bias : p.name == kAttentionGradient ? 4 : 0;
  if (std::isnan(f.scale) || in.size() != count + behind) return {};
  const auto is = [&](std::size_t i, const Shape& s) { return in[i].shape == s && in[i].dtype.is_floating(); };
  for (std::size_t i = 0; i < count; ++i)
    if (in[i].ndim() != 4) return {};
  const Shape &q = in[0].shape, &k = in[1].shape, &v = in[2].shape, all{q[0], q[2], q[1], k[1]}, rows{q[0], q[2], q[1]};
  if (k[0] != q[0] || k[3] != q[3] || k[2] == 0 || q[2] % k[2] != 0) return {};
  if (!is(0, q) || !is(1, k) || !is(2, {k[0], k[1], k[2], v[3]})) return {};
  for (std::size_t i = 3; i < count; ++i) {
    for (int d = 0; d < 4; ++d)
      if (in[i].shape[d] != 1 && in[i].shape[d] != all[d]) return {};
    if (f.bias && i == 3 ? !in[i].dtype.is_floating() : !in[i].dtype.is_bool()) return {};
  }
  const Shape out = q.with(3, v[3]);
  if (behind == 0) return f;
  if (!is(count, rows) || !is(count + 1, rows)) return {};
  if (behind == 4) return is(count + 2, rows) && is(count + 3, out) ? std::optional(f) : std::nullopt;
  if (!is(count + 2, out)) return {};
  for (std::size_t i = 0; i < 3u + f.bias; ++i)
    if (!is(count + 3 + i, in[i].shape)) return {};
  return f;
}

AttentionOperands::AttentionOperands(std::span<const Array> in, const AttentionForm& form) : q(in[0]), k(in[1]), v(in[2]), count(3) {
  if (form.bias) bias = in[count++];
  if (form.mask) mask = in[count++];
}

Array attention(const AttentionForm& form, std::span<const Array> operands, SourceLoc loc) {
  return bind_with_body(kAttention, form, operands, loc, forward_body)[0];
}

double score_bytes(std::span<const Aval> operands) {
  const Shape &q = operands[0].shape, &k = operands[1].shape;
  return static_cast<double>(q[0] * q[2] * q[1]) * static_cast<double>(k[1]) * wide_dtype(inexact_dtype(operands[0].dtype)).itemsize();
}

double masked_score(DType dtype) {
  return -.7 * (dtype == float64 ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max()));
}

}  // namespace weft::detail
