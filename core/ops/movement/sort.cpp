#include "weft/core/ops/movement/sort.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "weft/core/array/storage.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {
namespace {

// An unsigned number for each real one, in the same order.
std::uint64_t order_code(double v) {
  if (v != v) return ~std::uint64_t{0};
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;
  const auto bits = std::bit_cast<std::uint64_t>(v + 0.);  // -0 becomes 0
  return bits & kSign ? ~bits : bits | kSign;
}

// Each element's code, one or (complex) two to an element.
std::vector<std::uint64_t> order_codes(const HostTensor& t) {
  std::vector<std::uint64_t> out;
  const auto n = static_cast<std::size_t>(t.aval.size());
  with_storage(t.aval.dtype, [&]<class T>() {
    const T* data = t.as<T>();
    for (std::size_t i = 0; i < n; ++i) {
      if constexpr (is_complex_storage<T>)
        out.push_back(order_code(data[i].real())), out.push_back(order_code(data[i].imag()));
      else if constexpr (is_floating_storage<T>)
        out.push_back(order_code(load_element(data[i])));
      else if constexpr (std::is_signed_v<T>)
        out.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(data[i])) ^ std::uint64_t{1} << 63);
      else
        out.push_back(static_cast<std::uint64_t>(data[i]));
    }
  });
  return out;
}

// The lines of an array along one dimension: element i of line l is at base(l) + i * stride.
struct Lines {
  Lines(const Shape& shape, int dim) : length(shape[dim]) {
    for (int d = dim + 1; d < shape.size(); ++d) stride *= shape[d];
    count = length == 0 ? 0 : shape.num_elements() / length;
  }
  std::int64_t base(std::int64_t line) const { return line / stride * stride * length + line % stride; }
  std::int64_t length, stride = 1, count = 0;
};

void copy_element(const HostTensor& from, std::int64_t i, const HostTensor& to, std::int64_t j) {
  const auto size = static_cast<std::size_t>(from.aval.dtype.itemsize());
  std::memcpy(to.as<std::byte>() + static_cast<std::size_t>(j) * size, from.as<std::byte>() + static_cast<std::size_t>(i) * size, size);
}

constexpr ParamValue kSortIgnored[] = {{"is_stable", "True"}};
const TextRule<Sort> sort_text([] { return TextTraits{.ignored = kSortIgnored}; });
const PartitionRule<TopKLargest> top_k_partition([](const PartitionContext& c) -> std::optional<ShardedValues> {
  const int last = c.in[0].whole.size() - 1;
  if (c.get<TopKLargest::Params>().axis != last) return {};
  return partition_batched(c, last);
});

}  // namespace

std::vector<Aval> Sort::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  if (c.in.empty()) c.fail<ShapeError>("takes at least one operand");
  for (const Aval& a : c.in)
    if (a.shape != c.in[0].shape) c.fail<ShapeError>("the operands have different shapes");
  if (p.dimension < 0 || p.dimension >= c.in[0].ndim())
    c.fail<AxisError>(fmt::format("there is no dimension {}", p.dimension), fmt::format("the operands have {}", c.in[0].ndim()));
  if (p.num_keys < 1 || p.num_keys > static_cast<int>(c.in.size()))
    c.fail<ShapeError>(fmt::format("num_keys is {}", p.num_keys), fmt::format("1 to {} operands can be keys", c.in.size()));
  for (const Aval& a : c.in.first(static_cast<std::size_t>(p.num_keys)))
    if (a.dtype.is_key()) c.fail<DTypeError>("keys of random numbers have no order");
  return {c.in.begin(), c.in.end()};
}

// As JAX: the positions are sorted along with the operands, and the tangents follow them.
JvpResult Sort::jvp_call(const JvpContext& c) {
  const Params& p = c.get<Params>();
  const Shape& shape = c.in[0].shape();
  std::vector<Array> operands(c.in.begin(), c.in.end());
  operands.push_back(iota_array(shape[p.dimension] > 0x7fffffff ? int64 : int32, shape, p.dimension, c.loc));
  JvpResult r;
  r.out = bind_all<Sort>(p, operands, c.loc);
  const Array positions = r.out.back();
  r.out.pop_back();
  for (std::size_t i = 0; i < c.in.size(); ++i)
    r.tangents.push_back(c.tangents[i] && c.in[i].dtype().is_inexact()
                             ? Tangent(gather_along(*c.tangents[i], positions, p.dimension, c.loc))
                             : std::nullopt);
  return r;
}
JvpResult Sort::linearize_call(const JvpContext& c) { return jvp_call(c); }

BatchResult Sort::batch(const BatchContext& c) {
  Params p = c.get<Params>();
  ++p.dimension;
  std::vector<Array> operands;
  for (std::size_t i = 0; i < c.in.size(); ++i) operands.push_back(materialize_batch_dim(c.in[i], c.dims[i], c.axis.size, 0, c.loc));
  return {bind_all<Sort>(p, operands, c.loc), std::vector<int>(operands.size(), 0)};
}

void Sort::reference(const ReferenceContext& c) {
  const Params& p = c.get<Params>();
  std::vector<std::vector<std::uint64_t>> keys;
  for (int k = 0; k < p.num_keys; ++k) keys.push_back(order_codes(c.in[static_cast<std::size_t>(k)]));
  const Lines lines(c.in[0].aval.shape, p.dimension);
  std::vector<std::int64_t> order(static_cast<std::size_t>(lines.length));
  const auto total = static_cast<std::size_t>(c.in[0].aval.size());
  for (std::int64_t line = 0; line < lines.count; ++line) {
    const std::int64_t base = lines.base(line);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      for (const auto& codes : keys) {
        const std::size_t per = codes.size() / total;
        const auto* x = codes.data() + static_cast<std::size_t>(base + a * lines.stride) * per;
        const auto* y = codes.data() + static_cast<std::size_t>(base + b * lines.stride) * per;
        for (std::size_t part = 0; part < per; ++part)
          if (x[part] != y[part]) return x[part] < y[part];
      }
      return a < b;  // stable
    });
    for (std::size_t k = 0; k < c.in.size(); ++k)
      for (std::int64_t i = 0; i < lines.length; ++i)
        copy_element(c.in[k], base + order[static_cast<std::size_t>(i)] * lines.stride, c.out[k], base + i * lines.stride);
  }
}

Eqn top_k_equation(const TopKLargest::Params& p, Atom x, SourceLoc loc) {
  return {&primitive_of<TopKLargest>, make_params(TopKLargest::Params(p)), {x}, {}, loc};
}
std::vector<Aval> TopKLargest::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  const Aval& x = c.in[0];
  if (x.dtype.is_complex() || x.dtype.is_key()) c.fail<DTypeError>("complex numbers and keys have no order");
  if (p.axis < 0 || p.axis >= x.ndim())
    c.fail<AxisError>(fmt::format("there is no axis {}", p.axis), fmt::format("the operand has {}", x.ndim()));
  if (p.k < 0 || p.k > x.shape[p.axis])
    c.fail<ShapeError>(fmt::format("k is {} for axis {} of size {}", p.k, p.axis, x.shape[p.axis]), "k must be from 0 to the axis's size");
  const Shape shape = x.shape.with(p.axis, p.k);
  return {x.with_shape(shape), {shape, int32}};
}

std::vector<Tangent> TopKLargest::jvp(const JvpContext& c) {
  if (!c.tangents[0]) return {std::nullopt, std::nullopt};
  return {gather_along(*c.tangents[0], c.out[1], c.get<Params>().axis, c.loc), std::nullopt};
}

BatchResult TopKLargest::batch(const BatchContext& c) {
  Params p = c.get<Params>();
  ++p.axis;
  const Array operands[] = {move_batch_dim(c.in[0], c.dims[0], 0, c.loc)};
  return {bind_all<TopKLargest>(p, operands, c.loc), {0, 0}};
}

void TopKLargest::reference(const ReferenceContext& c) {
  const Params& p = c.get<Params>();
  const std::vector<std::uint64_t> codes = order_codes(c.in[0]);
  const Lines lines(c.in[0].aval.shape, p.axis), out_lines(c.out[0].aval.shape, p.axis);
  std::vector<std::int64_t> order(static_cast<std::size_t>(lines.length));
  for (std::int64_t line = 0; line < out_lines.count; ++line) {
    const std::int64_t base = lines.base(line), out_base = out_lines.base(line);
    std::iota(order.begin(), order.end(), 0);
    auto code = [&](std::int64_t i) { return codes[static_cast<std::size_t>(base + i * lines.stride)]; };
    std::partial_sort(order.begin(), order.begin() + p.k, order.end(),
                      [&](std::int64_t a, std::int64_t b) { return code(a) != code(b) ? code(a) > code(b) : a < b; });
    for (std::int64_t i = 0; i < p.k; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)], to = out_base + i * out_lines.stride;
      copy_element(c.in[0], base + from * lines.stride, c.out[0], to);
      c.out[1].as<std::int32_t>()[to] = static_cast<std::int32_t>(from);
    }
  }
}

PrimitiveList sort_primitives() {
  static constexpr const Primitive* kList[] = {&primitive_of<Sort>, &primitive_of<TopKLargest>};
  return kList;
}

}  // namespace weft::detail
