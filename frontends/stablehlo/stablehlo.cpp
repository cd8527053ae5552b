// The readers of StableHLO, and the checks that programs do of themselves.
#include "weft/frontends/stablehlo/stablehlo.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "weft/core/array/storage.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ops/control/call.h"
#include "weft/frontends/stablehlo/bytecode/reader.h"
#include "weft/frontends/stablehlo/exported/file.h"
#include "weft/frontends/stablehlo/import/importer.h"
#include "weft/frontends/stablehlo/read.h"

namespace weft {
namespace detail {
namespace {

StablehloProgram read_program(std::string_view text, const StablehloOptions& options, const std::string& file, SourceLoc loc) {
  const mlir::Module module = mlir::read_module(text, file, loc);
  const mlir::Function* const f = module.find(options.function);
  if (!f) throw Error(fmt::format("{}:1:1: the module has no function @{}", file, options.function), loc);
  mlir::Importer importer(module, mlir::kept_name(file), loc);
  const bool is_open =
      std::any_of(f->body.types.begin(), f->body.types.end(), [](const mlir::Type& t) { return t.kind == mlir::Type::Kind::open_tensor; });
  if (!is_open || options.inputs.empty()) return importer.import_function(options.function);
  std::vector<Aval> inputs;
  for (const ShapeDtypeStruct& s : options.inputs) inputs.push_back({s.shape, s.dtype});
  return importer.import_function(options.function, inputs);
}

/// The bits of a float without its sign, and the sign.
template <class T>
std::pair<std::uint64_t, bool> magnitude_bits(T v) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  const std::uint64_t sign = std::uint64_t{1} << (8 * sizeof v - 1);
  return {bits & ~sign, (bits & sign) != 0};
}

/// How many representable numbers are between two, as CHECK_ExpectCloseOp of StableHLO counts: none between NaNs, the most where one of
/// different numbers is not finite.
template <class T>
std::uint64_t ulps_between(T a, T b) {
  const auto [ma, na] = magnitude_bits(a);
  const auto [mb, nb] = magnitude_bits(b);
  if (ma == mb && na == nb) return 0;
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  if (std::isfinite(x) && std::isfinite(y)) return na != nb ? ma + mb : ma > mb ? ma - mb : mb - ma;
  return std::isnan(x) && std::isnan(y) ? 0 : ~std::uint64_t{0};
}

template <class T>
bool passes(const StablehloCheck& check, T a, T b) {
  if constexpr (is_complex_storage<T>) {
    if (check.kind == StablehloCheck::Kind::equal) return a == b;
    if (check.kind == StablehloCheck::Kind::almost_equal) return passes(check, a.real(), b.real()) && passes(check, a.imag(), b.imag());
    const std::uint64_t n = std::max(ulps_between(a.real(), b.real()), ulps_between(a.imag(), b.imag()));
    return n >= check.min_ulp_difference && n <= check.max_ulp_difference;
  } else if constexpr (is_floating_storage<T>) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (check.kind == StablehloCheck::Kind::equal) return x == y || (std::isnan(x) && std::isnan(y));
    if (check.kind == StablehloCheck::Kind::almost_equal) {
      if (x == y || (std::isnan(x) && std::isnan(y))) return true;
      return std::isfinite(x) && std::isfinite(y) && std::abs(x - y) <= check.tolerance;
    }
    const std::uint64_t n = ulps_between(a, b);
    return n >= check.min_ulp_difference && n <= check.max_ulp_difference;
  } else {
    return a == b;
  }
}

template <class T>
std::string printed(T v) {
  if constexpr (is_complex_storage<T>)
    return fmt::format("({}, {})", v.real(), v.imag());
  else if constexpr (is_floating_storage<T>)
    return fmt::format("{}", static_cast<double>(v));
  else
    return fmt::format("{}", v);
}

std::string compare(const StablehloCheck& check, const Array& actual, const Array& expected) {
  if (actual.shape() != expected.shape() || actual.dtype() != expected.dtype())
    return fmt::format("line {}: {} is given, {} is expected", check.line, to_string(actual.aval()), to_string(expected.aval()));
  return with_storage(actual.dtype(), [&]<class T>() -> std::string {
    const auto n = static_cast<std::size_t>(actual.size());
    std::vector<unsigned char> bytes[2];
    const Array* const arrays[2] = {&actual, &expected};
    for (int side = 0; side < 2; ++side) {
      bytes[side].resize(n * sizeof(T));
      read_elements(*arrays[side], actual.dtype(), bytes[side].data(), "check", {});
    }
    std::size_t wrong = 0, first = 0;
    T got{}, want{};
    for (std::size_t i = 0; i < n; ++i) {
      T a, b;
      std::memcpy(&a, bytes[0].data() + i * sizeof(T), sizeof(T)), std::memcpy(&b, bytes[1].data() + i * sizeof(T), sizeof(T));
      if (passes(check, a, b)) continue;
      if (wrong++ == 0) first = i, got = a, want = b;
    }
    if (wrong == 0) return {};
    return fmt::format("line {}: {} of {} elements of {} are wrong; the first, {}, is {} and {} is expected", check.line, wrong, n,
                       to_string(actual.aval()), first, printed(got), printed(want));
  });
}

}  // namespace
}  // namespace detail

Jaxpr parse_stablehlo(std::string_view text, StablehloOptions options, SourceLoc loc) {
  return detail::guarded("parse_stablehlo", loc, [&] {
    const StablehloProgram program = detail::read_program(text, options, "stablehlo", loc);
    const auto& outputs = program.jaxpr.data().outputs;
    if (program.checks.empty()) return program.jaxpr;
    return detail::dce_program(detail::with_outputs(program.jaxpr, {outputs.begin(), outputs.begin() + program.num_results}));
  });
}

Jaxpr load_stablehlo(const std::string& path, StablehloOptions options, SourceLoc loc) {
  return detail::guarded("load_stablehlo", loc, [&] {
    const StablehloProgram program = detail::read_program(detail::read_file(path, loc, "load_stablehlo"), options, path, loc);
    const auto& outputs = program.jaxpr.data().outputs;
    if (program.checks.empty()) return program.jaxpr;
    return detail::dce_program(detail::with_outputs(program.jaxpr, {outputs.begin(), outputs.begin() + program.num_results}));
  });
}

StablehloProgram parse_stablehlo_checks(std::string_view text, StablehloOptions options, const std::string& file, SourceLoc loc) {
  return detail::guarded("parse_stablehlo_checks", loc, [&] { return detail::read_program(text, options, file, loc); });
}

bool is_binary_stablehlo(std::string_view bytes) { return detail::mlir::is_bytecode(bytes) || detail::is_exported(bytes); }

std::vector<std::string> stablehlo_functions(std::string_view text, SourceLoc loc) {
  std::vector<std::string> names;
  for (const detail::mlir::Function& f : detail::mlir::read_module(text, "stablehlo", loc).functions)
    if (!f.is_declaration) names.push_back(f.name);
  return names;
}

std::string failed_stablehlo_check(const StablehloProgram& program, const std::vector<Array>& results) {
  for (std::size_t i = 0; i < program.checks.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(program.num_results) + 2 * i;
    if (std::string wrong = detail::compare(program.checks[i], results.at(at), results.at(at + 1)); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace weft
