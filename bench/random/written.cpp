#include "written.h"

#include <sstream>

namespace bench::random_programs::detail {

Values called(Writer& w, const Values& inputs, const std::string& body, const std::vector<weft::Array>& results, bool several) {
  std::string parameters, operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parameters += std::string(i ? ", " : "") + static_cast<char>('a' + i);
    operands += inputs[i].name + ", ";
  }
  w.line("def g(" + parameters + "):");
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) w.line("    " + line);
  if (!several) return {w.put(results[0], "g({})", operands)};
  const Value all = w.put(results[0], "g({})", operands);
  Values out;
  for (std::size_t i = 0; i < results.size(); ++i) out.push_back(w.put(results[i], "{}[{}]", all, i));
  return out;
}

}  // namespace bench::random_programs::detail
