// Object files brought into memory without a linker: the code runs as compiled, and what isn't known is refused.
#include "weft/backends/cpu/object_loader.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/weft.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "tests/folder.h"
#include "tests/messages.h"

using namespace weft;
using weft::detail::LoadedObject;

namespace {

constexpr auto of_process = [](const char* name) -> void* { return dlsym(RTLD_DEFAULT, name); };

std::string object_of(const detail::CompiledBase& compiled, const std::string& name) {
  const test::Folder folder;
  export_object(compiled, folder.path + "/" + name);
  std::ifstream in(folder.path + "/" + name + ".o", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
using Entry = void (*)(const void* const* inputs, void* const* outputs);

}  // namespace

TEST_CASE("object loader: kernels, constants, loops and calls of the C library run as they were compiled") {
  const Array table = sin(arange(24, float32)), x = cos(arange(24, float32) * .3f);
  const auto f = [&](const Array& a) {
    const auto step = [](const Array& h, const Array& row) {
      const Array next = tanh(h + row);
      return std::pair{next, sum(next)};
    };
    const auto [last, sums] = scan(step, ones(6), reshape(a * table, {4, 6}));
    return std::vector{last, sums, lgamma(a + 3.f), nn::softmax(reshape(a, {4, 6}), -1)};
  };
  const auto compiled = jit(f).lower(x).compile();
  const std::vector<Array> want = compiled(x);
  int asked = 0;
  const std::string file = object_of(compiled, "loaded_step");
  const auto object = LoadedObject::of(file, [&](const char* name) {
    ++asked;
    return of_process(name);
  });
  REQUIRE(object);
  CHECK(asked > 0);
  CHECK(object->find("loaded") == nullptr);
  const auto entry = reinterpret_cast<Entry>(object->find("loaded_step"));
  REQUIRE(static_cast<bool>(entry));
  const std::vector<float> in = x.to_vector<float>();
  std::vector<std::vector<float>> out;
  std::vector<void*> outputs;
  for (const Array& w : want) out.emplace_back(static_cast<std::size_t>(w.size()));
  for (auto& v : out) outputs.push_back(v.data());
  const void* inputs[] = {in.data()};
  entry(inputs, outputs.data());
  for (std::size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(tree::all_close(array(out[i], want[i].shape()), want[i]));
  }
  // Without what it calls it is of no use.
  CHECK_FALSE(LoadedObject::of(file, [](const char*) -> void* { return nullptr; }));
}

TEST_CASE("object loader: what isn't a whole object file for this processor is refused") {
  const std::string file = object_of(jit([](const Array& a) { return exp(a) + 1; }).lower(ones(8)).compile(), "small_step");
  CHECK(LoadedObject::of(file, of_process));
  for (std::size_t length = 0; length < file.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(LoadedObject::of(file.substr(0, length), of_process));
  }
  std::string other = file;
  other[18] = '\xb7';  // the machine: AArch64
  CHECK_FALSE(LoadedObject::of(other, of_process));
  // Whatever the headers say, nothing outside of the file is read and nothing outside of the memory is written.
  const std::size_t headers = file.size() - 64 * static_cast<unsigned char>(file[60]);
  for (std::size_t at = headers; at < file.size(); ++at)
    for (const int bit : {0, 7}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      LoadedObject::of(changed, of_process);
    }
}

TEST_CASE("object loader: where a process may not run code that it makes, the error says so") {
  constexpr int kForbid = 65;  // PR_SET_MDWE, of Linux 6.3
  const pid_t child = fork();
  if (child == 0) {
    if (prctl(kForbid, 1, 0, 0, 0) != 0) _exit(2);
    const auto loop = jit([](const Array& x) { return fori_loop(0, 10, [](const Array& i, const Array& y) { return y * 1.25f + i; }, x); });
    const std::string message = test::message_of<CompileError>([&] { loop(ones(3)); });
    _exit(test::has(message, "may not run code that it makes") && test::has(message, "object_loader.cpp") ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
    MESSAGE("not tried: this kernel has no PR_SET_MDWE");
    return;
  }
  CHECK(status == 0);
}
