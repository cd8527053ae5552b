// Exported object files, linked by the C compiler into a library of their own that knows nothing of weft.
#include <dlfcn.h>
#include <weft/weft.h>

#include <cstdlib>
#include <functional>

#include "tests/folder.h"
#include "tests/ops/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

using Arrays = std::vector<Array>;

/// Exports the function, links it, calls it: its results, to be compared with those of the compiled function.
struct Pair {
  Arrays exported, compiled;
};
Pair run(const std::function<Arrays(const Arrays&)>& f, const Arrays& args) {
  const Folder folder;
  const auto compiled = jit(f).lower(args).compile();
  Pair both;
  both.compiled = compiled(args);
  export_object(compiled, folder.path + "/exported_step");
  const std::string library = folder.path + "/step.so";
  // No undefined symbol but those of the C library.
  const std::string command = "cc -shared -Wl,--no-undefined -o " + library + " " + folder.path + "/exported_step.o -lm";
  REQUIRE(std::system(command.c_str()) == 0);
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  const auto step = reinterpret_cast<void (*)(const void* const*, void* const*)>(dlsym(handle, "exported_step"));
  REQUIRE(static_cast<bool>(step));
  std::vector<std::vector<float>> in, out;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const Array& a : args) in.push_back(a.to_vector<float>());
  for (const Array& a : both.compiled) out.emplace_back(static_cast<std::size_t>(a.size()));
  for (const auto& v : in) inputs.push_back(v.data());
  for (auto& v : out) outputs.push_back(v.data());
  for (int times = 0; times < 2; ++times) step(inputs.data(), outputs.data());
  for (std::size_t i = 0; i < out.size(); ++i) both.exported.push_back(array(out[i], both.compiled[i].shape()));
  dlclose(handle);
  return both;
}

void same(const std::function<Arrays(const Arrays&)>& f, const Arrays& args) {
  const Pair p = run(f, args);
  REQUIRE(p.exported.size() == p.compiled.size());
  for (std::size_t i = 0; i < p.exported.size(); ++i) {
    CAPTURE(i);
    CHECK(tree::all_close(p.exported[i], p.compiled[i]));
  }
}

Array numbers(const Shape& shape, float scale = 1) { return sin(reshape(arange(shape.num_elements(), float32), shape) * .7f) * scale; }

}  // namespace

TEST_CASE("export: several kernels, temporaries, constants") {
  const Array table = numbers({16, 8}, 3);
  same([&](const Arrays& x) { return Arrays{nn::softmax(x[0] * table, -1), sum(x[0], 0)}; }, {numbers({16, 8})});
}

TEST_CASE("export: products need no library") {
  same([](const Arrays& x) { return Arrays{tanh(matmul(x[0], x[1])), matmul(transpose(x[0]), x[0])}; },
       {numbers({96, 80}), numbers({80, 64})});
}

TEST_CASE("export: loops and branches") {
  const auto step = [](const Array& h, const Array& x) {
    const Array next = tanh(matmul(h, ones({4, 4}) * .1f) + x);
    return std::pair{next, sum(next)};
  };
  same(
      [&](const Arrays& x) {
        const auto [last, sums] = scan(step, x[0], x[1]);
        return Arrays{last, sums};
      },
      {numbers({3, 4}), numbers({20, 3, 4})});
  same(
      [](const Arrays& x) {
        const Array halved = while_loop([](const Array& v) { return sum(v * v) > 1; }, [](const Array& v) { return v * .7f; }, x[0]);
        return Arrays{cond(sum(x[0]) > 0, [](const Array& v) { return v + 1; }, [](const Array& v) { return v - 1; }, halved)};
      },
      {numbers({33}, 5)});
  // Large enough for several threads.
  same(
      [](const Arrays& x) {
        return Arrays{
            fori_loop(0, 5, [](const Array&, const Array& v) { return v + concatenate({v(slice(1, none)), v(slice(none, 1))}); }, x[0])};
      },
      {numbers({1 << 20})});
  // Several iterations over a piece.
  for (int n : {2, 3, 8})
    same(
        [&](const Arrays& x) {
          return Arrays{fori_loop(0, n, [](const Array&, const Array& v) { return v * .5f + pad(v, {1, 1})(slice(2, none)) * .4f; }, x[0])};
        },
        {numbers({1 << 18})});
}

TEST_CASE("export: functions come from the C library where they are calls") {
  same(
      [](const Arrays& x) {
        return Arrays{sin(x[0]), cos(x[0]), pow(abs(x[0]), 1.5f), lgamma(x[0]), digamma(abs(x[0]) + 1), sigmoid(x[0])};
      },
      {numbers({40}, 1e6f)});
}

TEST_CASE("export: results that are inputs, constants or other results") {
  same(
      [](const Arrays& x) {
        const Array y = x[0] * 2;
        return Arrays{x[0], y, ones(7) * 3, y, x[0]};
      },
      {numbers({10})});
}

TEST_CASE("export: what no object file can hold is refused by name") {
  const auto refused = [](const std::function<Arrays(const Arrays&)>& f, const char* operation) {
    return test::refuses<CompileError>([&] { run(f, {numbers({32})}); }, {operation});
  };
  CHECK(refused([](const Arrays& x) { return Arrays{sort(x[0])}; }, "sort"));
  CHECK(refused([](const Arrays& x) { return Arrays{fori_loop(0, 3, [](const Array&, const Array& v) { return sort(v) * 2; }, x[0])}; },
                "sort"));
  CHECK(refused([](const Arrays& x) { return Arrays{polygamma(1, x[0])}; }, "polygamma"));
}
