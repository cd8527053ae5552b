// Cases for every elementwise primitive and dtype, made from the table: what the reference, the lowering and the rules must agree on.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>
#include <limits>
#include <random>

#include "eval_builder.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/ops/elementwise/elementwise.h"

using namespace weft;
using namespace weft::detail;

namespace {

/// Elements of the dtype in the domain; for integers and floats some corner values first, where `corners` asks for them.
Array sample(const Shape& shape, DType dtype, Domain domain, unsigned seed, bool corners = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(domain.lo, domain.hi);
  const auto n = static_cast<std::size_t>(shape.num_elements());
  if (dtype.is_complex()) {
    std::vector<std::complex<double>> v(n);
    for (auto& x : v) x = {uniform(random), uniform(random)};
    return convert(array(v, shape), dtype);
  }
  std::vector<double> v(n);
  for (double& x : v) x = uniform(random);
  if (corners) {
    const double inf = std::numeric_limits<double>::infinity();
    std::vector<double> special = {0, -0., 1, -1, inf, -inf, std::nan(""), 0.5, -0.5, 2.5, -1.5, 1e-40};
    if (dtype.is_integer()) special = {0, 1, -1, -1e30, 1e30, 2, 7, 31, 32, 63, 64, 8};
    std::shuffle(special.begin(), special.end(), random);
    std::copy_n(special.begin(), std::min(n, special.size()), v.begin());
  }
  return convert(array(v, shape), dtype);
}

struct Case {
  const ElementwiseInfo& info;
  DType dtype;
  ParamsRef params;
  std::string title() const { return std::string(info.op->name) + " of " + std::string(dtype.name()); }
  std::vector<Array> operands(const std::vector<Shape>& shapes, unsigned seed, bool corners = false) const {
    std::vector<Array> in;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const bool predicate = info.predicate_first && i == 0;
      in.push_back(
          sample(shapes[i], predicate ? bool_ : dtype, predicate ? Domain{-1, 1} : info.domain, seed + static_cast<unsigned>(i), corners));
      if (predicate) in[0] = sample(shapes[i], float32, {-1, 1}, seed) > 0;
    }
    return in;
  }
  Array run(std::span<const Array> in) const { return bind_primitive(*info.op, params, in, {})[0]; }
  bool defined() const {
    try {
      const Aval avals[] = {{{}, info.predicate_first ? bool_ : dtype}, {{}, dtype}, {{}, dtype}};
      infer(*info.op, *params, std::span(avals, static_cast<std::size_t>(info.operands)), {});
      return true;
    } catch (const DTypeError&) {
      return false;
    }
  }
};

template <class F>
void for_each_case(F&& f) {
  for (const ElementwiseInfo& info : elementwise_infos())
    for (int id = 0; id < DType::count; ++id) {
      const Case c{info, DType(id), info.params(DType(id))};
      if (!(info.dtypes & kind_of(c.dtype)) || !c.defined()) continue;
      CAPTURE(c.title());
      f(c);
    }
}

std::vector<std::complex<double>> values(const Array& x) { return convert(x, complex128).to_vector<std::complex<double>>(); }
bool close(std::complex<double> a, std::complex<double> b, double tolerance) {
  auto near = [&](double x, double y, double scale) {
    return (std::isnan(x) && std::isnan(y)) || x == y || std::abs(x - y) <= tolerance * scale;
  };
  const double scale = std::max(1., std::abs(b));
  return near(a.real(), b.real(), scale) && near(a.imag(), b.imag(), scale);
}
void check_close(const Array& got, const Array& want, double tolerance) {
  REQUIRE(got.shape() == want.shape());
  const auto a = values(got), b = values(want);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CAPTURE(a[i].real());
    CAPTURE(a[i].imag());
    CAPTURE(b[i].real());
    CAPTURE(b[i].imag());
    CHECK(close(a[i], b[i], tolerance));
  }
}
double epsilon(DType t) {
  const DType part = t.real_part();
  return part == float16 ? 1e-3 : part == bfloat16 ? 8e-3 : part == float32 ? 1.2e-7 : part == float64 ? 2.3e-16 : 0;
}

}  // namespace

TEST_CASE("elementwise: the lowering computes what the reference does") {
  for_each_case([](const Case& c) {
    const int n = 40;
    std::vector<Array> in = c.operands(std::vector<Shape>(static_cast<std::size_t>(c.info.operands), Shape{n}), 7, !c.dtype.is_complex());
    const Array want = c.run(in);
    std::vector<const char*> bytes;
    for (Array& x : in) x = device_get(x);
    for (const Array& x : in) bytes.push_back(static_cast<const char*>(host_elements(x, x.dtype(), {})));
    std::vector<std::complex<double>> got;
    for (int i = 0; i < n; ++i) {
      EvalBuilder b;
      std::vector<KernelValue> operands;
      for (std::size_t k = 0; k < in.size(); ++k) operands.push_back(b.input(in[k].dtype(), bytes[k] + i * in[k].dtype().itemsize()));
      const KernelValue y = c.info.op->lower(b, *c.params, operands);
      if (y.id < 0) return;  // none for this dtype
      REQUIRE(y.dtype == want.dtype());
      got.emplace_back(b.number(b.real(y)), y.dtype.is_complex() ? b.number(b.imag(y)) : 0);
    }
    const auto expected = values(want);
    for (int i = 0; i < n; ++i) {
      const auto e = static_cast<std::size_t>(i);
      CAPTURE(i);
      std::string operands;
      bool nan = false;
      for (const Array& x : in) operands += std::to_string(values(x)[e].real()) + " ", nan |= std::isnan(values(x)[e].real());
      // Which of the NaN it is depends on the device.
      if (nan && want.dtype().is_integer() && c.title().starts_with("bitcast")) continue;
      CAPTURE(operands);
      CAPTURE(got[e].real());
      CAPTURE(expected[e].real());
      CAPTURE(got[e].imag());
      CAPTURE(expected[e].imag());
      CHECK(close(got[e], expected[e], 8 * epsilon(want.dtype())));
    }
  });
}

TEST_CASE("elementwise: operands of rank 0 and of size 1 are broadcast") {
  for_each_case([](const Case& c) {
    if (c.info.operands < 2) return;
    std::vector<Shape> shapes{{}, {1, 3}, {2, 1}};
    if (c.info.operands == 2) shapes.erase(shapes.begin());
    const std::vector<Array> in = c.operands(shapes, 3);
    std::vector<Array> wide;
    for (const Array& x : in) wide.push_back(broadcast_to(x, {2, 3}));
    check_close(c.run(in), c.run(wide), 0);
  });
}

TEST_CASE("elementwise: forward derivatives are the limits of differences") {
  for_each_case([](const Case& c) {
    if (!c.info.differentiable || (c.dtype != float64 && c.dtype != complex128)) return;
    if (c.info.op->name == "reduce_precision" || c.info.op->name == "convert_element_type") return;
    const std::vector<Array> in = c.operands(std::vector<Shape>(static_cast<std::size_t>(c.info.operands), Shape{6}), 11);
    const double h = 1e-6;
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!in[k].dtype().is_inexact()) continue;
      CAPTURE(k);
      const Array direction = sample({6}, in[k].dtype(), {-1, 1}, 5);
      auto f = [&](const Array& x) {
        std::vector<Array> operands = in;
        operands[k] = x;
        return c.run(operands);
      };
      const auto [y, tangent] = jvp(f, std::tuple{in[k]}, std::tuple{direction});
      CHECK(tangent.dtype() == y.dtype());
      check_close(tangent, (f(in[k] + h * direction) - f(in[k] - h * direction)) / (2 * h), 1e-6);
    }
  });
}

TEST_CASE("elementwise: reverse derivatives are the transposes of forward ones") {
  for_each_case([](const Case& c) {
    if (!c.info.differentiable || c.dtype != float64 || c.info.op->name == "reduce_precision") return;  // that rounds: no linear map
    std::vector<Shape> shapes(static_cast<std::size_t>(c.info.operands), Shape{2, 3});
    if (c.info.operands > 1) shapes[0] = {}, shapes.back() = {1, 3};
    if (c.info.operands == 2) shapes[0] = {2, 1};
    const std::vector<Array> in = c.operands(shapes, 13);
    for (std::size_t k = 0; k < in.size(); ++k) {
      if (!in[k].dtype().is_inexact()) continue;
      CAPTURE(k);
      auto f = [&](const Array& x) {
        std::vector<Array> operands = in;
        operands[k] = x;
        return c.run(operands);
      };
      const Array v = sample(in[k].shape(), float64, {-1, 1}, 3);
      const auto [y, tangent] = jvp(f, std::tuple{in[k]}, std::tuple{v});
      const auto [again, pull] = vjp(f, in[k]);
      const Array ct = sample(y.shape(), y.dtype(), {-1, 1}, 4);
      const Array back = std::get<0>(pull(ct));
      CHECK(back.shape() == in[k].shape());
      const double lhs = real(sum(ct * tangent)).item<double>(), rhs = real(sum(back * v)).item<double>();
      CHECK(lhs == doctest::Approx(rhs).epsilon(1e-5));
    }
  });
}

TEST_CASE("elementwise: vmap maps any of the operands, along any of their axes") {
  for_each_case([](const Case& c) {
    if (c.dtype != float32 && c.dtype != int32) return;
    const auto count = static_cast<std::size_t>(c.info.operands);
    for (unsigned mapped = 1; mapped < (1u << count); ++mapped)
      for (int axis : {0, 1}) {
        CAPTURE(mapped);
        CAPTURE(axis);
        std::vector<Shape> shapes(count, Shape{2, 3});
        for (std::size_t i = 0; i < count; ++i)
          if (mapped >> i & 1) shapes[i] = axis == 0 ? Shape{4, 2, 3} : Shape{2, 4, 3};
        if (!(mapped & 1)) shapes[0] = {};
        const std::vector<Array> in = c.operands(shapes, 17);
        std::vector<Array> moved;
        std::vector<int> dims;
        for (std::size_t i = 0; i < count; ++i) {
          dims.push_back(mapped >> i & 1 ? axis : kNotMapped);
          Array m = in[i];
          if (m.ndim() == 3) m = moveaxis(m, axis, 0);
          if (m.ndim() == 2) m = expand_dims(m, 0);
          moved.push_back(m);
        }
        const MappedAxis name{.name = "", .size = 4};
        const BatchResult r = c.info.op->batch({*c.info.op, c.params, in, dims, name, {}});
        check_close(moveaxis(r.out[0], r.dims[0], 0), c.run(moved), 0);
      }
  });
}
