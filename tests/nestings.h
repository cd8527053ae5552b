// Programs that are words, whose letters are maps, jit and grad around one function: tests/golden/nestings/generate.py explains them.
#pragma once
#include <weft/weft.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

/// The axes that the letters map over, and their sizes.
using MapLetters = std::map<char, std::pair<std::string, int>>;
inline MapLetters map_letters(int s, int t) {
  return {{'v', {"v", 4}}, {'p', {"p", 2}}, {'s', {"s", s}}, {'m', {"s", s}}, {'S', {"s", s}}, {'t', {"t", t}}, {'w', {"", t}}};
}

using NestedFunction = std::function<Array(Array)>;
using NestedAxes = std::vector<std::pair<std::string, int>>;

inline Array nested_body(const Array& x, const NestedAxes& axes) {
  Array y = sin(x) * 1.5;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto& [axis, size] = axes[k];
    y = y + psum(y * cos(x), axis) / (2 + static_cast<int>(k));
    y = y * (1 + axis_index(axis) / 8.f);
    if (k % 2 == 0) {
      std::vector<std::pair<int, int>> ring;
      for (int i = 0; i < size; ++i) ring.emplace_back(i, (i + 1) % size);
      y = y + ppermute(y * x, axis, ring) / 4;
    } else {
      y = y + sum(all_gather(tanh(y), axis), 0) / 8;
    }
  }
  return y;
}

/// The program of a word. Without a mesh, its maps over devices are vmaps.
inline NestedFunction nested_program(const std::string& word, const MapLetters& letters, const std::optional<Mesh>& mesh,
                                     NestedAxes axes = {}) {
  if (word.empty() || word == "!") return [=](const Array& x) { return nested_body(x, axes); };
  const char letter = word[0];
  const auto axis = letters.find(letter);
  const std::string name = axis == letters.end() ? "" : axis->second.first;
  if (!name.empty()) axes.push_back(axis->second);
  const NestedFunction inside = nested_program(word.substr(1), letters, mesh, axes);
  if (letter == 'j' || letter == 'J') return jit(inside);
  if (letter == 'g') return grad([=](const Array& x) { return sum(sin(inside(x))); });
  if (letter == 'w') return vmap(inside, {.spmd_axis_name = mesh ? "t" : ""});
  if (letter == 'v' || !mesh) return vmap(inside, {.axis_name = name});
  if (letter == 'p') return pmap(inside, {.axis_name = name});
  const NestedFunction of_block = [=](const Array& x) { return expand_dims(inside(x[0]), 0); };
  if (letter == 'm') return smap(of_block, {.axis_name = name});
  ShardMapOptions options{.mesh = mesh, .in_specs = sharding::P(name), .out_specs = sharding::P(name), .check_vma = word.back() != '!'};
  if (letter != 'S') options.axis_names = {name};
  return shard_map(of_block, options);
}

inline Array nested_argument(const std::string& word, const MapLetters& letters) {
  Shape shape;
  for (const char c : word)
    if (const auto axis = letters.find(c); axis != letters.end()) shape.push_back(axis->second.second);
  shape.push_back(3);
  return reshape(convert(arange(static_cast<int>(shape.num_elements())) * 37 % 101, float32) / 50 - 1, shape);
}

}  // namespace weft::test
