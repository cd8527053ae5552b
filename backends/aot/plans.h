// Plans: the sizes and types of an operation, which object files hold as constants for the routines of the runtime archive. The library
// writes plans, the archive reads them, perhaps on another machine. Fixed widths, little-endian, eight bytes aligned.
#pragma once
#include <cstdint>

namespace weft::aot {

/// Elements of an array, numbered as the library's dtypes.
enum class Element : std::int32_t {
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  key,
};

/// The lines of arrays along one dimension: element i of line l is at l / stride * stride * length + l % stride + i * stride.
struct Lines {
  std::int64_t length, stride, count;
};

/// Arrays of one shape, ordered by the first `keys` of them; behind it one Element for each.
struct SortPlan {
  Lines lines;
  std::int32_t operands, keys;
};

/// The k largest elements of each line, and their positions as int32.
struct TopKPlan {
  Lines lines;
  std::int64_t k;
  Element element;
  std::int32_t unused;
};

/// `count` matrices of an operand.
struct FactorPlan {
  std::int64_t count;
  Element element;
  std::int32_t rows, columns;
  std::int32_t full;  ///< of qr and svd: square factors
  std::int32_t flag;  ///< of eigh: the lower triangle is read; of svd: with vectors
  std::int32_t last;  ///< of qr and eigh: the last result, r or the values, is the only one
};

/// Triangular systems: `count` matrices n x n and right-hand sides rows x columns.
struct SolvePlan {
  std::int64_t count;
  Element element;
  std::int32_t rows, columns;
  std::int32_t left, lower, transpose, conjugate, unit_diagonal;
};

/// A Fourier transform along several axes, followed by one Axis for each, the last axis first; a real signal's axis is the first.
struct TransformPlan {
  enum Kind : std::int32_t { forward, inverse, from_real, to_real };
  Kind kind;
  Element part;  ///< of a complex number
  std::int64_t axes;
  std::int64_t elements_in, elements_out;
  double scale;  ///< of the result
};
/// Sequences of n elements `inner` elements apart, and `outer` such groups; of a real signal's axis n counts the signal's elements.
struct Axis {
  std::int64_t n, inner, outer;
};

/// An elementwise function of one or two operands; an operand of one element is broadcast.
struct ElementsPlan {
  enum Function : std::int32_t { polygamma, random_gamma_grad };
  Function function;
  Element element;
  std::int64_t size, size_x, size_y;
};

/// Gamma variates: `each` of them for each key.
struct GammaPlan {
  std::int64_t keys, each;
  Element element;
  std::int32_t log_space;
};

/// The running logarithm of the sum of exponentials along lines.
struct LogSumPlan {
  Lines lines;
  Element element;
  std::int32_t reverse;
};

/// A scatter of windows of updates that overwrite an array's elements, in order: followed by one Place for each of the array's dimensions,
/// then one Count for each dimension of the windows' index space, the slowest first.
struct ScatterPlan {
  std::int64_t elements, windows;  ///< of the array; of updates
  std::int64_t component_stride;   ///< of the entries of an index vector
  std::int32_t dimensions, counts;
  std::int32_t element_bytes;
  Element index;
  std::int32_t clip;  ///< windows that are not wholly inside are moved; else they are left out
  std::int32_t unused;
};
struct Place {
  std::int64_t size, stride;           ///< of the array's dimension
  std::int64_t window, update_stride;  ///< of the window
  std::int32_t component, count;       ///< where the window begins: an entry of the index vector, or a coordinate of its number; or -1
};
struct Count {
  std::int64_t size, update_stride, index_stride;
};

}  // namespace weft::aot
