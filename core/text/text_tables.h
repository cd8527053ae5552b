// Which parameters a Jaxpr's text leaves out, and which it may have though they mean nothing here.
#pragma once
#include <string_view>
#include <vector>

namespace weft::detail {

/// Whether printing leaves out a parameter with this text, as JAX does: the result's type says it, or it is the usual value.
bool is_left_out(std::string_view primitive, std::string_view param, std::string_view text);
/// Parameters that JAX prints and weft's primitive does not have, as it knows only this one value of them.
struct FixedParam {
  std::string_view name, text;
};
std::vector<FixedParam> added_params(std::string_view primitive);
/// Of a scatter: the operation of the program that JAX prints as its update_jaxpr; empty for other primitives.
std::string_view update_operation(std::string_view primitive);
/// The name that a primitive has in a text. Two primitives of one name there are told apart by their operands.
std::string_view name_in_text(std::string_view primitive);
/// Whether JAX's primitive gives its operands as they are, and weft has none for it.
bool is_identity(std::string_view primitive);
/// Whether a parameter that the primitive does not have is accepted: it is about what weft decides otherwise (placement, precision of
/// library calls, names of Python functions), or has the one value that weft's primitive stands for.
bool is_ignorable(std::string_view primitive, std::string_view param, std::string_view text);

}  // namespace weft::detail
