// Sub-programs: control flow, calls, rules of the user's own, transforms inside.
#include <weft/weft.h>

#include <algorithm>

#include "tools/fuzz/generator.h"
#include "weft/core/array/array_lists.h"

namespace weft::fuzz {

using namespace detail;

Arrays Generator::Body::operator()(const Arrays& in) const {
  Generator g(seed, options);
  Arrays all = captured;
  all.insert(all.end(), in.begin(), in.end());
  Arrays out = g.body(all, options.steps);
  if (wanted.empty()) return out;
  Arrays fitting;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    // Its own input is part of it, so that loops carry something.
    const Array y = g.fitted(out[i % out.size()], wanted[i]);
    fitting.push_back(i < in.size() && in[i].aval() == y.aval() && wanted[i].dtype.is_inexact() ? Array(0.5) * y + Array(0.5) * in[i] : y);
  }
  return fitting;
}

Array Generator::Body::scalar(const Arrays& in) const {
  Generator g(seed, options);
  Arrays all = captured;
  all.insert(all.end(), in.begin(), in.end());
  Array total = sum(in[0] * Array(0.25));
  for (const Array& y : g.body(all, options.steps)) {
    if (!y.dtype().is_inexact()) continue;
    const Array z = g.tame(y);
    total = total + as_dtype(mean(z.dtype().is_complex() ? real(z) + imag(z) : z), total.dtype());
  }
  return total;
}

Generator::Body Generator::new_body(std::vector<Aval> wanted) {
  Body b{random_.bits(), options_, std::move(wanted), {}};
  b.options.steps = random_.between(1, 4);
  b.options.depth = options_.depth - 1;
  b.options.largest = std::min(options_.largest, 200);
  if (random_.chance(0.3)) b.captured.push_back(pick());
  return b;
}

Arrays Generator::some(int n) {
  Arrays out;
  while (static_cast<int>(out.size()) < n) {
    const Array& x = pick();
    out.push_back(x.aval().weak ? convert(x, x.dtype()) : x);
  }
  return out;
}

namespace {}  // namespace

void Generator::control() {
  switch (random_.below(13)) {
    case 0:
    case 1: return branches();
    case 2: return counted_loop();
    case 3: return options_.differentiable ? counted_loop() : while_loop_of_counter();
    case 4: return scanned();
    case 5: return mapped();
    case 6: return called();
    case 7: return ruled();
    case 8: return derived();
    case 9: return named_map();
    case 10: return updated_in_loop();
    case 11: return composed();
    default: return prefixes();
  }
}

void Generator::branches() {
  const Arrays in = some(random_.between(1, 3));
  std::vector<Aval> out;
  for (int i = random_.between(1, 2); i > 0; --i) out.push_back(random_.coin() ? in[0].aval() : Aval{shape(), dtype()});
  for (Aval& a : out) a.weak = false;
  const Body f = new_body(out), g = new_body(out), h = new_body(out);
  Arrays results;
  if (random_.coin()) {
    Array c = fitted(pick(), {Shape{}, float32});
    results = weft::cond(c > Array(0.1f), f, g, in);
  } else {
    results = switch_(scalar_index(3), std::vector<Body>{f, g, h}, in);
  }
  for (const Array& y : results) keep(y);
}

void Generator::counted_loop() {
  const Arrays init = some(random_.between(1, 3));
  const Body f = new_body(avals_of(init));
  const auto step = [f](const Array& i, const Arrays& c) {
    Body g = f;
    g.captured.push_back(i);
    return g(c);
  };
  const bool dynamic = !options_.differentiable && random_.chance(0.3);
  // Where the count is computed it may be anything, 2^31 - 1 where it was infinite.
  const Array upper = dynamic ? minimum(scalar_index(4), Array(6)) : Array(random_.between(0, 4));
  for (const Array& y : fori_loop(random_.chance(0.2) ? -1 : 0, upper, step, init)) keep(y);
}

/// How many states of a loop reverse mode keeps.
Checkpoints Generator::some_checkpoints() {
  return random_.pick({Checkpoints(), Checkpoints(), Checkpoints(2), Checkpoints(3), Checkpoints::logarithmic});
}

void Generator::while_loop_of_counter() {
  Arrays init = some(random_.between(1, 2));
  const std::vector<Aval> types = avals_of(init);
  const Body f = new_body(types);
  init.insert(init.begin(), scalar_index(5));
  const int limit = random_.between(1, 5);
  WhileOptions options{.checkpoints = some_checkpoints()};
  if (random_.coin()) options.max_steps = 16;
  const auto condition = [limit](const Arrays& c) { return c[0] < Array(limit); };
  const auto step = [f](const Arrays& c) {
    Arrays out = f(Arrays(c.begin() + 1, c.end()));
    // At least 1 on: however it began, it ends.
    out.insert(out.begin(), maximum(c[0], Array(-2)) + Array(1));
    return out;
  };
  for (const Array& y : while_loop(condition, step, init, options)) keep(y);
}

void Generator::scanned() {
  const Arrays init = some(random_.between(1, 2));
  Arrays xs;
  const int n = random_.pick({0, 1, 2, 3, 4, 5});
  for (int i = random_.below(3); i > 0; --i) {
    const Array x = pick();
    if (x.ndim() > 0 && x.shape()[0] < 9 && (xs.empty() || xs[0].shape()[0] == x.shape()[0]))
      xs.push_back(x);
    else if (x.size() < 100)
      xs.push_back(broadcast_to(x, x.shape().inserted(0, xs.empty() ? n : xs[0].shape()[0])));
  }
  const std::size_t carried = init.size();
  std::vector<Aval> types = avals_of(init);
  if (random_.coin()) types.push_back({shape(), dtype()});
  const Body f = new_body(types);
  const auto step = [f, carried](const Arrays& c, const Arrays& x) {
    Arrays in = c;
    in.insert(in.end(), x.begin(), x.end());
    const Arrays out = f(in);
    const auto cut = out.begin() + static_cast<std::ptrdiff_t>(carried);
    return std::pair(Arrays(out.begin(), cut), Arrays(cut, out.end()));
  };
  ScanOptions options{.length = xs.empty() ? n : static_cast<int>(xs[0].shape()[0]),
                      .reverse = random_.coin(),
                      .unroll = random_.pick({1, 1, 2, 3}),
                      .checkpoints = some_checkpoints()};
  const auto [last, ys] = scan(step, init, xs, options);
  for (const Array& y : last) keep(y);
  for (const Array& y : ys) keep(y);
}

void Generator::mapped() {
  const Array x = pick_positive_size();
  const std::int64_t n = x.shape()[0];
  Arrays in{x};
  if (random_.coin()) in.push_back(fitted(pick(), {Shape{n, random_.between(1, 4)}, dtype()}));
  const Body f = new_body({});
  if (n <= 9 && random_.chance(0.3)) {
    const MapOptions options{.batch_size = random_.coin() ? std::optional<int>(random_.between(1, 4)) : std::nullopt};
    for (const Array& y : weft::map(f, in, options)) keep(y);
  } else {
    for (const Array& y : vmap(f, {.axis_size = static_cast<int>(n)})(in)) keep(y);
  }
}

void Generator::called() {
  const Arrays in = some(random_.between(1, 3));
  const Body f = new_body({});
  Arrays out;
  switch (random_.below(4)) {
    case 0: out = jit(f)(in); break;
    case 1: {  // the same function twice: one body, two calls
      const auto g = jit(f);
      out = g(in);
      Arrays again;
      for (const Array& x : in) again.push_back(x.dtype().is_inexact() ? tame(x) : x);
      for (const Array& y : g(again)) out.push_back(y);
      break;
    }
    case 2: out = checkpoint(f)(in); break;
    default: out = checkpoint(f, {.policy = policies::dots_saveable})(in);
  }
  for (const Array& y : out) keep(y);
}

void Generator::ruled() {
  const Array x = pick_floating();
  const double factor = random_.pick({0.5, 2., -1.});
  Body f = new_body({Aval{x.shape(), x.dtype()}});
  f.captured.clear();  // a rule gives no derivative by what is captured
  if (random_.coin()) {
    const auto rule = [f, factor](const std::tuple<Arrays>& p, const std::tuple<Arrays>& t) {
      const Array& dx = std::get<0>(t)[0];
      return std::pair(f(std::get<0>(p)), Arrays{Array(factor) * cos(std::get<0>(p)[0]) * dx});
    };
    return keep(custom_jvp(f, rule)(Arrays{x})[0]);
  }
  if (options_.differentiable) return keep(stop_gradient(x) * tame(x));  // a custom_vjp has no forward derivative
  const auto fwd = [f](const Arrays& in) { return std::pair(f(in), in); };
  const auto bwd = [factor](const Arrays& res, const Arrays& ct) { return std::tuple(Arrays{Array(factor) * sin(res[0]) * ct[0]}); };
  keep(custom_vjp(f, fwd, bwd)(Arrays{x})[0]);
}

void Generator::derived() {
  Array x = pick_floating();
  if (x.size() > 300) x = tame(sum(x, 0));
  Body f = new_body({});
  f.options.differentiable = true;
  f.options.depth = std::min(f.options.depth, 1);
  const auto loss = [f](const Array& v) { return f.scalar({v}); };
  switch (random_.below(6)) {
    case 0: return keep(tame(grad(loss)(x)));
    case 1: {
      const auto [y, gradient] = value_and_grad(loss)(x);
      keep(y);
      return keep(tame(gradient));
    }
    case 2: {
      f.wanted = {Aval{x.shape(), x.dtype()}};
      const auto g = [f](const Array& v) { return f({v})[0]; };
      const auto [y, dy] = jvp(g, std::tuple(x), std::tuple(as(cos(x), x.dtype())));
      keep(y);
      return keep(tame(dy));
    }
    case 3: {
      f.wanted = {Aval{x.shape(), x.dtype()}};
      const auto g = [f](const Array& v) { return f({v})[0]; };
      const auto [y, pull] = vjp(g, x);
      return keep(tame(std::get<0>(pull(as(y, x.dtype())))));
    }
    case 4: {
      if (x.size() > 12) x = ravel(x)(slice(0, 5));
      return keep(tame(random_.coin() ? jacfwd(loss)(x) : hessian(loss)(x)));
    }
    default: return keep(tame(jvp([loss](const Array& v) { return grad(loss)(v); }, std::tuple(x), std::tuple(sin(x))).second));
  }
}

void Generator::prefixes() {
  Array x = pick_positive_size();
  if (x.dtype().is_bool()) x = as(x, int32);
  const AssociativeScanOptions options{.reverse = random_.coin(), .axis = axis_of(x)};
  const bool inexact = x.dtype().is_inexact();
  if (random_.coin()) return keep(associative_scan([](const Array& a, const Array& b) { return a + b; }, inexact ? tame(x) : x, options));
  const Array y = inexact ? within(x, 0.5, 0.9) : x;
  const auto chained = [](const std::pair<Array, Array>& a, const std::pair<Array, Array>& b) {
    return std::pair(a.first * b.first, a.second * b.first + b.second);
  };
  keep(associative_scan(chained, std::pair(y, inexact ? tame(partner(x, true)) : partner(x, true)), options).second);
}

}  // namespace weft::fuzz
