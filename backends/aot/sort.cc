// Sorting and top_k. Elements become unsigned codes in the order of the numbers (all NaNs last, -0 and 0 the same), by which positions are
// sorted digit by digit, which keeps the order of equal ones.
#include <cstring>
#include <type_traits>

#include "weft/aot.h"
#include "weft/backends/aot/plans.h"
#include "weft/backends/aot/routines.h"
#include "weft/core/ops/linalg/fourier_plan.h"

namespace {

using weft::aot::Element;
using weft::aot::Lines;
using weft::detail::CBlock;
using Code = std::uint64_t;

int size_of(Element e) {
  constexpr int kSizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 8};
  return kSizes[static_cast<int>(e)];
}
/// One number of a key: a complex one has two.
struct Part {
  Element element;
  int size, step, offset;  // in bytes
};
int parts_of(Element e, Part (&parts)[2]) {
  if (e == Element::complex64 || e == Element::complex128) {
    const Element real = e == Element::complex64 ? Element::float32 : Element::float64;
    const int size = size_of(real);
    parts[0] = {real, size, 2 * size, 0}, parts[1] = {real, size, 2 * size, size};
    return 2;
  }
  parts[0] = {e, size_of(e), size_of(e), 0};
  return 1;
}

Code code_of(Code bits, Element e, int size) {
  const int width = 8 * size;
  const Code sign = Code{1} << (width - 1), all = sign | (sign - 1);
  switch (e) {
    case Element::int8:
    case Element::int16:
    case Element::int32:
    case Element::int64: return bits ^ sign;
    case Element::float16:
    case Element::bfloat16:
    case Element::float32:
    case Element::float64: {
      const Code infinity = e == Element::float16    ? 0x7c00
                            : e == Element::bfloat16 ? 0x7f80
                            : e == Element::float32  ? 0x7f800000
                                                     : 0x7ff0000000000000;
      const Code magnitude = bits & ~sign;
      if (magnitude > infinity) return all;
      if (magnitude == 0) return sign;
      return bits & sign ? ~bits & all : bits | sign;
    }
    default: return bits;
  }
}

Code load(const char* at, int size) {
  Code bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(size));  // little-endian
  return bits;
}

/// Positions of one line, and memory to sort them in.
struct Order {
  explicit Order(std::int64_t n) : length(n), positions(n), spare(n), codes(n) {}
  bool ready() const { return positions && spare && codes; }
  void start() {
    for (std::int64_t i = 0; i < length; ++i) positions[i] = static_cast<std::uint32_t>(i);
  }
  /// By codes of so many bytes, those of elements; equal ones stay in their order.
  void by_codes(int bytes) {
    if (length <= 32) {
      for (std::int64_t i = 1; i < length; ++i) {
        const std::uint32_t p = positions[i];
        std::int64_t k = i;
        for (; k > 0 && codes[positions[k - 1]] > codes[p]; --k) positions[k] = positions[k - 1];
        positions[k] = p;
      }
      return;
    }
    for (int digit = 0; digit < bytes; ++digit) {
      std::int64_t counts[257] = {};
      const auto at = [&](std::uint32_t p) { return codes[p] >> (8 * digit) & 0xff; };
      for (std::int64_t i = 0; i < length; ++i) ++counts[codes[i] >> (8 * digit) & 0xff];
      bool one = false;
      std::int64_t sum = 0;
      for (std::int64_t& c : counts) {
        one = one || c == length;
        const std::int64_t own = c;
        c = sum, sum += own;
      }
      if (one) continue;
      for (std::int64_t i = 0; i < length; ++i) spare[counts[at(positions[i])]++] = positions[i];
      positions.swap(spare);
    }
  }
  std::int64_t length;
  CBlock<std::uint32_t> positions, spare;
  CBlock<Code> codes;
};

std::int64_t base_of(const Lines& l, std::int64_t line) { return line / l.stride * l.stride * l.length + line % l.stride; }

/// The elements of a line in an order.
void fetch(const char* from, char* to, const Lines& in, const Lines& out, std::int64_t line, const std::uint32_t* order, int size) {
  const char* const source = from + base_of(in, line) * size;
  char* const target = to + base_of(out, line) * size;
  for (std::int64_t i = 0; i < out.length; ++i)
    std::memcpy(target + i * out.stride * size, source + static_cast<std::int64_t>(order[i]) * in.stride * size,
                static_cast<std::size_t>(size));
}

}  // namespace

std::int32_t weft_aot_sort(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const weft::aot::SortPlan*>(data);
  const auto* const elements = reinterpret_cast<const Element*>(&plan + 1);
  const Lines& lines = plan.lines;
  if (lines.count == 0 || lines.length == 0) return WEFT_AOT_OK;
  Order order(lines.length);
  if (!order.ready()) return WEFT_AOT_NO_MEMORY;
  for (std::int64_t line = 0; line < lines.count; ++line) {
    order.start();
    const std::int64_t base = base_of(lines, line);
    // The last key first.
    for (int k = plan.keys; k-- > 0;) {
      Part parts[2];
      for (int i = parts_of(elements[k], parts); i-- > 0;) {
        const Part& p = parts[i];
        const char* const from = static_cast<const char*>(arrays[k]) + base * p.step + p.offset;
        for (std::int64_t e = 0; e < lines.length; ++e)
          order.codes[e] = code_of(load(from + e * lines.stride * p.step, p.size), p.element, p.size);
        order.by_codes(p.size);
      }
    }
    for (int k = 0; k < plan.operands; ++k)
      fetch(static_cast<const char*>(arrays[k]), static_cast<char*>(arrays[plan.operands + k]), lines, lines, line, order.positions.data(),
            size_of(elements[k]));
  }
  return WEFT_AOT_OK;
}

std::int32_t weft_aot_top_k(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const weft::aot::TopKPlan*>(data);
  const Lines& lines = plan.lines;
  if (lines.count == 0 || plan.k == 0) return WEFT_AOT_OK;
  const Lines out{plan.k, lines.stride, lines.count};
  const int size = size_of(plan.element);
  Order order(lines.length);
  if (!order.ready()) return WEFT_AOT_NO_MEMORY;
  for (std::int64_t line = 0; line < lines.count; ++line) {
    order.start();
    const char* const from = static_cast<const char*>(arrays[0]) + base_of(lines, line) * size;
    const Code all = size == 8 ? ~Code{0} : (Code{1} << (8 * size)) - 1;
    for (std::int64_t e = 0; e < lines.length; ++e)
      order.codes[e] = all - code_of(load(from + e * lines.stride * size, size), plan.element, size);
    order.by_codes(size);
    fetch(static_cast<const char*>(arrays[0]), static_cast<char*>(arrays[1]), lines, out, line, order.positions.data(), size);
    auto* const positions = static_cast<std::int32_t*>(arrays[2]) + base_of(out, line);
    for (std::int64_t i = 0; i < plan.k; ++i) positions[i * out.stride] = static_cast<std::int32_t>(order.positions[i]);
  }
  return WEFT_AOT_OK;
}
