#include "tools/doctor.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "weft/backends/common/report.h"
#include "weft/backends/cuda/report.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/device.h"
#include "weft/version.h"

extern char** environ;

namespace weft::tools {
namespace {

/// Vector extensions that kernels are compiled for, as /proc/cpuinfo names them.
constexpr std::string_view kExtensions[] = {"sse4_2",   "avx",      "f16c",        "fma",         "avx2",        "avx512f",
                                            "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile",
                                            "amx_bf16", "asimd",    "asimddp",     "sve"};

class Report {
 public:
  void section(std::string_view name) { fmt::print("{}{}\n", std::exchange(first_, false) ? "" : "\n", name); }
  void say(std::string_view name, std::string_view value) { fmt::print("  {:<16}{}\n", name, value); }
  void advise(std::string_view what) { fmt::print("  {:<16}-> {}\n", "", what); }
  void wrong(std::string_view name, std::string_view value, std::string_view remedy) {
    fmt::print("  {:<16}WRONG: {}\n", name, value);
    advise(remedy);
    ++problems_;
  }
  int problems() const { return problems_; }

 private:
  bool first_ = true;
  int problems_ = 0;
};

std::string vector_extensions() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    std::string found;
    for (std::string word; words >> word;)
      if (std::find(std::begin(kExtensions), std::end(kExtensions), word) != std::end(kExtensions))
        found += (found.empty() ? "" : " ") + word;
    return found.empty() ? "none that weft uses" : found;
  }
  return "unknown (not in /proc/cpuinfo)";
}

std::string library_path() {
  Dl_info info{};
  const auto address = &weft::version;
  if (!dladdr(reinterpret_cast<const void*>(address), &info) || !info.dli_fname) return "libweft.so";
  return std::filesystem::path(info.dli_fname).lexically_normal().string();
}

void installation(Report& r) {
  r.section("weft");
  r.say("tool", WEFT_VERSION);
  if (version() == WEFT_VERSION)
    r.say("library", fmt::format("{}, {}", version(), library_path()));
  else
    r.wrong("library", fmt::format("{} has version {}", library_path(), version()),
            "install the command and the library in the same version, or remove the other library from the loader's path");
}

void processor(Report& r) {
  r.section("Processor");
  try {
    for (const Device& d : devices("cpu"))
      if (d.id() == 0) r.say("model", d.kind());
  } catch (const Error& e) {
    r.wrong("model", e.message(), "correct or unset the variable");
  }
  r.say("threads", fmt::format("{}", std::thread::hardware_concurrency()));
  r.say("extensions", vector_extensions());
}

void libraries(Report& r) {
  r.section("Libraries");
  for (const auto& [name, value] : detail::build_report()) r.say(name, value);
}

void gpus(Report& r) {
  r.section("GPUs");
  try {
    std::istringstream lines(detail::gpu_report());
    for (std::string line; std::getline(lines, line);) {
      const std::size_t colon = line.find(": ");
      r.say(line.substr(0, colon), colon == std::string::npos ? "" : line.substr(colon + 2));
    }
  } catch (const DeviceError& e) {
    r.say("none", e.message());
    r.advise("programs run on the CPU; to use an NVIDIA GPU, install its driver, cuBLASLt, cuBLAS and cuSOLVER (docs/gpu.md)");
  }
}

void processes(Report& r) {
  r.section("Several processes");
  const char* const given = std::getenv("WEFT_MPI_PLUGIN");
  const std::string library = library_path(), folder = library.substr(0, library.rfind('/')),
                    path = given ? std::string(given) : folder + "/weft/libweft_mpi.so";
  struct stat s{};
  if (stat(path.c_str(), &s) != 0) {
    if (given) return r.wrong("MPI", path + " does not exist", "set WEFT_MPI_PLUGIN to the path of libweft_mpi.so, or unset it");
    r.say("MPI", "no plugin at " + path);
    r.advise("for programs of several processes, build weft on a machine with MPI (libopenmpi-dev)");
    return;
  }
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return r.say("MPI", path);
  const std::string problem = dlerror();
  // Debian packages installed without their recommended packages: the message starts with the missing library.
  if (!given && problem.find("No such file or directory") != problem.npos && !problem.starts_with(path)) {
    r.say("MPI", "not installed: " + problem.substr(0, problem.find(':')));
    return r.advise("for programs of several processes, install the MPI that the plugin was built with (libopenmpi3)");
  }
  r.wrong("MPI", fmt::format("{} can't be opened: {}", path, problem), "install the MPI that the plugin was built with");
}

void cache(Report& r) {
  r.section("Cache of compiled code");
  try {
    const detail::CacheReport c = detail::cache_report();
    if (c.folder.empty()) {
      const char* const on = std::getenv("WEFT_CACHE");
      r.say("folder", on ? fmt::format("none, because WEFT_CACHE is {}", on) : "none, because there is no home folder");
      r.advise(on ? "every process compiles its programs again; unset WEFT_CACHE to cache them"
                  : "every process compiles its programs again; set WEFT_CACHE_DIR to a folder to cache them");
    } else if (!c.is_used) {
      r.wrong("folder", c.folder + " can't be used",
              "the folder and its subfolder weft-code must belong to you and be writable by nobody else (chmod go-w), or set "
              "WEFT_CACHE_DIR to another folder");
    } else {
      r.say("folder", c.folder);
      r.say("contents", fmt::format("{} entries, {:.1f} MB of {} MB", c.entries, static_cast<double>(c.bytes) / 1e6, c.limit >> 20));
    }
  } catch (const Error& e) {
    r.wrong("variables", e.message(), "correct or unset the variable");
  }
}

void variables(Report& r) {
  r.section("Environment");
  const std::vector<detail::VariableReport> known = detail::variable_report();
  const std::vector<std::string_view> names = [&] {
    std::vector<std::string_view> all;
    for (const detail::VariableReport& v : known) all.push_back(v.name);
    return all;
  }();
  std::vector<std::string> set;
  for (char** v = environ; *v; ++v)
    if (std::string_view(*v).starts_with("WEFT_")) set.emplace_back(*v);
  std::sort(set.begin(), set.end());
  for (const std::string& v : set) {
    const std::size_t equals = v.find('=');
    const std::string name = v.substr(0, equals), value = v.substr(equals + 1);
    const auto found = std::find_if(known.begin(), known.end(), [&](const detail::VariableReport& k) { return k.name == name; });
    if (found == known.end()) {
      const std::string_view near = nearest(name, names);
      r.wrong(name + " ", "weft reads no variable of this name", near.empty() ? "unset it" : fmt::format("did you mean {}?", near));
    } else if (!found->problem.empty()) {
      r.wrong(name + " ", found->problem, "correct or unset it");
    } else {
      r.say(name, name == "WEFT_TOKEN" ? " (not shown)" : " " + value);
    }
  }
  if (set.empty()) r.say("variables", "none of weft's variables is set");
}

}  // namespace

int doctor(const Arguments& line) {
  if (line.has("variables")) {
    for (const detail::VariableReport& v : detail::variable_report()) fmt::print("{}\n", v.name);
    return 0;
  }
  Report r;
  installation(r);
  processor(r);
  libraries(r);
  gpus(r);
  processes(r);
  cache(r);
  variables(r);
  fmt::print("\n{}\n", r.problems() == 0   ? std::string("No problems found.")
                       : r.problems() == 1 ? std::string("1 problem found.")
                                           : fmt::format("{} problems found.", r.problems()));
  return r.problems() == 0 ? 0 : 1;
}

int devices_command(const Arguments& line) {
  const std::string platform = line.get("platform");
  if (platform != "cuda")
    for (const Device& d : devices("cpu")) fmt::print("{}: {}\n", d, d.kind());
  if (platform == "cpu") return 0;
  try {
    fmt::print("{}", detail::gpu_report());
  } catch (const DeviceError& e) {
    if (platform == "cuda") throw;
    fmt::print("no GPU: {}\n", e.message());
  }
  return 0;
}

}  // namespace weft::tools
