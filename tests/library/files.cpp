// Files of other programs: safetensors, CSV, PNG.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <fstream>

#include "tests/folder.h"
#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

bool same(const Array& a, const Array& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && tree::to_string(a) == tree::to_string(b);
}
/// A safetensors file of this header and data.
std::string with_header(const std::string& header, const std::string& data) {
  std::string s;
  for (std::size_t i = 0, n = header.size(); i < 8; ++i, n >>= 8) s += static_cast<char>(n & 0xff);
  return s + header + data;
}
std::string hex(const std::string& digits) {
  std::string s;
  for (std::size_t i = 0; i < digits.size(); i += 2) s += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return s;
}

}  // namespace

TEST_CASE("safetensors: arrays of every dtype come back") {
  const Folder folder;
  const std::string path = folder.path + "/a.safetensors";
  std::map<std::string, Array> arrays;
  for (const DType dtype :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64})
    arrays.emplace(std::string(dtype.name()), convert(reshape(arange(6), {2, 3}), dtype));
  arrays.emplace("scalar", array(2.5f));
  arrays.emplace("empty", zeros({0, 4}));
  arrays.emplace("na\"me \xc3\xa9\n", ones(3));
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"a\\b", "\t\"x\""}};
  save_safetensors(path, arrays, metadata);
  const Safetensors read = load_safetensors(path);
  CHECK(read.metadata == metadata);
  CHECK(read.arrays.size() == arrays.size());
  for (const auto& [name, x] : arrays) {
    CAPTURE(name);
    CHECK(same(read.arrays.at(name), x));
  }
  // They outlive the file, and what is written in its place.
  const Array kept = read.arrays.at("float32");
  save_safetensors(path, {{"other", zeros(1000)}});
  CHECK(same(kept, arrays.at("float32")));
  CHECK(same(jit([](Array x) { return x + 1; })(kept), arrays.at("float32") + 1));
  CHECK_THROWS_AS(save_safetensors(path, {{"x", ones(2, complex128)}}), DTypeError);
  CHECK_THROWS_AS(save_safetensors(path, {{"__metadata__", ones(2)}}), IoError);
  const Safetensors last = load_safetensors(path);
  CHECK(last.arrays.size() == 1);
  const std::string only = last.arrays.begin()->first;
  CHECK(same(last[only], last.at(only)));
  CHECK(refuses<IoError>([&] { last["bias"]; }, {"'bias'", only, "files.cpp:"}));
}

TEST_CASE("safetensors: what others write is read") {
  const Folder folder;
  const std::string path = folder.path + "/b.safetensors", data = hex("0000803f00000040");
  std::ofstream(path, std::ios::binary) << with_header(
      R"( {"__metadata__" : {"k":"\u00e9\ud83d\ude00"}, "w":{"shape":[2],"dtype":"F32","data_offsets":[0,8]}}   )", data);
  const Safetensors read = load_safetensors(path);
  CHECK(same(read.arrays.at("w"), array({1.f, 2.f})));
  CHECK(read.metadata.at("k") == "\xc3\xa9\xf0\x9f\x98\x80");
}

TEST_CASE("safetensors: what is no such file is refused in words") {
  const std::string eight(8, '\1');
  const auto tells = [&](const std::string& header, const std::string& data, const std::string& part) {
    return refuses<IoError>([&] { detail::decode_safetensors(with_header(header, data), "some.file", {}); }, {"some.file", part});
  };
  const std::string w = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK(!detail::decode_safetensors(with_header(w, eight), "x", {}).arrays.empty());
  CHECK(tells(w, eight + "x", "1 bytes at its end"));
  CHECK(tells(w, "1234567", "is at bytes 0 to 8 of 7"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234", "8 bytes from 0"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", eight + "1234", "8 bytes from 0"));
  CHECK(tells(R"({"v":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
              eight + "1234", "8 bytes from 8"));
  CHECK(tells(R"({"w":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})", "12", "F8_E4M3"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", eight, "not possible"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", eight, "not negative"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,8]}})", eight, "2^63"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", eight, "at byte"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2]}})", eight, "lacks"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"w":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}})", eight,
              "twice"));
  CHECK(tells(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", eight, "not a member"));
  CHECK(tells(w + "x", eight, "more text"));
  CHECK(tells("", eight, "expected '{'"));
  CHECK(refuses<IoError>([] { detail::decode_safetensors("1234", "f", {}); }, {"shorter than 8"}));
  CHECK(refuses<IoError>([] { detail::decode_safetensors(std::string(20, '\x7f'), "f", {}); }, {"not a safetensors file"}));
  CHECK(refuses<IoError>([] { load_safetensors("/nowhere/x"); }, {"load_safetensors", "/nowhere/x", "files.cpp:"}));
  CHECK_THROWS_AS(load_safetensors("/dev/null"), IoError);
}

TEST_CASE("CSV: tables are read") {
  const Csv t = parse_csv("x,y, \"a, \"\"b\"\"\"\r\n1, 2.5,-3e2\r\n\r\n+4,nan,inf\r\n");
  CHECK(t.names == std::vector<std::string>{"x", "y", "a, \"b\""});
  CHECK(t.values.dtype() == float32);
  CHECK(tree::to_string(t.values) == "[[   1.     2.5 -300. ]\n [   4.     nan    inf]]");
  CHECK(t.column("y").to_vector<float>()[0] == 2.5f);
  CHECK(t["y"].to_vector<float>()[0] == 2.5f);
  CHECK(refuses<IoError>([&] { t.column("z"); }, {"'z'", "x, y"}));
  CHECK(refuses<IoError>([&] { t["z"]; }, {"'z'", "x, y", "files.cpp:"}));
  CHECK(parse_csv("1,2\n3,4").names.empty());
  CHECK(refuses<IoError>([] { parse_csv("1,2\n3,x\n"); }, {"parse_csv: text: line 2, column 2: 'x' is not a float32 number"}));
  CHECK(same(parse_csv("1,2\n3,4", {.dtype = int32}).values, array({{1, 2}, {3, 4}})));
  CHECK(same(parse_csv("1,2\n3,4", {.header = true}).values, array({{3.f, 4.f}})));
  CHECK(same(parse_csv("about\n1\t2\n3\t4\n", {.delimiter = '\t', .dtype = float64, .skip_lines = 1}).values,
             array({{1, 2}, {3, 4}}, float64)));
  const Csv columns = parse_csv("a,b,c\n1,,3\n", {.columns = {"c", "b"}, .missing = 7});
  CHECK(columns.names == std::vector<std::string>{"c", "b"});
  CHECK(same(columns.values, array({{3.f, 7.f}})));
  CHECK(same(parse_csv("true,false\n", {.header = false, .dtype = bool_}).values, array({{true, false}})));
  CHECK(parse_csv("9223372036854775807\n", {.dtype = int64}).values.to_vector<std::int64_t>()[0] == INT64_MAX);
  CHECK(parse_csv("18446744073709551615\n", {.dtype = uint64}).values.to_vector<std::uint64_t>()[0] == UINT64_MAX);
  CHECK(parse_csv("a,b\n").values.shape() == Shape{0, 2});
  CHECK(parse_csv("0.1\n", {.dtype = float64}).values.item<double>() == 0.1);
  // Numbers below the smallest one are rounded, and are no names of columns.
  CHECK(same(parse_csv("1e-60,2\n-1e-400,4\n").values, array({{0.f, 2.f}, {-0.f, 4.f}})));
  CHECK(same(parse_csv("1e-400,2\n").values, array({{0.f, 2.f}})));
}

TEST_CASE("CSV: what is no table is refused with line and column") {
  const auto tells = [](const std::string& text, CsvOptions options, const std::vector<std::string>& parts) {
    return refuses<IoError>([&] { parse_csv(text, options, "t.csv"); }, parts);
  };
  CHECK(tells("a,b\n1,2\n3,x\n", {}, {"t.csv", "line 3, column 2", "'x'", "float32"}));
  CHECK(tells("a,b\n1,2\n3\n", {}, {"line 3", "1 field,", "2"}));
  CHECK(tells("a,b\n1,\n", {}, {"line 2, column 2", "missing"}));
  CHECK(tells("1.5\n", {.dtype = int32}, {"line 1, column 1", "int32"}));
  CHECK(tells("300\n", {.dtype = int8}, {"'300'", "int8"}));
  CHECK(tells("-1\n", {.dtype = uint8}, {"'-1'", "uint8"}));
  CHECK(tells("a\n1\n", {.columns = {"b"}}, {"no column 'b'", "there are a"}));
  CHECK(tells("1\n", {.columns = {"b"}}, {"no names"}));
  CHECK(tells("\"a\n1\n", {}, {"line 1", "not closed"}));
  CHECK(tells("\"a\"b\n", {}, {"text after a quoted field"}));
  CHECK(tells("\n\n", {}, {"no table"}));
  CHECK(tells("1e400,2\n3,4\n", {}, {"line 1, column 1", "'1e400'", "float32"}));
  CHECK(tells("1\n+-5\n", {}, {"'+-5'"}));
  // What stands for missing values is one of the dtype's.
  for (const double value : {std::nan(""), 1.5, 300., -1.})
    CHECK(
        refuses<DTypeError>([&] { parse_csv("1,\n", {.dtype = uint8, .missing = value}); }, {"parse_csv", "CsvOptions.missing", "uint8"}));
  CHECK(refuses<DTypeError>([&] { parse_csv("1,\n", {.dtype = int64, .missing = 0x1p63}); }, {"int64"}));
  CHECK_THROWS_AS(parse_csv("1", {.dtype = complex64}), DTypeError);
  CHECK(refuses<IoError>([] { load_csv("/nowhere.csv"); }, {"load_csv", "/nowhere.csv", "files.cpp:"}));
}

TEST_CASE("CSV: a number is rounded once to its dtype, or is beyond its range") {
  // Halfway between two numbers of the dtype but for a little that float32 doesn't show.
  CHECK(parse_csv("1.00390625000001\n", {.dtype = bfloat16}).values.item<float>() == 1.0078125f);
  CHECK(parse_csv("1.00048828125000001\n", {.dtype = float16}).values.item<float>() == 1.f);
  CHECK(parse_csv("1.0004882812501\n", {.dtype = float16}).values.item<float>() == 1.0009765625f);
  CHECK(parse_csv("65519\n", {.dtype = float16}).values.item<float>() == 65504.f);
  const std::pair<DType, const char*> beyond[] = {{float16, "65520"}, {bfloat16, "3.4e38"}, {float32, "1e39"}, {float64, "1e309"}};
  for (const auto& [dtype, text] : beyond) {
    const std::string name(dtype.name());
    CHECK(refuses<IoError>([&, d = dtype, t = text] { parse_csv(t, {.header = false, .dtype = d}); },
                           {"line 1, column 1", text, name.c_str()}));
    CHECK(parse_csv("inf\n", {.header = false, .dtype = dtype}).values.item<double>() == std::numeric_limits<double>::infinity());
  }
  CHECK(refuses<DTypeError>([] { parse_csv("1,\n", {.missing = 1e300}); }, {"CsvOptions.missing", "beyond the range of float32"}));
  CHECK(std::isnan(parse_csv("1\n\"\"\n", {.missing = std::nan("")}).values[1].item<float>()));
}

TEST_CASE("CSV: lines end as any system ends them") {
  const Array want = array({{1.f, 2.f}, {3.f, 4.f}});
  for (const char* end : {"\n", "\r\n", "\r"}) {
    const std::string e = end;
    CHECK(same(parse_csv("1,2" + e + "3,4").values, want));
    CHECK(same(parse_csv("a,\"b\"" + e + "1,2" + e + e + "3,\"4\" " + e).values, want));
    CHECK(same(parse_csv("about" + e + e + "1,2" + e + "3,4", {.skip_lines = 2}).values, want));
    CHECK(refuses<IoError>([&] { parse_csv("a" + e + "1" + e + "x" + e); }, {"line 3, column 1"}));
  }
}

TEST_CASE("CSV: a name is one column's, and is read as it was written") {
  const Csv twice = parse_csv("a,b,a\n1,2,3\n");
  CHECK(twice.column("b").item<float>() == 2);
  CHECK(refuses<IoError>([&] { twice.column("a"); }, {"two columns 'a'"}));
  CHECK(refuses<IoError>([] { parse_csv("a,b,a\n1,2,3\n", {.columns = {"a"}}); }, {"line 1", "'a' is there twice"}));
  const Folder folder;
  const std::string path = folder.path + "/t.csv";
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"0", "1"}, {" a", "b\t"}, {"\xef\xbb\xbfx", "y"}, {"nan", ""}, {"a\rb", "c\nd"}, {"true", "1e5"}}) {
    save_csv(path, ones({3, 2}), names);
    const Csv t = load_csv(path);
    CHECK(t.names == names);
    CHECK(t.values.shape() == Shape{3, 2});
  }
  // Quotes around everything say nothing.
  CHECK(parse_csv("\"1\",\"2\"\n\"3\",\"4\"\n").values.shape() == Shape{2, 2});
  const std::string long_text(100'000, 'x');
  CHECK(message_of<IoError>([&] { parse_csv("1\n" + long_text + "\n"); }).size() < 500);
}

TEST_CASE("CSV: what is written is read again, bit for bit") {
  const Folder folder;
  const std::string path = folder.path + "/t.csv";
  for (const DType dtype : {bool_, int8, uint64, float16, bfloat16, float32, float64}) {
    CAPTURE(dtype.name());
    const Array x =
        dtype.is_floating() ? convert(random::normal(random::key(1), {5, 3}), dtype) : convert(reshape(arange(15) % 2, {5, 3}), dtype);
    save_csv(path, x, {"a", "b,c", "\"d\""});
    const Csv t = load_csv(path, {.dtype = dtype});
    CHECK(t.names == std::vector<std::string>{"a", "b,c", "\"d\""});
    CHECK(all(t.values == x).item<bool>());
  }
  save_csv(path, array({1, 2}));
  CHECK(contents(path) == "1\n2\n");
  CHECK_THROWS_AS(save_csv(path, ones({2, 2, 2})), ShapeError);
  CHECK_THROWS_AS(save_csv(path, ones({2, 2}), {"a"}), ShapeError);
  CHECK_THROWS_AS(save_csv(path, ones(2, complex64)), DTypeError);
}

TEST_CASE("PNG: pictures come back") {
  const Folder folder;
  const std::string path = folder.path + "/p.png";
  for (const DType dtype : {uint8, uint16})
    for (const Shape& shape : {Shape{3, 5}, Shape{7, 1}, Shape{4, 3, 2}, Shape{16, 9, 3}, Shape{2, 2, 4}}) {
      const Array x = convert(reshape(arange(shape.num_elements()) * 977, shape), dtype);
      save_png(path, x);
      CHECK(same(load_png(path), x));
    }
  save_png(path, array({{0.f, 1.f}, {0.5f, 7.f}}));
  CHECK(same(load_png(path), array({{0, 255}, {128, 255}}, uint8)));
  save_png(path, array({{true, false}}));
  CHECK(same(load_png(path), array({{255, 0}}, uint8)));
  save_png(path, ones({2, 2, 1}));
  CHECK(load_png(path).shape() == Shape{2, 2});
  CHECK_THROWS_AS(save_png(path, ones(3)), ShapeError);
  CHECK_THROWS_AS(save_png(path, ones({3, 3, 5})), ShapeError);
  CHECK_THROWS_AS(save_png(path, zeros({0, 3})), ShapeError);
  CHECK_THROWS_AS(save_png(path, ones({3, 3}, int32)), DTypeError);
}

TEST_CASE("PNG: what is damaged is refused") {
  const Folder folder;
  const std::string path = folder.path + "/p.png";
  save_png(path, reshape(convert(arange(60), uint8), {5, 4, 3}));
  const std::string whole = contents(path);
  const auto tells = [](const std::string& bytes, const std::string& part) {
    return refuses<IoError>([&] { detail::decode_png(bytes, "p.png", {}); }, {"load_png: p.png", part});
  };
  for (std::size_t n = 0; n < whole.size(); ++n)
    CHECK(!message_of<IoError>([&] { detail::decode_png(whole.substr(0, n), "p.png", {}); }).empty());
  CHECK(tells("GIF89a..", "not a PNG file"));
  std::string changed = whole;
  changed[20] = static_cast<char>(changed[20] ^ 1);
  CHECK(tells(changed, "check sum"));
  CHECK(refuses<IoError>([] { load_png("/nowhere.png"); }, {"/nowhere.png", "files.cpp:"}));
}
