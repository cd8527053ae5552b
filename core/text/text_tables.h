// Which parameters a Jaxpr's text leaves out, and which it may have though they mean nothing here: of any operation, and by its rule for
// texts (core/text/text_rules.h).
#pragma once
#include <string_view>

#include "weft/core/text/text_rules.h"

namespace weft::detail {

/// Whether printing leaves out a parameter with this text, as JAX does.
bool is_left_out(const TextTraits& op, std::string_view param, std::string_view text);
/// Whether JAX's primitive gives its operands as they are, and weft has none for it.
bool is_identity(std::string_view primitive);
/// Whether a parameter that the primitive does not have is accepted: it is about what weft decides otherwise (placement, precision of
/// library calls, names of Python functions), or has the one value that weft's primitive stands for.
bool is_ignorable(const TextTraits& op, std::string_view param, std::string_view text);

}  // namespace weft::detail
