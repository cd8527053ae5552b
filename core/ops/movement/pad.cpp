// Padding with a value, between elements and at the edges, and cutting off.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/movement_rules.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

/// The size after padding; nothing if it exceeds the largest size of an array.
std::optional<std::int64_t> padded_size(std::int64_t n, const PadDim& p) {
  using Wide = __int128;
  const Wide size = Wide{p.low} + p.high + n + Wide{std::max<std::int64_t>(n - 1, 0)} * p.interior;
  return size > std::numeric_limits<std::int64_t>::max() ? std::nullopt
                                                         : std::optional(static_cast<std::int64_t>(std::max<Wide>(size, -1)));
}

/// The cotangent of the operand: the elements of the result's cotangent at the operand's positions.
Array unpad(const Array& ct, const Shape& shape, const PaddingConfig& config, SourceLoc loc) {
  PaddingConfig cut_off;  // elements that a negative width removed have no cotangent
  std::vector<std::int64_t> start, limit, strides;
  bool any_cut = false;
  for (std::size_t d = 0; d < config.size(); ++d) {
    const PadDim& p = config[d];
    const std::int64_t n = shape[static_cast<int>(d)];
    any_cut |= p.low < 0 || p.high < 0;
    cut_off.push_back({std::max<std::int64_t>(-p.low, 0), std::max<std::int64_t>(-p.high, 0), 0});
    start.push_back(std::max<std::int64_t>(p.low, 0));
    limit.push_back(start.back() + (n == 0 ? 0 : (n - 1) * (p.interior + 1) + 1));
    strides.push_back(p.interior + 1);
  }
  return slice_range(any_cut ? pad_with(ct, scalar_like(ct, 0), cut_off, loc) : ct, start, limit, strides, loc);
}

struct Pad {
  static constexpr std::string_view name = "pad",
                                    doc =
                                        "Puts a fill value before, after and between the elements of each dimension, or cuts elements off.";
  static constexpr Kind kind = Kind::movement;
  using Params = PadParams;
  static Aval abstract_eval(const OpContext& c) {
    if (c.in.size() != 2) c.fail<ShapeError>(fmt::format("takes an array and a fill value, not {}", counted(c.in.size(), "operand")));
    const auto& config = c.get<Params>().padding_config;
    const Aval& x = c.in[0];
    if (static_cast<int>(config.size()) != x.ndim())
      c.fail<ShapeError>(fmt::format("padding_config {} has {} for {}", print_param(config), counted(config.size(), "entry", "entries"),
                                     counted(x.ndim(), "dimension")));
    if (c.in[1].ndim() != 0) c.fail<ShapeError>("the fill value is not a scalar");
    if (c.in[1].dtype != x.dtype) c.fail<DTypeError>("the fill value has another dtype", "convert it");
    Shape out = x.shape;
    for (int d = 0; d < x.ndim(); ++d) {
      const PadDim& p = config[static_cast<std::size_t>(d)];
      if (p.interior < 0) c.fail<ShapeError>(fmt::format("interior padding {} of dimension {} is negative", p.interior, d));
      const std::optional<std::int64_t> size = padded_size(x.shape[d], p);
      if (!size)
        c.fail<ShapeError>(fmt::format("padding ({}, {}, {}) makes dimension {} larger than any array's", p.low, p.high, p.interior, d));
      out[d] = *size;
      if (out[d] < 0)
        c.fail<ShapeError>(fmt::format("padding ({}, {}) cuts more off dimension {} than its size {}", p.low, p.high, d, x.shape[d]));
    }
    Aval result = x.with_shape(out);
    result.weak &= c.in[1].weak;
    return result;
  }
  static std::vector<Tangent> jvp(const JvpContext& c) { return jvp_linear(c); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt, std::nullopt};
    const Array& ct = *c.cotangents[0];
    const Array of_operand = unpad(ct, c.in[0].aval.shape, c.get<Params>().padding_config, c.loc);
    Tangent operand, fill;
    if (c.in[0].is_linear()) operand = of_operand;
    if (c.in[1].is_linear()) fill = unbroadcast(ct, c.in[1].aval, c.loc) - unbroadcast(of_operand, c.in[1].aval, c.loc);
    return {operand, fill};
  }
  static BatchResult batch(const BatchContext& c) {
    const auto& config = c.get<Params>().padding_config;
    const bool fill_mapped = c.dims[1] != kNotMapped;
    const int dim = fill_mapped ? 0 : c.dims[0];
    const Array x = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, dim, c.loc);
    const PaddingConfig wider = with_inserted(config, dim, PadDim{});
    if (!fill_mapped) return {{pad_with(x, c.in[1], wider, c.loc)}, {dim}};
    const Array padded = pad_with(x, scalar_like(x, 0), wider, c.loc);
    const Array inside = pad_with(fill_shape(make_literal(true, bool_), x.shape(), c.loc), make_literal(false, bool_), wider, c.loc);
    return {{where(inside, padded, broadcast_in_dim(c.in[1], padded.shape(), {0}, c.loc))}, {0}};
  }
  static void reference(const ReferenceContext& c) {
    const auto& config = c.get<Params>().padding_config;
    const HostTensor& out = c.out[0];
    for (std::int64_t p = 0; p < out.aval.size(); ++p) copy_element(out, p, c.in[1], 0);
    for_each_index(c.in[0].aval.shape, [&](const Coordinates& i, std::int64_t p) {
      Coordinates to(i.size());
      for (std::size_t d = 0; d < i.size(); ++d) {
        to[d] = config[d].low + i[d] * (config[d].interior + 1);
        if (to[d] < 0 || to[d] >= out.aval.shape[static_cast<int>(d)]) return;
      }
      copy_element(out, position_of(out.aval.shape, to), c.in[0], p);
    });
  }
  static Movement movement(const Params& p, std::span<const Aval>, const Aval&, int) {
    Movement m;
    m.guarded = true;
    for (std::size_t d = 0; d < p.padding_config.size(); ++d)
      m.dims.push_back(
          {.out_dim = static_cast<int>(d), .scale = 1, .offset = -p.padding_config[d].low, .divisor = p.padding_config[d].interior + 1});
    return m;
  }
};

}  // namespace

std::string print_param(const PaddingConfig& v) {
  std::string text = "(";
  for (std::size_t d = 0; d < v.size(); ++d) text += fmt::format("{}({}, {}, {})", d ? ", " : "", v[d].low, v[d].high, v[d].interior);
  return text + (v.size() == 1 ? ",)" : ")");
}
void read_param(ParamReader& r, PaddingConfig& v) {
  std::vector<std::vector<int>> entries;
  read_param(r, entries);
  v.clear();
  for (const std::vector<int>& e : entries) {
    if (e.size() != 3)
      throw ShapeError(fmt::format("pad: an entry of padding_config has {}; it is (low, high, interior)", counted(e.size(), "number")));
    v.push_back({e[0], e[1], e[2]});
  }
}

Array pad_with(const Array& x, const Array& fill, const PaddingConfig& config, SourceLoc loc) {
  if (std::all_of(config.begin(), config.end(), [](const PadDim& p) { return p == PadDim{}; })) return x;
  return bind_one<Pad>({config}, {x, fill}, loc);
}

PrimitiveList pad_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Pad>};
  return list;
}

}  // namespace weft::detail
