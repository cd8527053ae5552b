// Operations that several rules write.
#pragma once
#include <algorithm>

#include "weft/core/ops/common.h"
#include "weft/frontends/stablehlo/export/writer.h"

namespace weft::detail::mlir {

/// A name as a template's argument.
template <std::size_t N>
struct Literal {
  constexpr Literal(const char (&text)[N]) { std::copy_n(text, N, value); }
  constexpr operator std::string_view() const { return {value, N - 1}; }
  char value[N];
};

/// EQ, NE, LT, ... of two values of one shape; total_order: of floats by IEEE's total order.
Name compared(ExportCall& c, std::string_view direction, const Name& x, const Name& y, bool total_order);
Name converted(ExportCall& c, const Name& x, DType to);

}  // namespace weft::detail::mlir
