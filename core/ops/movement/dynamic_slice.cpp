#include "weft/core/ops/movement/dynamic_slice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

// Checks the scalar start indices that follow the first `arrays` operands.
void check_starts(const OpContext& c, std::size_t arrays) {
  if (c.in.size() < arrays) c.fail<ShapeError>(fmt::format("takes {} array{} and start indices", arrays, arrays == 1 ? "" : "s"));
  const int ndim = c.in[0].ndim();
  if (c.in.size() != arrays + static_cast<std::size_t>(ndim))
    c.fail<ShapeError>(fmt::format("{} for {}", counted(c.in.size() - arrays, "start index", "start indices"), counted(ndim, "dimension")),
                       "one is needed for each dimension");
  for (std::size_t i = arrays; i < c.in.size(); ++i) {
    if (!c.in[i].shape.empty()) c.fail<ShapeError>("a start index is not a scalar");
    if (!c.in[i].dtype.is_integer()) c.fail<DTypeError>("a start index is not an integer");
    if (c.in[i].dtype != c.in[arrays].dtype) c.fail<DTypeError>("the start indices have different dtypes");
  }
}

std::vector<std::int64_t> clamped_starts(std::span<const HostTensor> starts, const Shape& x, const Shape& window) {
  std::vector<std::int64_t> out;
  for (int d = 0; d < x.size(); ++d)
    out.push_back(std::clamp(read_indices(starts[static_cast<std::size_t>(d)])[0], std::int64_t{0}, x[d] - window[d]));
  return out;
}

// Calls f(offset in the array, offset in the window, elements) for each contiguous run of the window's last dimension.
template <class F>
void for_each_run(const Shape& x, const Shape& window, const std::vector<std::int64_t>& start, F f) {
  if (window.num_elements() == 0) return;
  const std::vector<std::int64_t> strides = row_major_strides(x);
  const int outer = std::max(window.size() - 1, 0);
  const std::int64_t run = window.empty() ? 1 : window.back();
  std::vector<std::int64_t> at(static_cast<std::size_t>(outer));
  for (std::int64_t done = 0; done < window.num_elements(); done += run) {
    std::int64_t offset = window.empty() ? 0 : start.back();
    for (std::size_t d = 0; d < at.size(); ++d) offset += (start[d] + at[d]) * strides[d];
    f(static_cast<std::size_t>(offset), static_cast<std::size_t>(done), static_cast<std::size_t>(run));
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < window[static_cast<int>(d)]) break;
      at[d] = 0;
    }
  }
}

bool any_mapped(std::span<const int> dims) {
  return std::any_of(dims.begin(), dims.end(), [](int d) { return d != kNotMapped; });
}

// Scalars of which some are mapped, as a matrix of one index vector for each example.
Array index_matrix(std::span<const Array> starts, std::span<const int> dims, std::int64_t size, SourceLoc loc) {
  std::vector<Array> columns;
  for (std::size_t i = 0; i < starts.size(); ++i)
    columns.push_back(dims[i] == kNotMapped ? fill_shape(starts[i], {size, 1}, loc) : reshape_to(starts[i], {size, 1}, loc));
  return concatenate_along(columns, 1, loc);
}

std::vector<int> counted(int n) {
  std::vector<int> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

// The scalar 0 of the start indices' dtype.
Array zero_start(std::span<const Array> starts) {
  return starts.empty() ? make_literal(Number(0), int32) : make_literal(Number(0), starts[0].dtype());
}

}  // namespace

Aval DynamicSlice::abstract_eval(const OpContext& c) {
  check_starts(c, 1);
  const Shape &x = c.in[0].shape, &sizes = c.get<Params>().slice_sizes;
  if (sizes.size() != x.size())
    c.fail<ShapeError>(fmt::format("slice sizes {} for {}", to_string(sizes), counted(x.size(), "dimension")),
                       "one is needed for each dimension");
  for (int d = 0; d < x.size(); ++d)
    if (sizes[d] < 0 || sizes[d] > x[d])
      c.fail<ShapeError>(
          fmt::format("slice sizes {} don't fit into the operand shape {} along dimension {}", to_string(sizes), to_string(x), d),
          fmt::format("at most {} is possible", x[d]));
  return c.in[0].with_shape(sizes);
}

std::vector<Tangent> DynamicSlice::jvp(const JvpContext& c) {
  if (!c.tangents[0]) return {std::nullopt};
  std::vector<Array> operands(c.in.begin(), c.in.end());
  operands[0] = *c.tangents[0];
  return {bind_all<DynamicSlice>(c.get<Params>(), operands, c.loc)[0]};
}

std::vector<Tangent> DynamicSlice::transpose(const TransposeContext& c) {
  std::vector<Tangent> out(c.in.size());
  if (!c.cotangents[0]) return out;
  std::vector<Array> operands{zeros_of(c.in[0].aval, c.loc), *c.cotangents[0]};
  for (std::size_t i = 1; i < c.in.size(); ++i) operands.push_back(c.in[i].known());
  out[0] = bind_all<DynamicUpdateSlice>({}, operands, c.loc)[0];
  return out;
}

// With equal starts for all examples it stays what it is; else it is a gather.
BatchResult DynamicSlice::batch(const BatchContext& c) {
  const Shape& sizes = c.get<Params>().slice_sizes;
  const auto starts = c.in.subspan(1);
  if (!any_mapped(c.dims.subspan(1))) {
    std::vector<Array> operands{move_batch_dim(c.in[0], c.dims[0], 0, c.loc), zero_start(starts)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    return {bind_all<DynamicSlice>({sizes.inserted(0, c.axis.size)}, operands, c.loc), {0}};
  }
  const std::vector<int> all = counted(sizes.size());
  const Gather::Params p{{.offset_dims = all, .start_index_map = all}, {}, true, GatherScatterMode::clip, sizes, true};
  return {{batch_gather(p, c.in[0], c.dims[0], index_matrix(starts, c.dims.subspan(1), c.axis.size, c.loc), 0, c.loc)}, {0}};
}

void DynamicSlice::reference(const ReferenceContext& c) {
  const HostTensor &x = c.in[0], &out = c.out[0];
  const auto size = static_cast<std::size_t>(x.aval.dtype.itemsize());
  for_each_run(x.aval.shape, out.aval.shape, clamped_starts(c.in.subspan(1), x.aval.shape, out.aval.shape),
               [&](std::size_t in_x, std::size_t in_out, std::size_t n) {
                 std::memcpy(out.as<std::byte>() + in_out * size, x.as<std::byte>() + in_x * size, n * size);
               });
}

Aval DynamicUpdateSlice::abstract_eval(const OpContext& c) {
  check_starts(c, 2);
  const Shape &x = c.in[0].shape, &update = c.in[1].shape;
  if (c.in[0].dtype != c.in[1].dtype)
    c.fail<DTypeError>(fmt::format("the operand is {} and the update is {}", c.in[0].dtype.name(), c.in[1].dtype.name()),
                       "convert the update");
  if (update.size() != x.size()) c.fail<ShapeError>("the update must have as many dimensions as the operand");
  for (int d = 0; d < x.size(); ++d)
    if (update[d] > x[d])
      c.fail<ShapeError>(
          fmt::format("the update shape {} doesn't fit into the operand shape {} along dimension {}", to_string(update), to_string(x), d));
  return c.in[0];
}

std::vector<Tangent> DynamicUpdateSlice::jvp(const JvpContext& c) {
  std::vector<Array> operands(c.in.begin(), c.in.end());
  for (std::size_t i : {0u, 1u}) operands[i] = instantiate(c.tangents[i], c.in[i].aval(), c.loc);
  return {bind_all<DynamicUpdateSlice>({}, operands, c.loc)[0]};
}

std::vector<Tangent> DynamicUpdateSlice::transpose(const TransposeContext& c) {
  std::vector<Tangent> out(c.in.size());
  if (!c.cotangents[0]) return out;
  std::vector<Array> starts;
  for (std::size_t i = 2; i < c.in.size(); ++i) starts.push_back(c.in[i].known());
  if (c.in[0].is_linear()) {
    std::vector<Array> operands{*c.cotangents[0], zeros_of(c.in[1].aval, c.loc)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    out[0] = bind_all<DynamicUpdateSlice>({}, operands, c.loc)[0];
  }
  if (c.in[1].is_linear()) {
    std::vector<Array> operands{*c.cotangents[0]};
    operands.insert(operands.end(), starts.begin(), starts.end());
    out[1] = bind_all<DynamicSlice>({c.in[1].aval.shape}, operands, c.loc)[0];
  }
  return out;
}

BatchResult DynamicUpdateSlice::batch(const BatchContext& c) {
  const auto starts = c.in.subspan(2);
  const Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
  const Array update = materialize_batch_dim(c.in[1], c.dims[1], c.axis.size, 0, c.loc);
  if (!any_mapped(c.dims.subspan(2))) {
    std::vector<Array> operands{x, update, zero_start(starts)};
    operands.insert(operands.end(), starts.begin(), starts.end());
    return {bind_all<DynamicUpdateSlice>({}, operands, c.loc), {0}};
  }
  // A window for each example: a scatter along the mapped axis, where each of its positions is written once.
  const Array indices = index_matrix(starts, c.dims.subspan(2), c.axis.size, c.loc);
  std::vector<int> windows;
  for (int d = 1; d < x.ndim(); ++d) windows.push_back(d);
  const ScatterDimensionNumbers n{windows, {}, windows, {0}, {0}};
  return {{bind_one<Scatter>({n, false, GatherScatterMode::clip, true, {}}, {x, indices, update}, c.loc)}, {0}};
}

void DynamicUpdateSlice::reference(const ReferenceContext& c) {
  const HostTensor &x = c.in[0], &update = c.in[1], &out = c.out[0];
  const auto size = static_cast<std::size_t>(x.aval.dtype.itemsize());
  std::memcpy(out.data, x.data, static_cast<std::size_t>(x.aval.bytes()));
  for_each_run(x.aval.shape, update.aval.shape, clamped_starts(c.in.subspan(2), x.aval.shape, update.aval.shape),
               [&](std::size_t in_x, std::size_t in_update, std::size_t n) {
                 std::memcpy(out.as<std::byte>() + in_x * size, update.as<std::byte>() + in_update * size, n * size);
               });
}

PrimitiveList dynamic_slice_primitives() {
  static constexpr const Primitive* kList[] = {&primitive_of<DynamicSlice>, &primitive_of<DynamicUpdateSlice>};
  return kList;
}

}  // namespace weft::detail
