// weft run f.jaxpr --inputs in.npz --outputs out.npz [--backend interp|cpu|cuda]
// weft check DIR [--backend interp|cpu|cuda]
// weft devices
//
// run: runs a program in JAX's notation. The inputs are in0, in1, ... and the constants const0, ... in in.npz; the results are written as
// out0, out1, ... to out.npz. A program over several devices needs WEFT_NUM_CPU_DEVICES.
//
// check: runs the programs that DIR/index.json lists, on as many devices as they need, and compares their results; prints a line for each
// that fails and closes with `N passed, N failed`. The layout of DIR is told in tools/programs.h.
//
// devices: says which GPUs and which of NVIDIA's libraries there are.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/programs.h"
#include "weft/backends/cuda/report.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/host/device.h"

namespace weft::tools {
namespace {

constexpr const char* kUsage =
    "usage: weft run PROGRAM.jaxpr --inputs IN.npz --outputs OUT.npz [--backend interp|cpu|cuda]\n"
    "       weft check DIR [--backend interp|cpu|cuda]\n"
    "       weft devices\n";

struct CommandLine {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;
};
std::optional<CommandLine> read_command_line(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      line.words.push_back(word);
      continue;
    }
    if (i + 1 == argc || (word != "--inputs" && word != "--outputs" && word != "--backend")) return {};
    line.options[word.substr(2)] = argv[++i];
  }
  return line;
}

int run(const std::string& path, const CommandLine& line, const std::string& backend) {
  const std::string in_path = line.options.at("inputs");
  const Jaxpr program = load_jaxpr(path, in_path);
  const std::vector<Array> results = run_on(backend, path, program, numbered(load_npz(in_path), "in"));
  std::map<std::string, Array> named;
  for (std::size_t k = 0; k < results.size(); ++k) named.emplace(fmt::format("out{}", k), results[k]);
  save_npz(line.options.at("outputs"), named);
  return 0;
}

int check(const std::string& folder, const std::string& backend) {
  const std::vector<ProgramEntry> entries = read_index(folder);
  for (const ProgramEntry& e : entries) config.num_cpu_devices = std::max(config.num_cpu_devices, e.devices_needed);
  int passed = 0, failed = 0;
  for (const ProgramEntry& e : entries) {
    std::string wrong;
    try {
      wrong = check_program(folder, e, backend);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    ++(wrong.empty() ? passed : failed);
    if (!wrong.empty()) fmt::print("{}: {}\n", e.name, wrong);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  const std::optional<CommandLine> line = read_command_line(argc, argv);
  if (line && line->words.size() == 1 && line->words[0] == "devices") {
    fmt::print("{}", detail::gpu_report());
    return 0;
  }
  if (line && line->words.size() == 2) {
    const auto chosen = line->options.find("backend");
    const std::string backend = chosen == line->options.end() ? "cpu" : chosen->second;
    if (line->words[0] == "check") return check(line->words[1], backend);
    if (line->words[0] == "run" && line->options.count("inputs") && line->options.count("outputs"))
      return run(line->words[1], *line, backend);
  }
  fmt::print(stderr, "{}", kUsage);
  return 2;
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  setenv("WEFT_TRACEBACK", "0", 0);  // its own functions tell nobody anything
  try {
    return weft::tools::main(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", error.what());
    return 1;
  }
}
