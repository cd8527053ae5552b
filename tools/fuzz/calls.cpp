#include "tools/fuzz/calls.h"

#include <fmt/format.h>
#include <weft/weft.h>

#include <complex>
#include <functional>
#include <vector>

#include "tools/fuzz/random.h"
#include "tools/fuzz/values.h"
#include "weft/core/errors/error.h"

namespace weft::fuzz {

namespace {

/// Arguments without regard to what fits.
class Arguments {
 public:
  explicit Arguments(std::uint64_t seed) : r(seed) {}
  Random r;

  DType dtype() { return DType(r.below(DType::count)); }
  Shape shape() {
    Shape s;
    for (int d = r.pick({0, 1, 1, 2, 2, 3, 4}); d > 0; --d) s.push_back(r.pick({0, 1, 1, 2, 3, 3, 4, 5}));
    return s;
  }
  /// A shape as somebody may write it: with sizes that are negative, or enormous.
  Shape wild_shape() {
    Shape s = shape();
    for (int d = 0; d < s.size(); ++d)
      if (r.chance(0.1)) s[d] = r.pick<std::int64_t>({-1, -1, -5, std::int64_t{1} << 40, INT64_MAX});
    return s;
  }
  Array x() {
    if (!kept_.empty() && r.coin()) return r.pick(kept_);
    kept_.push_back(random_value({shape(), dtype()}, r, r.chance(0.2) ? Values::special : Values::tame));
    return kept_.back();
  }
  int axis() { return r.chance(0.1) ? r.pick({100, -100, INT32_MAX, INT32_MIN}) : r.between(-5, 5); }
  std::vector<int> axes() {
    std::vector<int> out;
    for (int n = r.below(4); n > 0; --n) out.push_back(axis());
    return out;
  }
  Axis some_axis() { return r.chance(0.3) ? Axis(none) : r.coin() ? Axis(axis()) : Axis(axes()); }
  int n() { return r.chance(0.1) ? r.pick({-1, 1000000, INT32_MAX, INT32_MIN}) : r.between(-2, 6); }
  int small() { return r.between(-2, 6); }
  std::vector<std::pair<int, int>> pairs() {
    std::vector<std::pair<int, int>> out;
    for (int k = r.below(5); k > 0; --k) out.push_back({small(), small()});
    return out;
  }
  std::vector<int> ints() {
    std::vector<int> out;
    for (int k = r.below(5); k > 0; --k) out.push_back(small());
    return out;
  }
  Array key() { return r.chance(0.2) ? x() : random::key(r.bits()); }
  const char* padding() { return r.pick({"VALID", "SAME", "SAME_LOWER", "same", ""}); }
  Index index() {
    switch (r.below(7)) {
      case 0: return Index(axis());
      case 1: return Index(slice(small(), small()));
      case 2: return Index(slice(none, small(), small()));
      case 3: return Index(newaxis);
      case 4: return Index(ellipsis);
      case 5: return Index::absent();
      default: return Index(x());
    }
  }

 private:
  std::vector<Array> kept_;
};

using A = Arguments;
struct Call {
  const char* name;
  std::vector<Array> (*run)(A& a);
};

std::vector<Array> one(const Array& x) { return {x}; }

const std::vector<Call>& all_calls() {
  static const std::vector<Call> all = {
      {"+", [](A& a) { return one(a.x() + a.x()); }},
      {"%", [](A& a) { return one(a.x() % a.x()); }},
      {"/", [](A& a) { return one(a.x() / a.x()); }},
      {"<<", [](A& a) { return one(a.x() << a.x()); }},
      {"~", [](A& a) { return one(~a.x()); }},
      {"<", [](A& a) { return one(a.x() < a.x()); }},
      {"pow", [](A& a) { return one(pow(a.x(), a.x())); }},
      {"integer_pow", [](A& a) { return one(integer_pow(a.x(), a.n())); }},
      {"sin", [](A& a) { return one(sin(a.x())); }},
      {"erf_inv", [](A& a) { return one(erf_inv(a.x())); }},
      {"polygamma", [](A& a) { return one(polygamma(a.x(), a.x())); }},
      {"clip", [](A& a) { return one(clip(a.x(), a.x(), a.x())); }},
      {"clamp", [](A& a) { return one(clamp(a.x(), a.x(), a.x())); }},
      {"where", [](A& a) { return one(where(a.x(), a.x(), a.x())); }},
      {"select_n", [](A& a) { return one(select_n(a.x(), a.x(), a.x(), a.x())); }},
      {"complex", [](A& a) { return one(complex(a.x(), a.x())); }},
      {"convert", [](A& a) { return one(convert(a.x(), a.dtype())); }},
      {"bitcast_convert", [](A& a) { return one(bitcast_convert(a.x(), a.dtype())); }},
      {"reduce_precision", [](A& a) { return one(reduce_precision(a.x(), a.n(), a.n())); }},
      {"reshape", [](A& a) { return one(reshape(a.x(), a.wild_shape())); }},
      {"transpose", [](A& a) { return one(transpose(a.x(), a.some_axis())); }},
      {"swapaxes", [](A& a) { return one(swapaxes(a.x(), a.axis(), a.axis())); }},
      {"moveaxis", [](A& a) { return one(moveaxis(a.x(), a.some_axis(), a.some_axis())); }},
      {"squeeze", [](A& a) { return one(squeeze(a.x(), a.some_axis())); }},
      {"expand_dims", [](A& a) { return one(expand_dims(a.x(), a.some_axis())); }},
      {"broadcast_to", [](A& a) { return one(broadcast_to(a.x(), a.wild_shape())); }},
      {"concatenate", [](A& a) { return one(concatenate({a.x(), a.x()}, a.axis())); }},
      {"concatenate of none", [](A& a) { return one(concatenate(std::vector<Array>{}, a.axis())); }},
      {"stack", [](A& a) { return one(stack({a.x(), a.x()}, a.axis())); }},
      {"split", [](A& a) { return split(a.x(), a.n(), a.axis()); }},
      {"split at", [](A& a) { return split(a.x(), a.ints(), a.axis()); }},
      {"pad", [](A& a) { return one(pad(a.x(), PadWidth(a.small(), a.small()), a.x())); }},
      {"flip", [](A& a) { return one(flip(a.x(), a.some_axis())); }},
      {"roll", [](A& a) { return one(roll(a.x(), a.ints(), a.some_axis())); }},
      {"repeat", [](A& a) { return one(repeat(a.x(), a.small(), a.axis())); }},
      {"tile", [](A& a) { return one(tile(a.x(), a.shape())); }},
      {"full", [](A& a) { return one(full(a.wild_shape(), a.x(), a.dtype())); }},
      {"zeros", [](A& a) { return one(zeros(a.wild_shape(), a.dtype())); }},
      {"arange", [](A& a) { return one(arange(a.small(), a.n() % 100000, a.small(), a.dtype())); }},
      {"linspace", [](A& a) { return one(linspace(a.x(), a.x(), a.small(), a.dtype())); }},
      {"eye", [](A& a) { return one(eye(a.small(), a.small(), a.small(), a.dtype())); }},
      {"tril", [](A& a) { return one(tril(a.x(), a.n())); }},
      {"iota", [](A& a) { return one(iota(a.dtype(), a.wild_shape(), a.axis())); }},
      {"sum", [](A& a) { return one(sum(a.x(), a.some_axis(), {.dtype = a.r.coin() ? std::optional(a.dtype()) : std::nullopt, .keepdims = a.r.coin()})); }},
      {"sum where", [](A& a) { return one(sum(a.x(), a.some_axis(), {.where = a.x()})); }},
      {"prod", [](A& a) { return one(prod(a.x(), a.some_axis())); }},
      {"var", [](A& a) { return one(var(a.x(), a.some_axis(), {.ddof = a.n()})); }},
      {"max", [](A& a) { return one(max(a.x(), a.some_axis())); }},
      {"argmax", [](A& a) { return one(argmax(a.x(), a.some_axis())); }},
      {"any", [](A& a) { return one(any(a.x(), a.some_axis())); }},
      {"logsumexp", [](A& a) { return one(logsumexp(a.x(), a.some_axis())); }},
      {"cumsum", [](A& a) { return one(cumsum(a.x(), a.axis())); }},
      {"cumlogsumexp", [](A& a) { return one(cumlogsumexp(a.x(), a.axis())); }},
      {"cummax", [](A& a) { return one(cummax(a.x(), a.axis())); }},
      {"matmul", [](A& a) { return one(matmul(a.x(), a.x())); }},
      {"dot", [](A& a) { return one(dot(a.x(), a.x())); }},
      {"outer", [](A& a) { return one(outer(a.x(), a.x())); }},
      {"vdot", [](A& a) { return one(vdot(a.x(), a.x())); }},
      {"tensordot", [](A& a) { return one(tensordot(a.x(), a.x(), a.n())); }},
      {"tensordot of axes", [](A& a) { return one(tensordot(a.x(), a.x(), {a.axes(), a.axes()})); }},
      {"einsum", [](A& a) { return one(einsum(a.r.pick({"ij,jk->ik", "i,i", "...i,i...", "ii->i", "ij,jk", "i->ii", "ab,bc,->ac", "", "i,j->k", "i-j", "...", "ij->ji..."}), a.x(), a.x())); }},
      {"dot_general",
       [](A& a) {
         const DotDimensionNumbers d{.contracting = {a.axes(), a.axes()}, .batch = {a.axes(), a.axes()}};
         return one(dot_general(a.x(), a.x(), d, {.preferred_element_type = a.r.coin() ? std::optional(a.dtype()) : std::nullopt}));
       }},
      {"take", [](A& a) { return one(take(a.x(), a.x(), a.r.coin() ? std::optional(a.axis()) : std::nullopt)); }},
      {"take_along_axis", [](A& a) { return one(take_along_axis(a.x(), a.x(), a.axis())); }},
      {"gather",
       [](A& a) {
         const GatherDimensionNumbers d{a.ints(), a.ints(), a.ints(), a.r.chance(0.2) ? a.ints() : std::vector<int>{}, {}};
         return one(gather(a.x(), a.x(), d, a.wild_shape()));
       }},
      {"scatter",
       [](A& a) {
         const ScatterDimensionNumbers d{a.ints(), a.ints(), a.ints(), {}, a.r.chance(0.2) ? a.ints() : std::vector<int>{}};
         return one(a.r.coin() ? scatter(a.x(), a.x(), a.x(), d) : scatter_add(a.x(), a.x(), a.x(), d));
       }},
      {"index", [](A& a) { return one(a.x()(a.index(), a.index(), a.index())); }},
      {"at set", [](A& a) { return one(a.x().at(a.index(), a.index()).set(a.x())); }},
      {"at add", [](A& a) { return one(a.x().at(a.index()).add(a.x())); }},
      {"at max", [](A& a) { return one(a.x().at(a.index()).max(a.x())); }},
      {"dynamic_slice", [](A& a) { return one(dynamic_slice(a.x(), {a.x(), a.x()}, a.wild_shape())); }},
      {"dynamic_update_slice", [](A& a) { return one(dynamic_update_slice(a.x(), a.x(), {a.x(), a.x()})); }},
      {"one_hot", [](A& a) { return one(one_hot(a.x(), a.n() % 1000, a.dtype())); }},
      {"sort", [](A& a) { return one(sort(a.x(), a.axis())); }},
      {"argsort", [](A& a) { return one(argsort(a.x(), a.axis())); }},
      {"top_k", [](A& a) { return one(top_k(a.x(), a.n()).values); }},
      {"searchsorted", [](A& a) { return one(searchsorted(a.x(), a.x(), {.side = a.r.pick({"left", "right", "middle"})})); }},
      {"unique", [](A& a) { return one(unique(a.x(), {.size = a.small()})); }},
      {"bincount", [](A& a) { return one(bincount(a.x(), {.minlength = a.small(), .length = a.small()})); }},
      {"conv", [](A& a) { return one(conv(a.x(), a.x(), a.shape(), a.r.coin() ? Padding(a.padding()) : Padding(a.pairs()))); }},
      {"conv_general_dilated",
       [](A& a) {
         ConvOptions o{.lhs_dilation = a.ints(), .rhs_dilation = a.ints(), .feature_group_count = a.n(), .batch_group_count = a.n()};
         if (a.r.coin()) o.dimension_numbers = {a.r.pick({"NHWC", "NCH", "XYZ", ""}), a.r.pick({"HWIO", "OIH", "OO"}), a.r.pick({"NHWC", "NCH", "N"})};
         return one(conv_general_dilated(a.x(), a.x(), a.wild_shape(), Padding(a.pairs()), o));
       }},
      {"max_pool", [](A& a) { return one(max_pool(a.x(), a.wild_shape(), {.strides = a.ints(), .padding = a.padding()})); }},
      {"avg_pool", [](A& a) { return one(avg_pool(a.x(), a.wild_shape(), {.strides = a.ints(), .padding = Padding(a.pairs())})); }},
      {"reduce_window",
       [](A& a) { return one(reduce_window(a.x(), a.x(), [](const Array& x, const Array& y) { return x + y; }, a.shape(), a.shape(), a.padding(), {a.ints(), a.ints()})); }},
      {"reduce", [](A& a) { return one(reduce(a.x(), a.x(), [](const Array& x, const Array& y) { return x + y; }, a.axes())); }},
      {"convolve", [](A& a) { return one(convolve(a.x(), a.x(), a.r.pick({"full", "same", "valid", "all"}))); }},
      {"fft", [](A& a) { return one(fft::fft(a.x(), a.small(), a.axis(), a.r.pick({"backward", "ortho", "none"}))); }},
      {"irfft", [](A& a) { return one(fft::irfft(a.x(), a.small(), a.axis())); }},
      {"fftn", [](A& a) { return one(fft::fftn(a.x(), {.s = a.ints(), .axes = a.some_axis()})); }},
      {"cholesky", [](A& a) { return one(linalg::cholesky(a.x())); }},
      {"qr", [](A& a) { return one(linalg::qr(a.x(), {.full_matrices = a.r.coin()}).r); }},
      {"lu", [](A& a) { return one(linalg::lu(a.x()).u); }},
      {"eigh", [](A& a) { return one(linalg::eigvalsh(a.x())); }},
      {"svd", [](A& a) { return one(linalg::svd(a.x(), {.full_matrices = a.r.coin()}).u); }},
      {"solve", [](A& a) { return one(linalg::solve(a.x(), a.x())); }},
      {"triangular_solve", [](A& a) { return one(linalg::triangular_solve(a.x(), a.x(), {.left_side = a.r.coin(), .lower = a.r.coin()})); }},
      {"inv", [](A& a) { return one(linalg::inv(a.x())); }},
      {"det", [](A& a) { return one(linalg::det(a.x())); }},
      {"pinv", [](A& a) { return one(linalg::pinv(a.x())); }},
      {"matrix_power", [](A& a) { return one(linalg::matrix_power(a.x(), a.small())); }},
      {"norm", [](A& a) { return one(linalg::norm(a.x(), a.r.coin() ? linalg::NormOrder("fro") : linalg::NormOrder(a.small()), a.some_axis())); }},
      {"expm", [](A& a) { return one(linalg::expm(a.x())); }},
      {"softmax", [](A& a) { return one(nn::softmax(a.x(), a.some_axis())); }},
      {"glu", [](A& a) { return one(nn::glu(a.x(), a.axis())); }},
      {"layer_norm", [](A& a) { return one(nn::layer_norm(a.x(), a.x(), a.x())); }},
      {"dot_product_attention", [](A& a) { return one(nn::dot_product_attention(a.x(), a.x(), a.x())); }},
      {"random::bits", [](A& a) { return one(random::bits(a.key(), a.wild_shape(), a.dtype())); }},
      {"random::uniform", [](A& a) { return one(random::uniform(a.key(), a.shape(), a.dtype(), a.x(), a.x())); }},
      {"random::normal", [](A& a) { return one(random::normal(a.key(), a.wild_shape(), a.dtype())); }},
      {"random::randint", [](A& a) { return one(random::randint(a.key(), a.shape(), a.x(), a.x(), a.dtype())); }},
      {"random::permutation", [](A& a) { return one(random::permutation(a.key(), a.x(), a.axis(), a.r.coin())); }},
      {"random::choice", [](A& a) { return one(random::choice(a.key(), a.x(), a.shape(), {.replace = a.r.coin(), .p = a.r.coin() ? std::optional(a.x()) : std::nullopt, .axis = a.axis()})); }},
      {"random::split", [](A& a) { return one(random::key_data(random::split(a.key(), a.wild_shape()))); }},
      {"random::fold_in", [](A& a) { return one(random::key_data(random::fold_in(a.key(), a.x()))); }},
      {"random::wrap_key_data", [](A& a) { return one(random::key_data(random::wrap_key_data(a.x()))); }},
      {"random::categorical", [](A& a) { return one(random::categorical(a.key(), a.x(), a.axis())); }},
      {"random::gamma", [](A& a) { return one(random::gamma(a.key(), a.x(), none, a.dtype())); }},
      {"random::poisson", [](A& a) { return one(random::poisson(a.key(), clip(a.x(), none, 50.f), none, a.dtype())); }},
      {"cond", [](A& a) { return one(cond(a.x(), [](const Array& v) { return v + 1; }, [](const Array& v) { return v * 2.f; }, a.x())); }},
      {"switch_", [](A& a) { return one(switch_(a.x(), std::tuple{[](const Array& v) { return v; }, [](const Array& v) { return -v; }}, a.x())); }},
      {"fori_loop", [](A& a) { return one(fori_loop(clip(a.x(), -9, none), a.small(), [](const Array& i, const Array& c) { return c + i; }, a.x())); }},
      {"scan",
       [](A& a) {
         const ScanOptions o{.length = a.r.coin() ? std::optional(a.small()) : std::nullopt, .reverse = a.r.coin(), .unroll = a.small()};
         return one(scan([](const Array& c, const Array& x) { return std::pair(c * x, c); }, a.x(), a.x(), o).second);
       }},
      {"map", [](A& a) { return one(weft::map([](const Array& v) { return -v; }, a.x(), {.batch_size = a.small()})); }},
      {"associative_scan", [](A& a) { return one(associative_scan([](const Array& u, const Array& v) { return u * v; }, a.x(), {.axis = a.axis()})); }},
      {"vmap",
       [](A& a) {
         const VmapOptions o{.in_axes = a.axis(), .out_axes = a.axis(), .axis_size = a.r.coin() ? std::optional(a.small()) : std::nullopt};
         return one(vmap([](const Array& v) { return v * v; }, o)(a.x()));
       }},
      {"grad", [](A& a) { return one(grad([](const Array& v) { return v * v; })(a.x())); }},
      {"grad of sum", [](A& a) { return one(grad([](const Array& v) { return sum(v * v); })(a.x())); }},
      {"hessian", [](A& a) { return one(hessian([](const Array& v) { return sum(v * v * v); })(a.x())); }},
      {"jvp", [](A& a) { return one(jvp([](const Array& v) { return v * v; }, std::tuple(a.x()), std::tuple(a.x())).second); }},
      {"vjp",
       [](A& a) {
         const Array x = a.x();
         return one(std::get<0>(vjp([](const Array& v) { return sin(v); }, x).second(a.x())));
       }},
      {"linear_transpose",
       [](A& a) {
         const auto f = linear_transpose([](const Array& u, const Array& v) { return u * v + fori_loop(0, 2, [](Array, Array c) { return c * 2; }, u); },
                                         a.x(), a.x());
         return one(std::get<0>(f(a.x())));
       }},
      {"linear_transpose of a product",
       [](A& a) {
         const Array y = a.x();
         return one(std::get<0>(linear_transpose([&](const Array& v) { return v * y; }, a.x())(a.x())));
       }},
      {"jit", [](A& a) { return one(jit([](const Array& u, const Array& v) { return matmul(u, v) + u; })(a.x(), a.x())); }},
      {"jit donated", [](A& a) { return one(jit([](const Array& u) { return u + u; }, {.donate_argnums = {a.small()}})(a.x() + 0)); }},
      {"a Jaxpr called",
       [](A& a) {
         const Jaxpr j = parse("{ lambda ; a:f32[3] b:i32[]. let c:f32[3] = sin a in (c,) }");
         return a.r.coin() ? j(a.x(), a.x()) : a.r.coin() ? j(a.x()) : j();
       }},
  };
  return all;
}

}  // namespace

std::string random_call(std::uint64_t seed, void (*about_to)(void* context, const char* name), void* context) {
  Arguments a(seed);
  const Call& call = a.r.pick(all_calls());
  if (about_to) about_to(context, call.name);
  const auto check = [&](const std::function<void()>& run) -> std::string {
    try {
      run();
    } catch (const Error& e) {
      const std::string_view m = e.what();
      if (m.find("internal error") != std::string_view::npos) return e.what();
      if (m.size() < 10) return fmt::format("the message is only `{}`", m);
    } catch (const std::exception& e) {
      return fmt::format("an error that is not weft's: {}", e.what());
    }
    return {};
  };
  std::string wrong = check([&] {
    for (const Array& x : call.run(a))
      if (!x.dtype().is_key() && x.size() < 100000) x.to_vector<std::complex<double>>();
  });
  // The library goes on.
  if (wrong.empty() && seed % 16 == 0)
    wrong = check([] {
      const Array y = jit([](const Array& x) { return x + 1; })(array({1.f, 2.f}));
      if (y.to_vector<float>() != std::vector<float>{2, 3}) throw std::runtime_error("then x + 1 is wrong");
    });
  return wrong.empty() ? wrong : fmt::format("{}: {}", call.name, wrong);
}

}  // namespace weft::fuzz
