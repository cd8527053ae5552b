// The functions of this folder, and their gradients, in every way of executing a function.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include "functions.h"
#include "tests/named_cases.h"
#include "tools/modes.h"
#include "tools/programs.h"

namespace weft::test {
namespace {

using tools::Arrays;

void run_modes(const NestedFunction& n, bool reverse) {
  const Fn f = reverse ? Fn(grad([&](Array x) { return sum(n.f(x)); })) : n.f;
  const std::vector<Arrays> lanes = {{argument(n.shape)}, {argument(n.shape) * 0.75}};
  const tools::Function function = [&](std::span<const Array> in) { return Arrays{f(in[0])}; };
  const std::vector<Arrays> want = tools::mode_named("interp").run(function, lanes);
  for (const tools::Mode& mode : tools::modes()) {
    CAPTURE(mode.name);
    std::vector<Arrays> got;
    REQUIRE_NOTHROW(got = mode.run(function, lanes));
    for (std::size_t k = 0; k < lanes.size(); ++k) CHECK(tools::difference(got[k][0], want[k][0], nullptr, {1e-10, 1e-10, false}) == "");
  }
}

bool register_all() {
  for (const auto& list : {scalar_functions(), vector_functions(), matrix_functions(), indexing_functions(), tree_functions(),
                           control_functions(), transforming_functions()})
    for (const NestedFunction& n : list)
      for (const bool reverse : {false, true})
        add_case("modes: " + n.name + (reverse ? ", gradient" : ""), [=] { run_modes(n, reverse); }, __FILE__, __LINE__);
  return true;
}
const bool registered = register_all();

}  // namespace
}  // namespace weft::test
