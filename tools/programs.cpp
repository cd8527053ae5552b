#include "tools/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/json.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/blocks.h"
#include "weft/runtime/host/device.h"
#include "weft/runtime/host/executable.h"
#include "weft/runtime/sharded/global_arrays.h"

namespace weft::tools {
namespace {

using Complex = std::complex<double>;

std::string index_text(std::int64_t at, const Shape& shape) {
  std::string s;
  for (int d = shape.size() - 1; d >= 0; at /= shape[d], --d) s = std::to_string(at % shape[d]) + (s.empty() ? "" : ", ") + s;
  return "[" + s + "]";
}

bool near(double got, double want, double limit) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= limit;
}
bool near(double got, double want, Tolerance t) { return near(got, want, t.atol + t.rtol * std::abs(want)); }
bool near(const Complex& got, const Complex& want, Tolerance t) {
  const double size = std::abs(want);
  const auto part = [&](double g, double w) {
    return std::isfinite(g) && std::isfinite(w) ? std::abs(g - w) <= t.atol + t.rtol * (std::isnan(size) ? std::abs(w) : size)
                                                : near(g, w, t);
  };
  return part(got.real(), want.real()) && part(got.imag(), want.imag());
}

std::string text_of(double v) { return fmt::format("{:.9g}", v); }
std::string text_of(const Complex& v) { return fmt::format("{:.9g}{:+.9g}j", v.real(), v.imag()); }
std::string text_of(std::int64_t v) { return fmt::format("{}", v); }
std::string text_of(std::uint64_t v) { return fmt::format("{}", v); }

template <class T, class Same>
std::string first_difference(const Array& got, const Array& want, Same&& same) {
  const std::vector<T> g = got.to_vector<T>(), w = want.to_vector<T>();
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < w.size(); ++i)
    if (!same(i, g[i], w[i]) && wrong++ == 0) first = i;
  if (wrong == 0) return {};
  return fmt::format("{} of {} elements are wrong, the first at {}: {}, wanted {}", wrong, w.size(),
                     index_text(static_cast<std::int64_t>(first), want.shape()), text_of(g[first]), text_of(w[first]));
}

/// Rounded to a narrower dtype.
std::vector<double> rounded(const Array& wide, DType dtype) { return convert(wide, dtype).to_vector<double>(); }

}  // namespace

std::vector<ProgramEntry> read_index(const std::string& folder) {
  const std::string path = folder + "/index.json";
  std::vector<ProgramEntry> entries;
  try {
    std::ifstream file(path);
    if (!file) throw IoError(fmt::format("{}: {}", path, std::strerror(errno)));
    const Json index = parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
    for (const Json& p : index.at("programs").list)
      entries.push_back({p.at("name").string, p.at("kind").string, p.at("rtol").number, p.at("atol").number,
                         static_cast<int>(p.at("devices_needed").number)});
  } catch (const IoError&) {
    throw;
  } catch (const Error& e) {
    throw IoError(path + ": " + e.message());
  }
  return entries;
}

std::vector<Array> numbered(const std::map<std::string, Array>& arrays, const std::string& prefix) {
  std::vector<Array> out;
  for (auto at = arrays.find(prefix + "0"); at != arrays.end(); at = arrays.find(prefix + std::to_string(out.size())))
    out.push_back(at->second);
  return out;
}

void check_inputs(const std::string& name, const Jaxpr& program, const std::vector<Array>& inputs) {
  const std::vector<ShapeDtypeStruct> wanted = program.in_avals();
  if (inputs.size() != wanted.size())
    throw ShapeError(fmt::format("{}: the program has {} inputs, but {} given", name, wanted.size(),
                                 inputs.size() == 1 ? std::string("1 is") : fmt::format("{} are", inputs.size())));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].shape() != wanted[i].shape || inputs[i].dtype() != wanted[i].dtype)
      throw ShapeError(fmt::format("{}: in{} is {}, but the program's input is {}", name, i, detail::to_string(inputs[i].aval()),
                                   detail::to_string(detail::Aval{wanted[i].shape, wanted[i].dtype})));
}

std::vector<Array> run_on(const std::string& platform, const std::string& name, const Jaxpr& program, const std::vector<Array>& inputs) {
  check_inputs(name, program, inputs);
  const Device device = devices(platform == "interp" ? "cpu" : platform)[0];
  // The host's backends read the host's memory.
  const std::vector<Array> here = platform == "cuda" ? inputs : detail::fetched(inputs, device.id());
  return detail::backend(platform).compile(program, {.name = name})->call(here, device.id());
}

std::string difference(const Array& got, const Array& want, const Array* wide, Tolerance tolerance) {
  if (got.shape() != want.shape() || got.dtype() != want.dtype())
    return fmt::format("{}, wanted {}", detail::to_string(got.aval()), detail::to_string(want.aval()));
  if (want.dtype().is_unsigned())
    return first_difference<std::uint64_t>(got, want, [](std::size_t, std::uint64_t g, std::uint64_t w) { return g == w; });
  if (!want.dtype().is_inexact())
    return first_difference<std::int64_t>(got, want, [](std::size_t, std::int64_t g, std::int64_t w) { return g == w; });
  if (tolerance.exact) tolerance.rtol = tolerance.atol = 0;
  if (want.dtype().is_complex())
    return first_difference<Complex>(got, want, [&](std::size_t, const Complex& g, const Complex& w) { return near(g, w, tolerance); });
  std::vector<double> truth;
  if (wide && !tolerance.exact) truth = rounded(*wide, want.dtype());
  return first_difference<double>(got, want, [&](std::size_t i, double g, double w) {
    return near(g, w, tolerance) || (!truth.empty() && near(g, truth[i], tolerance));
  });
}

std::string check_program(const std::string& folder, const ProgramEntry& entry, const std::string& platform, const std::vector<int>& exact,
                          const std::function<Jaxpr(const Jaxpr&)>& change) {
  const std::string path = folder + "/" + entry.name;
  Jaxpr program = load_jaxpr(path + ".jaxpr", path + ".npz");
  if (change) program = change(program);
  const std::map<std::string, Array> arrays = load_npz(path + ".npz");
  const std::vector<Array> want = numbered(arrays, "out");
  const std::vector<Array> got = run_on(platform, entry.name, program, numbered(arrays, "in"));
  if (got.size() != want.size()) return fmt::format("{} results, wanted {}", got.size(), want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Array whole = got[k].is_fully_addressable() ? got[k] : process_allgather(got[k]);
    const auto wide = arrays.find(fmt::format("out{}.f64", k));
    const bool is_exact = std::find(exact.begin(), exact.end(), static_cast<int>(k)) != exact.end();
    const std::string wrong =
        difference(whole, want[k], wide == arrays.end() ? nullptr : &wide->second, {entry.rtol, entry.atol, is_exact});
    if (!wrong.empty()) return fmt::format("out{}: {}", k, wrong);
  }
  return {};
}

std::string check_beside(const std::string& path, const Jaxpr& program, const std::string& platform) {
  const std::string arrays_path = std::filesystem::path(path).replace_extension(".npz").string();
  if (!std::filesystem::exists(arrays_path))
    throw IoError(fmt::format(
        "the program has no checks in it, and {}, which would hold its inputs (in0, ...) and results (out0, ...), does not exist",
        arrays_path));
  const std::map<std::string, Array> arrays = load_npz(arrays_path);
  const std::vector<Array> want = numbered(arrays, "out");
  const std::vector<Array> got = run_on(platform, path, program, numbered(arrays, "in"));
  if (got.size() != want.size()) return fmt::format("the program has {} results, but {} holds {}", got.size(), arrays_path, want.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    constexpr int kUnits = 100;
    const DType part = want[k].dtype().real_part();
    const double precision = part == float64 ? 0x1p-52 : part == float32 ? 0x1p-23 : part == float16 ? 0x1p-10 : 0x1p-7;
    const std::string wrong = difference(got[k], want[k], nullptr, {kUnits * precision, kUnits * precision, false});
    if (!wrong.empty()) return fmt::format("out{}: {}", k, wrong);
  }
  return {};
}

}  // namespace weft::tools
