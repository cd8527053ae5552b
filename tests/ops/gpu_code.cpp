// Kernels for GPUs without a GPU: the program of every sample of an operation, and every golden program, becomes PTX that LLVM's verifier
// accepts and that ptxas assembles, where the CUDA toolkit is installed.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "samples.h"
#include "tools/programs.h"
#include "weft/backends/cuda/ptx.h"
#include "weft/core/errors/error.h"
#include "weft/core/io/io.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::test {
namespace {

using namespace detail;

/// Collects code of many programs and hands it to ptxas in a few files.
class Assembler {
 public:
  explicit Assembler(int architecture) : target_{architecture, false} {
    const char* name = std::getenv("WEFT_PTXAS");
    for (const std::string& path : {std::string(name ? name : ""), std::string("/usr/local/cuda/bin/ptxas"), std::string("/usr/bin/ptxas")})
      if (ptxas_.empty() && !path.empty() && std::filesystem::exists(path)) ptxas_ = path;
    if (ptxas_.empty()) MESSAGE("there is no ptxas: the code is verified, but not assembled");
  }
  ~Assembler() { std::remove(path_.c_str()); }

  void add(const Jaxpr& program, const std::string& title) {
    if (communicates(program)) return;  // several programs, or an axis that nobody binds
    std::string text;
    try {
      text = ptx_text(program, {}, target_, "p" + std::to_string(count_++) + "_");
    } catch (const Error& e) {
      if (libdevice_path().empty() && std::string(e.what()).find("libdevice") != std::string::npos) return;
      FAIL_CHECK(title << ": " << e.what());
      return;
    }
    const std::size_t begin = text.find(".address_size 64");
    REQUIRE(begin != std::string::npos);
    // Functions and tables beside the kernels would have the same names in all programs.
    const bool alone = text.find("\n.func") != std::string::npos || text.find(".global ") != std::string::npos;
    if (alone) {
      assemble(text, title);
      return;
    }
    if (text.find(".entry") == std::string::npos) return;
    ++kernels_;
    if (together_.empty())
      together_ = text;
    else
      together_ += text.substr(begin + 16);
    titles_ += title + "\n";
    if (together_.size() > 4'000'000) flush();
  }
  void flush() {
    if (!together_.empty()) assemble(together_, titles_);
    together_.clear(), titles_.clear();
  }
  int programs_with_kernels() const { return kernels_; }

 private:
  void assemble(const std::string& text, const std::string& title) {
    if (ptxas_.empty()) return;
    path_ = (std::filesystem::temp_directory_path() / ("weft-ptx-" + std::to_string(::getpid()) + ".ptx")).string();
    std::ofstream(path_) << text;
    const std::string command = ptxas_ + " -O1 -arch=sm_" + std::to_string(target_.architecture) + " -o /dev/null " + path_ + " 2>&1";
    std::FILE* run = ::popen(command.c_str(), "r");
    REQUIRE(run);
    std::string output;
    char piece[4096];
    while (const std::size_t n = std::fread(piece, 1, sizeof piece, run)) output.append(piece, n);
    const int status = ::pclose(run);
    if (status == 0) return;
    FAIL_CHECK("ptxas refuses the code of " << title.substr(0, 400) << ": " << output.substr(0, 1000));
  }

  const GpuTarget target_;
  std::string ptxas_, together_, titles_, path_;
  int kernels_ = 0, count_ = 0;
};

}  // namespace

TEST_CASE("gpu code: the samples of all operations") {
  for (const int architecture : {80, 90}) {
    Assembler assembler(architecture);
    for (const DType dtype : {float32, float64, bfloat16, complex64, int32, int64, uint8, bool_})
      for (const Sample& s : samples_in(dtype)) assembler.add(s.program, s.title);
    assembler.flush();
    CHECK(assembler.programs_with_kernels() > 500);
  }
}

TEST_CASE("gpu code: sorting by digits") {
  for (const int architecture : {80, 90}) {
    Assembler assembler(architecture);
    for (const DType t : {bool_, uint8, int16, float16, bfloat16, float32, float64, complex64, int64})
      assembler.add(make_jaxpr([](Array x) { return std::pair{sort(x), argsort(x)}; })(convert(ones({3, 5000}), t)), "sort");
    assembler.add(make_jaxpr([](Array x) { return top_k(x, 40).values; })(ones({3, 500})), "top_k");
    assembler.flush();
    CHECK(assembler.programs_with_kernels() == 10);
  }
}

TEST_CASE("gpu code: as_text") {
  const auto f = jit([](Array x) { return tanh(x) * 2.f; });
  const std::string text = f.lower(ones({1 << 20})).as_text("ptx");
  CHECK(text.find(".target sm_80") != std::string::npos);
  CHECK(text.find(".entry kernel0") != std::string::npos);
  CHECK(text.find("ld.global.v4") + text.find("ld.global.nc.v4") != 2 * std::string::npos);
  CHECK(text.find("st.global.v4") != std::string::npos);
}

TEST_CASE("gpu code: golden programs") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::filesystem::path folder = std::filesystem::path(tests ? tests : "tests") / "golden/data/jaxprs";
  Assembler older(80), newer(90);
  int programs = 0;
  for (const auto& set : std::filesystem::directory_iterator(folder)) {
    if (!set.is_directory()) continue;
    for (const tools::ProgramEntry& entry : tools::read_index(set.path().string())) {
      const std::string path = (set.path() / entry.name).string();
      Jaxpr program;
      try {
        program = load_jaxpr(path + ".jaxpr", path + ".npz");
      } catch (const Error&) {
        continue;  // listed in tests/golden/skipped
      }
      older.add(program, entry.name), newer.add(program, entry.name);
      ++programs;
    }
  }
  older.flush(), newer.flush();
  CHECK(programs > 100);
}

}  // namespace weft::test
