// Operands of matmuls, laid out as the tiles of units.h read them, and their elements converted. Internal to backends/cpu/packed.
#pragma once
#include <cstdint>
#include <span>

#include "weft/backends/cpu/packed/units.h"

namespace weft::detail::packed {

/// Lines of an operand: rows of the left one, columns of the right one. Strides are in elements of `dtype`.
struct Lines {
  const char* data = nullptr;
  DType dtype = float32;         ///< as it is in memory
  std::int64_t line = 0, k = 0;  ///< strides from line to line, and along k
  /// Bits of each eight bytes that are flipped: the highest one of every byte (int8 becomes uint8 with 128 added, uint8 int8 with 128
  /// subtracted), or the sign.
  std::uint64_t flip = 0;
  Lines at(std::int64_t lines, std::int64_t depth) const {
    Lines r = *this;
    r.data += (lines * line + depth * k) * dtype.itemsize();
    return r;
  }
};

/// Bytes of scratch memory that pack_panel wants.
std::int64_t packing_scratch(const Unit& u, std::int64_t width, std::int64_t depth);
/// For each word of k those of `width` lines, of which there are `lines`; what is beyond them, or beyond k, is 0 before it is flipped.
void pack_panel(const Unit& u, const Lines& from, std::int64_t lines, std::int64_t depth, std::int64_t width, char* to, char* scratch);

/// Lines cut into panels, one after the other, of the first of `widths` (the widest first) that those that are left fill; the last ones, if
/// they fill none, are a panel of whole vectors. Lines that are neighbours in memory are read row by row, all panels' at once.
void pack_panels(const Unit& u, const Lines& from, std::int64_t lines, std::int64_t depth, std::span<const int> widths, char* to,
                 char* scratch);

/// The lines of a panel of words of four bytes, one after the other.
void rows_of_panel(const char* panel, std::int64_t width, std::int64_t words, char* to);

/// The sums along k of `lines` lines of bytes, which are next to each other along k: uint8 or int8.
void sum_lines(const Lines& from, std::int64_t lines, std::int64_t depth, std::int32_t* sums);
/// Packs a panel of words of four bytes.
void sum_panel(const char* panel, bool are_signed, std::int64_t width, std::int64_t words, std::int32_t* sums);

/// As core/array/convert_elements.h, by the processor's vectors where units.h has the two dtypes.
void convert_run(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t n);

}  // namespace weft::detail::packed
