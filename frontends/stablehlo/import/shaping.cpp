// Constants, and operations that move elements.
#include "weft/core/functions/shaping.h"
#include "weft/core/array/constructors.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

#include <algorithm>
#include <cstring>

namespace weft::detail::mlir {

Array array_of(const Attribute& dense, const OpCall& c) {
  if (dense.kind != Attribute::Kind::dense) c.fail("the value is not the elements of a tensor");
  const Aval type = aval_of(dense.type, c.importer(), dense.place);
  const std::int64_t n = type.size();
  if (dense.is_splat || type.shape.empty()) {
    if (dense.elements().size() != static_cast<std::size_t>(type.dtype.itemsize())) c.fail("a scalar has several elements");
    ScalarBits bits{};
    std::memcpy(bits.data(), dense.elements().data(), dense.elements().size());
    return fill_shape(make_literal(Aval{{}, type.dtype, false}, bits), type.shape, c.loc);
  }
  if (dense.elements().size() != static_cast<std::size_t>(type.bytes())) c.fail("a constant has other elements than its type");
  return array_of_elements(dense.elements().data(), type.dtype, n, type.shape, {}, c.loc);
}

namespace {

const Import constant_import(
    "stablehlo.constant",
    [](OpCall& c) -> Values {
      const Attribute* value = c.find("value");
      for (const Attribute& w : c.op.words)
        if (!value && w.kind == Attribute::Kind::dense) value = &w;
      if (!value) c.fail("its value is missing");
      return {array_of(*value, c)};
    },
    Elements::moved);

const Import iota_import("stablehlo.iota", [](OpCall& c) -> Values {
  const ShapeDtypeStruct& t = c.result();
  const std::int64_t d = c.integer("iota_dimension", "dim");
  if (d < 0 || d >= t.shape.size()) c.fail("iota_dimension is not a dimension of the result");
  Value positions = iota(t.dtype, t.shape, static_cast<int>(d), c.loc);
  positions.positions_along = static_cast<int>(d);
  return {positions};
});

const Import broadcast_in_dim_import(
    "stablehlo.broadcast_in_dim",
    [](OpCall& c) -> Values {
      const Shape& shape = c.result().shape;
      const Array& x = c.in(0);
      const std::vector<int> dims = c.dims("broadcast_dimensions", "dims");
      if (static_cast<int>(dims.size()) != x.ndim()) c.fail("broadcast_dimensions must have one entry for each dimension of the operand");
      // Dimensions may be in any order here; weft wants them increasing.
      std::vector<int> order(dims.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
      std::sort(order.begin(), order.end(),
                [&](int a, int b) { return dims[static_cast<std::size_t>(a)] < dims[static_cast<std::size_t>(b)]; });
      std::vector<int> sorted;
      for (int i : order) sorted.push_back(dims[static_cast<std::size_t>(i)]);
      return {broadcast_in_dim(permute(x, order, c.loc), shape, sorted, c.loc)};
    },
    Elements::moved);

const Import broadcast_import(
    "stablehlo.broadcast",
    [](OpCall& c) -> Values {
      Shape shape(c.integers("broadcast_sizes", "sizes"));
      for (const std::int64_t n : shape)
        if (n < 0) c.fail("broadcast_sizes has one below 0");
      for (const std::int64_t n : c.in(0).shape()) shape.push_back(n);
      return {broadcast_trailing(c.in(0), shape, c.loc)};
    },
    Elements::moved);

const Import reshape_import(
    "stablehlo.reshape", [](OpCall& c) -> Values { return {reshape(Arg(c.in(0), c.loc), c.result().shape)}; }, Elements::moved);

const Import transpose_import(
    "stablehlo.transpose",
    [](OpCall& c) -> Values {
      std::vector<int> permutation = c.dims("permutation", "dims");
      std::vector<int> sorted = permutation;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != static_cast<int>(i)) c.fail("permutation does not name each dimension once");
      if (static_cast<int>(sorted.size()) != c.in(0).ndim()) c.fail("permutation must have one entry for each dimension");
      return {permute(c.in(0), permutation, c.loc)};
    },
    Elements::moved);

const Import slice_import(
    "stablehlo.slice",
    [](OpCall& c) -> Values {
      const auto rank = static_cast<std::size_t>(c.in(0).ndim());
      std::vector<std::int64_t> start, limit, strides;
      if (c.find("start_indices")) {
        start = c.integers("start_indices"), limit = c.integers("limit_indices"), strides = c.integers_or("strides", rank, 1);
      } else {
        if (c.op.words.empty()) c.fail("its ranges are missing");
        for (const Attribute& range : c.op.words[0].items) {
          const std::vector<std::int64_t> r = integers_of(range, c);
          if (r.size() < 2 || r.size() > 3) c.fail("a range is `start:limit` or `start:limit:stride`");
          start.push_back(r[0]), limit.push_back(r[1]), strides.push_back(r.size() == 3 ? r[2] : 1);
        }
      }
      if (start.size() != rank || limit.size() != rank) c.fail("there must be one range for each dimension");
      return {slice_range(c.in(0), start, limit, strides, c.loc)};
    },
    Elements::moved);

const Import pad_import(
    "stablehlo.pad",
    [](OpCall& c) -> Values {
      const auto rank = static_cast<std::size_t>(c.in(0).ndim());
      const std::vector<std::int64_t> low = c.integers("edge_padding_low", "low"), high = c.integers("edge_padding_high", "high"),
                                      interior = c.integers("interior_padding", "interior");
      if (low.size() != rank || high.size() != rank || interior.size() != rank) c.fail("padding must have one entry for each dimension");
      PaddingConfig config;
      for (std::size_t i = 0; i < rank; ++i) config.push_back({low[i], high[i], interior[i]});
      return {pad_with(c.in(0), c.in(1), config, c.loc)};
    },
    Elements::moved);

const Import concatenate_import(
    "stablehlo.concatenate",
    [](OpCall& c) -> Values {
      const Arrays xs = c.ins();
      const std::int64_t d = c.integer("dimension", "dim");
      if (xs.empty() || d < 0 || d >= xs[0].ndim()) c.fail("dimension is not a dimension of the operands");
      return {concatenate_along(xs, static_cast<int>(d), c.loc)};
    },
    Elements::moved);

const Import reverse_import(
    "stablehlo.reverse",
    [](OpCall& c) -> Values {
      const std::vector<int> dims = c.dims("dimensions", "dims");
      for (int d : dims)
        if (d >= c.in(0).ndim()) c.fail("dimensions names one that the operand lacks");
      return {reverse(c.in(0), dims, c.loc)};
    },
    Elements::moved);

const Import dynamic_slice_import(
    "stablehlo.dynamic_slice",
    [](OpCall& c) -> Values {
      const Shape sizes(c.integers("slice_sizes", "sizes"));
      return {bind_all<DynamicSlice>({sizes}, c.ins(), c.loc)[0]};
    },
    Elements::moved);

const Import dynamic_update_slice_import(
    "stablehlo.dynamic_update_slice", [](OpCall& c) -> Values { return {bind_all<DynamicUpdateSlice>({}, c.ins(), c.loc)[0]}; },
    Elements::moved);

// Values that are no arrays.

const Import tuple_import("stablehlo.tuple", [](OpCall& c) -> Values {
  Value v;
  for (std::size_t i = 0; i < c.num_operands(); ++i) v.elements.push_back(c.value(i));
  return {std::move(v)};
});
const Import get_tuple_element_import("stablehlo.get_tuple_element", [](OpCall& c) -> Values {
  std::int64_t index = -1;
  if (c.find("index"))
    index = c.integer("index");
  else if (!c.op.words.empty() && !c.op.words[0].items.empty())
    index = c.op.words[0].items[0].integer;
  const std::vector<Value>& elements = c.value(0).elements;
  if (index < 0 || static_cast<std::size_t>(index) >= elements.size()) c.fail("the tuple has no such element");
  return {elements[static_cast<std::size_t>(index)]};
});

Values import_token(OpCall& c) { return {fill_shape(make_literal(Number(false), bool_), {0}, c.loc)}; }
const Import after_all_import("stablehlo.after_all", import_token), create_token_import("stablehlo.create_token", import_token);

// Arithmetic is never moved over it in weft either: a value stays as it is.
const Import optimization_barrier_import(
    "stablehlo.optimization_barrier",
    [](OpCall& c) -> Values {
      Values out;
      for (std::size_t i = 0; i < c.num_operands(); ++i) out.push_back(c.value(i));
      return out;
    },
    Elements::moved);

const Import get_dimension_size_import("stablehlo.get_dimension_size", [](OpCall& c) -> Values {
  const std::int64_t d = c.integer("dimension", "dim");
  if (d < 0 || d >= c.in(0).ndim()) c.fail("dimension is not a dimension of the operand");
  return {make_literal(Number(static_cast<long long>(c.in(0).shape()[static_cast<int>(d)])), int32)};
});

}  // namespace
}  // namespace weft::detail::mlir
