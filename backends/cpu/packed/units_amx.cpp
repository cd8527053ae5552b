// bfloat16 two by two, summed in float32, and int8 four by four in int32: AMX, whose registers are tiles of 16 rows of 64 bytes. Sums are
// made in another order than by vectors; subnormal numbers are 0. Intel, "Intel 64 and IA-32 Architectures Software Developer's Manual",
// volume 1, chapter 18.
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/jit.h"
#include "weft/backends/cpu/packed/units.h"

#if defined(__x86_64__) && defined(__linux__)

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

WEFT_BEGIN_INSTRUCTIONS("amx-tile,amx-bf16,amx-int8")

namespace weft::detail::packed {
namespace {

constexpr std::int64_t kTileRows = 16, kTileWords = 16, kWord = 4, kVector = 64;

/// What LDTILECFG reads.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes[16] = {};  ///< of a row
  std::uint8_t rows[16] = {};
};

// Numbers of registers must be literals: sums in 0 to 3, row by row, the left operand in 4 and 5, the right one in 6 and 7.
#define WEFT_TILE_PRODUCTS(Name, instruction)                      \
  struct Name {                                                    \
    template <int rows, int columns>                               \
    static void multiply_add() {                                   \
      instruction(0, 4, 6);                                        \
      if constexpr (columns > 1) instruction(1, 4, 7);             \
      if constexpr (rows > 1) instruction(2, 5, 6);                \
      if constexpr (rows > 1 && columns > 1) instruction(3, 5, 7); \
    }                                                              \
  };
WEFT_TILE_PRODUCTS(BfloatPairs, _tile_dpbf16ps)
WEFT_TILE_PRODUCTS(SignedQuads, _tile_dpbssd)
WEFT_TILE_PRODUCTS(UnsignedQuads, _tile_dpbuud)
WEFT_TILE_PRODUCTS(SignedByUnsigned, _tile_dpbsud)
WEFT_TILE_PRODUCTS(UnsignedBySigned, _tile_dpbusd)
#undef WEFT_TILE_PRODUCTS

/// The steps of k from `first` on: `blocks` of `words` each, 16 at most.
template <class U, int M, int N>
void add_steps(const TileWork& w, std::int64_t first, std::int64_t words, std::int64_t blocks, bool add) {
  constexpr int rows = M > kTileRows ? 2 : 1;
  TileShapes shapes;
  const auto shape = [&](std::size_t tile, std::int64_t height, std::int64_t bytes) {
    shapes.rows[tile] = static_cast<std::uint8_t>(height), shapes.bytes[tile] = static_cast<std::uint16_t>(bytes);
  };
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < N; ++j) shape(2 * i + j, M / rows, j + 1 == N ? kWord * w.last : kVector);
    shape(4 + i, M / rows, kWord * words);
  }
  for (std::size_t j = 0; j < N; ++j) shape(6 + j, words, j + 1 == N ? kWord * w.last : kVector);
  asm volatile("" ::: "memory");
  _tile_loadconfig(&shapes);
  char* const below = w.out + kTileRows * w.out_row;
  if (add) {
    _tile_loadd(0, w.out, w.out_row);
    if constexpr (N > 1) _tile_loadd(1, w.out + kVector, w.out_row);
    if constexpr (rows > 1) _tile_loadd(2, below, w.out_row);
    if constexpr (rows > 1 && N > 1) _tile_loadd(3, below + kVector, w.out_row);
  } else {
    _tile_zero(0);
    if constexpr (N > 1) _tile_zero(1);
    if constexpr (rows > 1) _tile_zero(2);
    if constexpr (rows > 1 && N > 1) _tile_zero(3);
  }
  const char *left = w.left + first * kWord, *right = w.right + first * w.right_row;
  for (std::int64_t b = 0; b < blocks; ++b, left += words * kWord, right += words * w.right_row) {
    _tile_loadd(4, left, w.left_row);
    if constexpr (rows > 1) _tile_loadd(5, left + kTileRows * w.left_row, w.left_row);
    _tile_loadd(6, right, w.right_row);
    if constexpr (N > 1) _tile_loadd(7, right + kVector, w.right_row);
    U::template multiply_add<rows, N>();
  }
  _tile_stored(0, w.out, w.out_row);
  if constexpr (N > 1) _tile_stored(1, w.out + kVector, w.out_row);
  if constexpr (rows > 1) _tile_stored(2, below, w.out_row);
  if constexpr (rows > 1 && N > 1) _tile_stored(3, below + kVector, w.out_row);
  asm volatile("" ::: "memory");
}

template <class U, int M, int N>
void tile(const TileWork& w) {
  const std::int64_t whole = w.words / kTileWords, rest = w.words % kTileWords;
  if (rest) add_steps<U, M, N>(w, whole * kTileWords, rest, 1, w.add);
  if (whole) add_steps<U, M, N>(w, 0, kTileWords, whole, w.add || rest);
  _tile_release();
}

template <class U>
consteval Unit make_unit(DType element, DType sum, int group) {
  Unit u{.element = element, .sum = sum, .group = group, .lanes = 16, .heights = {}, .tiles = {}};
  u.left_in_rows = true, u.rate = 4;
  std::size_t at = 0;
  const auto add = [&]<int height>() {
    u.heights[at] = height;
    u.tiles[0][0][at] = u.tiles[1][0][at] = tile<U, height, 1>, u.tiles[0][1][at] = u.tiles[1][1][at] = tile<U, height, 2>;
    ++at;
  };
  add.template operator()<32>(), add.template operator()<16>(), add.template operator()<8>(), add.template operator()<4>();
  add.template operator()<1>();
  return u;
}

}  // namespace
}  // namespace weft::detail::packed

WEFT_END_INSTRUCTIONS

namespace weft::detail::packed {
namespace {

/// Whether the processor has the instructions, and the kernel lets this process use the registers, for which it must be asked.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  constexpr unsigned kBfloat = 1u << 22, kTile = 1u << 24, kBytes = 1u << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (native_vector_bytes() < 64 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (~d & (kBfloat | kTile | kBytes))) return false;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

const Unit* unit_amx(UnitKind kind) {
  static const bool possible = may_use_tiles();
  static constexpr Unit pairs = make_unit<BfloatPairs>(bfloat16, float32, 2), signed_quads = make_unit<SignedQuads>(int8, int32, 4),
                        unsigned_quads = make_unit<UnsignedQuads>(uint8, int32, 4),
                        left_signed = make_unit<SignedByUnsigned>(int8, int32, 4),
                        right_signed = make_unit<UnsignedBySigned>(uint8, int32, 4);
  if (!possible) return nullptr;
  switch (kind) {
    case UnitKind::bf16_pairs: return &pairs;
    case UnitKind::i8_quads: return &left_signed;
    case UnitKind::u8_quads: return &right_signed;
    case UnitKind::i8_i8_quads: return &signed_quads;
    case UnitKind::u8_u8_quads: return &unsigned_quads;
    default: return nullptr;
  }
}
}  // namespace weft::detail::packed

#else

namespace weft::detail::packed {
const Unit* unit_amx(UnitKind) { return nullptr; }
}  // namespace weft::detail::packed

#endif
