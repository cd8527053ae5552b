// Reading and writing .npy and .npz files: every dtype and order, and files that are damaged.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <unistd.h>
#include <weft/weft.h>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

/// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& contents = {}, const std::string& suffix = ".npy") {
    static int count = 0;
    path_ = (std::getenv("TMPDIR") ? std::string(std::getenv("TMPDIR")) : "/tmp") + "/weft_test_npy_" + std::to_string(::getpid()) + "_" +
            std::to_string(count++) + suffix;
    std::ofstream(path_, std::ios::binary) << contents;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }
  std::string contents() const {
    std::ifstream in(path_, std::ios::binary);
    std::stringstream s;
    s << in.rdbuf();
    return s.str();
  }

 private:
  std::string path_;
};

/// A .npy file with the given header entries and data.
std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& data, char version = 1) {
  const std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }\n";
  std::string s = std::string("\x93NUMPY") + version + '\0' + static_cast<char>(dict.size()) + '\0';
  if (version > 1) s += std::string(2, '\0');
  return s + dict + data;
}
std::string bytes(std::initializer_list<int> values) {
  std::string s;
  for (const int v : values) s += static_cast<char>(v);
  return s;
}
std::string hex(const std::string& digits) {
  std::string s;
  for (std::size_t i = 0; i < digits.size(); i += 2) s += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return s;
}

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && fmt::format("{}", a) == fmt::format("{}", b);
}

std::string refusal(const std::string& contents) {
  const TemporaryFile file(contents);
  const std::string text = message_of<IoError>([&] { load(file.path()); });
  CHECK(has(text, {file.path(), "npy.cpp:"}));
  return text;
}

}  // namespace

TEST_CASE("an array of every dtype comes back from its file") {
  for (const DType dtype :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}) {
    CAPTURE(dtype.name());
    for (const Array& x : {reshape(array({0, 1, 2, 3, 4, 100}, dtype), {2, 3}), reshape(array({1}, dtype), {}), zeros({0, 4}, dtype)}) {
      const TemporaryFile file;
      save(file.path(), x);
      CHECK(same(load(file.path()), x));
    }
  }
}

TEST_CASE("a file has the bytes that NumPy writes") {
  const TemporaryFile file;
  save(file.path(), array({{1, 2}, {3, 4}}));
  const std::string s = file.contents();
  CHECK(s.substr(0, 10) == bytes({0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 0x76, 0}));
  CHECK(s.substr(10, 59) == "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 2), }");
  CHECK(s.size() == 128 + 16);
  CHECK(s[127] == '\n');
}

TEST_CASE("byte orders, Fortran order and all versions are read") {
  const TemporaryFile big(npy(">i4", false, "(2,)", bytes({0, 0, 1, 2, 255, 255, 255, 254})));
  CHECK(load(big.path()).to_vector<int>() == std::vector<int>{258, -2});
  const TemporaryFile complex_parts(npy(">c8", false, "(1,)", bytes({0x3f, 0x80, 0, 0, 0x40, 0, 0, 0})));
  CHECK(load(complex_parts.path()).to_vector<std::complex<float>>()[0] == std::complex<float>(1, 2));
  const TemporaryFile fortran(npy("|i1", true, "(2, 3)", bytes({1, 4, 2, 5, 3, 6})));
  CHECK(load(fortran.path()).to_vector<int>() == std::vector<int>{1, 2, 3, 4, 5, 6});
  const TemporaryFile cube(npy("|u1", true, "(2, 1, 2)", bytes({1, 3, 2, 4})));
  CHECK(load(cube.path()).to_vector<int>() == std::vector<int>{1, 2, 3, 4});
  for (const char version : {2, 3}) {
    const TemporaryFile file(npy("|b1", false, "(3,)", bytes({0, 1, 7}), version));
    CHECK(load(file.path()).to_vector<bool>() == std::vector<bool>{false, true, true});
  }
}

TEST_CASE("what is not an array file is refused, by name and with the reason") {
  CHECK(has(refusal(""), "not a .npy file"));
  CHECK(has(refusal("hello, world"), "not a .npy file"));
  CHECK(has(refusal(std::string("\x93NUMPY")), "not known"));
  CHECK(has(refusal(npy("<f4", false, "(2,)", "1234567", 4)), "version 4"));
  CHECK(has(refusal(npy("<f4", false, "(2,)", "1234567")), "cut short"));
  CHECK(has(refusal(npy("<f4", false, "(2,)", "").substr(0, 30)), "cut short"));
  CHECK(has(refusal(npy("|O", false, "(2,)", "12345678")), "'|O'"));
  CHECK(has(refusal(npy("<U3", false, "(2,)", "12345678")), "'<U3'"));
  CHECK(has(refusal(npy("", false, "(2,)", "12345678")), "''"));
  CHECK(has(refusal(npy("<f4", false, "(-2,)", "12345678")), "negative"));
  CHECK(has(refusal(npy("<f4", false, "(4611686018427387904, 8)", "12345678")), "not possible"));
  CHECK(has(refusal(npy("<f4", false, "(99999999999999999999,)", "12345678")), "out of range"));
  CHECK(has(refusal(npy("<f4", false, "2", "12345678")), "expected '('"));
  CHECK(has(refusal(bytes({'P', 'K', 3, 4})), "load_npz"));
  try {
    load("no such file.npy");
    FAIL("no error");
  } catch (const IoError& e) {
    CHECK(has(std::string(e.what()), "no such file.npy"));
    CHECK(has(std::string(e.what()), "No such file or directory"));
  }
  CHECK_THROWS_AS(save("/no such folder/x.npy", ones({2})), IoError);
}

TEST_CASE("arrays come back from an archive") {
  const std::map<std::string, Array> arrays = {
      {"x", array({{1.f, 2.f}, {3.f, 4.f}})}, {"half", array({1.f, 0.1f}, bfloat16)}, {"n", Array(3)}, {"none", zeros({0})}};
  const TemporaryFile file({}, ".npz");
  save_npz(file.path(), arrays);
  const std::map<std::string, Array> back = load_npz(file.path());
  REQUIRE(back.size() == arrays.size());
  for (const auto& [name, x] : arrays) CHECK(same(back.at(name), x));
  save_npz(file.path(), {});
  CHECK(load_npz(file.path()).empty());
}

TEST_CASE("named arrays stand in the order of their names, and become any map") {
  const NamedArrays arrays{{"b", array({1.f})}, {"a", array({2.f})}, {"b", array({3.f})}};
  CHECK(arrays.size() == 2);
  CHECK(arrays.begin()->first == "a");
  CHECK(arrays["b"].item<float>() == 3);
  CHECK(arrays.contains("a"));
  CHECK(arrays.find("c") == nullptr);
  CHECK(has(message_of<Error>([&] { arrays.at("c"); }), {"`c`", "a, b"}));
  const std::map<std::string, Array> map = arrays;
  CHECK(map.size() == 2);
  CHECK(NamedArrays(map).at("b").item<float>() == 3);
  const NamedArrays doubled = jit([](const NamedArrays& x) { return tree::map([](Array e) { return 2 * e; }, x); })(arrays);
  CHECK(doubled["a"].item<float>() == 4);
}

// numpy.savez_compressed(..., a=np.zeros(100, np.int16), **{'b.bf16': np.array([0x3f80, 0x4000], np.uint16)})
static const std::string kCompressed =
    hex("504b03042d00000008000000210050543043ffffffffffffffff05001400612e6e707901001000480100000000000049000000000000009bec17ea1b10c9c850"
        "c650ad9e925a9c5ca46ea5a06e9369a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a8606063a9a3a0ab50a64032e86610200"
        "504b03042d0000000800000021006fdd05a3ffffffffffffffff0a001400622e626631362e6e707901001000840000000000000048000000000000009bec17ea"
        "1b10c9c850c650ad9e925a9c5ca46ea5a06e536aa4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a1400ae06"
        "7b060700504b01022d032d000000080000002100505430434900000048010000050000000000000000000000800100000000612e6e7079504b01022d032d0000"
        "000800000021006fdd05a348000000840000000a0000000000000000000000800180000000622e626631362e6e7079504b050600000000020002006b00000004"
        "0100000000");

TEST_CASE("a compressed archive of NumPy's is read") {
  const TemporaryFile file(kCompressed, ".npz");
  const std::map<std::string, Array> back = load_npz(file.path());
  REQUIRE(back.size() == 2);
  CHECK(same(back.at("a"), zeros({100}, int16)));
  CHECK(same(back.at("b"), array({1.f, 2.f}, bfloat16)));
}

TEST_CASE("a damaged archive is an IoError, whatever byte is wrong") {
  int refused = 0;
  for (std::size_t at = 0; at < kCompressed.size(); ++at)
    for (const char flip : {1, -1}) {
      std::string damaged = kCompressed;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const TemporaryFile file(damaged, ".npz");
      try {
        load_npz(file.path());
      } catch (const IoError&) {
        ++refused;
      }
    }
  CHECK(refused > 200);
  for (std::size_t size = 0; size < kCompressed.size(); ++size) {
    const TemporaryFile file(kCompressed.substr(0, size), ".npz");
    CHECK_THROWS_AS(load_npz(file.path()), IoError);
  }
}

TEST_CASE("a program is read with the values of its constants") {
  const TemporaryFile program("{ lambda a:f32[2] b:bf16[]; c:f32[2]. let d:f32[2] = add a c in (d, b) }\n", ".jaxpr"), values({}, ".npz");
  save_npz(values.path(), {{"const0", array({1.f, 2.f})}, {"const1", reshape(array({3.f}, bfloat16), {})}, {"in0", array({0.f, 0.f})}});
  const Jaxpr j = load_jaxpr(program.path(), values.path());
  const std::vector<Array> out = j(array({10.f, 20.f}));
  CHECK(out[0].to_vector<float>() == std::vector<float>{11, 22});
  CHECK(out[1].item<float>() == 3);
  CHECK(std::string(j.eqns()[0].where().file()) == program.path());
  CHECK_THROWS_WITH_AS(load_jaxpr(program.path()), doctest::Contains("the program has constants"), IoError);
  const TemporaryFile wrong("{ lambda ; a:f32[2]. let b:f32[2] = sine a in (b,) }", ".jaxpr");
  CHECK_THROWS_WITH_AS(load_jaxpr(wrong.path()), doctest::Contains(wrong.path().c_str()), Error);
  CHECK_THROWS_WITH_AS(load_jaxpr(wrong.path()), doctest::Contains("line 1, column 37: unknown primitive 'sine'"), Error);
}
