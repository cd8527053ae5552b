// The kind of code that programs are compiled to at least, for one scope.
#pragma once
#include <cstdlib>
#include <string>

namespace weft::test {

/// Sets WEFT_CODE (`baseline`, `optimized`, or nothing) and puts back what it was.
class CodeFrom {
 public:
  explicit CodeFrom(const char* least) {
    if (const char* const given = std::getenv("WEFT_CODE")) before_ = given;
    setenv("WEFT_CODE", least, 1);
  }
  ~CodeFrom() { setenv("WEFT_CODE", before_.c_str(), 1); }
  CodeFrom(const CodeFrom&) = delete;
  CodeFrom& operator=(const CodeFrom&) = delete;

 private:
  std::string before_;
};

}  // namespace weft::test
