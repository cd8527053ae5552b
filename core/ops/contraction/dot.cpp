// dot_general: https://openxla.org/stablehlo/spec#dot_general
#include "weft/core/ops/contraction/dot.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/terms.h"
#include "weft/core/ops/elementwise/wrapping.h"
#include "weft/core/ops/load_all.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"

namespace weft::detail {

std::string print_param(const DotDimensions& v) {
  auto list = [](const std::vector<int>& dims) {
    std::string s = "[";
    for (std::size_t i = 0; i < dims.size(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
    return s + "]";
  };
  return fmt::format("(({}, {}), ({}, {}))", list(v.contracting[0]), list(v.contracting[1]), list(v.batch[0]), list(v.batch[1]));
}
void read_param(ParamReader& r, DotDimensions& v) {
  std::array<std::vector<int>, 2>* const groups[] = {&v.contracting, &v.batch};
  std::size_t group = 0;
  r.read_list([&] {
    std::size_t operand = 0;
    if (group == 2) r.fail("dimension_numbers are ((contracting of a, of b), (batch of a, of b))");
    r.read_list([&] {
      if (operand == 2) r.fail("dimension_numbers are ((contracting of a, of b), (batch of a, of b))");
      read_param(r, (*groups[group])[operand++]);
    });
    ++group;
  });
}

std::vector<int> dot_free_dims(const DotDimensions& dims, int operand, int ndim) {
  const auto k = static_cast<std::size_t>(operand);
  std::vector<int> bound = dims.contracting[k];
  bound.insert(bound.end(), dims.batch[k].begin(), dims.batch[k].end());
  return other_dims(ndim, bound);
}

namespace {

void check_dims(const OpContext& c, const char* what, const std::array<std::vector<int>, 2>& dims) {
  if (dims[0].size() != dims[1].size())
    c.fail<ShapeError>(fmt::format("{} {} dimensions of the first operand and {} of the second", dims[0].size(), what, dims[1].size()),
                       "their numbers must be equal");
  for (std::size_t k = 0; k < 2; ++k)
    for (int d : dims[k])
      if (d < 0 || d >= c.in[k].ndim())
        c.fail<AxisError>(fmt::format("{} dimension {} of operand {} is out of range", what, d, k), "dimensions count from 0");
  for (std::size_t i = 0; i < dims[0].size(); ++i) {
    const std::int64_t m = c.in[0].shape[dims[0][i]], n = c.in[1].shape[dims[1][i]];
    if (m != n)
      c.fail<ShapeError>(fmt::format("{} dimension {} of the first operand has size {}, and dimension {} of the second {}", what,
                                     dims[0][i], m, dims[1][i], n),
                         "their sizes must be equal");
  }
}

struct DotGeneral {
  static constexpr int num_operands = 2;
  static constexpr std::string_view
      name = "dot_general",
      doc = "Contraction of two arrays: products summed over the contracting dimensions, for each index of the batch dimensions.";
  static constexpr Kind kind = Kind::dot;
  using Params = DotParams;
  static constexpr Reduces reduces = Reduces::contraction;
  static std::span<const int> reduced_dims(const Params& p) { return p.dimension_numbers.contracting[0]; }

  static Aval abstract_eval(const OpContext& c) {
    const auto& [dims, preferred] = c.get<Params>();
    check_dims(c, "contracting", dims.contracting);
    check_dims(c, "batch", dims.batch);
    for (std::size_t k = 0; k < 2; ++k) {
      std::vector<int> bound = dims.contracting[k];
      bound.insert(bound.end(), dims.batch[k].begin(), dims.batch[k].end());
      std::sort(bound.begin(), bound.end());
      if (const auto twice = std::adjacent_find(bound.begin(), bound.end()); twice != bound.end())
        c.fail<AxisError>(fmt::format("dimension {} of operand {} is named twice", *twice, k), "a dimension is contracted, batch, or free");
    }
    const WeakDType common = promote_types(c.in[0].weak_dtype(), c.in[1].weak_dtype());
    const DType dtype = preferred.value_or(common.dtype);
    auto rank = [](DType d) { return d.is_complex() ? 2 : d.is_floating() ? 1 : 0; };
    if (rank(dtype) < rank(common.dtype))
      c.fail<DTypeError>(fmt::format("preferred_element_type {} can't hold products of {}", dtype.name(), common.dtype.name()),
                         "choose one of the operands' kind");
    Shape shape;
    for (int d : dims.batch[0]) shape.push_back(c.in[0].shape[d]);
    for (int k = 0; k < 2; ++k)
      for (int d : dot_free_dims(dims, k, c.in[static_cast<std::size_t>(k)].ndim()))
        shape.push_back(c.in[static_cast<std::size_t>(k)].shape[d]);
    return {shape, dtype, common.weak};
  }

  static std::vector<Tangent> jvp(const JvpContext& c) {
    Tangent sum;
    for (std::size_t k = 0; k < 2; ++k)
      if (c.tangents[k]) {
        const Array a = k == 0 ? *c.tangents[0] : c.in[0], b = k == 1 ? *c.tangents[1] : c.in[1];
        sum = add_tangents(sum, bind_one<DotGeneral>(c.get<Params>(), {a, b}, c.loc), c.loc);
      }
    return {sum};
  }

  /// The cotangent times the other operand, contracted over the other's free dimensions: its result has the batch dimensions, then the
  /// linear operand's free ones, then its contracted ones in the order that they have in the other operand.
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out(2);
    if (!c.cotangents[0]) return out;
    const auto& [dims, preferred] = c.get<Params>();
    const std::size_t k = c.in[0].is_linear() ? 0 : 1, other = 1 - k;
    const Array& known = c.in[other].known();
    const std::vector<int> free = dot_free_dims(dims, static_cast<int>(k), c.in[k].aval.ndim());
    const std::vector<int> known_free = dot_free_dims(dims, static_cast<int>(other), known.ndim());
    const int num_batch = static_cast<int>(dims.batch[0].size());
    const int first_known = num_batch + (k == 0 ? static_cast<int>(free.size()) : 0);  // of the cotangent's dimensions
    auto range = [](int begin, std::size_t n) {
      std::vector<int> r(n);
      std::iota(r.begin(), r.end(), begin);
      return r;
    };
    const DotDimensions back{.contracting = {range(first_known, known_free.size()), known_free},
                             .batch = {range(0, dims.batch[0].size()), dims.batch[other]}};
    const Array product = bind_one<DotGeneral>({back, preferred}, {*c.cotangents[0], known}, c.loc);

    std::vector<std::size_t> by_known(dims.contracting[0].size());
    std::iota(by_known.begin(), by_known.end(), std::size_t{0});
    std::sort(by_known.begin(), by_known.end(),
              [&](std::size_t i, std::size_t j) { return dims.contracting[other][i] < dims.contracting[other][j]; });
    std::vector<int> position(static_cast<std::size_t>(c.in[k].aval.ndim()));  // of the operand's dimensions in the product
    int next = 0;
    for (int d : dims.batch[k]) position[static_cast<std::size_t>(d)] = next++;
    for (int d : free) position[static_cast<std::size_t>(d)] = next++;
    for (std::size_t i : by_known) position[static_cast<std::size_t>(dims.contracting[k][i])] = next++;
    const Array cotangent = permute(product, position, c.loc);
    out[k] = cotangent.dtype() == c.in[k].aval.dtype ? cotangent : convert(cotangent, c.in[k].aval.dtype);
    return out;
  }

  /// An axis mapped in both operands becomes the first batch dimension, one that is mapped in one operand a free one.
  static BatchResult batch(const BatchContext& c) {
    auto [dims, preferred] = c.get<Params>();
    for (std::size_t k = 0; k < 2; ++k)
      if (c.dims[k] != kNotMapped)
        for (std::vector<int>* list : {&dims.contracting[k], &dims.batch[k]})
          for (int& d : *list) d += d >= c.dims[k];
    int at = 0;
    if (c.dims[0] != kNotMapped && c.dims[1] != kNotMapped) {
      for (std::size_t k = 0; k < 2; ++k) dims.batch[k].insert(dims.batch[k].begin(), c.dims[k]);
    } else {
      const int k = c.dims[0] != kNotMapped ? 0 : 1;
      const std::vector<int> free = dot_free_dims(dims, k, c.in[static_cast<std::size_t>(k)].ndim());
      at = static_cast<int>(dims.batch[0].size()) +
           static_cast<int>(std::find(free.begin(), free.end(), c.dims[static_cast<std::size_t>(k)]) - free.begin());
      if (k == 1) at += static_cast<int>(dot_free_dims(dims, 0, c.in[0].ndim()).size());
    }
    return {{bind_one<DotGeneral>({dims, preferred}, {c.in[0], c.in[1]}, c.loc)}, {at}};
  }

  static void reference(const ReferenceContext& c) {
    with_storage(c.out[0].aval.dtype, [&]<class T>() {
      using V = std::conditional_t<std::is_integral_v<T>, std::uint64_t, compute_t<T>>;
      const DotDimensions& dims = c.get<Params>().dimension_numbers;
      const std::vector<V> a = load_all<V>(c.in[0]), b = load_all<V>(c.in[1]);
      std::vector<std::int64_t> batch[2], free[2], steps[2];
      for (std::size_t k = 0; k < 2; ++k) {
        const Shape& shape = c.in[k].aval.shape;
        batch[k] = offsets_along(shape, dims.batch[k]);
        free[k] = offsets_along(shape, dot_free_dims(dims, static_cast<int>(k), shape.size()));
        steps[k] = offsets_along(shape, dims.contracting[k]);
      }
      T* out = c.out[0].as<T>();
      for (std::size_t n = 0; n < batch[0].size(); ++n)
        for (std::int64_t i : free[0])
          for (std::int64_t j : free[1]) {
            const auto product = [&](std::size_t s) {
              return wrapping_mul(a[static_cast<std::size_t>(batch[0][n] + i + steps[0][s])],
                                  b[static_cast<std::size_t>(batch[1][n] + j + steps[1][s])]);
            };
            // A single product is not added to 0, which would lose the sign of a negative zero.
            const bool single = steps[0].size() == 1;
            V sum = single ? product(0) : V{};
            for (std::size_t s = single ? 1 : 0; s < steps[0].size(); ++s) sum += product(s);
            if constexpr (std::is_integral_v<T>)
              *out++ = static_cast<T>(sum);
            else
              *out++ = store_element<T>(sum);
          }
    });
  }
};

constexpr ParamValue kDotGeneralLeftOut[] = {{"precision", "None"}, {"preferred_element_type", "None"}};
const Rule<TermsTransform, DotGeneral> dot_terms([](const ParamsBase& p, std::span<const Aval> in, const Aval& out) {
  auto terms = static_cast<double>(out.size());
  for (int d : params_as<DotParams>(p).dimension_numbers.contracting[0]) terms *= static_cast<double>(in[0].shape[d]);
  return terms;
});
const TextRule<DotGeneral> dot_text([] { return TextTraits{.left_out = kDotGeneralLeftOut}; });

}  // namespace

Array dot_product(const Array& a, const Array& b, const DotDimensions& dims, std::optional<DType> preferred_element_type, SourceLoc loc) {
  return bind_one<DotGeneral>({dims, preferred_element_type}, {a, b}, loc);
}

const Primitive& dot_general_primitive() { return primitive_of<DotGeneral>; }

PrimitiveList dot_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<DotGeneral>};
  return list;
}

}  // namespace weft::detail
