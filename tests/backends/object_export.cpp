// Exported object files, linked by the C compiler into a library of their own that knows nothing of weft.
#include <dlfcn.h>
#include <sys/wait.h>
#include <weft/aot.h>
#include <weft/weft.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "tests/folder.h"
#include "tests/ops/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

using Arrays = std::vector<Array>;

/// The archive for object files, in the folder of the build.
std::string archive() {
  return (std::filesystem::canonical("/proc/self/exe").parent_path().parent_path() / "backends/aot/libweft_aot.a").string();
}

/// An object file as a library that has no undefined symbol but those of the C library.
class Linked {
 public:
  Linked(const std::string& object, const std::string& others = {}) {
    const std::string library = object + ".so";
    const std::string command = "cc -shared -Wl,--no-undefined -o " + library + " " + object + ".o " + others + " -lm";
    REQUIRE(std::system(command.c_str()) == 0);
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(handle_ != nullptr);
  }
  ~Linked() { dlclose(handle_); }
  using Function = int (*)(const void* const*, void* const*);
  Function find(const char* name) const {
    const auto f = reinterpret_cast<Function>(dlsym(handle_, name));
    REQUIRE(static_cast<bool>(f));
    return f;
  }

 private:
  void* handle_ = nullptr;
};

std::vector<std::vector<float>> call(Linked::Function f, const Arrays& args, const std::vector<std::size_t>& sizes) {
  std::vector<std::vector<float>> in, out;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (const Array& a : args) in.push_back(a.to_vector<float>());
  for (const std::size_t n : sizes) out.emplace_back(n);
  for (const auto& v : in) inputs.push_back(v.data());
  for (auto& v : out) outputs.push_back(v.data());
  for (int times = 0; times < 2; ++times) CHECK(f(inputs.data(), outputs.data()) == WEFT_AOT_OK);
  return out;
}

/// Exports the function, links it, calls it: its results, to be compared with those of the compiled function.
struct Pair {
  Arrays exported, compiled;
};
Pair run(const std::function<Arrays(const Arrays&)>& f, const Arrays& args, const std::string& others = {},
         const ExportOptions& options = {}) {
  const Folder folder;
  const auto compiled = jit(f).lower(args).compile();
  Pair both;
  both.compiled = compiled(args);
  export_object(compiled, folder.path + "/exported_step", options);
  const Linked library(folder.path + "/exported_step", others);
  std::vector<std::size_t> sizes;
  for (const Array& a : both.compiled) sizes.push_back(static_cast<std::size_t>(a.size()));
  const auto out = call(library.find("exported_step"), args, sizes);
  for (std::size_t i = 0; i < out.size(); ++i) both.exported.push_back(array(out[i], both.compiled[i].shape()));
  return both;
}

void same(const std::function<Arrays(const Arrays&)>& f, const Arrays& args, const std::string& others = {},
          const ExportOptions& options = {}, double atol = 1e-6) {
  const Pair p = run(f, args, others, options);
  REQUIRE(p.exported.size() == p.compiled.size());
  for (std::size_t i = 0; i < p.exported.size(); ++i) {
    CAPTURE(i);
    CHECK(tree::all_close(p.exported[i], p.compiled[i], 1e-5, atol));
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

TEST_CASE("export: sorting, transforms and factorisations by the archive") {
  const Array a = numbers({6, 6}) + 4.f * eye(6), spd = matmul(a, transpose(a));
  const auto by_archive = [&](const std::function<Arrays(const Arrays&)>& f, const Arrays& args, double atol = 1e-5) {
    same(f, args, archive(), {}, atol);
  };
  by_archive([](const Arrays& x) { return Arrays{sort(x[0]), sort(x[0], 0), top_k(x[0], 3).values}; }, {numbers({5, 40})});
  by_archive([](const Arrays& x) { return Arrays{fori_loop(0, 3, [](const Array&, const Array& v) { return sort(v) * 2; }, x[0])}; },
             {numbers({200})});
  by_archive(
      [](const Arrays& x) {
        return Arrays{abs(fft::fft(x[0])), fft::irfft(fft::rfft(x[0]) * 2), abs(fft::fft2(x[0])),
                      abs(fft::rfft(x[0](slice(), slice(none, 59))))};
      },
      {numbers({8, 60})});
  by_archive(
      [](const Arrays& x) {
        return Arrays{linalg::cholesky(x[1]), linalg::solve(x[0], x[1]), linalg::inv(x[0]), linalg::det(x[0]),
                      linalg::triangular_solve(x[0], x[1])};
      },
      {a, spd});
  // Vectors are those of the matrix, whatever their signs.
  by_archive(
      [](const Arrays& x) {
        const auto [q, r] = linalg::qr(x[0]);
        const auto [values, vectors] = linalg::eigh(x[1]);
        const auto [u, s, vh] = linalg::svd(x[2], {.full_matrices = false});
        const auto wide = linalg::svd(transpose(x[2]), {.full_matrices = true});
        return Arrays{q,
                      r,
                      values,
                      matmul(vectors * values, transpose(vectors)),
                      s,
                      matmul(u * s, vh),
                      matmul(wide.u, transpose(wide.u)),
                      matmul(wide.vh, transpose(wide.vh))};
      },
      {a, spd, numbers({9, 6})}, 1e-4);
  // Of which only one factor is read.
  by_archive([](const Arrays& x) { return Arrays{linalg::qr(x[0]).r, linalg::qr(x[2]).r, linalg::eigvalsh(x[1])}; },
             {a, spd, numbers({9, 6})}, 1e-4);
  by_archive([](const Arrays& x) { return Arrays{x[0].at(array({3, 1, 3, 99})).set(array({1.f, 2.f, 3.f, 4.f})), cumlogsumexp(x[0])}; },
             {numbers({32})});
  by_archive([](const Arrays& x) { return Arrays{polygamma(1, abs(x[0]) + 1)}; }, {numbers({32})});
  by_archive([](const Arrays& x) { return Arrays{conv_general_dilated(x[0], x[1], {1, 1}, "SAME")}; },
             {numbers({2, 3, 12, 12}), numbers({4, 3, 3, 3})});
  by_archive([](const Arrays& x) { return Arrays{random::gamma(random::key(7), abs(x[0]) + .5f), random::normal(random::key(1), {5})}; },
             {numbers({32})});
}

TEST_CASE("export: one file for several processors runs the best code there is, or less where it is told") {
  const Folder folder;
  const auto f = [](const Arrays& x) { return Arrays{tanh(matmul(x[0], x[0])) + sin(x[0])}; };
  same(f, {numbers({40, 40})}, archive(), {.targets = {"x86-64-v3", "x86-64", "x86-64-v4", "x86-64-v2"}});
  same(f, {numbers({40, 40})}, {}, {.targets = {"x86-64"}});
  const auto refused = [&](std::vector<std::string> targets, const std::vector<std::string>& words) {
    return refuses<CompileError>([&] { run(f, {numbers({4, 4})}, {}, {.targets = targets}); }, words);
  };
  CHECK(refused({"x86-64", "native"}, {"native", "write a file for it alone"}));
  CHECK(refused({"pentium"}, {"`pentium`", "`x86-64-v3`", "`aarch64`"}));
  CHECK(refused({}, {"no target"}));
}

TEST_CASE("export: derivatives stand beside the function") {
  const Folder folder;
  const auto loss = [](const Array& w, const Array& x) { return sum(square(matmul(x, w))); };
  const Array w = numbers({3}), x = numbers({4, 3});
  export_object(jit(loss).lower(w, x).compile(), folder.path + "/loss", {.gradient = true, .input_names = {"w", "x"}});
  const Linked library(folder.path + "/loss");
  const auto out = call(library.find("loss_grad"), {w, x}, {1, 3, 12});
  const auto [dw, dx] = grad<0, 1>(loss)(w, x);
  CHECK(tree::all_close(array(out[0])[0], loss(w, x)));
  CHECK(tree::all_close(array(out[1]), dw));
  CHECK(tree::all_close(array(out[2], {4, 3}), dx));
  const std::ifstream file(folder.path + "/loss.h");
  std::string header;
  header.assign(std::istreambuf_iterator<char>(file.rdbuf()), {});
  for (const char* part :
       {"int loss(const void* const* inputs, void* const* outputs);", "int loss_grad(", "inputs[0]  w: float32 [3], 12 bytes",
        "outputs[1]  grad_w: float32 [3], 12 bytes", "#define LOSS_X_SIZE 12", "std::span<const float, 12> x"})
    CHECK_MESSAGE(header.find(part) != header.npos, part);
  const auto f = [](const Array& v) { return v * v; };
  export_object(jit(f).lower(w).compile(), folder.path + "/squares", {.gradient = true});
  const auto pulled = call(Linked(folder.path + "/squares").find("squares_vjp"), {w, w}, {3});
  CHECK(tree::all_close(array(pulled[0]), 2 * w * w));
  CHECK(refuses<CompileError>(
      [&] {
        export_object(jit([](const Array& v) { return v + 1; }).lower(arange(3)).compile(), folder.path + "/count", {.gradient = true});
      },
      {"count", "derivative", "inputs"}));
}

TEST_CASE("export: arrays that are null or not aligned are refused") {
  const Folder folder;
  export_object(jit([](const Array& x) { return x + 1; }).lower(ones(4)).compile(), folder.path + "/plus");
  const Linked library(folder.path + "/plus");
  const auto plus = library.find("plus");
  alignas(64) float in[5] = {}, out[4] = {};
  const void *good[] = {in}, *null[] = {nullptr}, *odd[] = {reinterpret_cast<const char*>(in) + 1};
  void *to[] = {out}, *nowhere[] = {nullptr};
  CHECK(plus(good, to) == WEFT_AOT_OK);
  CHECK(out[3] == 1);
  CHECK(plus(null, to) == WEFT_AOT_BAD_POINTER);
  CHECK(plus(odd, to) == WEFT_AOT_BAD_POINTER);
  CHECK(plus(good, nowhere) == WEFT_AOT_BAD_POINTER);
}

TEST_CASE("export: large results may begin at any element") {
  const Folder folder;
  const std::int64_t n = 4'000'000;
  export_object(jit([](const Array& x) { return x * 2; }).lower(ShapeDtypeStruct{{n}, float32}).compile(), folder.path + "/twice");
  const Linked library(folder.path + "/twice");
  const std::vector<float> in(static_cast<std::size_t>(n), 3.f);
  for (const std::size_t first : {0, 1, 3}) {
    std::vector<float> out(static_cast<std::size_t>(n) + 8);
    const void* from[] = {in.data()};
    void* to[] = {out.data() + first};
    CHECK(library.find("twice")(from, to) == WEFT_AOT_OK);
    CHECK(std::count(out.begin(), out.end(), 6.f) == n);
  }
}

TEST_CASE("export: what no object file can hold is refused by name") {
  const auto refused = [](const std::function<Arrays(const Arrays&)>& f, const std::vector<std::string>& words) {
    return refuses<CompileError>([&] { run(f, {numbers({32})}); }, words);
  };
  const auto called = [](const Array& v) { return pure_callback([](const Array& u) { return u; }, ShapeDtypeStruct{{32}, float32}, v); };
  CHECK(refused([&](const Arrays& x) { return Arrays{called(x[0])}; }, {"pure_callback", "f32[32]", "leave the callback out"}));
  CHECK(refused([&](const Arrays& x) { return Arrays{fori_loop(0, 3, [&](const Array&, const Array& v) { return called(v) * 2; }, x[0])}; },
                {"pure_callback"}));
  CHECK(refuses<CompileError>(
      [] { export_object(jit([](const Array& x) { return x; }).lower(ones(4)).compile(), "/tmp/x", {.input_names = {"a", "b"}}); },
      {"2 input names", "1 array"}));
}

TEST_CASE("export: words that C or C++ keep for themselves are no names") {
  const auto exported = [](const std::string& name, const ExportOptions& options) {
    export_object(jit([](const Array& x) { return x + 1; }).lower(ones(4)).compile(), name, options);
  };
  for (const std::string word : {"int", "class", "restrict", "_Bool", "xor"}) {
    CHECK(refuses<CompileError>([&] { exported("/nowhere/" + word, {}); },
                                {"`" + word + "` is not a name for a C function", "keeps the word for itself"}));
    CHECK(refuses<CompileError>([&] { exported("/nowhere/x", {.input_names = {word}}); },
                                {"`" + word + "` is not a name in C, as input 0 must have one"}));
  }
  CHECK(refuses<CompileError>([&] { exported("/nowhere/2x", {}); }, {"`2x` is not a name for a C function"}));
}
