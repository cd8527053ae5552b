// Running self-checking programs in StableHLO (see stablehlo.h).
#include "tools/stablehlo.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tools/programs.h"
#include "weft/core/io/io.h"
#include "weft/frontends/stablehlo/stablehlo.h"

namespace weft::tools {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw IoError(fmt::format("{}: can't be read", path));
  std::string all(std::istreambuf_iterator<char>(file), {});
  if (is_binary_stablehlo(all)) return {std::move(all)};
  std::istringstream in(std::move(all));
  std::vector<std::string> parts(1);
  int line_number = 0;
  for (std::string line; std::getline(in, line); ++line_number) {
    if (line.rfind("// -----", 0) == 0) {
      // So that lines count from the file's beginning.
      parts.emplace_back(static_cast<std::size_t>(line_number) + 1, '\n');
      continue;
    }
    parts.back() += line + '\n';
  }
  return parts;
}

void check_part(const std::string& text, const std::string& path, const std::string& platform, std::vector<StablehloOutcome>& out) {
  std::vector<std::string> functions;
  try {
    functions = stablehlo_functions(text);
  } catch (const Error& e) {
    out.push_back({{}, 0, e.message()});
    return;
  }
  for (const std::string& name : functions) {
    StablehloOutcome outcome{name, 0, {}};
    try {
      const StablehloProgram program = parse_stablehlo_checks(text, {.function = name}, path);
      outcome.num_checks = static_cast<int>(program.checks.size());
      if (!program.jaxpr.in_avals().empty() || (program.checks.empty() && name != "main")) continue;
      outcome.problem = failed_stablehlo_check(program, run_on(platform, name, program.jaxpr, {}));
    } catch (const Error& e) {
      outcome.problem = e.message();
    }
    out.push_back(std::move(outcome));
  }
}

}  // namespace

bool is_stablehlo(const std::string& path) {
  if (path.ends_with(".mlir")) return true;
  if (!std::filesystem::is_regular_file(path)) return false;
  std::ifstream file(path, std::ios::binary);
  return is_binary_stablehlo(std::string(std::istreambuf_iterator<char>(file), {}));
}

Jaxpr load_program(const std::string& path, const std::string& arrays) {
  if (!is_stablehlo(path)) return load_jaxpr(path, arrays);
  StablehloOptions options;
  if (!arrays.empty()) {
    const std::map<std::string, Array> given = load_npz(arrays);
    for (auto in = given.find("in0"); in != given.end(); in = given.find(fmt::format("in{}", options.inputs.size())))
      options.inputs.push_back({in->second.shape(), in->second.dtype()});
  }
  return load_stablehlo(path, options);
}

std::vector<StablehloOutcome> check_stablehlo(const std::string& path, const std::string& platform) {
  std::vector<StablehloOutcome> out;
  for (const std::string& part : parts_of(path)) check_part(part, path, platform, out);
  return out;
}

}  // namespace weft::tools
