// Methods of arrays are the functions of their names.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <string>

using namespace weft;

namespace {
bool same(const Array& a, const Array& b) { return a.dtype() == b.dtype() && array_equal(a, b).item<bool>(); }
}  // namespace

TEST_CASE("methods give what the functions give, eagerly, under jit and under vmap") {
  const Array x = reshape(array({3.f, -1.f, 2.f, 0.f, 5.f, -2.f}), {2, 3}), z = complex(x, 2 * x);
  CHECK(same(x.T(), transpose(x)));
  CHECK(same(stack({x, x}).mT(), swapaxes(stack({x, x}), -1, -2)));
  CHECK(same(x.sum(), sum(x)));
  CHECK(same(x.mean(0), mean(x, 0)));
  CHECK(same(x.max(1, keepdims), max(x, 1, keepdims)));
  CHECK(same(x.min({0, 1}), min(x)));
  CHECK(same(x.prod(0), prod(x, 0)));
  CHECK(same(x.var(0, {.ddof = 1}), var(x, 0, {.ddof = 1})));
  CHECK(same(x.std(1), std_(x, 1)));
  CHECK(same(weft::std(x, 1), std_(x, 1)));
  CHECK(same(x.argmax(0), argmax(x, 0)));
  CHECK(same(x.argmin(), argmin(x)));
  CHECK(same((x > 0).any(0), any(x > 0, 0)));
  CHECK(same((x > 0).all(1), all(x > 0, 1)));
  CHECK(same(x.reshape({3, 2}), reshape(x, {3, 2})));
  CHECK(same(x.reshape(3, -1), reshape(x, {3, 2})));
  CHECK(same(x.flatten(), ravel(x)));
  CHECK(same(x.ravel(), ravel(x)));
  CHECK(same(x.astype(int32), astype(x, int32)));
  CHECK(same(x.transpose({1, 0}), transpose(x)));
  CHECK(same(x.swapaxes(0, 1), transpose(x)));
  CHECK(same(x(newaxis).squeeze(), x));
  CHECK(same(x.cumsum(), cumsum(x)));
  CHECK(same(x.cumsum(1), cumsum(x, 1)));
  CHECK(same(x.sort(), sort(x)));
  CHECK(same(x.argsort(0), argsort(x, 0)));
  CHECK(same(x.dot(x.T()), dot(x, transpose(x))));
  CHECK(same(x.matmul(x.T()), matmul(x, transpose(x))));
  CHECK(same(x.clip(-1, 1), clip(x, -1, 1)));
  CHECK(same(z.real(), x));
  CHECK(same(z.imag(), 2 * x));
  CHECK(same(z.conj(), conj(z)));
  const auto f = [](Array v) { return (v.T().matmul(v).sum(0) + v.max()).astype(float64); };
  CHECK(same(jit(f)(x), f(x)));
  CHECK(same(vmap(f)(stack({x, x}))[1], f(x)));
  CHECK(x.sum().item() == 7.0);
  CHECK(double(x.sum()) == 7.0);
  CHECK(int(x.argmax()) == 4);
  try {
    x.matmul(x);
    FAIL("no error");
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()).find("methods.cpp:" + std::to_string(__LINE__ - 3)) != std::string::npos);
  }
  try {
    x.sum(2);
    FAIL("no error");
  } catch (const AxisError& error) {
    CHECK(std::string(error.what()).find("methods.cpp:" + std::to_string(__LINE__ - 3)) != std::string::npos);
  }
}

TEST_CASE("an index in braces is that of a call") {
  const Array x = reshape(arange(6), {2, 3});
  CHECK(same(x[{slice(), 1}], x(slice(), 1)));
  CHECK(same(x[{newaxis, 0}], x(newaxis, 0)));
  CHECK(same(x[{ellipsis, array({0, 2})}], x(ellipsis, array({0, 2}))));
}

TEST_CASE("two new keys are taken apart, and are an array of keys") {
  const auto [next, now] = random::split(random::key(3));
  const Array both = random::split(random::key(3));
  CHECK(same(random::key_data(next), random::key_data(both[0])));
  CHECK(same(random::key_data(now), random::key_data(both[1])));
  const auto draw = [](Array k) { return random::normal(k, {2}); };
  CHECK(same(vmap(draw)(random::split(random::key(3))), vmap(draw)(both)));
  CHECK(same(jit([](Array k) { return random::key_data(k); })(random::split(random::key(3))), random::key_data(both)));
  CHECK(tree::leaves(random::split(next)).size() == 1);
  CHECK(same(random::key_data(random::PRNGKey(3)), random::key_data(random::key(3))));
}

TEST_CASE("names of jax's modules, grids, and trees that are reduced") {
  CHECK(same(jnp::sin(array(1.f)), sin(array(1.f))));
  CHECK(same(lax::add(1.f, 2.f), array(3.f)));
  const auto [xx, yy] = meshgrid(arange(3), arange(2), {.indexing = "ij"});
  CHECK(same(xx, meshgrid({arange(3), arange(2)}, {.indexing = "ij"})[0]));
  CHECK(same(yy, meshgrid({arange(3), arange(2)}, {.indexing = "ij"})[1]));
  const Array a = reshape(arange(24.f), {2, 3, 4}), b = reshape(arange(60.f), {4, 3, 5});
  CHECK(same(tensordot(a, b, {{1, 2}, {1, 0}}), einsum("ijk,kjl->il", a, b)));
  CHECK(same(tensordot(a, b, {{{2}, {0}}}), einsum("ijk,klm->ijlm", a, b)));
  CHECK(same(tensordot(a, b, {{2, 0}}), einsum("ijk,klm->ijlm", a, b)));
  CHECK(same(tree::reduce(add, std::pair{array(1.f), array(2.f)}), array(3.f)));
  const auto f = [](Array x) { return x * x; };
  CHECK(same(jacobian(f)(ones(2)), jacrev(f)(ones(2))));
  CHECK(Shape({2, 3}) == Shape{2, 3});
  Array rows, columns;
  std::tie(rows, columns) = meshgrid(arange(3), arange(2), {.indexing = "ij"});
  CHECK(same(rows, xx));
  CHECK(same(columns, yy));
}

TEST_CASE("pools with strides as arguments, and scans without slices") {
  const Array x = reshape(sin(arange(32.f)), {1, 4, 8, 1});
  CHECK(same(max_pool(x, {2, 2}, {2, 2}), max_pool(x, {2, 2}, {.strides = {2, 2}})));
  CHECK(same(min_pool(x, {2, 2}, {1, 3}, "SAME"), min_pool(x, {2, 2}, {.strides = {1, 3}, .padding = "SAME"})));
  CHECK(same(avg_pool(x, {2, 2}, {2, 2}), avg_pool(x, {2, 2}, {.strides = {2, 2}})));
  const auto step = [](Array v, None) { return std::pair{v + 1, v}; };
  const auto [end, all] = scan(step, array(3.f), {}, {.length = 4});
  CHECK(same(end, array(7.f)));
  CHECK(same(all, array({3.f, 4.f, 5.f, 6.f})));
}
