// Runs when the project is built: writes the object file and the header that its programs are linked with.
#include <weft/weft.h>

using namespace weft;

struct Line {
  Array weights, offset;
};

int main(int, char** argv) {
  const auto loss = [](const Line& line, const Array& x, const Array& y) {
    return mean(square(matmul(x, line.weights) + line.offset - y));
  };
  const Line like{zeros(3), zeros({})};
  export_object(
      jit(loss).lower(like, zeros({8, 3}), zeros(8)).compile(), argv[1],
      {.targets = {"x86-64", "x86-64-v3"}, .gradient = true, .input_names = {"weights", "offset", "x", "y"}, .output_names = {"value"}});
}
