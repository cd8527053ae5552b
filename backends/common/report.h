// Reports for people: what the library was built with, its environment variables and its cache.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::detail {

/// A name and a value for each: the processor as LLVM knows it, LLVM, oneDNN, OpenBLAS, the compiler.
std::vector<std::pair<std::string, std::string>> build_report();

/// A variable that the library reads, as the environment has it.
struct VariableReport {
  std::string name;
  std::string problem;  ///< what is wrong with its value, and what it may be; empty: nothing
};
std::vector<VariableReport> variable_report();

/// The cache of compiled code.
struct CacheReport {
  std::string folder;    ///< that the environment names; empty: it is switched off
  bool is_used = false;  ///< the folder can be written and belongs to the user alone
  std::int64_t entries = 0, bytes = 0, limit = 0;
};
/// Makes the folder, as a program that compiles does.
CacheReport cache_report();

}  // namespace weft::detail
