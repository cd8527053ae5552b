#include "weft/core/ops/elementwise/elementwise.h"

#include <fmt/format.h>

#include "weft/core/base/counted.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {

std::string describe_dtypes(unsigned dtypes) {
  static constexpr std::pair<unsigned, const char*> kNames[] = {
      {kBool, "bool"}, {kInteger, "integer"}, {kFloating, "floating"}, {kComplex, "complex"}, {kKey, "key"}};
  std::vector<const char*> names;
  for (const auto& [bit, name] : kNames)
    if (dtypes & bit) names.push_back(name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  return text;
}

void check_operands(const OpContext& c, std::size_t count, unsigned dtypes) {
  if (c.in.size() != count) c.fail<Error>(fmt::format("takes {}, not {}", counted(count, "operand"), c.in.size()));
  for (const Aval& a : c.in) {
    if (!(kind_of(a.dtype) & dtypes))
      c.fail<DTypeError>(fmt::format("is not defined for {}", a.dtype.name()),
                         fmt::format("its operands are {} arrays", describe_dtypes(dtypes)));
    if (a.dtype != c.in[0].dtype)
      c.fail<DTypeError>(fmt::format("operands are of different dtypes, {} and {}", c.in[0].dtype.name(), a.dtype.name()),
                         "convert one of them");
  }
}

Aval elementwise_aval(const OpContext& c, DType result) {
  bool weak = !result.is_bool();
  for (const Aval& a : c.in) weak = weak && a.weak;
  if (c.in.size() == 1) return {c.in[0].shape, result, weak};
  return {broadcast_shapes(c), result, weak};
}

Array broadcast_tangent(const Array& t, const Array& like, SourceLoc loc) {
  return t.shape() == like.shape() ? t : broadcast_to(Arg(t, loc), like.shape());
}

const std::vector<ElementwiseInfo>& elementwise_infos() {
  static const auto& all = process_wide_from([] {
    std::vector<ElementwiseInfo> list;
    for (auto* family : {exponential_infos, trigonometric_infos, special_infos, rounding_infos, arithmetic_infos, comparison_infos,
                         bit_infos, complex_infos, convert_infos, select_infos}) {
      const std::vector<ElementwiseInfo> some = family();
      list.insert(list.end(), some.begin(), some.end());
    }
    return list;
  });
  return all;
}

PrimitiveList elementwise_primitives() {
  static const auto& list = process_wide_from([] {
    std::vector<const Primitive*> ops;
    for (const ElementwiseInfo& info : elementwise_infos()) ops.push_back(info.op);
    return ops;
  });
  return list;
}

}  // namespace weft::detail
