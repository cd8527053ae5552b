// The attributes that a bytecode file keeps as properties of each operation: by position, without names.
#pragma once
#include <span>
#include <string_view>

#include "weft/frontends/stablehlo/bytecode/table.h"

namespace weft::detail::mlir {

/// Names in the order in which they are kept, which is that of the alphabet; a `?` behind one that may be left out. A name before a `#` is
/// of lists of that many lengths: of the operands' or results' parts.
struct OperationLayout {
  std::string_view name;  ///< of the operation, with its dialect
  std::string_view properties;
};

/// All layouts of an operation, the newest first; empty: it is not known. Operations of VHLO are named with their version.
std::span<const OperationLayout> layouts_of(std::string_view dialect, std::string_view name);

/// The properties as entries of the dictionary. Throws Error for an operation that has no layout, and for properties that fit none.
void read_properties(Table& t, Bytes properties, std::string_view dialect, std::string_view name, std::uint64_t version,
                     Attribute& dictionary);

}  // namespace weft::detail::mlir
