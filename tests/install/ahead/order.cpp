// Sorts by a program in a file; from C++20 on the sizes of arrays are checked by the compiler.
#include <ordered.h>

#include <array>
#include <cstdio>

int main() {
  const std::array<float, 6> numbers{3, 1, 2, -1, 5, 4};
  std::array<float, 6> sorted{};
  weft_aot::ordered(numbers, sorted);
  for (float v : sorted) std::printf("%g ", v);
  const void* inputs[] = {nullptr};
  void* outputs[] = {sorted.data()};
  std::printf("%d\n", ordered(inputs, outputs));
}
