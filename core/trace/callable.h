#pragma once
#include "weft/core/errors/boundary.h"

namespace weft::detail {

/// The call operator of every transformed function. One overload an arity, so that the last parameter can be the user's line.
/// Self has `call(SourceLoc, const A&...) const`.
template <class Self>
struct Callable {
  using L = SourceLoc;
  auto operator()(L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc); });
  }
  template <class A>
  auto operator()(const A& a, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a); });
  }
  template <class A, class B>
  auto operator()(const A& a, const B& b, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b); });
  }
  template <class A, class B, class C>
  auto operator()(const A& a, const B& b, const C& c, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c); });
  }
  template <class A, class B, class C, class D>
  auto operator()(const A& a, const B& b, const C& c, const D& d, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d); });
  }
  template <class A, class B, class C, class D, class E>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e); });
  }
  template <class A, class B, class C, class D, class E, class F>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f); });
  }
  template <class A, class B, class C, class D, class E, class F, class G>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g); });
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h); });
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H, class I>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, const I& i,
                  L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h, i); });
  }
  template <class A, class B, class C, class D, class E, class F, class G, class H, class I, class J>
  auto operator()(const A& a, const B& b, const C& c, const D& d, const E& e, const F& f, const G& g, const H& h, const I& i, const J& j,
                  L loc = L::here()) const {
    return guarded("", loc, [&] { return self().call(loc, a, b, c, d, e, f, g, h, i, j); });
  }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
};

}  // namespace weft::detail
