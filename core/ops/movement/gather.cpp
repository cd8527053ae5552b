#include "weft/core/ops/movement/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "weft/core/array/storage.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"

namespace weft::detail {
namespace {

bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }

void check_dims(const OpContext& c, const std::vector<int>& dims, int ndim, const char* what, bool sorted) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0 || dims[i] >= ndim)
      c.fail<ShapeError>(fmt::format("{} {} has a dimension out of range", what, print_param(dims)), fmt::format("there are {}", ndim));
    if (sorted && i > 0 && dims[i] <= dims[i - 1]) c.fail<ShapeError>(fmt::format("{} {} must be increasing", what, print_param(dims)));
    if (std::find(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(i), dims[i]) != dims.begin() + static_cast<std::ptrdiff_t>(i))
      c.fail<ShapeError>(fmt::format("{} {} names a dimension twice", what, print_param(dims)));
  }
}

constexpr std::string_view kModeNames[] = {"GatherScatterMode.CLIP", "GatherScatterMode.FILL_OR_DROP",
                                           "GatherScatterMode.PROMISE_IN_BOUNDS"};

}  // namespace

std::string print_param(GatherScatterMode v) { return print_enum(v, kModeNames); }
void read_param(ParamReader& r, GatherScatterMode& v) { read_enum(r, v, kModeNames); }

std::string print_param(const FillValue& v) { return v.is_integer ? print_param(v.integer) : print_param(v.real); }
void read_param(ParamReader& r, FillValue& v) {
  if (r.looking_at("True") || r.looking_at("False")) {
    v = FillValue::of(r.read_bool());
    return;
  }
  const std::size_t begin = r.offset();
  const double real = r.read_double();
  if (r.text().substr(begin, r.offset() - begin).find_first_of(".einf") != std::string_view::npos) {
    v = FillValue::of_real(real);
  } else if (real >= 0x1p63) {
    v = FillValue::of(-1);  // only the largest uint64
  } else {
    r.seek(begin);
    v = FillValue::of(r.read_int());
  }
}

FillValue default_fill(DType dtype) {
  if (dtype.is_bool()) return FillValue::of(1);
  if (dtype.is_signed()) return FillValue::of(-(std::int64_t{1} << (8 * dtype.itemsize() - 2)) * 2);
  if (dtype.is_unsigned() || dtype.is_key())
    return FillValue::of(dtype.itemsize() == 8 ? -1 : (std::int64_t{1} << (8 * dtype.itemsize())) - 1);
  return FillValue::of_real(std::numeric_limits<double>::quiet_NaN());
}

void store_fill(const std::optional<FillValue>& fill, DType dtype, void* out) {
  const FillValue v = fill ? *fill : default_fill(dtype);
  with_storage(dtype, [&]<class T>() {
    T element{};
    if constexpr (is_floating_storage<T> || is_complex_storage<T>)
      element = store_element<T>(compute_t<T>(v.real));
    else
      element = v.is_integer ? static_cast<T>(v.integer) : static_cast<T>(v.real);
    std::memcpy(out, &element, sizeof element);
  });
}

IndexedGeometry gather_geometry(const GatherDimensionNumbers& n, const Shape& slice_sizes, int result_ndim) {
  IndexedGeometry g;
  g.dims.resize(static_cast<std::size_t>(slice_sizes.size()));
  std::size_t next_offset = 0;
  for (int d = 0; d < slice_sizes.size(); ++d) {
    IndexedDim& dim = g.dims[static_cast<std::size_t>(d)];
    dim.window = slice_sizes[d];
    if (!contains(n.collapsed_slice_dims, d) && !contains(n.operand_batching_dims, d)) dim.window_dim = n.offset_dims[next_offset++];
  }
  for (std::size_t k = 0; k < n.start_index_map.size(); ++k)
    g.dims[static_cast<std::size_t>(n.start_index_map[k])].component = static_cast<int>(k);
  for (std::size_t k = 0; k < n.operand_batching_dims.size(); ++k)
    g.dims[static_cast<std::size_t>(n.operand_batching_dims[k])].batch_dim = n.start_indices_batching_dims[k];
  for (int d = 0; d < result_ndim; ++d)
    if (!contains(n.offset_dims, d)) g.batch_dims.push_back(d);
  return g;
}

IndexedGeometry scatter_geometry(const ScatterDimensionNumbers& n, int operand_ndim, const Shape& updates) {
  Shape windows;
  std::size_t next = 0;
  for (int d = 0; d < operand_ndim; ++d)
    windows.push_back(contains(n.inserted_window_dims, d) || contains(n.operand_batching_dims, d) ? 1
                                                                                                  : updates[n.update_window_dims[next++]]);
  return gather_geometry(inverse(n), windows, updates.size());
}

GatherDimensionNumbers inverse(const ScatterDimensionNumbers& n) {
  return {n.update_window_dims, n.inserted_window_dims, n.scatter_dims_to_operand_dims, n.operand_batching_dims,
          n.scatter_indices_batching_dims};
}
ScatterDimensionNumbers inverse(const GatherDimensionNumbers& n) {
  return {n.offset_dims, n.collapsed_slice_dims, n.start_index_map, n.operand_batching_dims, n.start_indices_batching_dims};
}

std::vector<int> behind_mapped_axis(const std::vector<int>& dims, bool with_mapped) {
  std::vector<int> out;
  if (with_mapped) out.push_back(0);
  for (int d : dims) out.push_back(d + 1);
  return out;
}

std::vector<std::int64_t> read_indices(const HostTensor& t) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(t.aval.size()));
  with_storage(t.aval.dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      const T* data = t.as<T>();
      for (std::size_t i = 0; i < out.size(); ++i) {
        constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
        if constexpr (std::is_same_v<T, std::uint64_t>)
          out[i] = data[i] > static_cast<std::uint64_t>(kLargest) ? kLargest : static_cast<std::int64_t>(data[i]);
        else
          out[i] = static_cast<std::int64_t>(data[i]);
      }
    }
  });
  return out;
}

namespace {

// A nested loop: sizes, and how far each loop moves in the elements and in the operand.
struct Loops {
  std::vector<std::int64_t> sizes, element_strides, operand_strides;
  template <class F>
  void run(F f) const {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return;
    std::vector<std::int64_t> at(sizes.size());
    std::int64_t element = 0, operand = 0;
    for (;;) {
      f(at, element, operand);
      std::size_t d = sizes.size();
      for (; d > 0; --d) {
        const std::size_t i = d - 1;
        element += element_strides[i], operand += operand_strides[i];
        if (++at[i] < sizes[i]) break;
        element -= sizes[i] * element_strides[i], operand -= sizes[i] * operand_strides[i];
        at[i] = 0;
      }
      if (d == 0) return;
    }
  }
};

}  // namespace

void visit_windows(const IndexedGeometry& g, const Shape& operand, const HostTensor& indices, const Shape& elements, bool clamp,
                   void (*visit)(void*, std::int64_t, std::int64_t), void* context) {
  const std::vector<std::int64_t> starts = read_indices(indices), element_strides = row_major_strides(elements),
                                  strides = row_major_strides(operand);
  const std::int64_t components = indices.aval.shape.back();
  Loops batch, window;
  for (std::size_t d = 0; d < g.batch_dims.size(); ++d) {
    batch.sizes.push_back(indices.aval.shape[static_cast<int>(d)]);
    batch.element_strides.push_back(element_strides[static_cast<std::size_t>(g.batch_dims[d])]);
    batch.operand_strides.push_back(0);
  }
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (g.dims[d].window_dim >= 0) {
      window.sizes.push_back(g.dims[d].window);
      window.element_strides.push_back(element_strides[static_cast<std::size_t>(g.dims[d].window_dim)]);
      window.operand_strides.push_back(strides[d]);
    }
  std::int64_t row = 0;
  batch.run([&](const std::vector<std::int64_t>& at, std::int64_t first_element, std::int64_t) {
    const std::int64_t* index = starts.data() + components * row++;
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t d = 0; d < g.dims.size(); ++d) {
      const IndexedDim& dim = g.dims[d];
      const std::int64_t last = operand[static_cast<int>(d)] - dim.window;
      std::int64_t start = dim.component >= 0 ? index[dim.component] : dim.batch_dim >= 0 ? at[static_cast<std::size_t>(dim.batch_dim)] : 0;
      if (clamp) start = std::clamp(start, std::int64_t{0}, last);
      inside &= start >= 0 && start <= last;
      if (inside) offset += start * strides[d];
    }
    window.run([&](const std::vector<std::int64_t>&, std::int64_t element, std::int64_t in_window) {
      visit(context, first_element + element, inside ? offset + in_window : -1);
    });
  });
}

Aval Gather::abstract_eval(const OpContext& c) {
  const Params& p = c.get<Params>();
  const GatherDimensionNumbers& n = p.dimension_numbers;
  const Shape &x = c.in[0].shape, &indices = c.in[1].shape;
  if (!c.in[1].dtype.is_integer()) c.fail<DTypeError>("the indices must be integers");
  if (indices.empty()) c.fail<ShapeError>("the indices have no dimension", "the last one holds the starts along start_index_map");
  const int batch_ndim = indices.size() - 1, result_ndim = batch_ndim + static_cast<int>(n.offset_dims.size());
  check_dims(c, n.offset_dims, result_ndim, "offset_dims", true);
  check_dims(c, n.collapsed_slice_dims, x.size(), "collapsed_slice_dims", true);
  check_dims(c, n.operand_batching_dims, x.size(), "operand_batching_dims", true);
  check_dims(c, n.start_indices_batching_dims, batch_ndim, "start_indices_batching_dims", false);
  check_dims(c, n.start_index_map, x.size(), "start_index_map", false);
  if (indices.back() != static_cast<std::int64_t>(n.start_index_map.size()))
    c.fail<ShapeError>(fmt::format("start_index_map {} needs one start for each of its dimensions", print_param(n.start_index_map)),
                       fmt::format("the last dimension of the indices must have size {}", n.start_index_map.size()));
  if (p.slice_sizes.size() != x.size())
    c.fail<ShapeError>(fmt::format("slice_sizes {} must have one size for each dimension of the operand", to_string(p.slice_sizes)));
  if (n.offset_dims.size() + n.collapsed_slice_dims.size() + n.operand_batching_dims.size() != static_cast<std::size_t>(x.size()))
    c.fail<ShapeError>(fmt::format(
        "offset_dims {}, collapsed_slice_dims {} and operand_batching_dims {} must together have as many dimensions as the operand",
        print_param(n.offset_dims), print_param(n.collapsed_slice_dims), print_param(n.operand_batching_dims)));
  if (n.operand_batching_dims.size() != n.start_indices_batching_dims.size())
    c.fail<ShapeError>("operand_batching_dims and start_indices_batching_dims must be equally many");
  for (int d = 0; d < x.size(); ++d) {
    const std::int64_t size = p.slice_sizes[d];
    if (size < 0 || size > x[d])
      c.fail<ShapeError>(fmt::format("slice_sizes {} don't fit into the operand along dimension {}", to_string(p.slice_sizes), d));
    if (contains(n.collapsed_slice_dims, d) && size != 1)
      c.fail<ShapeError>(fmt::format("slice_sizes {} must be 1 along the collapsed dimension {}", to_string(p.slice_sizes), d));
  }
  for (std::size_t k = 0; k < n.operand_batching_dims.size(); ++k) {
    const int d = n.operand_batching_dims[k];
    if (contains(n.collapsed_slice_dims, d) || contains(n.start_index_map, d))
      c.fail<ShapeError>(fmt::format("the batching dimension {} is also in collapsed_slice_dims or start_index_map", d));
    if (p.slice_sizes[d] > 1)
      c.fail<ShapeError>(fmt::format("slice_sizes {} must be at most 1 along the batching dimension {}", to_string(p.slice_sizes), d));
    if (x[d] != indices[n.start_indices_batching_dims[k]])
      c.fail<ShapeError>(fmt::format("the batching dimensions {} of the operand and {} of the indices have different sizes", d,
                                     n.start_indices_batching_dims[k]));
  }
  const IndexedGeometry g = gather_geometry(n, p.slice_sizes, result_ndim);
  std::vector<std::int64_t> out(static_cast<std::size_t>(result_ndim));
  for (const IndexedDim& dim : g.dims)
    if (dim.window_dim >= 0) out[static_cast<std::size_t>(dim.window_dim)] = dim.window;
  for (std::size_t d = 0; d < g.batch_dims.size(); ++d) out[static_cast<std::size_t>(g.batch_dims[d])] = indices[static_cast<int>(d)];
  return c.in[0].with_shape(Shape(out));
}

std::vector<Tangent> Gather::jvp(const JvpContext& c) {
  if (!c.tangents[0]) return {std::nullopt};
  Params p = c.get<Params>();
  p.fill_value = FillValue::of(0);
  return {bind_one<Gather>(std::move(p), {*c.tangents[0], c.in[1]}, c.loc)};
}

std::vector<Tangent> Gather::transpose(const TransposeContext& c) {
  if (!c.cotangents[0] || !c.in[0].is_linear()) return {std::nullopt, std::nullopt};
  const Params& p = c.get<Params>();
  const Array zeros = zeros_of(c.in[0].aval, c.loc);
  return {bind_one<ScatterAdd>({inverse(p.dimension_numbers), p.indices_are_sorted, p.mode, p.unique_indices},
                               {zeros, c.in[1].known(), *c.cotangents[0]}, c.loc),
          std::nullopt};
}

Array batch_gather(const Gather::Params& given, const Array& operand, int operand_dim, const Array& indices, int indices_dim,
                   SourceLoc loc) {
  Gather::Params p = given;
  GatherDimensionNumbers& n = p.dimension_numbers;
  const bool x_mapped = operand_dim != kNotMapped, i_mapped = indices_dim != kNotMapped;
  const Array x = x_mapped ? move_batch_dim(operand, operand_dim, 0, loc) : operand;
  const Array i = i_mapped ? move_batch_dim(indices, indices_dim, 0, loc) : indices;
  const std::int64_t size = x_mapped ? x.shape()[0] : i.shape()[0];
  n.offset_dims = behind_mapped_axis(n.offset_dims, !i_mapped);
  if (x_mapped) {
    n.collapsed_slice_dims = behind_mapped_axis(n.collapsed_slice_dims);
    n.start_index_map = behind_mapped_axis(n.start_index_map);
    n.operand_batching_dims = behind_mapped_axis(n.operand_batching_dims, i_mapped);
    p.slice_sizes = p.slice_sizes.inserted(0, i_mapped ? std::min<std::int64_t>(size, 1) : size);
  }
  if (i_mapped) {
    n.start_indices_batching_dims = behind_mapped_axis(n.start_indices_batching_dims, x_mapped);
    p.indices_are_sorted = false;
    if (!x_mapped) p.unique_indices = false;
  }
  return bind_one<Gather>(std::move(p), {x, i}, loc);
}

BatchResult Gather::batch(const BatchContext& c) {
  return {{batch_gather(c.get<Params>(), c.in[0], c.dims[0], c.in[1], c.dims[1], c.loc)}, {0}};
}

void Gather::reference(const ReferenceContext& c) {
  const Params& p = c.get<Params>();
  const HostTensor &x = c.in[0], &out = c.out[0];
  const auto size = static_cast<std::size_t>(out.aval.dtype.itemsize());
  std::byte fill[16] = {};
  store_fill(p.fill_value, out.aval.dtype, fill);
  const std::byte* from = x.as<std::byte>();
  std::byte* to = out.as<std::byte>();
  for_each_in_windows(gather_geometry(p.dimension_numbers, p.slice_sizes, out.aval.ndim()), x.aval.shape, c.in[1], out.aval.shape,
                      p.mode != GatherScatterMode::fill_or_drop, [&](std::int64_t element, std::int64_t in_operand) {
                        std::memcpy(to + static_cast<std::size_t>(element) * size,
                                    in_operand < 0 ? fill : from + static_cast<std::size_t>(in_operand) * size, size);
                      });
}

namespace {
const Rule<ReadsWindowsAt, Gather> reads_windows([](const ParamsBase& p) -> const std::vector<int>& {
  return params_as<Gather::Params>(p).dimension_numbers.offset_dims;
});
}  // namespace

PrimitiveList gather_primitives() {
  static constexpr const Primitive* kList[] = {&primitive_of<Gather>};
  return kList;
}

}  // namespace weft::detail

namespace weft {
std::string print_param(const GatherDimensionNumbers& v) { return detail::print_fields("GatherDimensionNumbers", v); }
std::string print_param(const ScatterDimensionNumbers& v) { return detail::print_fields("ScatterDimensionNumbers", v); }
void read_param(detail::ParamReader& r, GatherDimensionNumbers& v) { detail::read_fields(r, "GatherDimensionNumbers", v); }
void read_param(detail::ParamReader& r, ScatterDimensionNumbers& v) { detail::read_fields(r, "ScatterDimensionNumbers", v); }
}  // namespace weft
