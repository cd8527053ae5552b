// Gamma variates and their derivative by the shape parameter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/random/gamma_sampler.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

struct RandomGammaGrad : Elementwise<RandomGammaGrad, 2> {
  static constexpr std::string_view name = "random_gamma_grad",
                                    doc = "The derivative of a gamma variate (operand 1) by its shape parameter.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr std::string_view not_differentiable = "the second derivative of a gamma variate by its shape parameter is not known";
  static double ref(double a, double x) { return gamma_derivative(a, x); }
  static KernelValue kernel(KernelBuilder&, KernelValue, KernelValue) { return {}; }
};

struct RandomGamma {
  static constexpr std::string_view name = "random_gamma", doc = "A gamma variate for each shape parameter.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  struct Params {
    bool log_space = false;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static Aval abstract_eval(const OpContext& c) {
    if (c.in.size() != 2) c.fail<Error>(fmt::format("takes keys and shape parameters, not {}", counted(c.in.size(), "operand")));
    if (!c.in[0].dtype.is_key()) c.fail<DTypeError>(fmt::format("{} is not a key", to_string(c.in[0])), "make one with random::key(seed)");
    if (!c.in[1].dtype.is_floating())
      c.fail<DTypeError>("the shape parameters are " + std::string(c.in[1].dtype.name()), "they must be floats");
    bool prefix = c.in[0].ndim() <= c.in[1].ndim();
    for (int d = 0; prefix && d < c.in[0].ndim(); ++d) prefix = c.in[0].shape[d] == c.in[1].shape[d];
    if (!prefix) c.fail<ShapeError>("the keys' dimensions must be the first ones of the shape parameters");
    return {c.in[1].shape, c.in[1].dtype, false};
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[1]) return {std::nullopt};
    if (!c.get<Params>().log_space) return {*c.tangents[1] * bind_one<RandomGammaGrad>({}, {c.in[1], c.out[0]}, c.loc)};
    // The logarithm of a variate x has the derivative (dx/dalpha) / x, where x may have been too small for its dtype.
    const Array x = weft::exp(c.out[0]);
    const Array tiny = make_literal(Number(smallest_normal(x.dtype())), x.dtype());
    const Array sample = where(x == 0, tiny, x);
    return {*c.tangents[1] * (bind_one<RandomGammaGrad>({}, {c.in[1], sample}, c.loc) / sample)};
  }
  static double smallest_normal(DType t) { return t == float64 ? 0x1p-1022 : t == float16 ? 0x1p-14 : 0x1p-126; }
  static BatchResult batch(const BatchContext& c) {
    const Array keys = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
    const Array alpha = materialize_batch_dim(c.in[1], c.dims[1], c.axis.size, 0, c.loc);
    return {{bind_one<RandomGamma>(c.get<Params>(), {keys, alpha}, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) {
    const bool log_space = c.get<Params>().log_space;
    const std::int64_t keys = c.in[0].aval.size(), each = keys ? c.in[1].aval.size() / keys : 0;
    with_storage(c.in[1].aval.dtype, [&]<class T>() {
      if constexpr (is_floating_storage<T>)
        for (std::int64_t i = 0; i < keys * each; ++i) {
          const Words key = threefry_block(c.in[0].as<Words>()[i / each], static_cast<std::uint64_t>(i % each));
          c.out[0].as<T>()[i] = T(GammaSampler<T>::sample(key, static_cast<double>(c.in[1].as<T>()[i]), log_space));
        }
    });
  }
};

const PartitionRule<RandomGamma> gamma_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size()); });

}  // namespace

Array random_gamma(const Array& keys, const Array& alpha, bool log_space, SourceLoc loc) {
  return bind_one<RandomGamma>({log_space}, {keys, alpha}, loc);
}

const Primitive& random_gamma_primitive() { return primitive_of<RandomGamma>; }
const Primitive& random_gamma_grad_primitive() { return primitive_of<RandomGammaGrad>; }
bool is_log_gamma(const ParamsBase& params) { return params_as<RandomGamma::Params>(params).log_space; }

PrimitiveList random_gamma_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<RandomGamma>, &primitive_of<RandomGammaGrad>};
  return list;
}

}  // namespace weft::detail
