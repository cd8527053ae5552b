#include "random.h"

#include <cstdio>

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

}  // namespace

void random_workloads(const Options& o, std::uint64_t first, int count) {
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const std::string name = fmt::format("random_{}", seed);
    if (!o.wants(name)) continue;
    Writer notes(seed, {});
    std::string results;
    try {
      make_jaxpr([&](Array) {
        std::vector<Array> out;
        for (const auto& v : write_program(notes)) {
          results += v.name + ", ";
          out.push_back(v.array);
        }
        return out;
      })(0.f);
      std::string inputs;
      for (const Input& in : notes.inputs())
        inputs += fmt::format("{}[[{}], \"{}\", {}, {}, {}]", inputs.empty() ? "" : ", ", fmt::join(in.shape, ", "), in.dtype.name(),
                              in.scale, in.shift, in.seed);
      // Arguments are many or few: the function takes them as one vector.
      const auto program = [seed](const std::vector<Array>& arguments) {
        Writer w(seed, arguments);
        std::vector<Array> out;
        for (const auto& v : write_program(w)) out.push_back(v.array);
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
    } catch (const Error& error) {
      fmt::print("{{\"peer\": \"weft\", \"workload\": \"{}\", \"family\": \"{}\", \"error\": {}}}\n", name, notes.family,
                 quoted(error.what()));
      std::fflush(stdout);
    }
  }
}

}  // namespace bench
