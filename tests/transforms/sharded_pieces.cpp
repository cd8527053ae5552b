// Operations along sharded dimensions send what crosses the borders of blocks, or exchange parts: none gathers an array.
#include "tests/runtime/devices.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

Array rows(Shape shape) {
  const std::int64_t n = shape.num_elements();
  return sin(reshape(arange(static_cast<int>(n), float32) * 1.7f, shape));
}

/// jit of f on sharded arguments gives what it gives on whole ones, and nothing is gathered but what `may_gather` says.
template <class F, class... A>
void check_pieces(const std::string& what, F f, bool may_gather, const A&... args) {
  CAPTURE(what);
  const auto wanted = f(device_get(args)...);
  const auto compiled = jit(f);
  CHECK(tree::all_close(device_get(compiled(args...)), wanted, 1e-4, 1e-4));
  const std::string text = compiled.lower(args...).as_text("jaxpr");
  if (!may_gather) CHECK_MESSAGE(text.find("= all_gather[") == std::string::npos, text);
}
template <class F, class... A>
void check_same_bits(const std::string& what, F f, const A&... args) {
  check_pieces(what, f, false, args...);
  CHECK(array_equal(device_get(jit(f)(args...)), f(device_get(args)...)).template item<bool>());
}

/// Positions out of bounds give NaN.
Array filled(const Array& x) { return where(isnan(x), 7.f, x); }

const std::vector<int> kDevices{1, 2, 4, 8};

}  // namespace

TEST_CASE("convolutions along sharded dimensions exchange halos") {
  const Array x = rows({2, 3, 16, 8}), k = rows({4, 3, 3, 3});
  for (int n : kDevices) {
    CAPTURE(n);
    const Mesh mesh = make_mesh({n}, {"s"});
    const auto put = [&](const Array& v, const PartitionSpec& s) { return device_put(v, NamedSharding{mesh, s}); };
    const Array tall = put(x, P(none, none, "s"));
    const auto convolved = [](Shape strides, Padding padding, ConvOptions o = {}) {
      return [=](Array v, Array w) { return conv_general_dilated(v, w, strides, padding, o); };
    };
    const auto check = [&](const char* what, auto f) {
      check_pieces(what, f, false, tall, k);
      const auto gradients = grad<0, 1>([f](Array a, Array b) { return sum(sin(f(a, b))); });
      check_pieces(what, [&](Array a, Array b) { return gradients(a, b); }, n == 8, tall, k);
    };
    check("same", convolved({1, 1}, {{1, 1}, {1, 1}}));
    check("wide", convolved({1, 1}, {{2, 2}, {2, 2}}, {.rhs_dilation = {2, 2}}));
    check("strides", convolved({2, 2}, {{1, 0}, {1, 0}}));
    check("one side", convolved({1, 1}, {{2, 0}, {0, 2}}));
    check("holes", convolved({1, 1}, {{1, 2}, {1, 2}}, {.lhs_dilation = {2, 2}}));
    // What doesn't divide evenly.
    check_pieces("valid", convolved({1, 1}, "VALID"), true, tall, k);
    if (n > 1) CHECK(jit(convolved({1, 1}, {{1, 1}, {1, 1}}))(tall, k).sharding() == NamedSharding(mesh, P(none, none, "s")));
  }
  const Mesh grid = make_mesh({2, 4}, {"r", "c"});
  const Array both = device_put(rows({2, 3, 16, 16}), NamedSharding{grid, P(none, none, "r", "c")});
  const auto f = [](Array v, Array w) { return conv(v, w, {1, 1}, {{1, 1}, {1, 1}}); };
  check_pieces("two dimensions", f, false, both, k);
  CHECK(jit(f)(both, k).sharding() == NamedSharding(grid, P(none, none, "r", "c")));
}

TEST_CASE("windows along sharded dimensions exchange halos") {
  const Array x = rows({2, 16, 16, 3}) - 2;
  for (int n : kDevices) {
    CAPTURE(n);
    const Mesh mesh = make_mesh({n}, {"s"});
    const Array tall = device_put(x, NamedSharding{mesh, P(none, "s")});
    check_pieces("max same", [](Array v) { return max_pool(v, {3, 3}, {.strides = {1, 1}, .padding = "SAME"}); }, false, tall);
    check_pieces("average", [](Array v) { return avg_pool(v, {2, 2}, {.strides = {2, 2}}); }, false, tall);
    check_pieces("max pairs", [](Array v) { return max_pool(v, {2, 2}, {.strides = {2, 2}}); }, false, tall);
    check_pieces("average same", [](Array v) { return avg_pool(v, {5, 3}, {.strides = {1, 1}, .padding = "SAME"}); }, n == 8, tall);
    check_pieces("gradients of averages", grad([](Array v) { return sum(sin(avg_pool(v, {2, 2}, {.strides = {2, 2}}))); }), true, tall);
    check_pieces("gradients of maxima", grad([](Array v) { return sum(sin(max_pool(v, {2, 2}, {.strides = {2, 2}}))); }), false, tall);
    check_pieces("gradients of overlapping maxima", grad([](Array v) { return sum(sin(max_pool(v, {3, 3}))); }), true, tall);
  }
}

TEST_CASE("gathers, slices and updates along indexed dimensions look up what each device has") {
  const Array table = rows({16, 6});
  for (int n : kDevices) {
    CAPTURE(n);
    const Mesh mesh = make_mesh({n}, {"s"});
    const auto put = [&](const Array& v, const PartitionSpec& s) { return device_put(v, NamedSharding{mesh, s}); };
    const Array t = put(table, P("s")), wide = put(rows({3, 16}), P(none, "s"));
    const Array at = array({3, 0, 15, 7, 7, 9, 12, 1}), beyond = array({-1, 40, 3, -17, 16, 15, 0, 8});
    for (const Array& i : {at, beyond, put(at, P("s"))}) {
      check_pieces("take", [](Array v, Array k) { return filled(take(v, k, 0)); }, true, t, i);
      check_pieces("take along 1", [](Array v, Array k) { return filled(take(v, k, 1)); }, true, wide, i);
      check_pieces("index", [](Array v, Array k) { return filled(v(k)); }, true, t, i);
      check_pieces("add", [](Array v, Array k) { return v.at(k).add(1.5f); }, true, t, i);
      check_pieces("set", [](Array v, Array k) { return v.at(k).set(2.5f); }, true, t, i);
      check_pieces("gradients", grad([](Array v, Array k) { return sum(sin(filled(v(k)))); }), true, t, i);
    }
    check_same_bits("take whole indices", [](Array v, Array k) { return take(v, k, 0); }, t, at);
    check_same_bits("zeros keep their sign", [](Array v, Array k) { return 1 / v(k); }, put(table * 0, P("s")), at);
    for (const DType dtype : {int32, bool_, float16, float64, uint8})
      check_same_bits("other dtypes", [](Array v, Array k) { return v(k); }, put(convert(table * 10, dtype), P("s")), at);
    check_same_bits("small indices", [](Array v, Array k) { return v(k); }, t, convert(at, int8));
    check_same_bits("unsigned indices", [](Array v, Array k) { return v(k); }, t, convert(at, uint32));
    for (int start : {-3, 0, 1, 5, 11, 14, 40})
      for (int size : {1, 2, 5, 15}) {
        CAPTURE(start);
        CAPTURE(size);
        const auto slice_at = [=](Array v, Array k) { return dynamic_slice(v, {k, 0}, {size, 6}); };
        check_same_bits("dynamic_slice", slice_at, t, array(start));
        check_same_bits("dynamic_slice of both", [=](Array v, Array k) { return dynamic_slice(v, {k, 1}, {size, 3}); }, t, array(start));
        const auto update_at = [=](Array v, Array k) { return dynamic_update_slice(v, ones({size, 6}) * 3 + v[9], {k, 0}); };
        check_pieces("dynamic_update_slice", update_at, false, t, array(start));
        if (n > 1) CHECK(jit(update_at)(t, array(start)).sharding() == t.sharding());
        for (int column : {-9, -2, 3, 8}) {
          CAPTURE(column);
          const auto corner_at = [=](Array v, Array k, Array l) { return dynamic_update_slice(v, ones({size, 2}) * 3 + v[9][0], {k, l}); };
          check_pieces("dynamic_update_slice of both", corner_at, false, t, array(start), array(column));
        }
      }
  }
  // Over two axes, the table's and the indices'.
  const Mesh grid = make_mesh({2, 4}, {"r", "c"});
  const Array t = device_put(table, NamedSharding{grid, P("c")}),
              i = device_put(array({3, 0, 15, 7, 7, 9, 12, 1}), NamedSharding{grid, P("r")});
  check_pieces("two axes", [](Array v, Array k) { return v(k); }, false, t, i);
  check_pieces("gradients on two axes", grad([](Array v, Array k) { return sum(sin(v(k))); }), false, t, i);
  const auto added = [](Array v, Array k) { return v.at(k).add(0.5f); };
  check_pieces("updates on two axes", added, false, t, i);
  CHECK(jit(added)(t, i).sharding() == NamedSharding(grid, P("c")));
  const Array square = device_put(rows({8, 8}), NamedSharding{grid, P("r", "c")});
  check_same_bits("corner", [](Array v, Array k) { return dynamic_slice(v, {k, k + 1}, {3, 2}); }, square, array(3));
  check_pieces(
      "update of a corner", [](Array v, Array k) { return dynamic_update_slice(v, ones({3, 2}), {k, k + 1}); }, false, square, array(3));
}

TEST_CASE("sorts and running sums along sharded dimensions exchange parts") {
  for (int n : {1, 2, 3, 4, 5, 8}) {
    CAPTURE(n);
    const Mesh mesh = make_mesh({n}, {"s"});
    const auto put = [&](const Array& v, const PartitionSpec& s) { return device_put(v, NamedSharding{mesh, s}); };
    const Array line = put(rows({120}), P("s")), block = put(rows({120, 7}), P("s")), many = put(rows({240, 120}), P(none, "s"));
    check_same_bits("sort a line", [](Array v) { return sort(v); }, line);
    check_same_bits("sort columns", [](Array v) { return sort(v, 0); }, block);
    check_same_bits("sort rows", [](Array v) { return sort(v, 1); }, many);
    check_same_bits("stable places", [](Array v) { return argsort(floor(v * 3)); }, line);
    check_same_bits("not numbers", [](Array v) { return filled(sort(where(v > 0.5f, std::nanf(""), v))); }, line);
    check_same_bits("zeros", [](Array v) { return 1 / sort(v * 0); }, line);
    check_pieces("gradients of a sort", grad([](Array v) { return sum(sort(v) * arange(120, float32)); }), true, line);
    if (n > 1) CHECK(jit([](Array v) { return sort(v); })(line).sharding() == line.sharding());
    check_pieces("cumsum of rows", [](Array v) { return cumsum(v, 1); }, false, many);
    if (n > 1) CHECK(jit([](Array v) { return cumsum(v, 1); })(many).sharding() == many.sharding());
    // Of one line, each device's total is gathered, and no more.
    const Array whole = device_get(line);
    for (const auto& f : {+[](Array v) { return cumsum(v); }, +[](Array v) { return cumprod(1 + v / 8); },
                          +[](Array v) { return cummax(v); }, +[](Array v) { return cumsum(convert(v * 9, int32)); }}) {
      CHECK(tree::all_close(device_get(jit(f)(line)), f(whole), 1e-3, 1e-4));
      CHECK(tree::all_close(device_get(jit([&](Array v) { return flip(f(flip(v))); })(line)), flip(f(flip(whole))), 1e-3, 1e-4));
      if (n > 1) CHECK(jit(f)(line).sharding() == line.sharding());
    }
    check_pieces("gradients of running sums", grad([](Array v) { return sum(sin(cumsum(v))); }), true, line);
  }
}

TEST_CASE("sums of 16-bit floats over sharded dimensions are rounded once") {
  const Mesh mesh = make_mesh({8}, {"x"});
  const auto wave = [](Shape s, float by) { return sin(reshape(arange(static_cast<int>(s.num_elements()), float32) * by, s)); };
  for (const DType t : {bfloat16, float16}) {
    CAPTURE(t.name());
    // Half a unit in the last place, and what float32 itself loses.
    const double rounding = t == bfloat16 ? std::ldexp(1, -8) : std::ldexp(1, -11);
    const auto check = [&](const std::string& name, auto f, std::vector<Array> args, const std::vector<PartitionSpec>& specs) {
      CAPTURE(name);
      std::vector<Array> wide, placed;
      for (std::size_t i = 0; i < args.size(); ++i) {
        args[i] = convert(args[i], t);
        wide.push_back(convert(args[i], float64));
        placed.push_back(device_put(args[i], NamedSharding{mesh, specs[i]}));
      }
      const std::vector<double> exact = f(wide).template to_vector<double>();
      double largest = 0;
      for (const double v : exact) largest = std::max(largest, std::abs(v));
      const auto close = [&](const Array& y) {
        CHECK(y.dtype() == t);
        const std::vector<double> got = y.to_vector<double>();
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - exact[i]) <= rounding * std::abs(exact[i]) + 2e-6 * largest);
      };
      close(jit(f)(placed));
      close(f(placed));
    };
    using Arrays = std::vector<Array>;
    check("a product", [](const Arrays& a) { return matmul(a[0], a[1]); }, {wave({16, 512}, 1.3f), wave({512, 8}, .7f)},
          {P(none, "x"), P("x", none)});
    check("a sum", [](const Arrays& a) { return sum(a[0], 1); }, {wave({16, 512}, 1.3f)}, {P(none, "x")});
    check("a mean", [](const Arrays& a) { return mean(a[0], 0); }, {wave({512, 16}, .3f)}, {P("x", none)});
    check("a convolution by channels", [](const Arrays& a) { return conv(a[0], a[1], {1, 1}, "SAME"); },
          {wave({2, 64, 6, 6}, 1.3f), wave({4, 64, 3, 3}, .7f)}, {P(none, "x"), P(none, "x")});
  }
}
