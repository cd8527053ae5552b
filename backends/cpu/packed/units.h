// Microkernels for the processor's multiplication instructions, by dtype: tiles of a matmul whose sums stay in registers. Operands are
// words of 4 or 8 bytes along k: one float32, two bfloat16, four int8. Internal to backends/cpu/packed.
#pragma once
#include <array>
#include <cstdint>

#include "weft/core/array/dtype.h"

namespace weft::detail::packed {

/// A tile of sums. The right operand is a panel: for each word of k one to three vectors of columns. The left one is in rows, or in a panel
/// as high as the tile.
struct TileWork {
  const char* left = nullptr;
  std::int64_t left_row = 0;  ///< bytes between rows that are not in a panel
  const char* right = nullptr;
  std::int64_t right_row = 0;  ///< bytes from one word of k of the right panel to the next
  std::int64_t words = 0;      ///< of k
  char* out = nullptr;
  std::int64_t out_row = 0;             ///< bytes
  bool add = false;                     ///< to what is there
  int last = 0;                         ///< columns of the tile's last vector
  const std::int32_t* start = nullptr;  ///< of quads: what each row's sums begin with
};
using Tile = void (*)(const TileWork&);

enum class UnitKind {
  f32,
  f64,
  i32,
  i64,
  i16_pairs,   ///< int16, two by two, to int32
  bf16_pairs,  ///< bfloat16, two by two, to float32; subnormal numbers count as 0
  i8_quads,    ///< int8 on the left and uint8 on the right, four by four, to int32
  u8_quads,    ///< uint8 on the left and int8 on the right
  i8_i8_quads,
  u8_u8_quads,
};

struct Unit {
  DType element;               ///< of what is multiplied
  DType sum;                   ///< of the tile
  int group = 1;               ///< elements of a word
  int lanes = 0;               ///< columns of a vector
  int vectors = 2;             ///< of a panel, and of the widest tile
  std::array<int, 5> heights;  ///< of tiles, the highest first; after the last one 0
  Tile tiles[2][3][5];         ///< [the left operand in a panel][vectors of columns - 1][height]
  bool left_in_rows = false;   ///< the left operand is never in a panel
  double rate = 1;             ///< words that are multiplied and added in the time of a vector instruction, in vectors
  int word_bytes() const { return group * element.itemsize(); }
  int panel_columns() const { return vectors * lanes; }
};

/// n elements from one dtype to another: floats round to the nearest even, integers wrap around.
using Convert = void (*)(const void* from, void* to, std::int64_t n);
/// Null where the processor has no instructions of that width, or no code is here for the two dtypes.
Convert conversion_512(DType from, DType to);
Convert conversion_256(DType from, DType to);

/// Null where the processor has no such instructions, or none of that width.
const Unit* unit_amx(UnitKind kind);
const Unit* unit_512(UnitKind kind);
const Unit* unit_512_vnni(UnitKind kind);
const Unit* unit_512_bf16(UnitKind kind);
const Unit* unit_256(UnitKind kind);

/// The best that this processor has.
inline const Unit* find_unit(UnitKind kind) {
  for (const auto find : {&unit_512_vnni, &unit_512_bf16, &unit_512, &unit_256})
    if (const Unit* u = find(kind)) return u;
  return nullptr;
}

}  // namespace weft::detail::packed
