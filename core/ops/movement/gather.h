// gather, and what gathers and scatters share: how an element's place in the operand follows from its place in the result or the updates.
#pragma once
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/indexing.h"
#include "weft/core/ir/primitive.h"

namespace weft {
// How the dimension numbers are written; beside their types, so that lookup by argument finds them.
std::string print_param(const GatherDimensionNumbers& v);
std::string print_param(const ScatterDimensionNumbers& v);
void read_param(detail::ParamReader& r, GatherDimensionNumbers& v);
void read_param(detail::ParamReader& r, ScatterDimensionNumbers& v);
}  // namespace weft

namespace weft::detail {

/// What happens to windows that aren't wholly inside the operand.
enum class GatherScatterMode {
  clip,               ///< they are moved inside
  fill_or_drop,       ///< a gather gives the fill value, a scatter leaves them out
  promise_in_bounds,  ///< there are none; else a gather does as clip, a scatter as fill_or_drop
};
std::string print_param(GatherScatterMode v);
void read_param(ParamReader& r, GatherScatterMode& v);

/// The fill value as it is written: an integer or a float.
struct FillValue {
  bool is_integer = false;
  std::int64_t integer = 0;
  double real = 0;
  static FillValue of(std::int64_t v) { return {true, v, static_cast<double>(v)}; }
  static FillValue of_real(double v) { return {false, 0, v}; }
  friend bool operator==(const FillValue& a, const FillValue& b) {
    return a.is_integer == b.is_integer && a.integer == b.integer &&
           std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
  }
};
std::string print_param(const FillValue& v);
void read_param(ParamReader& r, FillValue& v);
/// The value that fills where none is given: NaN, the lowest integer, the highest unsigned one (also of a key), true.
FillValue default_fill(DType dtype);
/// The fill value's bytes in the dtype, `dtype.itemsize()` of them.
void store_fill(const std::optional<FillValue>& fill, DType dtype, void* out);

/// For operations that read windows of their first operand at positions that their second holds: the result's dimensions along which the
/// elements of one window lie.
struct ReadsWindowsAt {
  using Function = const std::vector<int>&(const ParamsBase& params);
};

struct Gather {
  static constexpr int num_operands = 2;
  static constexpr std::string_view name = "gather", doc = "Windows of an array at computed positions.";
  static constexpr Kind kind = Kind::gather;
  struct Params {
    GatherDimensionNumbers dimension_numbers;
    std::optional<FillValue> fill_value;  ///< absent: default_fill
    bool indices_are_sorted = false;
    GatherScatterMode mode = GatherScatterMode::fill_or_drop;
    Shape slice_sizes;
    bool unique_indices = false;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static Aval abstract_eval(const OpContext& c);
  static std::vector<Tangent> jvp(const JvpContext& c);
  static std::vector<Tangent> transpose(const TransposeContext& c);
  static BatchResult batch(const BatchContext& c);
  static void reference(const ReferenceContext& c);
};

/// The batching rule on its own, for rules of other primitives that become gathers: one result, the mapped axis in front or kNotMapped.
Array batch_gather(const Gather::Params& p, const Array& operand, int operand_dim, const Array& indices, int indices_dim, SourceLoc loc);

/// Where an operand coordinate comes from: start + window coordinate. The start is an entry of the index vector (clamped to
/// [0, size - window] where the mode says so), or the coordinate along a batch dimension of the indices, or 0.
struct IndexedDim {
  int component = -1;       ///< entry of the index vector, or -1
  int batch_dim = -1;       ///< dimension of the indices, or -1
  int window_dim = -1;      ///< dimension of the result (gather) or updates (scatter), or -1: the window has size 1 and no dimension
  std::int64_t window = 1;  ///< the window's size
};
struct IndexedGeometry {
  std::vector<IndexedDim> dims;  ///< one for each dimension of the operand
  std::vector<int> batch_dims;   ///< for each dimension of the indices but the last: the dimension of the result or updates
};
IndexedGeometry gather_geometry(const GatherDimensionNumbers& n, const Shape& slice_sizes, int result_ndim);
IndexedGeometry scatter_geometry(const ScatterDimensionNumbers& n, int operand_ndim, const Shape& updates);

/// Dimensions once a mapped axis is in front, itself first among them if `with_mapped`.
std::vector<int> behind_mapped_axis(const std::vector<int>& dims, bool with_mapped = false);

/// The gather that reads what a scatter writes, and the other way round.
GatherDimensionNumbers inverse(const ScatterDimensionNumbers& n);
ScatterDimensionNumbers inverse(const GatherDimensionNumbers& n);

/// Visits the windows in order of the indices: for each element of the result (or updates) `visit(position in it, position in the
/// operand)`, the latter -1 where the window is not wholly inside and mode is not clip. `clamp`: windows are moved inside.
void visit_windows(const IndexedGeometry& g, const Shape& operand, const HostTensor& indices, const Shape& elements, bool clamp,
                   void (*visit)(void* context, std::int64_t element, std::int64_t in_operand), void* context);
template <class F>
void for_each_in_windows(const IndexedGeometry& g, const Shape& operand, const HostTensor& indices, const Shape& elements, bool clamp,
                         F f) {
  visit_windows(g, operand, indices, elements, clamp, [](void* c, std::int64_t e, std::int64_t o) { (*static_cast<F*>(c))(e, o); }, &f);
}
/// Integers of any integer dtype, as they are; unsigned ones too large become the largest int64.
std::vector<std::int64_t> read_indices(const HostTensor& t);

}  // namespace weft::detail
