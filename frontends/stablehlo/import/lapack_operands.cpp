// The custom calls of LAPACK that JAX wrote until 0.4: sizes and choices are operands before the matrices, workspace is among the results.
// Each is the call of the same routine as JAX writes it since (lapack.cpp, lapack_host.cpp), whose choices are attributes.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

/// The integers before the matrices, as they are needed: a batch's size may be computed.
class Numbers {
 public:
  explicit Numbers(const OpCall& c) : c_(c) {}
  std::int64_t operator[](std::size_t i) const {
    const Array& x = c_.in(i);
    if (x.size() != 1 || !x.dtype().is_integer() || (!as_literal(x) && !as_concrete(x)))
      c_.fail(fmt::format("operand {} is not a constant integer", i));
    return x.item<std::int64_t>();
  }
  std::int64_t upper_or_lower(std::size_t i) const { return (*this)[i] ? 'L' : 'U'; }

 private:
  const OpCall& c_;
};
using Choices = std::vector<std::pair<const char*, std::int64_t>>;

struct Routine {
  const char* prefix;
  const char* letters;  ///< for the dtype: float32, float64, complex64, complex128
  const char* name;
  std::size_t num_numbers;
  Choices (*choices)(const Numbers& n);
  const char* results;      ///< which result of the newer call each is; -: workspace
  bool has_factor = false;  ///< the last number multiplies the result
};

Choices none(const Numbers&) { return {}; }
Choices uplo_first(const Numbers& n) { return {{"uplo", n.upper_or_lower(0)}}; }
Choices of_trsm(const Numbers& n) {
  constexpr char kTranspose[] = {'N', 'T', 'C'};
  const std::int64_t transpose = n[2];
  return {{"side", n[0] ? 'L' : 'R'},
          {"uplo", n.upper_or_lower(1)},
          {"trans_x", transpose >= 0 && transpose <= 2 ? kTranspose[transpose] : 0},
          {"diag", n[3] ? 'U' : 'N'}};
}
Choices of_gesdd(const Numbers& n) { return {{"mode", !n[1] ? 'N' : n[0] ? 'A' : 'S'}}; }
Choices of_geev(const Numbers& n) { return {{"compute_left", n[2]}, {"compute_right", n[3]}}; }
Choices of_gees(const Numbers& n) { return {{"mode", n[2]}, {"sort", n[3]}}; }
Choices of_gehrd(const Numbers& n) { return {{"low", n[1]}, {"high", n[2]}}; }
Choices of_trd(const Numbers& n) { return {{"uplo", n.upper_or_lower(1)}}; }

constexpr Routine kRoutines[] = {{"lapack", "sdcz", "potrf", 3, uplo_first, "01"},  {"blas", "sdcz", "trsm", 8, of_trsm, "0", true},
                                 {"lapack", "sdcz", "getrf", 3, none, "012"},       {"lapack", "sdcz", "geqrf", 4, none, "01--"},
                                 {"lapack", "sd", "orgqr", 5, none, "0--"},         {"lapack", "cz", "ungqr", 5, none, "0--"},
                                 {"lapack", "sd", "syevd", 3, uplo_first, "012--"}, {"lapack", "cz", "heevd", 3, uplo_first, "012---"},
                                 {"lapack", "sd", "gesdd", 6, of_gesdd, "01234--"}, {"lapack", "cz", "gesdd", 6, of_gesdd, "01234---"},
                                 {"lapack", "sd", "geev", 4, of_geev, "---01234"},  {"lapack", "cz", "geev", 4, of_geev, "--0123"},
                                 {"lapack", "sd", "gees", 4, of_gees, "023154"},    {"lapack", "cz", "gees", 4, of_gees, "0-2143"},
                                 {"lapack", "sdcz", "gehrd", 6, of_gehrd, "012-"},  {"lapack", "sd", "sytrd", 5, of_trd, "01234-"},
                                 {"lapack", "cz", "hetrd", 5, of_trd, "01234-"}};

Values call_newer(OpCall& c, const Routine& r, char letter) {
  const std::string places = r.results;
  if (c.num_operands() <= r.num_numbers || c.op.result_types.size() != places.size())
    c.fail(fmt::format("it has {} operands and {} results", c.num_operands(), c.op.result_types.size()));
  Operation op = c.op;
  op.attributes = Attribute(Attribute::Kind::dictionary, op.place);
  Attribute config(Attribute::Kind::dictionary, op.place), target(Attribute::Kind::string, op.place);
  for (const auto& [key, number] : r.choices(Numbers(c))) {
    Attribute a(Attribute::Kind::integer, op.place);
    a.integer = number;
    config.keys.emplace_back(key), config.items.push_back(std::move(a));
  }
  target.text = fmt::format("lapack_{}{}_ffi", letter, r.name);
  const ImportFunction newer = find_import("custom_call." + target.text);
  op.attributes.keys = {"call_target_name", "mhlo.backend_config"};
  op.attributes.items = {std::move(target), std::move(config)};
  op.operand_types.clear(), op.result_types.clear();
  std::vector<std::size_t> made_by;  // by result of the newer call
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] != '-') {
      const auto at = static_cast<std::size_t>(places[i] - '0');
      made_by.resize(std::max(made_by.size(), at + 1));
      made_by[at] = i;
    }
  for (const std::size_t i : made_by) op.result_types.push_back(c.op.result_types[i]);
  Values matrices;
  for (std::size_t i = r.num_numbers; i < c.num_operands(); ++i) matrices.push_back(c.value(i));
  OpCall call(c.importer(), op, std::move(matrices), c.loc);
  const Values results = newer(call);
  Values out;
  for (std::size_t i = 0; i < places.size(); ++i)
    out.push_back(places[i] != '-' ? results.at(static_cast<std::size_t>(places[i] - '0'))
                                   : Value(zeros_of({c.result(i).shape, c.result(i).dtype}, c.loc)));
  return out;
}

/// The same of a routine whose last number is a factor.
Values scaled(OpCall& c, const Routine& r, char letter) {
  Values out = call_newer(c, r, letter);
  const Array& alpha = c.in(r.num_numbers - 1);
  if (alpha.ndim() != 0 || alpha.dtype() != out[0].array.dtype()) c.fail("its factor is not a number of the matrices' type");
  out[0].array = out[0].array * alpha;
  return out;
}

std::string target_of(const Routine& r, char letter) { return fmt::format("{}_{}{}", r.prefix, letter, r.name); }

Values import_routine(OpCall& c) {
  const std::string target = c.symbol("call_target_name");
  for (const Routine& r : kRoutines)
    for (const char* l = r.letters; *l; ++l)
      if (target == target_of(r, *l)) return r.has_factor ? scaled(c, r, *l) : call_newer(c, r, *l);
  c.fail("the routine " + target + " is not known");
}

[[maybe_unused]] const bool imported = [] {
  for (const Routine& r : kRoutines)
    for (const char* l = r.letters; *l; ++l) Import(("custom_call." + target_of(r, *l)).c_str(), import_routine);
  return true;
}();

}  // namespace
}  // namespace weft::detail::mlir
