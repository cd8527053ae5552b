// A small library of layers, as a user would write one: compiled once with debug information and once without, for what errors tell of it.
#pragma once
#include <weft/weft.h>

#include <vector>

struct Layer {
  weft::Array w, b;
};
struct Model {
  std::vector<Layer> layers;
};

namespace with_lines {
weft::Array forward(const Model& m, weft::Array x);
}
namespace without_lines {
weft::Array forward(const Model& m, weft::Array x);
}
