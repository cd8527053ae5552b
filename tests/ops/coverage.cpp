// docs/operations.md: which generated test each primitive has in each dtype. The page is made from the table of primitives and from the
// samples, as the tests in generated.cpp run them; this test compares, or writes it where WEFT_UPDATE is set (scripts/make-operations).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "program_checks.h"
#include "samples.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/rules.h"

namespace weft::test {

using namespace detail;

namespace {

struct Covered {
  std::set<int> values, text, derivatives;
};
std::map<std::string_view, Covered> covered() {
  std::map<std::string_view, Covered> out;
  for (int id = 0; id < DType::count; ++id)
    for (const Sample& s : samples_in(DType(id))) {
      Covered& c = out[s.op->name];
      c.values.insert(id);
      if (!s.text || !s.text->trace) c.text.insert(id);
      const std::vector<bool> inexact = inexact_inputs(s.program);
      const bool is_wide = s.dtype == float64 || s.dtype == complex128;
      if (s.smooth && (is_wide || s.rounding != 0) && s.dtype.is_inexact() &&
          std::find(inexact.begin(), inexact.end(), true) != inexact.end())
        c.derivatives.insert(id);
    }
  return out;
}

std::string names_of(const std::set<int>& ids) {
  struct Group {
    std::string name;
    std::vector<DType> members;
  };
  static const std::vector<Group> groups = {{"bool", {bool_}},
                                            {"integers", {int8, int16, int32, int64, uint8, uint16, uint32, uint64}},
                                            {"floats", {float16, bfloat16, float32, float64}},
                                            {"complex", {complex64, complex128}}};
  std::string s;
  for (const Group& g : groups) {
    std::string some;
    std::size_t count = 0;
    for (DType t : g.members)
      if (ids.count(t.id())) some += (count++ ? " " : "") + std::string(t.short_name());
    if (count) s += (s.empty() ? "" : ", ") + (count == g.members.size() ? g.name : some);
  }
  return s;
}

/// What stands in the cells of primitives whose derivative no generated test checks though they have one, and of those without a sample.
const std::map<std::string_view, std::string> kElsewhere = {
    {"custom_vjp_call", "reverse only, by the user's rule: `tests/transforms/custom.cpp`"},
    {"random_gamma", "against the distribution's: `tests/ops/random.cpp`"},
    {"reduce_precision", "that of the identity: `tests/ops/elementwise_generated.cpp`"},
    {"convert_element_type", "that of the identity: `tests/ops/elementwise_generated.cpp`"},
    {"stop_gradient", "zero"},
    {"global_to_host_local", "in several processes: `tests/distributed/worker.cpp`"},
    {"host_local_to_global", "in several processes: `tests/distributed/worker.cpp`"},
    {"custom_lin", "linear, its transpose is the user's rule: `tests/transforms/custom.cpp`"},
    {"psum_invariant", "as psum's: `tests/golden`"},
    {"pvary", "that of the identity: `tests/golden`"},
};

std::string derivative_cell(const Primitive& op, const Covered& c) {
  if (!c.derivatives.empty()) return names_of(c.derivatives);
  if (!op.not_differentiable.empty()) return "refused: " + std::string(op.not_differentiable);
  if (!op.jvp && !op.jvp_call) return "zero";
  const auto found = kElsewhere.find(op.name);
  return found == kElsewhere.end() ? "" : found->second;
}

std::string page() {
  std::string s =
      "# Operations, and what is tested of them\n"
      "\n"
      "Every primitive, with the dtypes in which each of its rules is tested. The tests are generated from sample programs\n"
      "(`tests/ops/samples*.cpp`) and the table of primitives; this page is generated from the same two by `scripts/make-operations`.\n"
      "\n"
      "- *Value*: the interpreter and the compiled program agree, and are near the value in a wider dtype; all other dtypes are refused by "
      "name.\n"
      "- *Text*: what is printed is read back as the same program.\n"
      "- *vmap*: each choice of mapped operands, along the first and the last axis, is a loop over the lanes, on both backends.\n"
      "- *Derivatives*: forward mode against differences, reverse mode against forward mode, and both of these again for the derivatives' "
      "own\n"
      "  programs (second order), in f64 and c128; in narrower dtypes forward, reverse and forward over reverse are near those in the wide "
      "one.\n"
      "  Integers and bool have no tangents.\n"
      "\n"
      "*floats* are f16 bf16 f32 f64, *integers* i8 i16 i32 i64 u8 u16 u32 u64, *complex* c64 c128.\n"
      "\n"
      "| primitive | | value and vmap | text | derivatives |\n"
      "|---|---|---|---|---|\n";
  std::map<std::string_view, Covered> all = covered();
  std::map<std::string_view, std::string> reasons;
  for (const UnsampledPrimitive& u : unsampled_primitives()) reasons[u.op] = u.reason;
  for (const Primitive* op : all_primitives()) {
    const Covered& c = all[op->name];
    std::string values = names_of(c.values), text = c.text == c.values ? "the same" : names_of(c.text);
    if (c.values.empty()) values = text = reasons[op->name];
    if (text.empty()) text = "of its form only: it refers to C++ functions or devices";
    const std::string derivatives = derivative_cell(*op, c);
    for (const std::string& cell : {values, text, derivatives}) CHECK_MESSAGE(!cell.empty(), op->name << " has an empty cell");
    s += "| `" + std::string(op->name) + "` | " + std::string(op->doc) + " | " + values + " | " + text + " | " + derivatives + " |\n";
  }
  s += "\n## Rules that are looked up\n"
       "\n"
       "Rules that only some operations have, by the table of their transform (`core/ir/rules.h`).\n"
       "\n"
       "| rule | | operations |\n"
       "|---|---|---|\n";
  for (const RuleTable* t : rule_tables()) {
    std::string ops;
    for (const Primitive* op : t->primitives())
      if (find_primitive(op->name) == op) ops += (ops.empty() ? "`" : ", `") + std::string(op->name) + "`";
    s += "| `" + std::string(t->name) + "` | " + std::string(t->doc) + " | " + ops + " |\n";
  }
  return s;
}

}  // namespace

TEST_CASE("docs/operations.md is what the samples and the table of primitives give") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  const std::string path = std::string(tests ? tests : "tests") + "/../docs/operations.md", wanted = page();
  if (std::getenv("WEFT_UPDATE")) std::ofstream(path) << wanted;
  std::string found;
  try {
    found = read_file(path, {});
  } catch (const Error&) {
  }
  CHECK_MESSAGE(found == wanted, path << " is out of date: run scripts/make-operations");
}

TEST_CASE("every operation has the rules that all of its kind must have") {
  int checked = 0;
  for (const RuleTable* t : rule_tables()) {
    if (!t->every) continue;
    for (const Primitive* op : all_primitives())
      if (op->kind == *t->every) {
        const bool has_rule = t->find(*op) != nullptr;
        CHECK_MESSAGE(has_rule, op->name << " has no rule `" << t->name << "`: " << t->doc);
        ++checked;
      }
  }
  CHECK(checked >= 24);
}

}  // namespace weft::test
