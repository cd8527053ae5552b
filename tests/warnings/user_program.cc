// A user's calls with integers of every type: nothing of weft's headers warns of them.
#include <weft/weft.h>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::Array;

enum Sizes { kRows = 2, kColumns = 3 };
struct Layer {
  Array w, b;
};
struct Config {
  int layers = 2;
  double rate = 1e-3;
  std::string name = "adam";
  bool operator==(const Config&) const = default;
};

template <class N>
void sizes(const Array& x, N n) {
  const auto one = static_cast<N>(1);
  weft::zeros({n, n});
  weft::ones(n);
  weft::full({one, n}, 1.5F);
  weft::eye(n);
  weft::eye(n, n, one);
  weft::eye(n, weft::float64);
  weft::tri(n, n, one, weft::int32);
  weft::arange(n);
  weft::arange(one, n, one);
  weft::linspace(0, 1, n);
  weft::iota(weft::int32, {n, n});
  weft::reshape(x, {n, -1});
  weft::broadcast_to(x, {n, n});
  weft::repeat(x, n);
  weft::tile(x, {n, one});
  weft::roll(x, n);
  weft::roll(x, {n, one}, {0, 1});
  weft::pad(x, n);
  weft::pad(x, {n, one});
  weft::pad(x, {{n, one}, {one, n}});
  weft::split(x, n);
  weft::split(x, {one, n});
  weft::tril(x, one);
  weft::triu(x, one);
  weft::top_k(x, n);
  weft::one_hot(x, n);
  weft::unique(x, {.size = n});
  weft::bincount(x, {.minlength = n, .length = n});
  weft::take(x, weft::array({0, 1}), 0);
  weft::gather(x, x, {}, {n, n});
  weft::dynamic_slice(x, {0, 0}, {n, n});
  weft::conv(x, x, {n, n}, {{one, n}, {n, one}});
  weft::conv_general_dilated(x, x, {n}, "SAME", {.lhs_dilation = {n}, .rhs_dilation = {n}, .feature_group_count = n});
  weft::conv_transpose(x, x, {n}, "SAME", {.rhs_dilation = {n}});
  weft::max_pool(x, {n, n}, {.strides = {n, n}, .padding = {{one, one}, {n, one}}});
  weft::reduce_window(x, 0, [](const Array& a, const Array& b) { return a + b; }, {n}, {n}, "VALID", {.base_dilation = {n}});
  weft::integer_pow(x, n);
  weft::tensordot(x, x, n);
  weft::var(x, 0, {.ddof = n});
  weft::diag(x, one);
  weft::diagonal(x, one);
  weft::diff(x, n);
  weft::identity(n);
  weft::fft::fft(x, n, n);
  weft::concatenate({x, x}, n);
  weft::stack({x, x}, n);
  weft::sort(x, n);
  weft::swapaxes(x, n, one);
  weft::cumsum(x, n);
  weft::linalg::norm(x, 2, one);
  weft::take_along_axis(x, weft::array({{0}}), n);
  weft::random::permutation(weft::random::key(0), x, n);
  weft::random::choice(weft::random::key(0), x, {.axis = n});
  weft::fft::fftn(x, {.s = {n, n}});
  weft::fft::fftfreq(n);
  weft::linalg::matrix_power(x, n);
  weft::nn::one_hot(x, n);
  const Array key = weft::random::key(n);
  weft::random::split(key, n);
  weft::random::normal(key, {n, n});
  weft::random::bernoulli(key, .5, {n, n});
  weft::random::ball(key, n);
  weft::random::orthogonal(key, n);
  weft::scan([](const Array& c, const Array& y) { return std::pair{c + y, y}; }, x, x, {.length = n, .unroll = n});
  weft::map([](const Array& y) { return y; }, x, {.batch_size = n});
  weft::while_loop([](const Array& c) { return weft::sum(c) < 1; }, [](const Array& c) { return c + 1; }, x, {.max_steps = n});
  weft::fori_loop(one, n, [](const Array&, const Array& c) { return c; }, x);
  weft::vmap([](const Array& y) { return y; }, {.axis_size = n})(x);
  weft::sum(x, one);
  weft::sum(x, {0, 1});
  (void)x(one, weft::slice(one, n), weft::newaxis);
  (void)x[one];
  (void)x.shape()[one];
  (void)x.at(one).set(n);
  (void)(x + n);
}

}  // namespace

int main() {
  const Array x = weft::ones({4, 4});
  sizes(x, 2);
  sizes(x, 2U);
  sizes(x, std::int64_t{2});
  sizes(x, std::size_t{2});
  sizes(x, 2UL);
  sizes(x, 2LL);
  sizes(x, short{2});
  sizes(x, std::uint8_t{2});
  weft::zeros({kRows, kColumns});
  weft::repeat(x, kRows);
  (void)x(kRows);
  const std::vector<std::size_t> shape{2, 8};
  weft::reshape(x, shape);
  weft::reshape(x, std::array<unsigned, 2>{2, 8});
  weft::array(std::vector<double>{1, 2, 3});
  weft::array({{1, 2}, {3, 4}});
  weft::array(std::vector<std::vector<float>>{{1, 2}, {3, 4}});
  std::int64_t total = x.shape()[0] * x.size();
  for (const Array& row : x) total += row.size();

  const auto loss = [](const Layer& l, const Array& y) { return weft::sum(weft::tanh(weft::matmul(y, l.w) + l.b)); };
  const Layer layer{weft::ones({4, 2}), weft::zeros(2)};
  const auto [value, gradient] = weft::value_and_grad(loss)(layer, x);
  const auto step = weft::jit([&](const Layer& l, const Array& y, const Config& c) { return weft::grad(loss)(l, y).w * c.rate; });
  (void)step(layer, x, Config());
  (void)weft::grad<0, 1>(loss)(layer, x);
  (void)weft::jacrev([](const Array& y) { return y * y; })(x);
  (void)weft::hessian([](const Array& y) { return weft::sum(y * y); })(x);
  (void)weft::jvp([](const Array& y) { return y * y; }, std::tuple{x}, std::tuple{x});
  const auto [first, second] = weft::random::split<2>(weft::random::key(1));
  std::map<std::string, Array> tree{{"a", first}};
  (void)weft::tree::map([](const Array& y) { return y; }, tree);
  (void)weft::cond(weft::sum(x) > 0, [](const Array& y) { return y; }, [](const Array& y) { return -y; }, x);
  (void)weft::psum(1, "i");
  const std::vector<float> memory{1, 2};
  (void)weft::from_memory(std::span<const float>(memory), [] {});
  (void)weft::vmap(weft::pow)(x, x);
  (void)weft::tree::map(weft::zeros_like, layer);
  fmt::print("{} {} {} {}\n", x.shape(), layer, x.sharding(), weft::constants::pi);
  return total > 0 && value.item<float>() > 0 && gradient.w.size() > 0 && x.to_vector<int>().size() > 1 && second.size() > 0 ? 0 : 1;
}
