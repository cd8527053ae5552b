// Random bits. The generator is Threefry-2x32 on a 64-bit counter, which the specification leaves to each implementation; words of 64 bits
// are those of XLA.
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

Array word(const Array& x, int shift, SourceLoc loc) {
  return convert(Arg(shift ? shift_right_logical(x, make_literal(Number(shift), uint64)) : x, loc), uint32);
}

/// Blocks 0, 1, ... of a key and a counter: the two words of each, the lower first.
std::pair<Array, Array> blocks(const Array& key, const Array& counter, std::int64_t n, SourceLoc loc) {
  const Array at = iota_array(uint64, {n}, 0, loc) + counter;
  Array x = word(at, 0, loc), y = word(at, 32, loc);
  const Array a = word(key, 0, loc), b = word(key, 32, loc);
  threefry(a, b, a ^ b ^ make_literal(Number(kThreefryParity), uint32), x, y, [](const Array& v, int by) {
    return (v << make_literal(Number(by), uint32)) | shift_right_logical(v, make_literal(Number(32 - by), uint32));
  });
  return {x, y};
}

const Import rng_bit_generator_import("stablehlo.rng_bit_generator", [](OpCall& c) -> Values {
  const std::string algorithm = c.need("rng_algorithm", "algorithm").text;
  if (algorithm != "THREE_FRY" && algorithm != "DEFAULT") c.fail("the algorithm " + algorithm + " is not known; THREE_FRY is");
  const Array& state = c.in(0);
  if (state.aval() != Aval{{2}, uint64}) c.fail("its state is two ui64");
  const ShapeDtypeStruct& out = c.result(1);
  if (!out.dtype.is_integer()) c.fail("bits are given as integers");
  const Array key = reshape_to(slice_axis(state, 0, 0, 1, c.loc), {}, c.loc),
              counter = reshape_to(slice_axis(state, 0, 1, 2, c.loc), {}, c.loc);
  const std::int64_t elements = out.shape.num_elements();
  const bool wide = out.dtype.itemsize() == 8;
  const std::int64_t n = wide ? elements : (elements + 1) / 2;
  const auto [low, high] = blocks(key, counter, n, c.loc);
  Array bits;
  if (wide) {
    bits = convert(low, uint64) | (convert(high, uint64) << make_literal(Number(32), uint64));
  } else {
    const Array both[] = {low, high};
    bits = slice_axis(reshape_to(stack_along(both, 1, c.loc), {2 * n}, c.loc), 0, 0, elements, c.loc);
  }
  const Array next[] = {key, counter + make_literal(Number(static_cast<unsigned long long>(n)), uint64)};
  return {stack_along(next, 0, c.loc), reshape_to(bits.dtype() == out.dtype ? bits : convert(bits, out.dtype), out.shape, c.loc)};
});

}  // namespace
}  // namespace weft::detail::mlir
