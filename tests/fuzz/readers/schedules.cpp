// Texts of schedules: a byte that chooses a kernel, then its steps.
#include <fmt/format.h>
#include <weft/weft.h>

#include "tests/fuzz/readers/readers.h"
#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/schedule_text.h"

namespace weft::fuzz {
namespace {

constexpr int kVectorBytes = 32;

/// Elementwise with a transpose, a softmax, columns, records, a running sum, a scatter.
const std::vector<detail::Kernel>& known_kernels() {
  static const auto& kernels = *new std::vector<detail::Kernel>([] {
    std::vector<detail::Kernel> all;
    const auto add = [&](const auto& f, const auto&... args) {
      const detail::KernelProgram p =
          detail::form_program(detail::simplify(make_jaxpr(f)(args...)), {.vector_bytes = kVectorBytes, .partitions_scatters = true}, {});
      all.insert(all.end(), p.kernels.begin(), p.kernels.end());
    };
    const Array x = ones({40, 70}), n = arange(5000, int32);
    add([](const Array& a) { return tanh(transpose(a)) + 1.f; }, x);
    add([](const Array& a) { return nn::softmax(a); }, ones({9, 1100}));
    add([](const Array& a) { return sum(a, 0) + max(a, 0); }, x);
    add([](const Array& a) { return a(slice(), 0) * a(slice(), 2); }, ones({5000, 3}));
    add([](const Array& a) { return cumsum(a, 1); }, x);
    add([](const Array& a, const Array& i) { return zeros({5000}).at(i).add(a); }, ones({5000}), n);
    return all;
  }());
  return kernels;
}

}  // namespace

void read_schedule_text(std::string_view bytes) {
  if (bytes.empty()) return;
  const detail::Kernel& k = known_kernels()[static_cast<unsigned char>(bytes[0]) % known_kernels().size()];
  detail::Schedule s;
  try {
    s = detail::parse_schedule(bytes.substr(1), k, kVectorBytes);
  } catch (const Error& e) {
    if (std::string_view(e.what()).find("schedule: ") == std::string_view::npos) broken("an error that names no step", e.what());
    return;
  }
  const std::string printed = detail::to_string(s, k);
  try {
    if (detail::parse_schedule(printed, k, kVectorBytes) == s) return;
  } catch (const Error& e) {
    broken("what was printed is not read again", fmt::format("{}\n{}", printed, e.what()));
  }
  broken("what was printed is read as another schedule", printed);
}

std::vector<std::string> schedule_text_seeds() {
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < known_kernels().size(); ++i) {
    const detail::Kernel& k = known_kernels()[i];
    seeds.push_back(static_cast<char>(i) + detail::to_string(detail::make_schedule(k, kVectorBytes), k));
    for (const char* steps :
         {"reorder i1 i0\nvectorize i0 by 8\nunroll i1 by 8\ntranspose a0", "vectorize i0 by 4\nsplit i0 by 8\nparallel by 2",
          "stream a1\nprefetch_stored a1 by 4096\nprefetch by 16 beyond 1024\nprefetch_steps by 3\ninterleave by 8",
          "reduce_by_rows i1\npeel i0\ncall exp\nby_inverse %12", "partition_rows by 8 into 16 # rows\nparallel by 1"})
      seeds.push_back(static_cast<char>(i) + std::string(steps));
  }
  return seeds;
}

}  // namespace weft::fuzz
