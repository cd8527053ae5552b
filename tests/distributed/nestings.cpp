// Maps over the devices of all processes, vmap, jit and grad around each other, beside the same with a vmap for each map.
#include "tests/nestings.h"

#include "tests/distributed/worker.h"

namespace weft::test {

void nestings() {
  const int n = device_count(), s = n == 32 ? 4 : n % 2 == 0 ? 2 : 1, t = n / s;
  const Mesh mesh = make_mesh({s, t}, {"s", "t"});
  const MapLetters letters = map_letters(s, t);
  for (const std::string word : {"s",   "t",    "st",   "ts",   "vs",  "sv",  "gs",   "sg",   "gst", "sgt", "stg", "tsg", "vst", "svt",
                                 "stv", "gvst", "vgst", "svtg", "jst", "sjt", "jgst", "gjst", "wS",  "gwS", "wgS", "wSg", "vwS", "Sg"}) {
    const Array x = nested_argument(word, letters) / 4;
    const Array want = jit(nested_program(word, letters, {}))(x);
    const NestedFunction f = nested_program(word, letters, mesh);
    const auto check = [&](const Array& got, const char* how) {
      const std::string wrong = tools::difference(process_allgather(got), want, nullptr, {1e-4, 1e-4, false});
      expect(wrong.empty(), word + ", " + how + ": " + wrong);
    };
    check(f(x), "called");
    check(jit(f)(x), "jitted");
    check(jit(f)(device_put(x, NamedSharding{mesh, PartitionSpec()})), "of a global array");
  }
}

}  // namespace weft::test
