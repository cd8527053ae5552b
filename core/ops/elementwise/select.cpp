// Choice between operands, element by element.
#include <cstring>

#include "weft/core/base/extrema.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

/// Operand 0 is the number of the case that is taken. Linear in the cases.
struct SelectN {
  static constexpr std::string_view name = "select_n",
                                    doc = "The case numbered by the first operand, a bool or int32; numbers out of range take the nearest.";
  static constexpr Kind kind = Kind::elementwise;
  static constexpr unsigned dtypes = kAny | kKey;
  static constexpr unsigned values = kExact;
  static constexpr Domain domain{};
  static constexpr int operands = 3;
  static constexpr bool predicate_first = true;
  using Params = NoParams;

  static Aval abstract_eval(const OpContext& c) {
    if (c.in.size() < 2) c.fail<Error>("takes a predicate and at least one case");
    const Aval& which = c.in[0];
    if (!which.dtype.is_bool() && which.dtype != int32)
      c.fail<DTypeError>("the predicate is " + std::string(which.dtype.name()), "it must be bool or int32");
    if (which.dtype.is_bool() && c.in.size() > 3) c.fail<Error>("a bool predicate chooses among two cases", "use an int32 predicate");
    check_operands({c.op, c.params, c.in.subspan(1), c.loc}, c.in.size() - 1, dtypes);
    bool weak = true;
    for (const Aval& a : c.in.subspan(1)) weak = weak && a.weak;
    return {broadcast_shapes(c), c.in[1].dtype, weak};
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    bool any = false;
    std::vector<Array> in{c.in[0]};
    for (std::size_t i = 1; i < c.in.size(); ++i) {
      any = any || c.tangents[i].has_value();
      in.push_back(c.tangents[i] ? *c.tangents[i] : scalar_like(c.in[i], 0));
    }
    if (!any) return {std::nullopt};
    return {broadcast_tangent(bind_all<SelectN>({}, in, c.loc)[0], c.out[0], c.loc)};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out(c.in.size());
    if (!c.cotangents[0]) return out;
    const Array& ct = *c.cotangents[0];
    for (std::size_t i = 1; i < c.in.size(); ++i) {
      if (!c.in[i].is_linear()) continue;
      std::vector<Array> in{c.in[0].known()};
      for (std::size_t k = 1; k < c.in.size(); ++k) in.push_back(k == i ? ct : scalar_like(ct, 0));
      out[i] = unbroadcast(bind_all<SelectN>({}, in, c.loc)[0], c.in[i].aval, c.loc);
    }
    return out;
  }
  static BatchResult batch(const BatchContext& c) { return batch_elementwise(c); }
  static void reference(const ReferenceContext& c) {
    const auto size = static_cast<std::size_t>(c.out[0].aval.dtype.itemsize());
    const auto last = static_cast<std::int64_t>(c.in.size()) - 2;
    const bool is_bool = c.in[0].aval.dtype.is_bool();
    auto* out = c.out[0].as<char>();
    // One pass a case, each with its own positions.
    for (std::int64_t k = 0; k <= last; ++k) {
      const HostTensor& x = c.in[static_cast<std::size_t>(k) + 1];
      for_each_element<2>(c.out[0].aval.shape, {&c.in[0].aval.shape, &x.aval.shape}, [&](std::int64_t i, const auto& at) {
        const std::int64_t which = is_bool ? std::int64_t{c.in[0].as<bool>()[at[0]]} : std::int64_t{c.in[0].as<std::int32_t>()[at[0]]};
        if (std::clamp(which, std::int64_t{0}, last) == k)
          std::memcpy(out + static_cast<std::size_t>(i) * size, x.as<char>() + static_cast<std::size_t>(at[1]) * size, size);
      });
    }
  }
  static V lower(KernelBuilder& b, const Params&, std::span<const V> v) {
    if (v.size() == 2) return v[1];
    if (v[0].dtype.is_bool()) return b.select(v[0], v[2], v[1]);
    V chosen = v.back();
    for (std::size_t k = v.size() - 2; k >= 1; --k)
      chosen = b.select(b.lt(v[0], b.integer(int32, static_cast<std::int64_t>(k))), v[k], chosen);
    return chosen;
  }
};

/// Operands: lower bound, value, upper bound.
struct Clamp : Elementwise<Clamp, 3> {
  static constexpr std::string_view name = "clamp",
                                    doc = "min(max(x, lower bound), upper bound), the bounds around it as operands 0 and 2.";
  static constexpr unsigned dtypes = kInteger | kFloating;
  static constexpr unsigned values = kExact | kHasBounds;
  template <class T>
  static T ref(T lo, T x, T hi) {
    return smaller(larger(x, lo), hi);
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Array &lo = c.in[0], &x = c.in[1], &hi = c.in[2];
    Tangent sum;
    auto add_where = [&](const Array& taken, const Tangent& t) {
      if (t) sum = add_tangents(sum, broadcast_tangent(where(taken, *t, 0), c.out[0], c.loc), c.loc);
    };
    if (c.tangents[0]) add_where((lo > x) & (lo < hi), c.tangents[0]);
    if (c.tangents[1]) add_where((x > lo) & (x < hi), c.tangents[1]);
    if (c.tangents[2]) add_where(hi < x, c.tangents[2]);
    return {sum};
  }
  static V kernel(KernelBuilder& b, V lo, V x, V hi) { return b.min(b.max(x, lo), hi); }
};

const Rule<ChoiceTransform, SelectN> select_n_is_choice([] {});
const Rule<FiniteDerivativeTransform, SelectN> select_n_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Clamp> clamp_is_finite(always_finite);

}  // namespace

std::vector<ElementwiseInfo> select_infos() { return elementwise_info_list<Clamp, SelectN>(); }

namespace {
/// The operation is named in messages.
Array select_promoted(std::string_view operation, const Arg& which, std::span<const Arg> cases) {
  std::vector<Arg> operands{which};
  for (const Arg& x : cases) operands.push_back(x);
  std::vector<Array> ranked = promote_ranks(operation, operands), in{ranked[0]};
  operands.clear();
  for (std::size_t i = 1; i < ranked.size(); ++i) operands.emplace_back(ranked[i], cases[i - 1].where());
  for (Array& x : promote_operands(operation, operands)) in.push_back(std::move(x));
  return bind_all<SelectN>({}, in, which.where())[0];
}
}  // namespace

Array select_cases(const Arg& which, const Arg* cases, int count) {
  const LocScope scope(which.where());
  const DType dtype = which.aval().dtype;
  // Other integers than int32 are converted; anything else is left for the primitive to refuse.
  const Array number = dtype.is_integer() && dtype != int32 ? saturated(which.array(), int32, which.where()) : which.array();
  return select_promoted("select_n", Arg(number, which.where()), std::span(cases, static_cast<std::size_t>(count)));
}

}  // namespace detail

using namespace detail;

Array where(Arg condition, Arg x, Arg y) {
  const LocScope scope(condition.where());
  check_broadcast("where", std::array{condition, x, y});  // in the order in which they were given
  const Array which = condition.aval().dtype.is_bool() ? condition.array() : condition.array() != 0;
  const Arg cases[] = {y, x};
  return select_promoted("where", Arg(which, condition.where()), cases);
}
Array clamp(Arg lo, Arg x, Arg hi) {
  const Arg all[] = {lo, x, hi};
  const std::vector<Array> operands = promote_ranks("clamp", all);
  const DType dtype = x.aval().dtype;
  auto like_x = [&](const Array& bound) {
    return bound.aval().weak ? convert_element_type(bound, dtype, x.aval().weak, x.where()) : bound;
  };
  return bind_one<Clamp>({}, {like_x(operands[0]), operands[1], like_x(operands[2])}, x.where());
}

}  // namespace weft
