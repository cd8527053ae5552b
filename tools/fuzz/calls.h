// Public functions called with arguments that mostly don't fit: each call gives a result or one of weft's errors.
#pragma once
#include <cstdint>
#include <string>

namespace weft::fuzz {

/// Makes the call of a seed. `about_to` is told its name before. What is wrong with how it ended, or an empty text.
std::string random_call(std::uint64_t seed, void (*about_to)(void* context, const char* name) = nullptr, void* context = nullptr);

}  // namespace weft::fuzz
