// Memory that others own: from_memory, DLPack, Arrow, Eigen.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <unsupported/Eigen/CXX11/Tensor>

#include "tests/messages.h"

using namespace weft;
using namespace weft::test;

namespace {

bool holds(const Array& x, const Shape& shape, const std::vector<double>& values) {
  return x.shape() == shape && x.to_vector<double>() == values;
}
const void* address(const Array& x) { return detail::host_elements(x, x.dtype(), {}); }

struct DLTensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct Managed {
  DLTensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct Versioned {
  std::uint32_t major, minor;
  void* context;
  void (*deleter)(Versioned*);
  std::uint64_t flags;
  DLTensor tensor;
};
struct ArrowSchema {
  const char *format, *name, *metadata;
  std::int64_t flags, n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length, null_count, offset, n_buffers, n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
int released = 0, schemas_released = 0;
ArrowSchema schema_of(const char* format, const char* name = "") {
  return {format,
          name,
          nullptr,
          0,
          0,
          nullptr,
          nullptr,
          [](ArrowSchema* s) {
            ++schemas_released;
            s->release = nullptr;
          },
          nullptr};
}
ArrowArray array_of(std::int64_t length, const void** buffers, std::int64_t nulls = 0, std::int64_t offset = 0) {
  return {length,
          nulls,
          offset,
          2,
          0,
          buffers,
          nullptr,
          nullptr,
          [](ArrowArray* a) {
            ++released;
            a->release = nullptr;
          },
          nullptr};
}

}  // namespace

TEST_CASE("memory is used where it lies, as long as arrays need it") {
  alignas(64) static float values[6] = {0, 1, 2, 3, 4, 5};
  int given_back = 0;
  {
    const Array x = from_memory(values, {2, 3}, float32, [&] { ++given_back; });
    CHECK(address(x) == values);
    CHECK(holds(x, {2, 3}, {0, 1, 2, 3, 4, 5}));
    const Array y = jit([](Array a) { return sin(a) + a[0]; })(x), z = x[1], copy = x;
    CHECK(tree::all_close(y, sin(x) + x[0]));
    CHECK(tree::all_close(grad([](Array a) { return sum(a * a); })(x), 2 * x));
    CHECK(given_back == 0);
  }
  CHECK(given_back == 1);
  {
    // What is computed with it in place of a result's memory isn't written to.
    Array x = from_memory(values, {6}, float32, [&] { ++given_back; });
    const Array y = jit([](Array a) { return a + 1; }, {.donate_argnums = {0}})(x);
    CHECK(holds(y, {6}, {1, 2, 3, 4, 5, 6}));
    CHECK(values[0] == 0);
  }
  CHECK(given_back == 2);
  const std::vector<double> doubles{1, 2, 3, 4};
  const Array v = from_memory(std::span<const double>(doubles), [] {}, Shape{2, 2});
  CHECK(address(v) == doubles.data());
  CHECK(v.shape() == Shape{2, 2});
  CHECK(from_memory(std::span<const double>(doubles), [] {}).shape() == Shape{4});
  CHECK_THROWS_AS(from_memory(std::span<const double>(doubles), [] {}, Shape{3}), ShapeError);
}

TEST_CASE("memory that can't be used as it lies is copied and given back at once") {
  const float values[6] = {0, 1, 2, 3, 4, 5};
  int given_back = 0;
  const auto count = [&] { ++given_back; };
  CHECK(holds(from_memory(values, {3, 2}, float32, count, {.strides = Shape{1, 3}}), {3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(given_back == 1);
  const Array reversed = from_memory(values + 5, {6}, float32, count, {.strides = Shape{-1}});
  CHECK(given_back == 2);
  CHECK(holds(reversed, {6}, {5, 4, 3, 2, 1, 0}));
  const Array same = from_memory(values, {2, 3}, float32, count, {.strides = Shape{0, 1}});
  CHECK(holds(same, {2, 3}, {0, 1, 2, 0, 1, 2}));
  alignas(8) char bytes[9] = {};
  const float one = 1;
  std::memcpy(bytes + 1, &one, 4);
  CHECK(holds(from_memory(bytes + 1, {1}, float32, count), {1}, {1}));
  CHECK(given_back == 4);
  const unsigned char bools[3] = {0, 1, 7};
  CHECK(holds(from_memory(bools, {3}, bool_, count), {3}, {0, 1, 1}));
  CHECK(address(from_memory(bools, {2}, bool_, count)) == bools);
  CHECK(from_memory(nullptr, {0, 3}, float32, count).shape() == Shape{0, 3});
  CHECK(given_back == 7);
  CHECK_THROWS_AS(from_memory(nullptr, {3}, float32, count), Error);
  CHECK_THROWS_AS(from_memory(values, {-3}, float32, count), ShapeError);
  CHECK_THROWS_AS(from_memory(values, {2, 3}, float32, count, {.strides = Shape{1}}), ShapeError);
  // Their distances in bytes are 0 and small numbers modulo 2^64.
  for (const std::int64_t stride : {std::int64_t{1} << 62, (std::int64_t{1} << 62) + 1, std::numeric_limits<std::int64_t>::min()})
    CHECK(refuses<ShapeError>([&] { from_memory(values, {3}, float32, count, {.strides = Shape{stride}}); }, {"from_memory", "strides"}));
  CHECK(refuses<ShapeError>([&] { from_memory(values, {std::int64_t{1} << 40, std::int64_t{1} << 40}, float32, count); },
                            {"from_memory", "not possible", "memory.cpp:"}));
  CHECK(given_back == 7);
}

TEST_CASE("Eigen's matrices, tensors and sparse matrices") {
  Eigen::Matrix<float, 2, 3, Eigen::RowMajor> rows;
  rows << 1, 2, 3, 4, 5, 6;
  const Eigen::MatrixXf columns = rows;
  const Array a = from_memory(rows, [] {}), b = from_memory(columns, [] {});
  CHECK(address(a) == rows.data());
  CHECK(address(b) != columns.data());
  CHECK(holds(a, {2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(holds(b, {2, 3}, {1, 2, 3, 4, 5, 6}));
  Eigen::Tensor<double, 3> t(2, 3, 2);
  for (int i = 0; i < 12; ++i) t(i / 6, i / 2 % 3, i % 2) = i;
  const Eigen::Tensor<double, 3, Eigen::RowMajor> r = t.swap_layout().shuffle(std::array<int, 3>{2, 1, 0});
  const std::vector<double> counted{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CHECK(holds(array(t), {2, 3, 2}, counted));
  CHECK(holds(array(r), {2, 3, 2}, counted));
  CHECK(address(from_memory(r, [] {})) == r.data());
  CHECK(holds(array(Eigen::TensorMap<const Eigen::Tensor<const double, 3>>(t.data(), 2, 3, 2), float32), {2, 3, 2}, counted));
  Eigen::SparseMatrix<double> s(2, 3);
  s.insert(0, 2) = 5;
  s.insert(1, 0) = 7;
  CHECK(holds(array(s), {2, 3}, {0, 0, 5, 7, 0, 0}));
  CHECK(holds(array(Eigen::SparseMatrix<float, Eigen::RowMajor>(s.cast<float>()), int32), {2, 3}, {0, 0, 5, 7, 0, 0}));
  const Array x = array({{1., 2.}, {3., 4.}}, float64);
  const Eigen::Map<const Eigen::Matrix<double, -1, -1, Eigen::RowMajor>> back(x.data<double>().data(), 2, 2);
  CHECK(back(0, 1) == 2);
}

TEST_CASE("DLPack, both ways") {
  for (const DType dtype :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}) {
    CAPTURE(dtype.name());
    for (const Array& x : {convert(reshape(arange(6) % 3, {2, 3}), dtype), convert(Array(2), dtype), zeros({0, 3}, dtype)}) {
      auto* const legacy = static_cast<Managed*>(to_dlpack(x));
      CHECK(legacy->tensor.data == address(x));
      CHECK(legacy->tensor.ndim == x.ndim());
      const Array y = from_dlpack(legacy);
      CHECK(y.dtype() == dtype);
      CHECK(y.shape() == x.shape());
      CHECK(all(y == x).item<bool>());
      if (x.size() > 0) CHECK(address(y) == address(x));
      auto* const versioned = static_cast<Versioned*>(to_dlpack_versioned(x));
      CHECK(versioned->major == 1);
      CHECK((versioned->flags & 1) == 1);
      CHECK(all(from_dlpack_versioned(versioned) == x).item<bool>());
    }
  }
  CHECK_THROWS_AS(to_dlpack(random::key(0)), DTypeError);
  CHECK_THROWS_AS(to_dlpack(Array(ShapeDtypeStruct{{2}, float32})), Error);
  CHECK_THROWS_AS(to_dlpack(Array()), Error);
  CHECK_THROWS_AS(jit([](Array x) { return to_dlpack(x), x; })(ones(2)), Error);
}

TEST_CASE("memory that is lent stays as it is when its array is donated") {
  const auto next = jit([](Array a) { return a + 1; }, {.donate_argnums = {0}});
  for (const int n : {3, 100000}) {
    CAPTURE(n);
    Array x = full({n}, 5.f), y = full({n}, 6.f);
    auto* const tensor = static_cast<Managed*>(to_dlpack(x));
    ArrowSchema schema;
    ArrowArray column;
    to_arrow(y, &schema, &column);
    CHECK(next(x)(n - 1).item<float>() == 6.f);
    CHECK(next(y)(n - 1).item<float>() == 7.f);
    x = y = {};
    // Memory that was given back would be taken by these.
    const Array a = full({n}, -1.f), b = full({n}, -1.f);
    CHECK(static_cast<const float*>(tensor->tensor.data)[n - 1] == 5.f);
    CHECK(static_cast<const float*>(column.buffers[1])[n - 1] == 6.f);
    tensor->deleter(tensor);
    schema.release(&schema);
    column.release(&column);
  }
}

TEST_CASE("what DLPack says of a tensor is heeded") {
  alignas(64) static std::int16_t data[7] = {0, 1, 2, 3, 4, 5, 6};
  std::int64_t shape[] = {3, 2}, strides[] = {1, 3};
  static int deleted;
  deleted = 0;
  Versioned t{1, 7, nullptr, [](Versioned*) { ++deleted; }, 0, {data, 1, 0, 2, 0, 16, 1, shape, nullptr, 2}};
  {
    const Array x = from_dlpack_versioned(&t);
    CHECK(address(x) == data + 1);
    CHECK(holds(x, {3, 2}, {1, 2, 3, 4, 5, 6}));
    CHECK(deleted == 0);
  }
  CHECK(deleted == 1);
  t.tensor.strides = strides;
  const Array y = from_dlpack_versioned(&t);
  CHECK(deleted == 2);
  CHECK(holds(y, {3, 2}, {1, 4, 2, 5, 3, 6}));
  t.major = 2;
  CHECK(refuses<Error>([&] { from_dlpack_versioned(&t); }, {"DLPack 2.7", "1.x", "memory.cpp:"}));
  t.major = 1, t.tensor.device_type = 2;
  CHECK_THROWS_AS(from_dlpack_versioned(&t), DeviceError);
  t.tensor.device_type = 1, t.tensor.lanes = 4;
  CHECK_THROWS_AS(from_dlpack_versioned(&t), DTypeError);
  t.tensor.lanes = 1, t.tensor.ndim = -1;
  CHECK_THROWS_AS(from_dlpack_versioned(&t), ShapeError);
  CHECK(deleted == 2);
}

TEST_CASE("Arrow's columns, both ways") {
  released = schemas_released = 0;
  alignas(64) static double values[5] = {0, 1, 2, 3, 4};
  const unsigned char there[1] = {0b11011};
  const void* buffers[2] = {nullptr, values};
  {
    ArrowSchema s = schema_of("g");
    ArrowArray a = array_of(4, buffers, 0, 1);
    const Array x = from_arrow(&s, &a);
    CHECK(address(x) == values + 1);
    CHECK(holds(x, {4}, {1, 2, 3, 4}));
    CHECK((s.release == nullptr));
    CHECK((a.release == nullptr));
    CHECK(schemas_released == 1);
    CHECK(released == 0);
    CHECK_THROWS_AS(from_arrow(&s, &a), IoError);
  }
  CHECK(released == 1);
  const void* with_nulls[2] = {there, values};
  ArrowSchema s = schema_of("g");
  ArrowArray a = array_of(5, with_nulls, -1);
  CHECK(refuses<IoError>([&] { from_arrow(&s, &a); }, {"1 of 5 values are missing", "ArrowOptions.null"}));
  CHECK((a.release != nullptr));
  CHECK(holds(from_arrow(&s, &a, {.null = -1}), {5}, {0, 1, -1, 3, 4}));
  CHECK(released == 2);
  s = schema_of("l"), a = array_of(5, with_nulls, 1);
  CHECK(refuses<DTypeError>([&] { from_arrow(&s, &a, {.null = std::nan("")}); }, {"from_arrow", "ArrowOptions.null", "int64"}));
  CHECK((a.release != nullptr));
  const unsigned char bits[2] = {0b10110010, 0b1};
  const void* bools[2] = {nullptr, bits};
  s = schema_of("b"), a = array_of(8, bools, 0, 1);
  CHECK(holds(from_arrow(&s, &a), {8}, {1, 0, 0, 1, 1, 0, 1, 1}));
  for (const char* format : {"u", "tdD", "+l", "w:4", "n", "ff", ""}) {
    s = schema_of(format), a = array_of(1, buffers);
    CHECK_THROWS_AS(from_arrow(&s, &a), DTypeError);
    CHECK((a.release != nullptr));
  }
  s = schema_of("g"), a = array_of(-1, buffers);
  CHECK_THROWS_AS(from_arrow(&s, &a), IoError);

  // A table.
  ArrowSchema one = schema_of("g", "x"), two = schema_of("b", "y");
  ArrowArray first = array_of(5, buffers), second = array_of(9, bools);
  ArrowSchema* fields[] = {&one, &two};
  ArrowArray* columns[] = {&first, &second};
  s = schema_of("+s"), a = array_of(3, nullptr, 0, 2);
  s.n_children = a.n_children = 2, s.children = fields, a.children = columns, a.n_buffers = 1;
  {
    const auto table = from_arrow_columns(&s, &a);
    CHECK(holds(table.at("x"), {3}, {2, 3, 4}));
    CHECK(holds(table.at("y"), {3}, {0, 0, 1}));
    CHECK(address(table.at("x")) == values + 2);
  }
  CHECK((a.release == nullptr));
  s = schema_of("+s"), a = array_of(6, nullptr);
  s.n_children = a.n_children = 2, s.children = fields, a.children = columns;
  CHECK(refuses<IoError>([&] { from_arrow_columns(&s, &a); }, {"column 'x'", "shorter"}));

  // Rows that are missing as a whole, whether or not the producer has counted them.
  const void* rows[1] = {there};
  for (const std::int64_t count : {1, -1}) {
    s = schema_of("+s"), a = array_of(3, rows, count, 1);
    s.n_children = a.n_children = 2, s.children = fields, a.children = columns, a.n_buffers = 1;
    CHECK(refuses<IoError>([&] { from_arrow_columns(&s, &a); }, {"rows are missing"}));
    a.length = 1;  // the rows of which none is missing
    CHECK(holds(from_arrow_columns(&s, &a).at("x"), {1}, {1}));
  }
  // A column that somebody has taken already.
  s = schema_of("+s"), a = array_of(3, nullptr);
  s.n_children = a.n_children = 2, s.children = fields, a.children = columns;
  first.release = nullptr;
  CHECK(refuses<IoError>([&] { from_arrow_columns(&s, &a); }, {"column 'x'", "released already"}));
  // A value for missing ones that the dtype lacks matters only where one is missing.
  const unsigned char all_there[1] = {0xff};
  const void* none_missing[2] = {all_there, values};
  s = schema_of("l"), a = array_of(5, none_missing, -1);
  CHECK(from_arrow(&s, &a, {.null = std::nan("")}).size() == 5);

  for (const DType dtype : {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64}) {
    CAPTURE(dtype.name());
    const Array x = convert(arange(11) % 3, dtype);
    to_arrow(x, &s, &a, "name");
    CHECK(std::string(s.name) == "name");
    const Array y = from_arrow(&s, &a);
    CHECK(y.dtype() == dtype);
    CHECK(all(y == x).item<bool>());
  }
  CHECK_THROWS_AS(to_arrow(ones({2, 2}), &s, &a), ShapeError);
  CHECK_THROWS_AS(to_arrow(ones(2, bfloat16), &s, &a), DTypeError);
}
