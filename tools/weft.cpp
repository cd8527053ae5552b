// The command `weft`: programs in JAX's notation, or in StableHLO (text or bytecode), are run, shown, transformed, measured, compiled and
// checked; and it tells what weft finds on the machine. The table of commands below is what --help prints; docs/weft.1 and the completion
// of shells say the same, which a test checks. The exit status is 0, 1 where something failed, 2 for a wrong command line.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
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

constexpr std::string_view kAbout = "programs in JAX's notation or StableHLO, run, transformed and compiled";

/// The text of an error. The lines of the tool's own calls tell nobody anything; those of the program do.
std::string told(const std::exception& error) {
  const auto* const own = dynamic_cast<const Error*>(&error);
  if (!own || std::getenv("WEFT_TRACEBACK")) return error.what();
  const SourceLoc where = own->where();
  const bool of_program = where && !std::string_view(where.file()).ends_with(".cpp");
  return own->message() + (of_program ? fmt::format("\n  at {}:{}", where.file(), where.line()) : "");
}

/// What came of checks, a line each and their sum.
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

/// A line for each function of a file that checks something of itself; of a program that checks nothing, one for its results.
void check_file(const std::string& path, const std::string& backend, Tally& tally) {
  try {
    const std::string arrays = std::filesystem::path(path).replace_extension(".npz").string();
    const bool has_arrays = std::filesystem::exists(arrays);
    const std::vector<StablehloOutcome> outcomes = is_stablehlo(path) ? check_stablehlo(path, backend) : std::vector<StablehloOutcome>();
    const bool checks_itself = std::any_of(outcomes.begin(), outcomes.end(), [](const StablehloOutcome& o) { return o.num_checks > 0; });
    // Of a program with results beside it the functions that it calls are not looked at one by one.
    if (checks_itself || (!outcomes.empty() && !has_arrays)) {
      for (const StablehloOutcome& o : outcomes)
        tally.add(
            fmt::format("{}: @{}: {}", path, o.function, o.problem.empty() ? fmt::format("{} checks passed", o.num_checks) : o.problem),
            o.problem.empty());
      return;
    }
    const std::string wrong = check_beside(path, load_program(path, has_arrays ? arrays : ""), backend);
    tally.add(fmt::format("{}: {}", path, wrong.empty() ? "results as beside it" : wrong), wrong.empty());
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

const Option kBackend{"backend", "NAME", "interp, cpu (if not given) or cuda"};
const Option kConstants{"constants", "FILE.npz", "the values of the program's constants: const0, const1, ..."};

const std::vector<Command>& commands() {
  static const auto& all = *new std::vector<Command>{
      {"run",
       "PROGRAM",
       "Runs a program on arrays",
       "The inputs are in0, in1, ... and the constants const0, ... in the .npz file; the results are out0, out1, ...\n"
       "A program over several devices needs WEFT_NUM_CPU_DEVICES.",
       {{"inputs", "FILE.npz", "where the inputs are, if the program has any"},
        {"outputs", "FILE.npz", "where the results go; printed if not given"},
        kBackend},
       run_command},
      {"show", "PROGRAM", "Reads a program, checks it and prints it", "", {kConstants}, show_command},
      {"export",
       "PROGRAM",
       "Writes a program in StableHLO, as JAX and others read it",
       "",
       {{"output", "FILE.mlir", "where it goes; printed if not given"}, kConstants},
       export_command},
      {"grad",
       "PROGRAM",
       "Prints the gradient of a program whose one result is a number",
       "Its inputs are those of the program, its results the derivatives by them.",
       {{"wrt", "I,J,...", "by these inputs, counted from 0; by all of floating type if not given"}, kConstants},
       grad_command},
      {"vmap",
       "PROGRAM",
       "Prints the program of a batch: each input and each result has one more axis, the first",
       "",
       {{"size", "N", "the size of that axis", true}, kConstants},
       vmap_command},
      {"jit",
       "PROGRAM",
       "Prints what a program is compiled to",
       "",
       {{"form", "NAME", "jaxpr (the simplified program, if not given), kernels, llvm, asm, or ptx for GPUs"}, kConstants},
       jit_command},
      {"bench",
       "PROGRAM",
       "Times a compiled program",
       "Without --inputs its inputs are random numbers, and zeros of integer types.",
       {{"inputs", "FILE.npz", "in0, in1, ... and const0, ..."}, {"seconds", "S", "for how long it is called; 1 if not given"}, kBackend},
       bench_command},
      {"compile",
       "PROGRAM",
       "Writes a program as an object file and a C header, which need no weft",
       "With several targets among x86-64, x86-64-v2, x86-64-v3 and x86-64-v4 the file has code for all of them, and\n"
       "each call runs the best that the processor has. Programs that sort, transform or factor are linked with\n"
       "libweft_aot.a; so are those with several targets.",
       {{"output", "NAME", "of NAME.o, NAME.h and the C function; the program's name if not given"},
        {"targets", "CPU,...", "native (this machine's, if not given), x86-64, x86-64-v2, -v3, -v4, or aarch64"},
        {"grad", "", "also the derivative: NAME_grad, or NAME_vjp where the program's result is not one number"},
        kConstants},
       compile_command},
      {"view",
       "PROGRAM",
       "Writes a page that shows a program, what each pass makes of it, its kernels and what they cost",
       "One file that any browser shows; it needs nothing else. Without --inputs the program is timed on random numbers,\nand zeros of "
       "integer "
       "types.",
       {{"output", "FILE.html", "the program's name if not given"},
        {"inputs", "FILE.npz", "in0, in1, ... and const0, ..."},
        {"unmeasured", "", "the program is compiled but not run: nothing is timed"},
        kConstants},
       view_command},
      {"check",
       "FOLDER|PROGRAM...",
       "Runs the programs that FOLDER/index.json lists and compares their results",
       "NAME.jaxpr is the program, NAME.npz holds its inputs, constants and results.\n"
       "Programs in place of the folder do the checks that stand in them; those without are compared with out0, ... of\n"
       "NAME.npz beside the program.",
       {kBackend},
       check_command},
      {"devices",
       "",
       "Lists the devices that programs can run on, and NVIDIA's libraries",
       "",
       {{"platform", "NAME", "cpu or cuda; fails where there is none"}},
       devices_command},
      {"doctor",
       "",
       "Says what weft finds on this machine, what is wrong or missing, and what to do",
       "Processor, libraries, GPUs, MPI, the cache of compiled code, variables of the environment.",
       {{"variables", "", "only lists the variables of the environment that weft reads"}},
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
    return weft::tools::main({argv + std::min(argc, 1), argv + argc});
  } catch (const weft::tools::UsageError& error) {
    fmt::print(stderr, "weft: {}\n`weft --help` lists the commands, `weft COMMAND --help` the options of one.\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weft: {}\n", weft::tools::told(error));
    return 1;
  }
}
