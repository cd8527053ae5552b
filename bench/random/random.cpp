#include "random.h"

#include <cstdio>
#include <exception>
#include <stdexcept>

#include "rows.h"
#include "writer.h"

using namespace weft;

namespace bench {
namespace {

using random_programs::Input;
using random_programs::Values;
using random_programs::Writer;

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text)
    if (c == '\n')
      out += "\\n";
    else if (c == '"' || c == '\\')
      (out += '\\') += c;
    else
      out += c;
  return out + "\"";
}

Array filled(const Input& in) {
  const Array x = fill(in.shape, in.scale, in.shift, in.seed);
  return astype(in.dtype.is_floating() ? x : floor(x), in.dtype);
}

/// Runs what a function writes, and prints it as JAX's too.
template <class Write>
void written_workload(const Options& o, const std::string& name, std::uint64_t seed, Write write) {
  if (!o.wants(name)) return;
  Writer notes(seed, {});
  notes.family = "row";
  std::string results;
  constexpr std::int64_t kMostElements = std::int64_t{1} << 28;
  try {
    make_jaxpr([&](Array) {
      std::vector<Array> out;
      for (const auto& v : write(notes)) {
        if (v.shape().num_elements() > kMostElements)
          throw std::length_error(fmt::format("a result of {} elements, of at most {}", v.shape().num_elements(), kMostElements));
        results += v.name + ", ";
        out.push_back(v.array);
      }
      return out;
    })(0.f);
    std::string inputs;
    for (const Input& in : notes.inputs())
      inputs += fmt::format("{}[[{}], \"{}\", {}, {}, {}]", inputs.empty() ? "" : ", ", fmt::join(in.shape, ", "), in.dtype.name(),
                            in.scale, in.shift, in.seed);
    const auto program = [seed, write](const std::vector<Array>& arguments) {
      Writer w(seed, arguments);
      std::vector<Array> out;
      for (const auto& v : write(w)) out.push_back(v.array);
      return out;
    };
    workload(
        o, name,
        [&] {
          std::vector<Array> arguments;
          for (const Input& in : notes.inputs()) arguments.push_back(filled(in));
          return std::tuple{arguments};
        },
        jit(program),
        fmt::format("\"family\": \"{}\", \"inputs\": [{}], \"python\": {}, ", notes.family, inputs,
                    quoted(notes.text() + "    return " + results)));
  } catch (const std::exception& error) {  // also where memory is short: the other rows go on
    fmt::print("{{\"peer\": \"weft\", \"workload\": \"{}\", \"family\": \"{}\", \"error\": {}}}\n", name, notes.family,
               quoted(error.what()));
    std::fflush(stdout);
  }
}

}  // namespace

void random_workloads(const Options& o, std::uint64_t first, int count) {
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed)
    written_workload(o, fmt::format("random_{}", seed), seed, random_programs::write_program);
}

void written_rows(const Options& o) {
  using namespace random_programs;
  for (const auto table : {rows, array_rows, network_rows, science_rows, algebra_rows, model_rows, number_rows, image_rows, integer_rows})
    for (const Row& row : table()) written_workload(o, row.name, 1, row.write);
}

}  // namespace bench
