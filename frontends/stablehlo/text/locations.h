// The source lines from which a text was exported: `loc("train.py":12:3)` behind an operation, or a name for it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/frontends/stablehlo/module/module.h"

namespace weft::detail::mlir {

class AttributeReader;

/// The module's list of lines as it grows. Names of locations may stand for them before it is told what they mean.
class SourceLines {
 public:
  /// The number of what a location tells; 0 where it tells no line.
  std::uint32_t number_of(const Attribute& location);
  /// The list, when all names are told.
  std::vector<SourceLine> finish(const AttributeReader& names);

 private:
  std::vector<SourceLine> lines_ = std::vector<SourceLine>(1);  // the first one is none
  std::map<std::string, std::uint32_t> known_;
  std::vector<std::pair<std::string, std::uint32_t>> later_;  // by their names
};

}  // namespace weft::detail::mlir
