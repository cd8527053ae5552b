// For tests of functions written with weft, as <weft/testing.h>: comparing trees, and the laws that every function must obey under the
// transforms.
#pragma once
#include <optional>

#include "weft/transforms/flat.h"

namespace weft {

/// Tolerances of check_close. The defaults depend on the dtype: 1e-5 for float32, 1e-12 for float64, 2e-3 and 2e-2 for float16 and
/// bfloat16.
struct CloseOptions {
  std::optional<double> rtol = {};  ///< relative to the wanted element
  std::optional<double> atol = {};  ///< added to that
};
/// Options of check_laws: which laws it checks.
struct LawOptions {
  int order = 2;                         ///< of the derivatives: 0, 1 or 2
  bool forward = true, reverse = true;   ///< the modes: a custom_vjp has no forward mode, a while_loop without a bound no reverse mode
  bool pmap = true;                      ///< checks pmap over up to three devices
  std::optional<double> tolerance = {};  ///< of derivatives against differences, relative to the largest element
};

namespace detail {

void check_close_leaves(std::span<const Array> got, std::span<const Array> want, const std::vector<std::string>& paths,
                        const CloseOptions& options, SourceLoc loc);
void flat_check_laws(FlatFunction& f, const LawOptions& options);

struct CheckLaws : Callable<CheckLaws> {
  using Callable::operator();
  using L = SourceLoc;
  template <class F, class A>
  void operator()(const F& f, const LawOptions& o, const A& a, L loc = L::here()) const {
    run(loc, o, f, a);
  }
  template <class F, class A, class B>
  void operator()(const F& f, const LawOptions& o, const A& a, const B& b, L loc = L::here()) const {
    run(loc, o, f, a, b);
  }
  template <class F, class A, class B, class C>
  void operator()(const F& f, const LawOptions& o, const A& a, const B& b, const C& c, L loc = L::here()) const {
    run(loc, o, f, a, b, c);
  }
  template <class F, class A, class B, class C, class D>
  void operator()(const F& f, const LawOptions& o, const A& a, const B& b, const C& c, const D& d, L loc = L::here()) const {
    run(loc, o, f, a, b, c, d);
  }
  template <class F, class... A>
  void call(SourceLoc loc, const F& f, const A&... args) const {
    run(loc, LawOptions(), f, args...);
  }

 private:
  template <class F, class... A>
  void run(SourceLoc loc, const LawOptions& options, const F& f, const A&... args) const {
    using G = value_t<F>;
    G g = f;
    FlatCall<G, A...> flat(g, loc, args...);
    flat_check_laws(flat, options);
  }
};

}  // namespace detail

/// Throws Error unless both trees have one structure, equal shapes and dtypes, and elements with |got - want| <= atol + rtol |want|. The
/// message names the worst element: its path in the tree, its position, both values, and how many units in the last place are between them.
/// Integers and bools must be equal; NaN is close to NaN, infinities to themselves.
template <class T, class U>
void check_close(const T& got, const U& want, CloseOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  static_assert(std::is_same_v<detail::traced_t<T>, detail::traced_t<U>>, "weft: check_close compares trees of one type");
  const auto &a = detail::to_traced(got), &b = detail::to_traced(want);
  detail::check_same_structure("check_close", a, "got", b, "wanted", loc);
  detail::check_close_leaves(detail::leaves_of(a), detail::leaves_of(b), detail::leaf_paths(detail::skeleton_of(a, "result")), options,
                             loc);
}

/// `check_laws(f, args...)`, or `check_laws(f, {.order = 1}, args...)`: throws Error, naming the law and the worst element, unless at these
/// arguments
/// - jit of f gives what f gives;
/// - vmap gives what a loop over the lanes gives (of three lanes, whose floating-point arguments differ), and pmap what vmap gives;
/// - the forward derivative is the limit of differences, and the reverse one its transpose;
/// - nested transforms agree in every order: jit of vmap and vmap of jit, vmap of the gradient and a loop of gradients, jit of the
///   gradient, second derivatives forward over reverse and reverse over forward.
/// f is called many times; it should be smooth around its arguments. Integer arguments and results take no part in derivatives.
inline constexpr detail::CheckLaws check_laws{};

}  // namespace weft
