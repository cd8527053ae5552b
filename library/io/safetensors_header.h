// The JSON header of a safetensors file: read strictly, as it comes from outside.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

struct TensorEntry {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0, end = 0;  ///< of its bytes, counted from the end of the header
};
struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;
  std::map<std::string, std::string> metadata;
};
/// Throws Error, with the position of the first byte that is wrong.
SafetensorsHeader parse_safetensors_header(std::string_view text);

}  // namespace weft::detail
