// The least that a program does with weft. With -DWITH_FMT it also prints an array by fmt.
#include <fmt/core.h>
#include <weft/array.h>
#include <weft/transforms.h>

#include <cstdio>

int main() {
  const weft::Array x = weft::jit([](const weft::Array& a) { return weft::sum(weft::sin(a) * a); })(weft::ones({3}));
#ifdef WITH_FMT
  fmt::print("{:.4f} {}\n", x.item<float>(), x);
#else
  std::printf("%.4f\n", static_cast<double>(x.item<float>()));
#endif
}
