// What is done with LLVM's code: it is given as text here.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "weft/backends/codegen/emit/instruction_order.h"
#include "weft/backends/cpu/interpreter/interpreted_code.h"

using namespace weft::detail;

namespace {

/// The function `kernel` of a text.
struct Parsed {
  explicit Parsed(const std::string& text) : module(llvm::parseAssemblyString(text, error, context)) {
    REQUIRE_MESSAGE(module, error.getMessage().str());
    function = module->getFunction("kernel");
    REQUIRE(function);
  }
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module;
  llvm::Function* function = nullptr;
};

std::vector<float> run(const llvm::Function& f, std::vector<float> memory, std::int64_t begin, std::int64_t end) {
  const auto code = InterpretedCode::of(f);
  REQUIRE(code);
  void* args[] = {memory.data()};
  code->run(args, begin, end);
  return memory;
}

}  // namespace

TEST_CASE("interpreted code: values that take each other's places around a loop") {
  // Two that change places, and three that go round.
  const Parsed p(R"(
    define void @kernel(ptr %args, i64 %begin, i64 %end) {
    entry:
      %out = load ptr, ptr %args
      br label %loop
    loop:
      %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
      %a = phi float [ 1.0, %entry ], [ %b, %loop ]
      %b = phi float [ 2.0, %entry ], [ %a, %loop ]
      %x = phi <2 x float> [ <float 3.0, float 4.0>, %entry ], [ %y, %loop ]
      %y = phi <2 x float> [ <float 5.0, float 6.0>, %entry ], [ %z, %loop ]
      %z = phi <2 x float> [ <float 7.0, float 8.0>, %entry ], [ %x, %loop ]
      %next = add i64 %i, 1
      %more = icmp slt i64 %next, %end
      br i1 %more, label %loop, label %exit
    exit:
      store float %a, ptr %out
      %to_b = getelementptr float, ptr %out, i64 1
      store float %b, ptr %to_b
      %to_x = getelementptr float, ptr %out, i64 2
      store <2 x float> %x, ptr %to_x
      %to_y = getelementptr float, ptr %out, i64 4
      store <2 x float> %y, ptr %to_y
      %to_z = getelementptr float, ptr %out, i64 6
      store <2 x float> %z, ptr %to_z
      ret void
    })");
  for (int turns = 0; turns < 7; ++turns) {
    std::vector<float> want{1, 2, 3, 4, 5, 6, 7, 8};
    std::rotate(want.begin(), want.begin() + turns % 2, want.begin() + 2);
    std::rotate(want.begin() + 2, want.begin() + 2 + 2 * (turns % 3), want.end());
    CHECK(run(*p.function, std::vector<float>(8), 0, turns + 1) == want);
  }
}

namespace {

/// A kernel of these instructions, in a block of their own.
std::string of_body(const std::string& body) {
  return "define void @kernel(ptr %args, i64 %begin, i64 %end) {\nentry:\n  %m = load ptr, ptr %args\n  br label %work\nwork:\n" + body +
         "  ret void\n}\n";
}

/// Two chains of products, one after the other, each from one element to another. `writes`: the first chain writes what the second reads.
std::string chains(int length, bool writes) {
  const auto read = [](const std::string& c, int from) {
    return fmt::format("  %{0}_at = getelementptr float, ptr %m, i64 {1}\n  %{0}0 = load float, ptr %{0}_at\n", c, from);
  };
  const auto products = [](const std::string& c, int begin, int end) {
    std::string text;
    for (int i = begin; i < end; ++i) text += fmt::format("  %{0}{1} = fmul float %{0}{2}, 1.5\n", c, i + 1, i);
    return text;
  };
  const auto write = [](const std::string& value, int to) {
    return fmt::format("  %to_{1} = getelementptr float, ptr %m, i64 {1}\n  store float %{0}, ptr %to_{1}\n", value, to);
  };
  std::string text = read("p", 0);
  if (writes)
    text += products("p", 0, 2) + write("p2", 1) + products("p", 2, length) + read("q", 1);
  else
    text += read("q", 1) + products("p", 0, length);
  return of_body(text + products("q", 0, length) + write(fmt::format("p{}", length), 2) + write(fmt::format("q{}", length), 3));
}

/// Which chain each product is of, in their order.
std::string order_of(const llvm::BasicBlock& block) {
  std::string order;
  for (const llvm::Instruction& i : block)
    if (i.getOpcode() == llvm::Instruction::FMul) order += i.getName()[0];
  return order;
}
int turns(const std::string& order) {
  int n = 0;
  for (std::size_t i = 1; i < order.size(); ++i) n += order[i] != order[i - 1];
  return n;
}

/// The order of the products before and after, which must give the same numbers.
std::pair<std::string, std::string> overlapped(const std::string& text) {
  Parsed p(text);
  llvm::BasicBlock& work = p.function->back();
  const std::vector<float> memory{2, 3, 4, 5}, want = run(*p.function, memory, 0, 1);
  const std::string before = order_of(work);
  const std::size_t size = work.size();
  interleave_chains(work);
  CHECK_FALSE(llvm::verifyFunction(*p.function));
  CHECK(work.size() == size);
  CHECK(run(*p.function, memory, 0, 1) == want);
  return {before, order_of(work)};
}

}  // namespace

TEST_CASE("overlapped chains: one is at work while the other waits") {
  const auto [before, after] = overlapped(chains(8, false));
  CHECK(turns(before) == 1);
  CHECK(turns(after) > 8);
}

TEST_CASE("overlapped chains: few instructions stay as they are") {
  Parsed p(chains(1, false));
  llvm::BasicBlock& work = p.function->back();
  std::vector<const llvm::Instruction*> before, after;
  for (const llvm::Instruction& i : work) before.push_back(&i);
  interleave_chains(work);
  for (const llvm::Instruction& i : work) after.push_back(&i);
  CHECK(before == after);
}

TEST_CASE("overlapped chains: what is written is read after, what is read is written after") {
  const auto [before, after] = overlapped(chains(8, true));
  // The second begins when the first has written what it reads.
  CHECK(after.find('q') >= 2);
  CHECK(turns(after) > 4);
  // A read that waits for its address, and a write to that place that needs not wait.
  std::string late = "  %x1 = add i64 %begin, 2\n";
  for (int i = 1; i < 8; ++i) late += fmt::format("  %x{} = mul i64 %x{}, 1\n", i + 1, i);
  late += R"(
      %from = getelementptr float, ptr %m, i64 %x8
      %read = load float, ptr %from
      %second = getelementptr float, ptr %m, i64 2
      store float 9.0, ptr %second
      %third = getelementptr float, ptr %m, i64 3
      store float %read, ptr %third
  )";
  overlapped(of_body(late));
}
