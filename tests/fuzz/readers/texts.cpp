// Programs in JAX's notation, einsum's equations, formats of debug::print.
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <complex>

#include "tests/fuzz/readers/readers.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/schedule.h"
#include "weft/backends/interp/interp.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/array/host.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ops/control/control.h"

namespace weft::fuzz {
namespace {

/// What running a program may take: an estimate of the elements that are computed, loops' steps counted; negative where it can't be told or
/// more than elements would happen.
constexpr std::int64_t kMostElements = 1 << 14, kMostWork = 1 << 18;

std::int64_t work_of(const Jaxpr& j, int depth = 0) {
  const detail::JaxprData& d = j.data();
  std::int64_t work = 1;
  if (depth > 20 || d.eqns.size() > 200) return -1;
  for (const detail::Aval& a : d.avals) {
    std::int64_t n = 1;
    for (const std::int64_t size : a.shape)
      if (__builtin_mul_overflow(n, size, &n) || n > kMostElements) return -1;
    work += n;
  }
  for (const Eqn& e : d.eqns) {
    if (detail::has_effects(e) || e.op->kind == detail::Kind::collective || e.op == &detail::primitive_of<detail::While>) return -1;
    std::int64_t operands = 0, inside = 0;
    for (const detail::Atom a : e.inputs) operands += d.aval(a).shape.num_elements();
    // Products, windows and sorts read each operand more than once.
    if (__builtin_mul_overflow(operands, std::int64_t{16}, &operands)) return -1;
    for (const detail::ParamText& p : e.op->params_list(*e.params)) {
      const auto add = [&](const Jaxpr& part) {
        const std::int64_t w = work_of(part, depth + 1);
        inside = w < 0 || inside < 0 ? -1 : inside + w;
      };
      if (p.jaxpr) add(*p.jaxpr);
      if (p.jaxprs)
        for (const Jaxpr& part : *p.jaxprs) add(part);
    }
    if (inside < 0) return -1;
    if (e.op == &detail::primitive_of<detail::Scan>) {
      const std::int64_t steps = detail::params_as<detail::Scan::Params>(*e.params).length;
      if (__builtin_mul_overflow(inside, steps, &inside)) return -1;
    } else if (inside > 0) {
      // A reduction's or a call's body runs once for each element at most.
      inside *= 1 + operands;
    }
    work += operands + inside;
    if (work > kMostWork) return -1;
  }
  return work;
}

/// What the library makes of a program: its derivatives, the program of several examples, kernels. Each may refuse it, with a reason.
void transform(const Jaxpr& program) {
  const auto attempt = [&](const char* what, const auto& f) {
    try {
      f();
    } catch (const Error& e) {
      if (std::string_view(e.what()).find("internal error") != std::string_view::npos)
        broken(what, fmt::format("{}\n{}", program.to_string(), e.what()));
    }
  };
  attempt("forward", [&] { jvp_jaxpr(program).check(); });
  attempt("reverse", [&] {
    std::vector<bool> nonzero;
    for (const detail::Aval& a : program.data().input_avals()) nonzero.push_back(a.dtype.is_inexact());
    const detail::LinearizedProgram l = detail::linearize_program(program, nonzero);
    l.primal.check(), l.linear.check();
    if (l.linear.data().num_consts > 0) return;
    std::vector<bool> linear(static_cast<std::size_t>(l.linear.data().num_inputs), true);
    std::fill_n(linear.begin(), l.num_residuals, false);
    detail::transpose_program(l.linear, linear, std::vector<bool>(l.linear.data().outputs.size(), true)).jaxpr.check();
  });
  if (!program.data().input_avals().empty()) attempt("mapped", [&] { batch_jaxpr(program, {.axis_size = 2}).check(); });
  attempt("kernels", [&] {
    const Jaxpr simplified = detail::simplify(program, nullptr);
    simplified.check();
    const detail::KernelProgram p = detail::form_program(simplified, {}, {});
    for (const detail::Kernel& k : p.kernels) detail::make_schedule(k, 32);
  });
}

Array input_of(const detail::Aval& aval) {
  const std::int64_t n = aval.shape.num_elements();
  if (aval.dtype.is_key()) return reshape(random::split(random::key(7), n), aval.shape);
  return convert(reshape(arange(n, int32) % 5 - 1, aval.shape), aval.dtype);
}

}  // namespace

void read_jaxpr_text(std::string_view bytes) {
  std::optional<Jaxpr> program;
  try {
    program = parse(bytes);
  } catch (const Error&) {
    return;
  }
  const std::string printed = program->to_string();
  try {
    program->check();
  } catch (const Error& e) {
    broken("what was parsed is not in order", fmt::format("{}\n{}", printed, e.what()));
  }
  // Values of constants are not in the text.
  if (!program->data().consts.empty()) return;
  try {
    const std::string again = parse(printed).to_string();
    if (again != printed) broken("what was printed is read as another program", printed + "\n---\n" + again);
  } catch (const Error& e) {
    broken("what was printed is not read again", fmt::format("{}\n{}", printed, e.what()));
  }
  if (work_of(*program) < 0) return;
  transform(*program);
  try {
    std::vector<Array> inputs;
    for (const detail::Aval& a : program->data().input_avals()) inputs.push_back(input_of(a));
    const std::vector<Array> results = detail::interpret(*program, inputs, 0);
    const std::vector<detail::Aval> wanted = program->data().output_avals();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (results.at(i).shape() != wanted[i].shape || results[i].dtype() != wanted[i].dtype)
        broken("a result has another type than the program says", printed);
  } catch (const Error&) {
  }
}

std::vector<std::string> jaxpr_text_seeds() {
  std::vector<std::string> seeds = files_of_tree("tests/golden/data", ".jaxpr", 2000);
  const auto add = [&](const auto& f, const auto&... args) { seeds.push_back(make_jaxpr(f)(args...).to_string()); };
  const Array x = ones({2, 3}), n = arange(4, int32);
  add([](const Array& a) { return grad([](const Array& v) { return sum(sin(v) * v); })(a); }, x);
  add([](const Array& a) { return vmap([](const Array& v) { return nn::softmax(v); })(a); }, x);
  add([](const Array& a) { return cumsum(a, 0) + sort(a, 1) + flip(a, 0); }, x);
  add([](const Array& a, const Array& i) { return take(a, i % 2, 0).at(0).add(1.f); }, x, n);
  add([](const Array& a) { return scan([](const Array& c, const Array& r) { return std::pair{c + r, c * r}; }, zeros(3), a); }, x);
  add([](const Array& a) { return cond(a[0] > 0, [](const Array& v) { return v; }, [](const Array& v) { return -v; }, a); }, n);
  add([](const Array& a) { return fori_loop(0, 3, [](const Array&, const Array& v) { return v * 2; }, a); }, x);
  add([](const Array& a) { return convert(a, complex64) * array(std::complex<float>(1, 2)); }, x);
  add([](const Array& a) { return jit([](const Array& v) { return einsum("ij,kj->ik", v, v); })(a); }, x);
  add([](const Array& a) { return random::uniform(random::key(1), {4}) + a; }, ones(4));
  return seeds;
}

/// The equation, then for each operand a line with its sizes.
void read_einsum(std::string_view bytes) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at <= bytes.size() && lines.size() < 6;) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    lines.push_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  std::vector<ShapeDtypeStruct> operands;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    Shape shape;
    std::int64_t n = 1;
    for (const char c : lines[i].substr(0, 10)) {
      shape.push_back(c % 5 < 0 ? 1 : c % 5);
      n *= std::max<std::int64_t>(1, shape[shape.size() - 1]);
      if (n > kMostElements) return;
    }
    operands.push_back({shape, float32});
  }
  const std::string equation(lines[0].substr(0, 200));
  try {
    make_jaxpr([&](const std::vector<Array>& xs) {
      std::vector<Arg> args(xs.begin(), xs.end());
      return detail::einsum_of(equation, args);
    })(operands)
        .check();
  } catch (const Error&) {
  }
}
std::vector<std::string> einsum_seeds() {
  return {"ij,jk->ik\n\x02\x03\n\x03\x04",      "ii\n\x03\x03",
          "...i,i...->...\n\x02\x03\n\x03\x02", "bij,bjk->bik\n\x02\x02\x03\n\x02\x03\x04",
          "i,j,k->kji\n\x02\n\x03\n\x04",       "ijk->k\n\x02\x03\x04",
          " i j , j k \n\x02\x03\n\x03\x04"};
}

void read_print_format(std::string_view bytes) {
  const std::string format(bytes.substr(0, 200));
  // Widths are memory.
  int digits = 0;
  for (const char c : format) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4) return;
  }
  try {
    make_jaxpr([&](const Array& x, const Array& y) {
      debug::print(format, x, y);
      return x;
    })(ones(2), arange(3, int32))
        .check();
  } catch (const Error&) {
  }
}
std::vector<std::string> print_format_seeds() {
  return {"x = {}, y = {}", "{0:.3f} {1}", "{:>10.2e} {{}} {}", "{1:x} {0}", "{:05d}{}", "{", "}{}", "{:{}}"};
}

}  // namespace weft::fuzz
