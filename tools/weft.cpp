// The command `weft`: runs, shows, transforms, measures, compiles and checks programs in JAX's notation or in StableHLO (text or bytecode),
// and reports what weft finds on the machine. --help prints the table of commands below; docs/weft.1 and the shell completion say the same,
// which a test checks. The exit status is 0 for success, 1 for a failure, 2 for a wrong command line.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "tools/command_line.h"
#include "tools/doctor.h"
#include "tools/programs.h"
#include "tools/stablehlo.h"
#include "tools/transformed.h"
#include "weft/core/base/config.h"
#include "weft/core/errors/error.h"
#include "weft/version.h"

namespace weft::tools {
namespace {

constexpr std::string_view kAbout = "run, transform, measure and compile programs in JAX's notation or StableHLO";

/// The text of an error, with its line if that is a line of the program; lines of the tool's own sources are left out.
std::string told(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (!own || std::getenv("WEFT_TRACEBACK")) return error.what();
  const SourceLoc where = own->where();
  const bool of_program = where && !std::string_view(where.file()).ends_with(".cpp");
  return own->message() + (of_program ? fmt::format("\n  at {}:{}", where.file(), where.line()) : "");
}

/// Counts and prints the outcomes of checks.
class Tally {
 public:
  void add(const std::string& line, bool good) {
    ++(good ? passed_ : failed_);
    if (!line.empty()) fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  int end() const {
    fmt::print("{} passed, {} failed\n", passed_, failed_);
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

 private:
  int passed_ = 0, failed_ = 0;
};

/// Checks one file: each function that has checks in it, or, for a program without any, its results against those in the .npz file.
void check_file(const std::string& path, const std::string& backend, Tally& tally) {
  try {
    const std::string arrays = std::filesystem::path(path).replace_extension(".npz").string();
    const bool has_arrays = std::filesystem::exists(arrays);
    const std::vector<StablehloOutcome> outcomes = is_stablehlo(path) ? check_stablehlo(path, backend) : std::vector<StablehloOutcome>();
    const bool checks_itself = std::any_of(outcomes.begin(), outcomes.end(), [](const StablehloOutcome& o) { return o.num_checks > 0; });
    // A program whose results are in a file is checked as a whole, and not function by function.
    if (checks_itself || (!outcomes.empty() && !has_arrays)) {
      for (const StablehloOutcome& o : outcomes)
        tally.add(
            fmt::format("{}: @{}: {}", path, o.function, o.problem.empty() ? fmt::format("{} checks passed", o.num_checks) : o.problem),
            o.problem.empty());
      return;
    }
    const std::string wrong = check_beside(path, load_program(path, has_arrays ? arrays : ""), backend);
    tally.add(fmt::format("{}: {}", path, wrong.empty() ? "the results agree" : wrong), wrong.empty());
  } catch (const std::exception& error) {
    tally.add(fmt::format("{}: {}", path, told(error)), false);
  }
}

int check_command(const Arguments& line) {
  Tally tally;
  const std::string backend = line.get("backend", "cpu");
  const bool is_folder = line.words.size() == 1 && !std::filesystem::is_regular_file(line.words[0]) && !is_stablehlo(line.words[0]);
  if (!is_folder) {
    for (const std::string& path : line.words) check_file(path, backend, tally);
    return tally.end();
  }
  const std::string& folder = line.words[0];
  const std::vector<ProgramEntry> entries = read_index(folder);
  for (const ProgramEntry& e : entries) config.num_cpu_devices = std::max(config.num_cpu_devices, e.devices_needed);
  for (const ProgramEntry& e : entries) {
    std::string wrong;
    try {
      wrong = check_program(folder, e, backend);
    } catch (const std::exception& error) {
      wrong = told(error);
    }
    tally.add(wrong.empty() ? "" : fmt::format("{}: {}", e.name, wrong), wrong.empty());
  }
  return tally.end();
}

const Option kBackend{"backend", "NAME", "interp, cpu (the default) or cuda", false, {"interp", "cpu", "cuda"}};
const Option kConstants{"constants", "FILE.npz", "values of the program's constants: const0, const1, ..."};
const Option kOutput{"output", "FILE.mlir", "write it as StableHLO, with all constants, to this file instead of printing"};

const std::vector<Command>& commands() {
  static const auto& all = *new std::vector<Command>{
      {"run",
       "PROGRAM",
       "Run a program",
       "The .npz file of inputs holds in0, in1, ... and the program's constants const0, const1, ...; results are named out0,\nout1, ... "
       "A program for several devices needs WEFT_NUM_CPU_DEVICES.",
       {{"inputs", "FILE.npz", "read the inputs from this file (required if the program has any)"},
        {"outputs", "FILE.npz", "write the results to this file instead of printing them"},
        kBackend},
       run_command},
      {"show", "PROGRAM", "Check a program and print it in JAX's notation", "", {kConstants}, show_command},
      {"export",
       "PROGRAM",
       "Write a program as StableHLO text, which JAX and others read",
       "",
       {{"output", "FILE.mlir", "write to this file instead of printing"}, kConstants},
       export_command},
      {"grad",
       "PROGRAM",
       "Print the gradient of a program whose only result is a number",
       "The gradient's inputs are those of the program; its results are the derivatives.",
       {{"wrt", "I,J,...", "differentiate by these inputs, counted from 0 (default: all of floating type)"}, kOutput, kConstants},
       grad_command},
      {"vmap",
       "PROGRAM",
       "Print the batched program, with a new first axis in each input and result",
       "",
       {{"size", "N", "the size of the new axis", true}, kOutput, kConstants},
       vmap_command},
      {"jit",
       "PROGRAM",
       "Print what a program is compiled to",
       "",
       {{"form",
         "NAME",
         "jaxpr (the simplified program, the default), kernels, schedule, llvm, asm, or ptx for GPUs",
         false,
         {"jaxpr", "kernels", "schedule", "llvm", "asm", "ptx"}},
        kConstants},
       jit_command},
      {"bench",
       "PROGRAM",
       "Time a compiled program",
       "Without --inputs, floating-point inputs are random numbers and others are zeros.",
       {{"inputs", "FILE.npz", "read in0, in1, ... and const0, const1, ... from this file"},
        {"seconds", "S", "call the program for this long (default: 1)"},
        kBackend},
       bench_command},
      {"compile",
       "PROGRAM",
       "Compile a program to an object file and a C header that need no weft",
       "With several targets among x86-64, x86-64-v2, x86-64-v3 and x86-64-v4, the file holds code for each, and every call\n"
       "runs the best that the processor supports. Such files, and programs that sort, transform or factor, link with\n"
       "libweft_aot.a.",
       {{"output", "NAME", "write NAME.o and NAME.h with the C function NAME (default: the program's name)"},
        {"targets",
         "CPU,...",
         "native (the default), x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or aarch64",
         false,
         {"native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}},
        {"grad", "", "add derivatives: NAME_grad, or NAME_vjp if the result is not one number"},
        kConstants},
       compile_command},
      {"view",
       "PROGRAM",
       "Write an HTML page that shows a program, each pass over it, its kernels and their cost",
       "The page is one self-contained file. Without --inputs the program is timed on random numbers, with zeros for inputs\nthat are not "
       "of floating type.",
       {{"output", "FILE.html", "write this file (default: the program's name with .html)"},
        {"inputs", "FILE.npz", "read in0, in1, ... and const0, const1, ... from this file"},
        {"unmeasured", "", "compile the program but don't run it"},
        kConstants},
       view_command},
      {"check",
       "FOLDER|PROGRAM...",
       "Run programs and compare their results with stored ones",
       "FOLDER/index.json lists programs: NAME.jaxpr with its inputs, constants and results in NAME.npz. A PROGRAM given\n"
       "instead runs the checks inside it; if it has none, its results are compared with out0, out1, ... in the .npz file\n"
       "of the same name beside it.",
       {kBackend},
       check_command},
      {"devices",
       "",
       "List the devices that programs can run on, and NVIDIA's libraries",
       "",
       {{"platform", "NAME", "only cpu or cuda; fail if there is no such device", false, {"cpu", "cuda"}}},
       devices_command},
      {"doctor",
       "",
       "Report what weft finds on this machine, what is wrong or missing, and how to fix it",
       "Covers the processor, libraries, GPUs, MPI, the cache of compiled code, and environment variables.",
       {{"variables", "", "only list the environment variables that weft reads"}},
       doctor},
  };
  return all;
}

int main(std::span<const char* const> words) {
  const std::string_view first = words.empty() ? "" : words[0];
  if (first == "--version" || first == "-V") {
    fmt::print("weft {}\n", version());
    return 0;
  }
  const bool wants_help = first == "--help" || first == "-h" || first == "help";
  if (wants_help && words.size() == 1) {
    fmt::print("{}", help("weft", kAbout, commands()));
    return 0;
  }
  if (words.empty()) {
    fmt::print(stderr, "{}", help("weft", kAbout, commands()));
    return 2;
  }
  if (first.starts_with("-") && !wants_help) {
    const std::string_view options[] = {"--help", "--version"}, near = nearest(first, options);
    throw UsageError(fmt::format("unknown option {}{}", first, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
  }
  const Command& command = command_named(wants_help ? words[1] : first, commands());
  const auto is_help = [](std::string_view w) { return w == "--help" || w == "-h"; };
  if (wants_help || std::any_of(words.begin() + 1, words.end(), is_help)) {
    fmt::print("{}", help("weft", command));
    return 0;
  }
  return command.run(read_arguments(command, words.subspan(1)));
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  try {
    const int status = weft::tools::main({argv + std::min(argc, 1), argv + argc});
    // What is still in the buffer may be refused, by a full disk say.
    if (std::fflush(stdout) != 0 || std::ferror(stdout)) throw std::system_error(errno, std::generic_category(), "standard output");
    return status;
  } catch (const weft::tools::UsageError& error) {
    fmt::print(stderr, "weft: {}\nSee `weft --help` for the commands and `weft COMMAND --help` for the options of one.\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", weft::tools::told(error));
    return 1;
  }
}
