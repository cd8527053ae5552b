// Every program of golden/data/errors.json is tested here, or there is a reason why it is not.
#include <cstdlib>
#include <map>

#include "refused.h"
#include "tools/json.h"
#include "weft/core/base/files.h"

namespace weft::test {

TEST_CASE("every faulty program of JAX has a test, or a reason why it has none") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::string folder = tests ? tests : "tests";
  // Of programs that the compiler refuses: the one in tests/error/static.
  const std::map<std::string, std::string> compiled = {
      {"custom_vjp_without_rule", "custom_vjp_without_rules"}, {"grad_argnums_out_of_range", "argnums_out_of_range"},
      {"jit_not_an_array", "argument_of_no_array_type"},       {"jit_unhashable_static", "static_argument_without_equality"},
      {"jit_wrong_argument_count", "argument_missing"},
  };
  for (const auto& [name, file] : compiled) CHECK_NOTHROW(detail::read_file(folder + "/error/static/" + file + ".cc", {}));
  const std::map<std::string, std::string> reasons = {
      {"nested_pmap_too_many", "an inner pmap runs on its outer one's devices, each doing several rows"},
      {"nested_pmap_unsupported", "nested pmaps run"},
      {"pmap_static_out_of_range", "static parameters are found by their types: there is no static_broadcasted_argnums"},
      {"pmax_not_differentiable", "pmax has a derivative"},
  };
  const std::string path = folder + "/golden/data/errors.json";
  std::set<std::string> names;
  for (const tools::Json& e : tools::parse_json(detail::read_file(path, {})).list) names.insert(e.at("name").string);
  CHECK(names.size() == 66);
  for (const std::string& name : names)
    CHECK_MESSAGE(covered_errors().count(name) + reasons.count(name) + compiled.count(name) == 1,
                  name << " needs a test, or a reason here, and not both");
  for (const std::string& name : covered_errors()) CHECK_MESSAGE(names.count(name) == 1, name << " is not in errors.json");
}

}  // namespace weft::test
