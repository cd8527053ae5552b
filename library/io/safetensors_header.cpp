#include "weft/library/io/safetensors_header.h"

#include <set>

#include "weft/core/text/json.h"

namespace weft::detail {
namespace {

class HeaderReader : JsonCursor {
 public:
  using JsonCursor::JsonCursor;

  SafetensorsHeader read() {
    SafetensorsHeader out;
    std::set<std::string> names;
    read_object([&](const std::string& name) {
      if (!names.insert(name).second) fail("the name \"" + name + "\" is there twice");
      if (name == "__metadata__")
        read_object([&](const std::string& key) { out.metadata[key] = read_string(); });
      else
        out.tensors.push_back(read_tensor(name));
    });
    if (!rest().empty()) fail("there is more text after the header's object");
    return out;
  }

 private:
  TensorEntry read_tensor(const std::string& name) {
    TensorEntry t;
    t.name = name;
    bool dtype = false, shape = false, offsets = false;
    const auto once = [&](bool& seen) {
      if (seen) fail("a member is given twice");
      seen = true;
    };
    read_object([&](const std::string& key) {
      if (key == "dtype") {
        once(dtype);
        t.dtype = read_string();
      } else if (key == "shape") {
        once(shape);
        read_list([&] { t.shape.push_back(read_size()); });
      } else if (key == "data_offsets") {
        once(offsets);
        std::vector<std::int64_t> both;
        read_list([&] { both.push_back(read_size()); });
        if (both.size() != 2) fail("data_offsets are two numbers");
        t.begin = both[0], t.end = both[1];
      } else {
        fail("\"" + key + "\" is not a member of a tensor");
      }
    });
    if (!dtype || !shape || !offsets) fail("the tensor \"" + name + "\" lacks dtype, shape or data_offsets");
    return t;
  }
  std::int64_t read_size() {
    const std::string_view text = rest();
    std::size_t digits = 0;
    std::int64_t n = 0;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, text[digits] - '0', &n)) fail("a number beyond 2^63 - 1");
    if (digits == 0) fail("expected a whole number that is not negative");
    skip(digits);
    return n;
  }
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text) { return HeaderReader(text).read(); }

}  // namespace weft::detail
