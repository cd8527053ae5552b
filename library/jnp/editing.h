// Arrays with elements put in, taken out or rearranged: insert, delete_, put, partition, sorting of several arrays; bits.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/functions/sorting.h"

namespace weft {

/// x with the values put in before a position, or before several positions of x, along an axis or of the flattened array (jnp.insert).
/// Negative positions count from the end; what is out of bounds is moved inside. The values are broadcast.
Array insert(Arg x, Arg positions, Arg values, std::optional<AxisNumber> axis = {});
/// x without the slice at a position, or at several positions, which must be concrete, or where a mask of bools holds; along an axis or of
/// the flattened array (jnp.delete). Throws AxisError for a position that is out of bounds.
Array delete_(Arg x, Arg positions, std::optional<AxisNumber> axis = {});
/// Options of put.
struct PutOptions {
  std::string mode = "drop";  ///< of positions out of bounds: "drop" leaves them out, "clip" takes the nearest, "wrap" counts on
};
/// x with the values, repeated as often as needed, at positions of the flattened array (jnp.put).
Array put(Arg x, Arg positions, Arg values, PutOptions options = {});
/// x with the values, repeated as often as needed, in turn where the mask holds (jnp.place).
Array place(Arg x, Arg mask, Arg values);
/// The elements of the flattened x, repeated as often as needed, in another shape (jnp.resize). (image::resize interpolates.)
Array resize(Arg x, Shape shape);
/// A vector or array without the zeros at its ends: "f" in front, "b" behind. x must be concrete.
Array trim_zeros(Arg x, TextArg trim = "fb");
/// The pieces of an array along axis 2.
std::vector<Array> dsplit(Arg x, Int sections);

/// x with the element that belongs at position kth there, smaller ones in front and larger ones behind it, along an axis.
Array partition(Arg x, Int kth, AxisNumber axis = -1);
/// The positions that partition x, int32.
Array argpartition(Arg x, Int kth, AxisNumber axis = -1);
/// x sorted along its last axis, as complex numbers.
Array sort_complex(Arg x);
/// Result of sort_key_val.
struct SortedPairs {
  Array keys;    ///< sorted
  Array values;  ///< in the order of their keys
};
/// Keys sorted along an axis, and values of the same shape moved with them (jax.lax.sort_key_val).
SortedPairs sort_key_val(Arg keys, Arg values, AxisNumber axis = -1);
/// Options of sort_operands.
struct SortOperandsOptions {
  AxisNumber dimension = -1;  ///< along which
  Int num_keys = 1;           ///< how many of the operands are compared, in order
};
/// Arrays of one shape sorted together, by the first of them (jax.lax.sort of several operands). The sort is stable.
std::vector<Array> sort_operands(Args operands, SortOperandsOptions options = {});

/// Options of packbits and unpackbits.
struct BitOptions {
  std::optional<AxisNumber> axis = {};  ///< along which; absent: of the flattened array
  std::optional<Int> count = {};        ///< unpackbits: how many bits, zeros behind the last
  std::string bitorder = "big";         ///< which bit comes first: "big" the highest, "little" the lowest
};
/// Eight elements as the bits of a uint8: those that are not 0 as ones. Zeros are added behind.
Array packbits(Arg x, BitOptions options = {});
/// The bits of uint8 numbers, as uint8 0 and 1.
Array unpackbits(Arg x, BitOptions options = {});

/// Uninitialised arrays are zeros: zeros_like(x).
Array empty_like(Arg x, std::optional<DType> dtype = {});
/// The distance to the next number away from 0; with x's sign.
Array spacing(Arg x);

}  // namespace weft
