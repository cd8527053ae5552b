// NumPy's indexing. An index is first expanded to one entry for each dimension and newaxis, with masks as their positions. Ints, slices and
// scalars become slice, dynamic_slice, rev and squeeze; all other indices become a gather, and updates a scatter, whose operands `Plan`
// computes.
#include "weft/core/array/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_functions.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/host.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/given_text.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"

namespace weft {

Index::Index(const Array& indices, SourceLoc loc) : kind_(Kind::array), array_(indices.impl()), loc_(loc) {
  const DType dtype = indices.dtype();
  if (!dtype.is_integer() && !dtype.is_bool())
    throw DTypeError(
        fmt::format("index: {} is not an index; use integers (floor_divide divides them, / gives floating-point numbers), a mask "
                    "of bools, or a slice",
                    detail::to_string(indices.aval())),
        loc);
}
Index::Index(const Index&) = default;
Index& Index::operator=(const Index&) = default;
Index::~Index() = default;
Array Index::as_array() const { return Array(array_); }

namespace detail {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// The index of one dimension of x, or a new axis between two.
struct Entry {
  enum class Kind { position, slice, new_axis, scalar, array } kind;
  std::int64_t start = 0, step = 1, size = 1;  ///< positions start, start + step, ...
  Array array = {};                            ///< of a scalar or an array: the positions, none negative but for those out of bounds
  int array_ndim() const { return kind == Kind::array ? array.ndim() : 0; }
  bool advanced() const { return kind == Kind::position || kind == Kind::scalar || kind == Kind::array; }
};

Entry range_entry(const Slice& s, std::int64_t n, SourceLoc loc) {
  const std::int64_t step = s.step().value_or(1);
  if (step == 0) throw ShapeError("index: a slice's step is 0; it must be positive or negative", loc);
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? n : n - 1;
  auto bound = [&](const std::optional<std::int64_t>& v, std::int64_t otherwise) {
    return v ? std::clamp(*v < 0 ? *v + n : *v, lowest, highest) : otherwise;
  };
  const std::int64_t start = bound(s.start(), step > 0 ? 0 : n - 1), stop = bound(s.stop(), step > 0 ? n : -1);
  const std::int64_t distance = step > 0 ? stop - start : start - stop;  // a step may be the least integer, which has no negative
  return {Entry::Kind::slice, start, step, distance <= 0 ? 0 : step > 0 ? (distance - 1) / step + 1 : 1 - (distance - 1) / step};
}

[[noreturn]] void throw_empty_axis(int dim, const Aval& x, SourceLoc loc) {
  throw AxisError(fmt::format("index: axis {} of {} has size 0: there is no position to index", dim, to_string(x)), loc);
}

/// Whether the options say what becomes of positions out of bounds: then a known one is no error.
bool says_out_of_bounds(const IndexOptions& options) { return options.mode == "fill" || options.mode == "drop" || options.mode == "clip"; }
/// Whether reads out of bounds give a fill value.
bool fills(const IndexOptions& options) { return options.mode == "fill" || options.mode == "drop"; }

Entry position_entry(std::int64_t i, int dim, const Aval& x, const IndexOptions& options, SourceLoc loc) {
  const std::int64_t n = x.shape[dim];
  if (n == 0) throw_empty_axis(dim, x, loc);
  if ((i < -n || i >= n) && says_out_of_bounds(options))
    return {.kind = Entry::Kind::scalar, .array = make_literal(Number(i < 0 ? i + n : i), int64)};
  if (i < -n || i >= n)
    throw AxisError(fmt::format("index: position {} is out of range for axis {} of {}, which has size {}; use {} to {}", i, dim,
                                to_string(x), n, -n, n - 1),
                    loc);
  return {Entry::Kind::position, i < 0 ? i + n : i};
}

/// The positions where a mask is true, one array for each of its dimensions.
std::vector<Array> mask_positions(const Array& mask, SourceLoc loc) {
  const Array value = concrete_or_empty(mask);
  if (value.is_empty_handle())
    throw ConcretizationError(
        fmt::format("index: a mask {} has no value while it is traced{}, and the result's shape depends on it; use where(mask, x, "
                    "other), or update with a scalar: x.at(mask).set(0)",
                    to_string(mask.aval()), as_traced(mask) ? " (" + as_traced(mask)->trace->what() + ")" : ""),
        loc);
  const Shape& shape = mask.shape();
  std::vector<unsigned char> bytes(static_cast<std::size_t>(mask.size()));
  read_elements(value, bool_, bytes.data(), "index", loc);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::vector<std::int64_t>> positions(at(shape.size()));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i])
      for (int d = 0; d < shape.size(); ++d) positions[at(d)].push_back(static_cast<std::int64_t>(i) / strides[at(d)] % shape[d]);
  std::vector<Array> out;
  const DType type = type_of_indices(mask.aval());
  for (const auto& p : positions) out.push_back(array(p, Shape(p.size()), type, loc));
  return out;
}

int dims_of(const Index& i) {
  switch (i.kind()) {
    case Index::Kind::position:
    case Index::Kind::slice: return 1;
    case Index::Kind::array: return i.as_array().dtype().is_bool() ? i.as_array().ndim() : 1;
    default: return 0;
  }
}

/// One entry for each dimension and newaxis.
std::vector<Entry> spell_out(const Array& x, const std::vector<Index>& indices, const IndexOptions& options, SourceLoc loc) {
  const Aval& aval = x.aval();
  int named = 0, ellipses = 0;
  for (const Index& i : indices) named += dims_of(i), ellipses += i.kind() == Index::Kind::whole_axes;
  if (ellipses > 1)
    throw AxisError(fmt::format("index: more than one ellipsis in the index of {}; write one at most", to_string(aval)), loc);
  if (named > aval.ndim())
    throw AxisError(fmt::format("index: {} dimensions are indexed, but {} has {}", named, to_string(aval), aval.ndim()), loc);
  std::vector<Entry> out;
  int dim = 0;
  auto whole = [&](int n) {
    for (int k = 0; k < n; ++k) out.push_back(range_entry(slice(), aval.shape[dim++], loc));
  };
  for (const Index& i : indices) {
    if (i.kind() == Index::Kind::new_axis) {
      out.push_back({Entry::Kind::new_axis});
    } else if (i.kind() == Index::Kind::whole_axes) {
      whole(aval.ndim() - named);
    } else if (i.kind() == Index::Kind::slice) {
      out.push_back(range_entry(i.as_slice(), aval.shape[dim++], loc));
    } else if (i.kind() == Index::Kind::position) {
      out.push_back(position_entry(i.position(), dim, aval, options, loc));
      ++dim;
    } else if (const Array a = i.as_array(); a.dtype().is_bool()) {
      if (a.ndim() == 0) throw DTypeError("index: a bool is not a valid index; use where(condition, x, other)", loc);
      for (int d = 0; d < a.ndim(); ++d)
        if (a.shape()[d] != aval.shape[dim + d])
          throw ShapeError(fmt::format("index: the mask {} doesn't fit {} from axis {} on; it must have its sizes there",
                                       to_string(a.aval()), to_string(aval), dim),
                           loc);
      for (Array& p : mask_positions(a, loc)) out.push_back({.kind = Entry::Kind::array, .array = std::move(p)});
      dim += a.ndim();
    } else if (const LiteralArray* number = as_literal(a)) {
      out.push_back(position_entry(position_of(number_of(*number)), dim, aval, options, loc));
      ++dim;
    } else {
      const Entry::Kind kind = a.ndim() == 0 ? Entry::Kind::scalar : Entry::Kind::array;
      out.push_back({.kind = kind, .array = wrap_negative(index_type(a, loc), aval.shape[dim], loc)});
      ++dim;
    }
  }
  whole(aval.ndim() - dim);
  return out;
}

/// Indices without arrays: slice or dynamic_slice, then strides and reversals, squeeze, and the new axes.
Array slice_and_squeeze(const Array& x, const std::vector<Entry>& entries, SourceLoc loc) {
  std::vector<std::int64_t> first, limit, steps, sizes;  // the range of positions that each dimension's entry spans, upwards
  std::vector<int> reversed, dropped, new_axes;
  const Array* scalar = nullptr;
  int out_dim = 0, dim = 0;
  for (const Entry& e : entries) {
    if (e.kind == Entry::Kind::new_axis) {
      new_axes.push_back(out_dim++);
      continue;
    }
    const std::int64_t last = e.start + (e.size - 1) * e.step;
    first.push_back(e.size == 0 ? 0 : std::min(e.start, last));
    limit.push_back(e.size == 0 ? 0 : std::max(e.start, last) + 1);
    steps.push_back(e.size <= 1 ? 1 : std::abs(e.step));
    if (e.kind == Entry::Kind::slice) {
      if (e.step < 0 && e.size > 1) reversed.push_back(dim);
      ++out_dim;
    } else {
      dropped.push_back(dim);
      if (e.kind == Entry::Kind::scalar) scalar = &e.array;
    }
    ++dim;
  }
  Array y = x;
  if (scalar) {
    DType type = int32;
    for (const Entry& e : entries)
      if (e.kind == Entry::Kind::scalar) type = promote_types(type, e.array.dtype());
    std::vector<Array> operands{x};
    Shape window;
    for (const Entry& e : entries) {
      if (e.kind == Entry::Kind::new_axis) continue;
      const std::size_t d = at(window.size());
      operands.push_back(e.kind == Entry::Kind::scalar ? convert(Arg(e.array, loc), type) : make_literal(Number(first[d]), type));
      window.push_back(e.kind == Entry::Kind::scalar ? 1 : limit[d] - first[d]);
      first[d] = 0, limit[d] = window.back();
    }
    y = bind_all<DynamicSlice>({window}, operands, loc)[0];
  }
  y = reverse(slice_range(y, first, limit, steps, loc), reversed, loc);
  if (!dropped.empty()) y = squeeze_axes(y, dropped, loc);
  return new_axes.empty() ? y : insert_axes(y, new_axes, loc);
}

/// The gather or scatter that an index stands for. The algorithm is that of jax.numpy's _index_to_gather.
struct Plan {
  GatherDimensionNumbers numbers;
  Shape windows;  ///< slice_sizes of the gather
  Array indices;
  Shape shape;                ///< of the gather's result and of the updates
  std::vector<int> reversed;  ///< dimensions of that which are then reversed
  std::vector<int> new_axes;  ///< axes of the indexed shape that are not in `shape`
  Shape indexed;              ///< the shape that the user sees
  bool sorted_unique = true;  ///< the indices are increasing and different
  int empty_axis = -1;        ///< an axis of size 0 that is indexed by positions, or -1
};

class Planner {
 public:
  /// `points`: beside index arrays, a slice of a dimension is indexed point by point, so that windows are equal or disjoint.
  Planner(const Aval& x, const std::vector<Entry>& entries, SourceLoc loc, bool points = false)
      : x_(x), entries_(entries), loc_(loc), points_(points) {
    find_advanced();
  }

  Plan run() {
    int dim = 0;
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      if (e == advanced_at_) put_advanced();
      const Entry& entry = entries_[e];
      if (entry.kind == Entry::Kind::new_axis) {
        plan_.new_axes.push_back(plan_.indexed.size());
        plan_.indexed.push_back(1);
        continue;
      }
      if (entry.kind == Entry::Kind::slice)
        put_slice(entry, dim);
      else
        put_point(entry, dim);
      ++dim;
    }
    std::sort(plan_.numbers.collapsed_slice_dims.begin(), plan_.numbers.collapsed_slice_dims.end());
    plan_.indices = index_vectors();
    return std::move(plan_);
  }

 private:
  struct Component {
    Array array;  // or a number
    std::int64_t number;
    int first_dim;  // where the array's dimensions are among the batch dimensions
    int ndim;
  };

  // Ints and scalars go with the arrays if there are any. The dimensions of all index arrays come together: at the first one if they are
  // adjacent, else in front.
  void find_advanced() {
    const bool any = std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.kind == Entry::Kind::array; });
    if (!any) return;
    plan_.sorted_unique = false;
    std::vector<std::size_t> where;
    for (std::size_t e = 0; e < entries_.size(); ++e) {
      if (!entries_[e].advanced()) continue;
      where.push_back(e);
      if (entries_[e].kind == Entry::Kind::array) merge(entries_[e].array.shape());
    }
    advanced_at_ = where.back() - where.front() + 1 == where.size() ? where.front() : 0;
  }

  void merge(const Shape& s) {
    while (common_.size() < s.size()) common_ = common_.inserted(0, 1);
    for (int d = 1; d <= s.size(); ++d) {
      std::int64_t& to = common_[common_.size() - d];
      const std::int64_t size = s[s.size() - d];
      if (size != 1 && to != 1 && size != to) {
        std::string all;
        for (const Entry& e : entries_)
          if (e.kind == Entry::Kind::array) all += (all.empty() ? "" : ", ") + to_string(e.array.aval());
        throw ShapeError(fmt::format("index: the index arrays {} don't broadcast together (indexing {})", all, to_string(x_)), loc_);
      }
      if (size != 1) to = size;
    }
  }

  void put_advanced() {
    common_at_ = batch_.size();
    for (std::int64_t n : common_) batch_.push_back(n), plan_.shape.push_back(n), plan_.indexed.push_back(n);
  }

  void put_point(const Entry& e, int dim) {
    if (x_.shape[dim] == 0) plan_.empty_axis = dim;
    plan_.numbers.start_index_map.push_back(dim);
    plan_.numbers.collapsed_slice_dims.push_back(dim);
    plan_.windows.push_back(1);
    components_.push_back({e.array, e.start, common_at_ + common_.size() - e.array_ndim(), e.array_ndim()});
  }

  void put_slice(const Entry& e, int dim) {
    const int out_dim = plan_.shape.size();
    plan_.shape.push_back(e.size);
    plan_.indexed.push_back(e.size);
    const bool whole = e.size == x_.shape[dim] && e.step == 1;
    if (whole || ((e.step == 1 || e.size <= 1) && (plan_.sorted_unique || !points_))) {
      plan_.numbers.offset_dims.push_back(out_dim);
      plan_.windows.push_back(e.size);
      if (whole) return;
      plan_.numbers.start_index_map.push_back(dim);
      components_.push_back({{}, e.size == 0 ? 0 : e.start, 0, 0});
      return;
    }
    // A strided slice: each position is an index, along a batch dimension of its own, in ascending order, so that the indices are sorted.
    if (e.step < 0) plan_.reversed.push_back(out_dim);
    const std::int64_t low = e.step > 0 ? e.start : e.start + (e.size - 1) * e.step;
    const Array count = iota_array(type_of_indices(x_), e.size, 0, loc_);
    plan_.numbers.start_index_map.push_back(dim);
    plan_.numbers.collapsed_slice_dims.push_back(dim);
    plan_.windows.push_back(1);
    components_.push_back(
        {count * make_literal(Number(std::abs(e.step)), count.dtype()) + make_literal(Number(low), count.dtype()), 0, batch_.size(), 1});
    batch_.push_back(e.size);
  }

  // All components side by side along a last dimension.
  Array index_vectors() const {
    DType type = type_of_indices(x_);
    for (const Component& c : components_)
      if (!c.array.is_empty_handle()) type = promote_types(type, c.array.dtype());
    const Shape column = batch_.inserted(batch_.size(), 1);
    std::vector<Array> columns;
    for (const Component& c : components_) {
      if (c.array.is_empty_handle()) {
        columns.push_back(fill_shape(make_literal(Number(c.number), type), column, loc_));
        continue;
      }
      std::vector<int> dims;
      for (int d = 0; d < c.ndim; ++d) dims.push_back(c.first_dim + d);
      columns.push_back(broadcast_in_dim(convert(Arg(c.array, loc_), type), column, dims, loc_));
    }
    if (columns.empty()) return zeros_of({batch_.inserted(batch_.size(), 0), type}, loc_);
    return columns.size() == 1 ? columns[0] : concatenate_along(columns, batch_.size(), loc_);
  }

  const Aval& x_;
  const std::vector<Entry>& entries_;
  SourceLoc loc_;
  bool points_;
  Plan plan_;
  Shape batch_;   // the dimensions of the indices but the last
  Shape common_;  // the shape of all index arrays broadcast together
  int common_at_ = 0;
  std::size_t advanced_at_ = static_cast<std::size_t>(-1);
  std::vector<Component> components_;
};

Array read_index(const Array& x, const std::vector<Index>& indices, SourceLoc loc, const IndexOptions& options = {}) {
  LocScope scope(loc);
  const std::vector<Entry> entries = spell_out(x, indices, options, loc);
  const OutOfBounds out = out_of_bounds("at().get", options, x.dtype(), GatherScatterMode::promise_in_bounds, loc);
  // A dynamic_slice moves what is out of bounds inside; a gather can fill it.
  const bool filled = fills(options);
  if (std::none_of(entries.begin(), entries.end(),
                   [&](const Entry& e) { return e.kind == Entry::Kind::array || (filled && e.kind == Entry::Kind::scalar); }))
    return slice_and_squeeze(x, entries, loc);
  const Plan p = Planner(x.aval(), entries, loc).run();
  if (p.indexed.num_elements() == 0) return zeros_of(x.aval().with_shape(p.indexed), loc);
  if (p.empty_axis >= 0) throw_empty_axis(p.empty_axis, x.aval(), loc);
  Array y = bind_one<Gather>({p.numbers, out.fill, p.sorted_unique, out.mode, p.windows, p.sorted_unique}, {x, p.indices}, loc);
  y = reverse(y, p.reversed, loc);
  return p.new_axes.empty() ? y : insert_axes(y, p.new_axes, loc);
}

/// A mask as the only index: the update is a select, whatever the mask's value. Null if it is something else.
const Index* only_mask(const std::vector<Index>& indices) {
  const Index* mask = nullptr;
  for (const Index& i : indices) {
    if (i.kind() == Index::Kind::whole_axes && mask) continue;
    if (mask || i.kind() != Index::Kind::array || !i.as_array().dtype().is_bool() || i.as_array().ndim() == 0) return nullptr;
    mask = &i;
  }
  return mask;
}

enum class Update { set, add, multiply, min, max };

Array combine(Update update, const Array& x, const Array& v) {
  switch (update) {
    case Update::set: return v;
    case Update::add: return x + v;
    case Update::multiply: return x * v;
    case Update::min: return minimum(x, v);
    case Update::max: return maximum(x, v);
  }
  return v;
}

/// The value in x's dtype, if that is of its kind or a wider kind.
Array converted(const Array& v, DType dtype, const char* operation, SourceLoc loc) {
  auto rank = [](DType d) { return d.is_complex() ? 2 : d.is_floating() ? 1 : 0; };
  if (v.dtype().is_key() != dtype.is_key())
    throw DTypeError(
        fmt::format("{}: a value {} can't be put into an array of {}; random::wrap_key_data makes keys, random::key_data numbers",
                    operation, to_string(v.aval()), dtype.name()),
        loc);
  if (rank(v.dtype()) > rank(dtype))
    throw DTypeError(fmt::format("{}: a value {} can't be put into an array of {} without loss; convert one of them", operation,
                                 to_string(v.aval()), dtype.name()),
                     loc);
  return convert(Arg(v, loc), dtype);
}

Array update_index(const Array& x, const std::vector<Index>& indices, const Arg& value, Update update, const char* operation,
                   const IndexOptions& options, SourceLoc loc) {
  LocScope scope(loc);
  if (options.fill_value) throw Error(fmt::format("{}: takes no fill_value, which only reads use out of bounds", operation), loc);
  const OutOfBounds out = out_of_bounds(operation, options, x.dtype(), GatherScatterMode::fill_or_drop, loc);
  const Array v = converted(value.array(), x.dtype(), operation, loc);
  if (const Index* mask = only_mask(indices); mask && v.ndim() == 0) {
    const Array m = mask->as_array();
    bool fits = m.ndim() <= x.ndim();
    for (int d = 0; fits && d < m.ndim(); ++d) fits = m.shape()[d] == x.shape()[d];
    if (!fits) throw ShapeError(fmt::format("{}: the mask {} doesn't fit {}", operation, to_string(m.aval()), to_string(x.aval())), loc);
    std::vector<int> dims;
    for (int d = 0; d < m.ndim(); ++d) dims.push_back(d);
    return where(broadcast_in_dim(m, x.shape(), dims, loc), combine(update, x, v), x);
  }
  const std::vector<Entry> entries = spell_out(x, indices, options, loc);
  const Plan p = Planner(x.aval(), entries, loc, update == Update::multiply).run();
  bool fits = v.ndim() <= p.indexed.size();
  for (int d = 1; fits && d <= v.ndim(); ++d)
    fits = v.shape()[v.ndim() - d] == 1 || v.shape()[v.ndim() - d] == p.indexed[p.indexed.size() - d];
  if (!fits)
    throw ShapeError(fmt::format("{}: a value {} can't be broadcast to the shape {} of the indexed part of {}", operation,
                                 to_string(v.aval()), to_string(p.indexed), to_string(x.aval())),
                     loc);
  if (p.indexed.num_elements() == 0) return x;
  Array y = broadcast_trailing(v, p.indexed, loc);
  if (!p.new_axes.empty()) y = squeeze_axes(y, p.new_axes, loc);
  y = reverse(y, p.reversed, loc);
  // With all starts known, a replaced window is a dynamic_update_slice: moving it inside the array has no effect.
  const bool known = std::all_of(entries.begin(), entries.end(), [](const Entry& e) {
    return e.kind == Entry::Kind::new_axis || e.kind == Entry::Kind::position ||
           (e.kind == Entry::Kind::slice && (e.step == 1 || e.size <= 1));
  });
  if (known && update == Update::set) {
    std::vector<Array> operands{x, reshape_to(y, p.windows, loc)};
    for (const Entry& e : entries)
      if (e.kind != Entry::Kind::new_axis) operands.push_back(make_literal(Number(e.start), type_of_indices(x.aval())));
    return bind_all<DynamicUpdateSlice>({}, operands, loc)[0];
  }
  const ScatterParams s{inverse(p.numbers), p.sorted_unique, out.mode, p.sorted_unique};
  switch (update) {
    case Update::set:
      return bind_one<Scatter>({s.dimension_numbers, s.indices_are_sorted, s.mode, s.unique_indices, {}}, {x, p.indices, y}, loc);
    case Update::add: return bind_one<ScatterAdd>(s, {x, p.indices, y}, loc);
    case Update::multiply: return bind_one<ScatterMul>(s, {x, p.indices, y}, loc);
    case Update::min: return bind_one<ScatterMin>(s, {x, p.indices, y}, loc);
    case Update::max: return bind_one<ScatterMax>(s, {x, p.indices, y}, loc);
  }
  return x;
}

std::vector<Index> present(std::initializer_list<Index> all) {
  std::vector<Index> out;
  for (const Index& i : all)
    if (i.kind() != Index::Kind::absent) out.push_back(i);
  return out;
}

}  // namespace
}  // namespace detail

TextArg::TextArg(const char* s, SourceLoc loc)
    : text_(detail::given_text(s, "the text of a call", detail::effective_loc(loc))), loc_(loc) {}

Array UnaryFunction::operator()(Arg x) const {
  if (takes_arg_) return takes_arg_(x);
  return takes_reference_ ? takes_reference_(x.array()) : takes_value_(x.array());
}
Array BinaryFunction::operator()(Arg x, Arg y) const {
  if (takes_args_) return takes_args_(x, y);
  return takes_references_ ? takes_references_(x.array(), y.array()) : takes_values_(x.array(), y.array());
}

std::vector<Index> IndexList::indices() const {
  std::vector<Index> out;
  for (const Arg& a : arrays_.args()) out.emplace_back(a.array(), loc_);
  return out;
}

Array Array::operator()(Index a, Index b, Index c, Index d, Index e, Index f) const {
  return detail::read_index(*this, detail::present({a, b, c, d, e, f}), a.where());
}
Array Array::operator[](Index i) const { return detail::read_index(*this, {i}, i.where()); }
Array Array::operator[](const IndexList& index) const { return detail::read_index(*this, index.indices(), index.where()); }
Array Array::operator()(const IndexList& index) const { return (*this)[index]; }
Array Array::operator[](std::initializer_list<Index> index) const {
  return detail::read_index(*this, index, index.size() ? index.begin()->where() : SourceLoc());
}
AtIndex Array::at(Index a, Index b, Index c, Index d, Index e, Index f) const {
  return AtIndex(*this, detail::present({a, b, c, d, e, f}), a.where());
}
AtIndex Array::at(const IndexList& index) const { return AtIndex(*this, index.indices(), index.where()); }
AtIndex Array::at_all(std::vector<Index> index) const {
  const SourceLoc loc = index[0].where();
  return AtIndex(*this, std::move(index), loc);
}

Array AtIndex::get(IndexOptions options) const { return detail::read_index(x_, indices_, loc_, options); }
Array AtIndex::set(Arg v, IndexOptions options) const {
  return detail::update_index(x_, indices_, v, detail::Update::set, "at().set", options, loc_);
}
Array AtIndex::add(Arg v, IndexOptions options) const {
  return detail::update_index(x_, indices_, v, detail::Update::add, "at().add", options, loc_);
}
Array AtIndex::subtract(Arg v, IndexOptions options) const {
  detail::LocScope scope(loc_);
  const Array same = detail::converted(v.array(), x_.dtype(), "at().subtract", loc_);
  return detail::update_index(x_, indices_, -same, detail::Update::add, "at().subtract", options, loc_);
}
Array AtIndex::multiply(Arg v, IndexOptions options) const {
  return detail::update_index(x_, indices_, v, detail::Update::multiply, "at().multiply", options, loc_);
}
Array AtIndex::min(Arg v, IndexOptions options) const {
  return detail::update_index(x_, indices_, v, detail::Update::min, "at().min", options, loc_);
}
Array AtIndex::max(Arg v, IndexOptions options) const {
  return detail::update_index(x_, indices_, v, detail::Update::max, "at().max", options, loc_);
}
Array AtIndex::divide(Arg v, IndexOptions options) const {
  detail::LocScope scope(loc_);
  const DType dtype = x_.dtype().is_inexact() ? x_.dtype() : float32;
  const Array ones = detail::fill_shape(detail::make_literal(detail::Number(1), dtype), x_.shape(), loc_);
  return convert(x_, dtype) / detail::update_index(ones, indices_, v, detail::Update::multiply, "at().divide", options, loc_);
}
Array AtIndex::power(Arg v, IndexOptions options) const {
  detail::LocScope scope(loc_);
  const Array ones = detail::fill_shape(detail::make_literal(detail::Number(1), x_.dtype()), x_.shape(), loc_);
  return pow(x_, detail::update_index(ones, indices_, v, detail::Update::multiply, "at().power", options, loc_));
}

}  // namespace weft
