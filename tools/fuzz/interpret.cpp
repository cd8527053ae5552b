#include "tools/fuzz/interpret.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "tools/fuzz/values.h"
#include "weft/backends/interp/interp.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/host.h"
#include "weft/core/array/storage.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_run.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/linalg/line_sums.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/library/numpy/numpy.h"

namespace weft::fuzz {

using namespace detail;

namespace {

constexpr double kUlps = 4;     // the error that an operation may have, in units in the last place
constexpr double kMargin = 16;  // times what a disturbance changes, results may differ: what is a bound already is disturbed by less

std::vector<Array> run_eqn(Hook& hook, const Eqn& e, std::span<const Array> in, std::span<const Aval> out_avals) {
  if (!e.op->reference && e.op->kind == Kind::call) {
    return interpret_with(hook, executed_body(*e.op, *e.params, avals_of(in)), in);
  }
  if (!e.op->reference && e.op->kind == Kind::control)
    return run_control(*e.op, *e.params, in, [&](const Jaxpr& j, std::span<const Array> args) { return interpret_with(hook, j, args); });
  return interpret_eqn(*e.op, e.params, in, out_avals, 0, e.loc);
}

/// The facts that an elementwise operation states about its values; 0 for other operations.
unsigned values_of(const Primitive& op) {
  static const std::map<const Primitive*, unsigned>& table = *[] {
    auto* const all = new std::map<const Primitive*, unsigned>;
    for (const ElementwiseInfo& info : elementwise_infos()) all->emplace(info.op, info.values);
    return all;
  }();
  const auto found = table.find(&op);
  return found == table.end() ? 0 : found->second;
}

/// Whether the operation's results are determined by its operands to the last bit.
bool is_exact(const Primitive& op) {
  switch (op.kind) {
    case Kind::movement:
    case Kind::concatenate:
    case Kind::iota:
    case Kind::gather:
    case Kind::dynamic_slice:
    case Kind::dynamic_update_slice:
    case Kind::sort:
    case Kind::random:
    case Kind::call:
    case Kind::control:
    case Kind::arg_reduce: return true;
    case Kind::reduce:
    case Kind::cumulative: return op.combiner == Combiner::max || op.combiner == Combiner::min;
    case Kind::scatter: return !op.combiner || op.combiner == Combiner::max || op.combiner == Combiner::min;
    default: return (values_of(op) & kExact) != 0 || find_rule<IdentityTransform>(op);
  }
}

/// Whether its results are integers where its operands are, so that they are exact in any order of the sums.
bool keeps_integers(const Primitive& op) {
  const bool sums = (op.kind == Kind::reduce || op.kind == Kind::cumulative) && op.combiner == Combiner::sum;
  return sums || op.kind == Kind::dot || (values_of(op) & kKeepsIntegers) != 0;
}
/// Whether all elements are integers so small that float16 represents their sums and products exactly.
bool small_integers(const Array& x) {
  if (x.dtype().is_complex()) return false;
  for (double v : x.to_vector<double>())
    if (v != std::trunc(v) || !(std::abs(v) <= 128)) return false;
  return true;
}

/// Whether it adds up many operands, so that an operand's last place matters more than the result's.
bool adds_up(const Primitive& op) { return op.kind != Kind::elementwise && !is_exact(op); }

Array disturb(const Array& x, Random& random, bool keep_zeros) {
  if (!x.dtype().is_inexact()) return x;
  std::vector<std::byte> bytes = bytes_of(x);
  // A part of a complex number that is zero may stay zero, or get an error in the last places of the other part.
  const bool keeps_zeros = x.dtype().is_complex() && (keep_zeros || random.chance(0.5));
  with_storage(x.dtype(), [&]<class T>() {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T v;
      std::memcpy(&v, &bytes[i], sizeof(T));
      // Units in the last place are of one size below the smallest normal number.
      const auto moved = [&](double d, double epsilon, double smallest) {
        return d == 0 ? d : d * (1 + kUlps * epsilon * (2 * random.uniform() - 1)) + kUlps * smallest * (2 * random.uniform() - 1);
      };
      if constexpr (is_complex_storage<T>) {
        // A part may be wrong by the last places of the modulus.
        using P = typename T::value_type;
        const double epsilon = sizeof(P) == 4 ? 0x1p-23 : 0x1p-52,
                     size = epsilon * kUlps * std::abs(std::complex<double>(v.real(), v.imag()));
        const auto near = [&](P part) {
          return part == 0 && keeps_zeros ? part : static_cast<P>(part + size * (2 * random.uniform() - 1));
        };
        if (std::isfinite(size)) v = T(near(v.real()), near(v.imag()));
      } else if constexpr (std::is_same_v<T, double>) {
        v = moved(v, 0x1p-52, 0x1p-1074);
      } else if constexpr (std::is_same_v<T, float>) {
        v = static_cast<float>(moved(v, 0x1p-23, 0x1p-149));
      } else if constexpr (std::is_same_v<T, Float16>) {
        v = Float16(moved(static_cast<float>(v), 0x1p-11, 0x1p-24));
      } else if constexpr (std::is_same_v<T, BFloat16>) {
        v = BFloat16(moved(static_cast<float>(v), 0x1p-8, 0x1p-133));
      }
      std::memcpy(&bytes[i], &v, sizeof(T));
    }
  });
  return make_concrete(x.aval(), bytes.data());
}

double largest(DType t) {
  return t == float16 ? 65504 : t == bfloat16 ? 0x1.fep127 : t == float32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
}

/// Whether it compares two floating numbers: only then is the result a bool.
bool compares(const Eqn& e, std::span<const Array> in) {
  if (e.op->kind != Kind::elementwise || in.size() != 2 || !in[0].dtype().is_inexact()) return false;
  return infer(*e.op, *e.params, avals_of(in), e.loc)[0].dtype.is_bool();
}
double epsilon_of(DType t) { return t == float16 ? 0x1p-11 : t == bfloat16 ? 0x1p-8 : t == float32 ? 0x1p-23 : 0x1p-52; }
/// y where it differs from x by more than some units in the last place, else x: in another execution they may be equal.
Array nearly_equal(const Array& x, const Array& y) {
  if (!x.dtype().is_floating() || x.shape() != y.shape()) return y;
  return where(abs(x - y) <= abs(x) * (4 * kUlps * epsilon_of(x.dtype())), x, y);
}

/// NaN of the other sign: no operation specifies a NaN's sign, but a total order distinguishes it.
Array other_nans(const Array& x, Random& random) { return x.dtype().is_floating() && random.chance(0.5) ? where(isnan(x), -x, x) : x; }

/// A sum whose terms' magnitudes overflow its type: in another order a partial sum may be infinite.
Array too_large(const Array& x, const Array& result, const Eqn& e, Random& random) {
  if (!x.dtype().is_floating()) return result;
  const Array wide = convert(x, float64), sums = convert(result, float64);
  const Array terms = sum(where(isfinite(wide), abs(wide), 0.), params_as<ReduceParams>(*e.params).axes);
  const double infinity = random.below(2) == 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  return convert(where(terms > largest(x.dtype()), where(isfinite(sums), infinity, std::nan("")), sums), result.dtype());
}

bool is_product(const Primitive& op) { return (values_of(op) & kMultiplies) != 0; }
/// The power of a product of operands of one size: what it makes of twos.
double exponent_of(const Eqn& e) {
  const std::vector<Array> twos(e.inputs.size(), full(Shape{}, 2., float64));
  const Aval out[] = {twos[0].aval()};
  return std::log2(interpret_eqn(*e.op, e.params, twos, out, 0, e.loc)[0].item<double>());
}
Array moduli(const Array& part) { return abs(convert(part, float64)); }

/// A product that overflows its type. Fused with a sum, it may be finite; parts of a complex product are infinite, or NaN as the difference
/// of two infinities; its reciprocal is 0 instead of subnormal.
Array overflowed(const Eqn& e, const std::vector<Array>& in, const Array& x, Random& random) {
  if (!x.dtype().is_inexact()) return x;
  const double limit = largest(x.dtype().real_part()), power = exponent_of(e), infinity = std::numeric_limits<double>::infinity();
  if (power < 0) {
    const Array size = x.dtype().is_complex() ? maximum(moduli(real(in[0])), moduli(imag(in[0]))) : moduli(in[0]);
    return where(2 * pow(size, -power) > limit, 0, x);
  }
  if (!x.dtype().is_complex()) {
    Array finite = isfinite(in[0]);
    if (in.size() > 1) finite = finite & isfinite(in[1]);
    return where(isinf(x) & finite, convert(where(x > 0, limit, -limit), x.dtype()), x);
  }
  Array re_terms, im_terms;
  if (power == 2) {
    const Array &a = in[0], &b = in.back();
    const Array ar = moduli(real(a)), ai = moduli(imag(a)), br = moduli(real(b)), bi = moduli(imag(b));
    re_terms = maximum(ar * br, ai * bi), im_terms = maximum(ar * bi, ai * br);
  } else {
    re_terms = im_terms = 2 * pow(maximum(moduli(real(in[0])), moduli(imag(in[0]))), power);
  }
  const double sign = random.chance(0.5) ? infinity : -infinity;
  const auto part = [&](const Array& p, const Array& terms) {
    return where(terms > limit, convert(where(isnan(p), sign, std::nan("")), p.dtype()), p);
  };
  return complex(part(real(x), re_terms), part(imag(x), im_terms));
}

/// Whether its results are sums of many terms, which may cancel.
bool sums_up(const Primitive& op) {
  switch (op.kind) {
    case Kind::reduce:
    case Kind::cumulative:
    case Kind::dot:
    case Kind::convolution:
    case Kind::scatter:
    case Kind::reduce_window: return !is_exact(op);
    default: return find_rule<LineSumsTransform>(op) != nullptr;
  }
}

/// Another value, maybe, where nothing is left of a sum but what rounding makes: where it changes by about what it is when its terms are
/// disturbed again. In another order it may be zero, or what was zero may not be, which comparisons and signs distinguish.
Array cancelled(const Array& x, const Array& again, double chance, Random& random) {
  if (x.dtype().is_complex())
    return complex(cancelled(real(x), real(again), chance, random), cancelled(imag(x), imag(again), chance, random));
  if (!x.dtype().is_floating()) return x;
  std::vector<double> v = x.to_vector<double>();
  const std::vector<double> w = again.to_vector<double>();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (kMargin * std::abs(v[i] - w[i]) > std::abs(v[i]) && random.chance(chance)) v[i] = v[i] == 0 ? w[i] : 0;
  return array(v, x.shape(), x.dtype());
}

/// Terms that are all larger, or all smaller, by `share` of their size.
Array leaning(const Array& x, double share) {
  if (x.dtype().is_complex()) return complex(leaning(real(x), share), leaning(imag(x), share));
  if (!x.dtype().is_floating()) return x;
  const Array wide = convert(x, float64);
  return convert(wide + share * abs(wide), x.dtype());
}
/// How many terms there are in each of the sums that an operation computes; a bound of it where there is a batch.
double terms_of(const Eqn& e, std::span<const Array> operands, const Array& result) {
  const Array& x = operands[0];
  if (e.op->kind == Kind::cumulative) return static_cast<double>(*std::max_element(x.shape().begin(), x.shape().end()));
  const double results = static_cast<double>(std::max<std::int64_t>(result.size(), 1)), size = static_cast<double>(x.size());
  return e.op->kind == Kind::dot ? std::sqrt(size * static_cast<double>(operands[1].size()) / results) : size / results;
}

/// Where a conversion underflowed, the smallest number of the type, of either sign, in place of zero.
Array underflowed(const Array& x, const Array& result, Random& random) {
  const DType t = result.dtype();
  if (!x.dtype().is_floating() || !t.is_floating()) return result;
  const double smallest = t == float16 ? 0x1p-24 : t == bfloat16 ? 0x1p-133 : t == float32 ? 0x1p-149 : 0x1p-1074;
  return where((result == 0) & (x != 0), convert(random.chance(0.5) ? smallest : -smallest, t), result);
}

/// Products of many complex numbers that overflow: their order decides which parts are infinite and which are NaN.
Array overflowed_reduction(const Array& x, Random& random) {
  if (!x.dtype().is_complex()) return x;
  const Array finite = isfinite(real(x)) & isfinite(imag(x));
  const double infinity = std::numeric_limits<double>::infinity(), sign = random.chance(0.5) ? infinity : -infinity;
  const auto part = [&](const Array& p) { return where(finite, p, convert(where(isnan(p), sign, std::nan("")), p.dtype())); };
  return complex(part(real(x)), part(imag(x)));
}

/// Arbitrary values in the lines of a Fourier transform that aren't finite, or whose partial sums may overflow: which results are infinite,
/// NaN or finite depends on the order of the sums and on whether factors of 1 and i are multiplied.
Array any_in_wild_lines(const Array& x, const Array& result, int dimensions, Random& random) {
  const DType part = x.dtype().real_part();
  const Array size = x.dtype().is_complex() ? moduli(real(x)) + moduli(imag(x)) : moduli(x);
  std::vector<int> axes;
  for (int d = x.ndim() - dimensions; d < x.ndim(); ++d) axes.push_back(d);
  const Array wild = logical_not(2 * sum(size, Axis(axes), {.keepdims = true}) <= largest(part));  // also where it is NaN
  const auto changed = [&](const Array& p) {
    const double value = random.pick({0., std::nan(""), std::numeric_limits<double>::infinity()});
    return where(wild, full(Shape{}, value, p.dtype()), p);
  };
  return result.dtype().is_complex() ? complex(changed(real(result)), changed(imag(result))) : changed(result);
}

/// Whether an operation makes integers or bools of floats, element by element.
bool decides(const Eqn& e, std::span<const Array> operands, std::span<const Array> results) {
  return e.op->kind == Kind::elementwise && !results[0].dtype().is_inexact() && !results[0].dtype().is_key() &&
         std::any_of(operands.begin(), operands.end(), [](const Array& x) { return x.dtype().is_inexact(); });
}

struct Disturb final : Hook {
  // Neighbouring seeds give overlapping sequences, so the first random bits are the seed of another generator.
  Disturb(std::uint64_t seed, bool large, bool all)
      : random(Random(seed).bits()), overflows(large), conversions(all), zeros(random.chance(0.3)) {}
  Disturb(std::uint64_t seed, bool large, Decisions& those, bool mix) : Disturb(seed, large, false) { decisions = &those, mixed = mix; }
  void before(const Eqn& e, std::vector<Array>& operands) override {
    exact = keeps_integers(*e.op) && std::all_of(operands.begin(), operands.end(), small_integers);
    if (sums_up(*e.op)) again = operands;
    if (adds_up(*e.op) && !exact)
      for (Array& x : operands) x = disturb(x, random, zeros);
    operands_before = operands;
    if (!compares(e, operands)) return;
    if (random.chance(0.5)) operands[1] = nearly_equal(operands[0], operands[1]);
    for (Array& x : operands) x = other_nans(x, random);
  }
  void after(const Eqn& e, std::vector<Array>& results) override {
    if (decisions && decides(e, operands_before, results)) decisions->met(results[0], mixed ? &random : nullptr);
    if (exact && std::all_of(results.begin(), results.end(), small_integers)) return;
    const bool converts = conversions && find_rule<ConversionTransform>(*e.op);
    if (!is_exact(*e.op) || converts)
      for (Array& x : results) x = disturb(x, random, zeros);
    if (converts) results[0] = underflowed(operands_before[0], results[0], random);
    if (sums_up(*e.op) && random.chance(0.5)) lean(e, results[0]);
    if (const double chance = zeros ? 1 : random.pick({0., 0., .5, 1.}); chance > 0 && sums_up(*e.op)) cancel(e, chance, results[0]);
    if (!overflows) return;
    // Each disturbance is made with probability 1/2, as a later one may undo it.
    if (random.chance(0.5)) return;
    if (LineSumsTransform::Function* const dimensions = find_rule<LineSumsTransform>(*e.op))
      results[0] = any_in_wild_lines(operands_before[0], results[0], dimensions(*e.params), random);
    if (e.op->kind == Kind::reduce && e.op->combiner == Combiner::sum) results[0] = too_large(operands_before[0], results[0], e, random);
    if (is_product(*e.op)) results[0] = overflowed(e, operands_before, results[0], random);
    const bool reduces = e.op->kind == Kind::reduce || e.op->kind == Kind::cumulative;
    if (reduces && e.op->combiner == Combiner::prod) results[0] = overflowed_reduction(results[0], random);
  }
  void cancel(const Eqn& e, double chance, Array& result) {
    for (Array& x : again) x = disturb(x, random, zeros);
    Hook none;
    const Aval out[] = {result.aval()};
    result = cancelled(result, run_eqn(none, e, again, out)[0], chance, random);
  }
  /// A sum one after the other rounds once for each term, by half a last place at most, maybe always to the same side.
  void lean(const Eqn& e, Array& result) {
    if (e.op->kind != Kind::reduce && e.op->kind != Kind::cumulative && e.op->kind != Kind::dot) return;
    if (!result.dtype().is_inexact() || again[0].size() == 0) return;
    const double terms = terms_of(e, again, result);
    if (terms < 2 * kMargin) return;
    const double share = terms / 2 / kMargin * epsilon_of(result.dtype().real_part());
    std::vector<Array> operands = again;
    operands[0] = leaning(operands[0], random.chance(0.5) ? share : -share);
    Hook none;
    const Aval out[] = {result.aval()};
    result = run_eqn(none, e, operands, out)[0];
  }
  Random random;
  std::vector<Array> operands_before, again;
  bool overflows, conversions, exact = false, mixed = false;
  Decisions* decisions = nullptr;
  bool zeros;  // whatever cancels is zero and stays so, which decides signs in factorisations
};

}  // namespace

std::vector<Array> interpret_with(Hook& hook, const Jaxpr& program, std::span<const Array> inputs) {
  return walk(program, inputs, [&](const Eqn& e, std::span<const Array> operands) {
    std::vector<Array> in(operands.begin(), operands.end());
    hook.before(e, in);
    std::vector<Array> results = run_eqn(hook, e, in, result_avals(program.data(), e));
    hook.after(e, results);
    return results;
  });
}

std::vector<Array> all_values(const Jaxpr& program, std::span<const Array> inputs) {
  Hook none;
  const JaxprData& d = program.data();
  std::vector<Atom> outputs;
  for (std::size_t v = 0; v < d.avals.size(); ++v) outputs.push_back(Atom::var(static_cast<Var>(v)));
  return interpret_with(none, with_outputs(program, outputs), inputs);
}

void Decisions::met(Array& result, Random* random) {
  if (next_ == decisions_.size()) decisions_.push_back({result});
  std::vector<Array>& seen = decisions_[next_++];
  if (seen[0].aval() != result.aval()) return;  // other loops and branches were taken
  const auto same = [&](const Array& x) { return bytes_of(x) == bytes_of(result); };
  if (!random) {
    if (std::none_of(seen.begin(), seen.end(), same)) seen.push_back(result);
    return;
  }
  // Each element the least or the largest that was seen, or any, however seldom it was.
  enum class Choice { least, largest, any } const choice = random->pick({Choice::least, Choice::largest, Choice::any, Choice::any});
  std::vector<std::vector<double>> values;
  for (const Array& x : seen) values.push_back(x.to_vector<double>());
  std::vector<double> mixed = values[0];
  for (std::size_t i = 0; i < mixed.size(); ++i) {
    std::set<double> here;
    for (const std::vector<double>& v : values) here.insert(v[i]);
    const int at = choice == Choice::least     ? 0
                   : choice == Choice::largest ? static_cast<int>(here.size()) - 1
                                               : random->below(static_cast<std::int64_t>(here.size()));
    mixed[i] = *std::next(here.begin(), at);
  }
  result = array(mixed, result.shape(), result.dtype());
}

std::vector<Array> disturbed(const Jaxpr& program, std::span<const Array> inputs, std::uint64_t seed, bool overflows, Decisions& decisions,
                             bool mixed) {
  decisions.begin();
  Disturb hook(seed, overflows, decisions, mixed);
  return interpret_with(hook, program, inputs);
}

std::vector<Array> disturbed(const Jaxpr& program, std::span<const Array> inputs, std::uint64_t seed, bool overflows, bool conversions) {
  Disturb hook(seed, overflows, conversions);
  return interpret_with(hook, program, inputs);
}

}  // namespace weft::fuzz
