// MLIR bytecode: JAX's own files, in each form, are the programs that their texts are; damaged ones are refused by the byte.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/messages.h"
#include "tests/stablehlo/run.h"

using namespace weft;
using test::has, test::message_of;
namespace fs = std::filesystem;

namespace {

const char* const kSamples[] = {"mlp", "loops", "moves", "special", "elements", "sharded", "beside"};
const char* const kForms[] = {".mlirbc", ".old.mlirbc", ".raw.mlirbc"};

/// Whether the sample has operations that versions of the form lack, so that there is no such file.
bool is_newer_than(std::string_view form, std::string_view name) { return form == ".old.mlirbc" && name == "beside"; }

fs::path sample(const std::string& name) {
  const char* const root = std::getenv("WEFT_TEST_DATA");
  return fs::path(root ? root : "tests") / "stablehlo/data" / name;
}
std::string contents(const std::string& name) {
  std::ifstream in(sample(name), std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A number as bytecode has it: the zeros below the lowest one of the first byte say how many bytes follow.
std::string number(std::uint64_t n) {
  std::size_t more = 0;
  while (more < 7 && n >> (7 * (more + 1))) ++more;
  n = n << (more + 1) | std::uint64_t{1} << more;
  std::string bytes;
  for (std::size_t i = 0; i <= more; ++i) bytes += static_cast<char>(n >> (8 * i) & 0xff);
  return bytes;
}
std::string section(int id, const std::string& data) { return static_cast<char>(id) + number(data.size()) + data; }
const std::string kMagic = "ML\xef\x52";
/// A file of the sections that every one has, with attributes of builtin and one operation, a module of attribute 0 and nothing within.
std::string file_of(const std::vector<std::string>& attributes) {
  const std::string empty("\0", 1);
  const std::string strings = number(2) + number(7) + number(8) + "builtin" + empty + "module" + empty;
  const std::string dialects = number(1) + number(0 << 1) + number(1) + number(0) + number(1) + number(1 << 1 | 1);
  std::string data, sizes = number(attributes.size()) + number(0) + number(0) + number(attributes.size());
  for (const std::string& a : attributes) data += a, sizes += number(a.size() << 1 | 1);
  const std::string ir = number(1 << 1) + number(0) + std::string(1, '\1') + number(1) + number(0);
  return kMagic + number(6) + "test" + empty + section(0, strings) + section(1, dialects) + section(2, data) + section(3, sizes) +
         section(4, ir);
}

std::string refusal(const std::string& bytes) {
  return message_of<Error>([&] { parse_stablehlo(bytes); });
}

}  // namespace

TEST_CASE("stablehlo bytecode: each form of a program is what its text is") {
  for (const char* name : kSamples) {
    CAPTURE(name);
    const Jaxpr wanted = load_stablehlo(sample(std::string(name) + ".mlir").string());
    for (const char* form : kForms) {
      CAPTURE(form);
      if (is_newer_than(form, name)) continue;
      const Jaxpr program = load_stablehlo(sample(std::string(name) + form).string());
      program.check();
      CHECK(program.to_string() == wanted.to_string());
      CHECK(program == wanted);
      CHECK(stablehlo_functions(contents(std::string(name) + form)) == stablehlo_functions(contents(std::string(name) + ".mlir")));
    }
  }
}

TEST_CASE("stablehlo bytecode: a program runs and has derivatives") {
  const Jaxpr program = load_stablehlo(sample("mlp.mlirbc").string());
  const std::vector<Array> inputs{ones({3, 4}), zeros({4}), ones({4, 2}), ones({5, 3})};
  const std::vector<Array> out = tools::run_on("cpu", "mlp", program, inputs);
  // mean((4 tanh(3))^2), and by "b" the sum over both columns of 2/10 * 5 * 4 tanh(3) (1 - tanh(3)^2).
  const double t = std::tanh(3.0);
  CHECK(out.at(0).item<float>() == doctest::Approx(16 * t * t));
  CHECK(sum(out.at(2)).item<float>() == doctest::Approx(4 * 2 * 4 * t * (1 - t * t)));
  const Array twice = grad([&](const Array& x) { return program(inputs[0], inputs[1], inputs[2], x)[0]; })(inputs[3]);
  CHECK(twice.shape() == Shape{5, 3});
  CHECK(sum(twice).item<float>() > 0);
}

TEST_CASE("stablehlo bytecode: loops that count have a reverse") {
  const Jaxpr program = load_stablehlo(sample("loops.mlirbc").string());
  const Array x = reshape(linspace(0.1f, 0.9f, 12), {4, 3});
  const Array reverse = grad([&](const Array& y) { return sum(program(array(0), y)[1]); })(x);
  CHECK(all(isfinite(reverse)).item<bool>());
}

TEST_CASE("stablehlo bytecode: what is wrong in a program is told with the byte and the line that it was written down from") {
  std::string bytes = contents("special.mlirbc");
  const std::size_t at = bytes.find("Qr\0");
  REQUIRE(at != std::string::npos);
  bytes[at] = 'Z';
  const std::string message = refusal(bytes);
  CAPTURE(message);
  CHECK(message.rfind("stablehlo:byte ", 0) == 0);
  CHECK(has(message, "samples.py:"));
  CHECK(has(message, "stablehlo.custom_call: the target @Zr is not known"));
}

TEST_CASE("stablehlo bytecode: every prefix of a file, and every one with a byte changed, is read or refused") {
  for (const char* name : {"mlp.mlirbc", "special.old.mlirbc", "elements.raw.mlirbc", "sharded.mlirbc"}) {
    CAPTURE(name);
    const std::string bytes = contents(name);
    for (std::size_t n = 0; n < bytes.size(); n += n < 200 ? 1 : 7) {
      const std::string message = refusal(bytes.substr(0, n));
      CAPTURE(n);
      CHECK(message.rfind(n < kMagic.size() ? "stablehlo:1:1" : "stablehlo:byte ", 0) == 0);
    }
    std::string changed = bytes;
    for (std::size_t i = kMagic.size(); i < bytes.size(); i += 3) {
      for (const int by : {1, 0x80, 0xff}) {
        changed[i] = static_cast<char>(bytes[i] ^ by);
        try {
          parse_stablehlo(changed);
        } catch (const Error& e) {
          CAPTURE(e.message());
          CHECK(e.message().rfind("stablehlo:", 0) == 0);
        }
      }
      changed[i] = bytes[i];
    }
  }
}

TEST_CASE("stablehlo bytecode: what is made to do harm is an error") {
  const std::string unit = number(7), empty(1, '\1');
  // A well-formed file: a dictionary of nothing, and a location that is none.
  CHECK(has(refusal(file_of({number(1) + number(0), number(15)})), "has no function @main"));
  // Its own element, and one of the other's.
  CHECK(has(refusal(file_of({number(0) + number(1) + number(0), number(15)})), "contains itself"));
  CHECK(has(refusal(file_of({number(0) + number(1) + number(2), number(15), number(0) + number(1) + number(0)})), "contains itself"));
  // Lists of twice the one before: 2^40 elements, were they written out.
  std::vector<std::string> lists{number(0) + number(2) + number(2) + number(2), number(15)};
  for (unsigned i = 3; i < 42; ++i) lists.push_back(number(0) + number(2) + number(i) + number(i));
  lists.push_back(unit);
  CHECK(has(refusal(file_of(lists)), "attributes expand to more"));
  // More than there are bytes for.
  CHECK(has(refusal(file_of({number(0) + number(16000), number(15)})), "there are to be 16000 attributes"));
  CHECK(has(refusal(file_of({number(0) + number(1) + number(77), number(15)})), "there is no attribute 77; there are 2"));
  CHECK(has(refusal(kMagic + number(7)), "versions 0 to 6 are read"));
  CHECK(
      has(refusal(kMagic + number(6) + "test" + std::string(1, '\0') + section(0, number(1) + number(50) + "abc")), "a string is longer"));
  // Named places within each other, ten thousand of them, and in a circle, are followed without going deep.
  std::vector<std::string> places{number(1) + number(0)};
  for (unsigned i = 1; i < 10000; ++i) places.push_back(number(14) + number(0) + number(i + 1));
  places.push_back(number(15));
  CHECK(has(refusal(file_of(places)), "has no function @main"));
  places.back() = number(14) + number(0) + number(1);
  CHECK(has(refusal(file_of(places)), "has no function @main"));
}
