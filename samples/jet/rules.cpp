// The rules: recurrences for Taylor coefficients (A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., 2008, chapter 13).
#include <string>

#include "jet.h"

namespace jet {
namespace {

using namespace weft;

/// An operation of the library's by the name that it has in a Jaxpr.
const extend::Primitive& operation(std::string_view name) {
  const extend::Primitive* op = extend::find_primitive(name);
  if (!op) throw Error("jet: there is no operation " + std::string(name));
  return *op;
}
using JetRule = extend::RuleOf<Jet>;

Term sum(const Term& a, const Term& b) { return a && b ? Term(*a + *b) : a ? a : b; }
Term product(const Term& a, const Term& b) { return a && b ? Term(*a * *b) : Term(); }
Term scaled(const Term& a, double by) { return a ? Term(*a * by) : a; }
double number(std::size_t k) { return static_cast<double>(k); }

/// The sum of weight(j) a[j] b[k - j] for j from first to last.
template <class F>
Term convolved(const Series& a, const Series& b, std::size_t k, std::size_t first, std::size_t last, F&& weight) {
  Term t;
  for (std::size_t j = first; j <= last; ++j)
    if (const Term p = product(a[j], b[k - j])) t = sum(t, weight(j) == 1 ? p : scaled(p, weight(j)));
  return t;
}
constexpr auto one = [](std::size_t) { return 1.; };

Series times(const Series& x, const Series& y) {
  Series z(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) z[k] = convolved(x, y, k, 0, k, one);
  return z;
}
/// z with z' = w x', of which z[0] and w are known as far as z is: w(k) gives w[k] from z[0], ..., z[k].
template <class F>
Series integrated(Array start, const Series& x, F&& w) {
  Series z(x.size()), derivative(x.size());
  z[0] = std::move(start);
  for (std::size_t k = 1; k < x.size(); ++k) {
    derivative[k - 1] = w(z, k - 1);
    z[k] = scaled(convolved(x, derivative, k, 1, k, number), 1 / number(k));
  }
  return z;
}
/// x^r for a constant r, where x is not zero.
Series power(Array start, const Series& x, double r) {
  Series z(x.size());
  z[0] = std::move(start);
  for (std::size_t k = 1; k < x.size(); ++k) {
    const Term t = convolved(x, z, k, 1, k, [&](std::size_t j) { return r * number(j) - number(k - j); });
    z[k] = t ? Term(*t / (*x[0] * number(k))) : Term();
  }
  return z;
}
Series quotient(const Series& x, const Series& y) {
  Series z(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Term t = sum(x[k], scaled(convolved(y, z, k, 1, k, one), -1));
    z[k] = t ? Term(*t / *y[0]) : Term();
  }
  return z;
}
Series exponential(Array start, const Series& x) {
  return integrated(std::move(start), x, [](const Series& z, std::size_t k) { return z[k]; });
}
/// The logarithm of x, whose first coefficient is given apart.
Series logarithm(Array start, const Array& x0, const Series& x) {
  Series z(x.size());
  z[0] = std::move(start);
  for (std::size_t k = 1; k < x.size(); ++k) {
    const Term t = sum(x[k], scaled(convolved(z, x, k, 1, k - 1, number), -1 / number(k)));
    z[k] = t ? Term(*t / x0) : Term();
  }
  return z;
}
std::pair<Series, Series> sine_and_cosine(const Series& x) {
  Series s(x.size()), c(x.size());
  s[0] = sin(*x[0]), c[0] = cos(*x[0]);
  for (std::size_t k = 1; k < x.size(); ++k) {
    s[k] = scaled(convolved(x, c, k, 1, k, number), 1 / number(k));
    c[k] = scaled(convolved(x, s, k, 1, k, number), -1 / number(k));
  }
  return {s, c};
}

/// The equation's own value, its operands' first coefficients.
Array value(const JetContext& c) {
  std::vector<Array> in;
  for (const Series& s : c.in) in.push_back(*s[0]);
  return c.bind(in);
}

/// Linear in all operands together.
Series linear(const JetContext& c) {
  Series out(c.order + 1);
  out[0] = value(c);
  for (std::size_t k = 1; k <= c.order; ++k) {
    bool any = false;
    std::vector<Array> in;
    for (const Series& s : c.in) any = any || s[k], in.push_back(s[k] ? *s[k] : zeros_like(*s[0]));
    if (any) out[k] = c.bind(in);
  }
  return out;
}
/// Linear in all operands but the first, which says which.
Series chosen(const JetContext& c) {
  Series out(c.order + 1);
  out[0] = value(c);
  for (std::size_t k = 1; k <= c.order; ++k) {
    bool any = false;
    std::vector<Array> in{*c.in[0][0]};
    for (const Series& s : c.in.subspan(1)) any = any || s[k], in.push_back(s[k] ? *s[k] : zeros_like(*s[0]));
    if (any) out[k] = c.bind(in);
  }
  return out;
}
/// Linear in each of two operands.
Series bilinear(const JetContext& c) {
  Series out(c.order + 1);
  for (std::size_t k = 0; k <= c.order; ++k)
    for (std::size_t j = 0; j <= k; ++j)
      if (c.in[0][j] && c.in[1][k - j]) out[k] = sum(out[k], c.bind(std::array{*c.in[0][j], *c.in[1][k - j]}));
  return out;
}

const JetRule add_jet(operation("add"), linear), sub_jet(operation("sub"), linear), neg_jet(operation("neg"), linear),
    add_any_jet(operation("add_any"), linear), convert_jet(operation("convert_element_type"), linear),
    reduce_sum_jet(operation("reduce_sum"), linear), cumsum_jet(operation("cumsum"), linear), select_jet(operation("select_n"), chosen),
    mul_jet(operation("mul"), bilinear), dot_jet(operation("dot_general"), bilinear);

const JetRule div_jet(operation("div"), [](const JetContext& c) { return quotient(c.in[0], c.in[1]); });
const JetRule square_jet(operation("square"), [](const JetContext& c) { return times(c.in[0], c.in[0]); });
const JetRule exp_jet(operation("exp"), [](const JetContext& c) { return exponential(value(c), c.in[0]); });
const JetRule expm1_jet(operation("expm1"), [](const JetContext& c) {
  Series z = exponential(exp(*c.in[0][0]), c.in[0]);
  z[0] = value(c);
  return z;
});
const JetRule log_jet(operation("log"), [](const JetContext& c) { return logarithm(value(c), *c.in[0][0], c.in[0]); });
const JetRule log1p_jet(operation("log1p"), [](const JetContext& c) { return logarithm(value(c), *c.in[0][0] + 1, c.in[0]); });
const JetRule sin_jet(operation("sin"), [](const JetContext& c) { return sine_and_cosine(c.in[0]).first; });
const JetRule cos_jet(operation("cos"), [](const JetContext& c) { return sine_and_cosine(c.in[0]).second; });
const JetRule sqrt_jet(operation("sqrt"), [](const JetContext& c) { return power(value(c), c.in[0], .5); });
const JetRule rsqrt_jet(operation("rsqrt"), [](const JetContext& c) { return power(value(c), c.in[0], -.5); });
const JetRule tanh_jet(operation("tanh"), [](const JetContext& c) {  // z' = (1 - z^2) x'
  return integrated(value(c), c.in[0], [](const Series& z, std::size_t k) {
    const Term t = scaled(convolved(z, z, k, 0, k, one), -1);
    return k == 0 ? Term(1 + *t) : t;
  });
});
const JetRule logistic_jet(operation("logistic"), [](const JetContext& c) {  // z' = (z - z^2) x'
  return integrated(value(c), c.in[0], [](const Series& z, std::size_t k) { return sum(z[k], scaled(convolved(z, z, k, 0, k, one), -1)); });
});
const JetRule pow_jet(operation("pow"), [](const JetContext& c) {  // exp(y log x)
  const Series log_x = logarithm(log(*c.in[0][0]), *c.in[0][0], c.in[0]);
  return exponential(value(c), times(c.in[1], log_x));
});
const JetRule integer_pow_jet(operation("integer_pow"), [](const JetContext& c) {
  const std::vector<extend::ParamText> params = c.eqn.op->params_list(*c.eqn.params);
  const int n = std::stoi(extend::find_named(params, "y")->text);
  // By squaring, so that it holds where x is zero.
  Series z(c.order + 1), base = c.in[0];
  z[0] = ones_like(*base[0]);
  for (unsigned rest = static_cast<unsigned>(std::abs(n)); rest; rest /= 2) {
    if (rest % 2) z = times(z, base);
    if (rest > 1) base = times(base, base);
  }
  if (n >= 0) return z;
  Series unit(c.order + 1);
  unit[0] = ones_like(*z[0]);
  return quotient(unit, z);
});

}  // namespace
}  // namespace jet
