// Moving elements: values against NumPy's, derivatives and batching against their definitions, index maps against the reference.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>

#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

using namespace weft;
using detail::Movement;

namespace {

bool near(const Array& x, const Shape& shape, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = x.shape() == shape && got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  return same;
}
bool equal(const Array& x, const Array& y) { return x.dtype() == y.dtype() && near(x, y.shape(), y.to_vector<double>(), 0); }
double inner(const Array& x, const Array& y) { return sum(convert(x * y, float64)).item<double>(); }
/// Numbers without a pattern that a wrong index could keep.
Array numbers(const Shape& shape, int seed = 0) {
  std::vector<float> v(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((static_cast<int>(i) * 7 + seed * 5 + 3) % 101 - 50);
  return array(v, shape);
}

/// The program of a function of arrays of these shapes.
template <class F>
Jaxpr traced(F f, const std::vector<Shape>& shapes) {
  detail::TraceRequest request{.what = "a test", .inputs = {}, .values = {}};
  for (const Shape& s : shapes) request.inputs.push_back({s, float32});
  return detail::trace_jaxpr(request, [&](std::span<const Array> x) -> std::vector<Array> {
    if constexpr (std::is_invocable_v<F>)
      return {f()};
    else
      return {f(x[0])};
  });
}

struct Case {
  const char* name;
  std::function<Array(Array)> f;  // linear, of an array of shape (2, 3, 4)
};
const Case kCases[] = {
    {"reshape", [](Array x) { return reshape(x, {6, -1}); }},
    {"ravel", [](Array x) { return ravel(x); }},
    {"transpose", [](Array x) { return transpose(x, {2, 0, 1}); }},
    {"reversed axes", [](Array x) { return transpose(x); }},
    {"swapaxes", [](Array x) { return swapaxes(x, 0, -1); }},
    {"moveaxis", [](Array x) { return moveaxis(x, {0, 1}, {-1, 0}); }},
    {"expand_dims, squeeze", [](Array x) { return squeeze(expand_dims(x, {0, 2}), 2); }},
    {"broadcast_to", [](Array x) { return broadcast_to(expand_dims(x, 2), {5, 2, 3, 3, 4}); }},
    {"concatenate", [](Array x) { return concatenate({x, 2 * x, x}, 1); }},
    {"stack", [](Array x) { return stack({x, -x}, 2); }},
    {"stack last", [](Array x) { return stack({x, -x}, -1); }},
    {"split",
     [](Array x) {
       auto p = split(x, {1, 3}, 2);
       return concatenate({p[2], p[0], 3 * p[1]}, 2);
     }},
    {"split, one piece used", [](Array x) { return split(x, 3, 1)[1]; }},
    {"unstack",
     [](Array x) {
       auto p = detail::unstack_along(x, 1, {});
       return p[2] - 2 * p[0];
     }},
    {"pad", [](Array x) { return pad(x, {{0, 1}, {2, 0}, {1, 1}}); }},
    {"pad inside and cut",
     [](Array x) { return detail::pad_with(x, detail::make_literal(0, float32), {{1, -1, 1}, {-1, 2, 2}, {0, 0, 0}}, {}); }},
    {"slice with strides", [](Array x) { return detail::slice_range(x, {0, 1, 1}, {2, 3, 4}, {1, 1, 2}, {}); }},
    {"flip", [](Array x) { return flip(x, {0, 2}); }},
    {"roll", [](Array x) { return roll(x, {1, -2}, {1, 2}); }},
    {"roll flat", [](Array x) { return roll(x, 5); }},
    {"repeat", [](Array x) { return repeat(x, 3, 1); }},
    {"tile", [](Array x) { return tile(x, {2, 1, 3, 2}); }},
    {"tril, triu", [](Array x) { return tril(x, 1) + 3 * triu(x, -1); }},
};

}  // namespace

TEST_CASE("values are NumPy's") {
  const Array x = reshape(arange(6, float32), {2, 3});
  CHECK(near(transpose(x), {3, 2}, {0, 3, 1, 4, 2, 5}));
  CHECK(near(concatenate({x, x}, -1), {2, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  CHECK(near(stack({x, x + 10}, 1), {2, 2, 3}, {0, 1, 2, 10, 11, 12, 3, 4, 5, 13, 14, 15}));
  CHECK(near(pad(x, {{1, 0}, {0, 2}}, 9), {3, 5}, {9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 3, 4, 5, 9, 9}));
  CHECK(near(detail::pad_with(x, detail::make_literal(7, float32), {{0, 0, 1}, {-1, 1, 0}}, {}), {3, 3}, {1, 2, 7, 7, 7, 7, 4, 5, 7}));
  CHECK(near(flip(x), {2, 3}, {5, 4, 3, 2, 1, 0}));
  CHECK(near(flip(x, 1), {2, 3}, {2, 1, 0, 5, 4, 3}));
  CHECK(near(roll(x, 1), {2, 3}, {5, 0, 1, 2, 3, 4}));
  CHECK(near(roll(x, -1, 1), {2, 3}, {1, 2, 0, 4, 5, 3}));
  CHECK(near(repeat(x, 2), {12}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}));
  CHECK(near(repeat(x, 2, 0), {4, 3}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  CHECK(near(tile(x, {2, 2}), {4, 6}, {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  CHECK(near(tile(array({1, 2}), {2, 1, 2}), {2, 1, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
  CHECK(near(split(arange(5), {1, 3})[1], {2}, {1, 2}));
  CHECK(split(arange(5), {3, 1}).size() == 3);
  CHECK(near(split(arange(5), {3, 1})[2], {4}, {1, 2, 3, 4}));
  CHECK(split(arange(5), {7})[1].shape() == Shape{0});
  CHECK(near(broadcast_to(array({1.f, 2.f}), {2, 2}), {2, 2}, {1, 2, 1, 2}));
  CHECK(squeeze(zeros({1, 2, 1})).shape() == Shape{2});
  CHECK(reshape(zeros({0, 3}), {3, 0}).shape() == Shape{3, 0});
  CHECK(concatenate({zeros({0, 3}), x}).shape() == Shape{2, 3});
  CHECK(concatenate({array({1, 2}), array({1.5})}).dtype() == float32);
  CHECK(stack({array({1, 2}, int8), array({1, 2}, uint8)}).dtype() == int16);
  CHECK(stack({ones({}, float16), Array(2.0)}).dtype() == float16);
}

TEST_CASE("every dtype moves") {
  for (DType d :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128}) {
    const Array x = array({{1, 0, 1}, {0, 0, 1}}, d);
    INFO(d.name());
    CHECK(equal(transpose(x), array({{1, 0}, {0, 0}, {1, 1}}, d)));
    CHECK(equal(concatenate({flip(x, 1), pad(x, {{0, 0}, {0, 1}})}, 1), array({{1, 0, 1, 1, 0, 1, 0}, {1, 0, 0, 0, 0, 1, 0}}, d)));
    if (!d.is_bool()) CHECK(equal(arange(3, d), array({0, 1, 2}, d)));
  }
}

TEST_CASE("vmap equals a loop, wherever the mapped axis is") {
  const Array xs = numbers({5, 2, 3, 4});
  for (const Case& c : kCases) {
    INFO(c.name);
    std::vector<Array> each;
    for (int i = 0; i < 5; ++i) each.push_back(c.f(xs[i]));
    const Array want = stack(each);
    for (int axis = 0; axis < 4; ++axis) CHECK(equal(vmap(c.f, {.in_axes = axis})(moveaxis(xs, 0, axis)), want));
    CHECK(equal(vmap(vmap(c.f))(stack({xs, xs + 1}))[1], vmap(c.f)(xs + 1)));
  }
}

TEST_CASE("vmap of pad's fill value, and of some operands only") {
  const Array x = numbers({2, 3}), fills = array({1.f, 2.f});
  const auto f = [&](Array a, Array v) { return pad(a, 1, v); };
  CHECK(equal(vmap(f)(x, fills), stack({pad(x[0], 1, 1), pad(x[1], 1, 2)})));
  CHECK(equal(vmap(f, {.in_axes = {none, 0}})(x, fills), stack({pad(x, 1, 1), pad(x, 1, 2)})));
  const auto join = [&](Array a) { return concatenate({a, array({7.f}), a}); };
  CHECK(equal(vmap(join)(x), stack({join(x[0]), join(x[1])})));
}

TEST_CASE("the transpose of each operation is its transpose") {
  const Array x = numbers({2, 3, 4}), dx = numbers({2, 3, 4}, 1);
  for (const Case& c : kCases) {
    INFO(c.name);
    const auto [y, dy] = jvp(c.f, std::tuple{x}, std::tuple{dx});
    CHECK(equal(dy, c.f(dx)));
    const Array ct = numbers(y.shape(), 2);
    const auto [value, pull] = vjp(c.f, x);
    const auto [back] = pull(ct);
    CHECK(back.shape() == x.shape());
    CHECK(inner(ct, dy) == doctest::Approx(inner(back, dx)));
  }
  const auto [value, pull] = vjp([](Array a, Array v) { return pad(a, {{1, 1}, {0, 2}}, v); }, numbers({2, 2}), Array(1.f));
  const auto [of_array, of_fill] = pull(ones({4, 4}));
  CHECK(near(of_array, {2, 2}, {1, 1, 1, 1}));
  CHECK(near(of_fill, {}, {12}));
}

namespace {

/// Applies an index map as a backend does.
void apply(const Movement& m, const Array& x, const Shape& out, std::vector<double>& result, double fill) {
  const std::vector<double> in = x.to_vector<double>();
  const std::vector<std::int64_t> out_strides = detail::row_major_strides(out), in_strides = detail::row_major_strides(x.shape());
  for (std::int64_t p = 0; p < out.num_elements(); ++p) {
    const auto coordinate = [&](int d) { return p / out_strides[static_cast<std::size_t>(d)] % out[d]; };
    if (m.part_dim >= 0 && (coordinate(m.part_dim) < m.part_begin || coordinate(m.part_dim) >= m.part_end)) continue;
    std::int64_t from = 0;
    bool inside = true;
    if (m.reshape) {
      std::int64_t rest = p;
      std::vector<int> order = m.order;
      for (int d = 0; m.order.empty() && d < x.ndim(); ++d) order.push_back(d);
      for (auto d = order.rbegin(); d != order.rend(); ++d) {
        from += rest % x.shape()[*d] * in_strides[static_cast<std::size_t>(*d)];
        rest /= x.shape()[*d];
      }
    }
    for (std::size_t d = 0; !m.reshape && d < m.dims.size(); ++d) {
      const detail::MovementDim& dim = m.dims[d];
      std::int64_t i = dim.out_dim < 0 ? dim.offset : dim.scale * coordinate(dim.out_dim) + dim.offset;
      inside = inside && i % dim.divisor == 0;
      i /= dim.divisor;
      if (dim.modulus) i %= dim.modulus;
      inside = inside && i >= 0 && i < x.shape()[static_cast<int>(d)];
      from += i * in_strides[d];
    }
    REQUIRE((inside || m.guarded));
    result[static_cast<std::size_t>(p)] = inside ? in[static_cast<std::size_t>(from)] : fill;
  }
}

/// Runs every movement of a program by its map, and compares with what the program computes.
void check_maps(const char* name, const Jaxpr& j) {
  INFO(name);
  for (const Eqn& e : j.eqns()) {
    const bool joins = e.op->kind == detail::Kind::concatenate;
    if (e.op->kind != detail::Kind::movement && !joins) continue;
    INFO(e.primitive());
    std::vector<Array> in;
    std::vector<detail::Aval> avals;
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      avals.push_back(j.data().aval(e.inputs[k]));
      in.push_back(avals[k].ndim() == 0 ? Array(8.f) : numbers(avals[k].shape, static_cast<int>(k)));
    }
    const std::vector<Array> want = detail::bind_primitive(*e.op, e.params, in, {});
    for (std::size_t r = 0; r < want.size(); ++r) {
      std::vector<double> got(static_cast<std::size_t>(want[r].size()), -1e9);
      for (std::size_t k = 0; k < (joins ? in.size() : 1); ++k)
        apply(e.op->movement(*e.params, avals, want[r].aval(), static_cast<int>(joins ? k : r)), in[k], want[r].shape(), got, 8);
      CHECK(near(want[r], want[r].shape(), got, 0));
    }
  }
}

}  // namespace

TEST_CASE("index maps agree with the reference") {
  for (const Case& c : kCases) check_maps(c.name, traced(c.f, {{2, 3, 4}}));
  const Jaxpr read =
      parse("{ lambda ; a:f32[2,3,4]. let\n    b:f32[6,4] = reshape[dimensions=(2, 0, 1) new_sizes=(6, 4) sharding=None] a\n  in (b,) }");
  check_maps("reshape with dimensions", read);
}

TEST_CASE("JAX's text of movements is read") {
  const Jaxpr j = parse(
      "{ lambda ; a:f32[2,3]. let\n"
      "    b:f32[3,2] = reshape[dimensions=(1, 0) new_sizes=(3, 2) sharding=None] a\n"
      "    c:f32[3,2] = copy b\n"
      "    d:f32[] = empty2[dtype=float32 memory_space=MemorySpace.Device] \n"
      "    e:f32[4,2] = pad[padding_config=((np.int64(1), np.int64(0), 0), (0, 0, 0))] c 9.0:f32[]\n"
      "    f:f32[1,2] g:f32[3,2] = split[axis=0 sizes=(np.int64(1), np.int64(3))] e\n"
      "    h:f32[3,4] = tile[reps=(1, 2)] g\n"
      "    i:f32[4] = iota[dimension=0 dtype=float32 shape=(4,) sharding=None] \n"
      "    k:f32[3,4] = broadcast_in_dim[broadcast_dimensions=(1,)] i\n"
      "    l:f32[2,3,4] = stack[axis=0] h k\n"
      "    m:f32[3,4] n:f32[3,4] = unstack[axis=0] l\n"
      "    o:f32[2,2] = slice[limit_indices=(3, 4) start_indices=(0, 1) strides=(2, 2)] m\n"
      "    p:f32[3,4] = broadcast_in_dim d\n"
      "  in (f, g, n, o) }");
  const std::vector<Array> out = j(array({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}));
  CHECK(near(out[0], {1, 2}, {9, 9}));
  CHECK(near(out[1], {3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(near(out[2], {3, 4}, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  CHECK(near(out[3], {2, 2}, {4, 4, 6, 6}));
  CHECK(parse(j.to_string()) == j);
}

TEST_CASE("functions stage what JAX stages") {
  const auto has = [](const Jaxpr& j, const char* part) { return j.to_string().find(part) != std::string::npos; };
  CHECK(has(traced([] { return zeros({2, 3}); }, {}), "f32[2,3] = broadcast_in_dim 0.0:f32[]"));
  CHECK(has(traced([] { return arange(5); }, {}), "i32[5] = iota[dimension=0 dtype=int32 shape=(5,)"));
  CHECK(has(traced([](Array x) { return tile(x, 2); }, {{3}}), "tile[reps=(2,)] a"));
  CHECK(has(traced([](Array x) { return expand_dims(x, 0); }, {{3}}), "f32[1,3] = broadcast_in_dim[broadcast_dimensions=(1,)] a"));
  CHECK(has(traced([](Array x) { return stack({x, x}); }, {{3}}), "stack[axis=0] a a"));
  CHECK(traced([](Array x) { return reshape(transpose(x, {0, 1}), {2, 3}); }, {{2, 3}}).eqns().empty());
}
