// A header of the program's own, called as one of weft's is.
#pragma once
#include <string>

namespace shop {
struct Array {
  int shelves() const { return 3; }
};
}  // namespace shop
