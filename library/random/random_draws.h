// Shared code of the samplers: checks of arguments, and the basic draws, which take one key that is checked
// already.
#pragma once
#include <functional>
#include <span>

#include "weft/library/random/random.h"

namespace weft::detail {

/// The sampler's key. Throws DTypeError if it is not a key, ShapeError if it is an array of keys, and, with config.debug_key_reuse, Error
/// if it was used before.
Array sampling_key(const Arg& key, const char* sampler);
/// Throws DTypeError unless the dtype is floating.
void check_floating(DType dtype, const char* sampler, SourceLoc loc);
/// The shape that is asked for, or that of the parameters broadcast together. Throws ShapeError if they don't broadcast to it.
Shape sample_shape(const OptionalShape& asked, std::initializer_list<Arg> parameters, const char* sampler, SourceLoc loc);
/// Throws Error where the options name another shape than the argument.
void check_shape_once(const OptionalShape& of_options, const OptionalShape& argument, const char* sampler, SourceLoc loc);
/// A parameter in the dtype of the samples, broadcast to their shape where `shape` is given.
Array parameter(const Arg& x, DType dtype);
Array parameter(const Arg& x, DType dtype, const Shape& shape);

/// body(inputs), of the given shape. Many samples at once are computed by one compiled program instead of step by step.
Array sampled(const char* name, const Shape& shape, std::vector<Array> inputs, const std::function<Array(std::span<const Array>)>& body,
              SourceLoc loc);

/// A strongly typed scalar.
Array constant_of(DType dtype, double value);
/// A floating dtype's numbers: bits of the mantissa, the distance from 1 to the next number, the smallest number without loss of precision.
int mantissa_bits(DType dtype);
double machine_epsilon(DType dtype);
double smallest_normal(DType dtype);

/// `minval` and `maxval` are of the dtype, and broadcast to the shape.
Array draw_uniform(const Array& key, const Shape& shape, DType dtype, const Array& minval, const Array& maxval, SourceLoc loc);
Array draw_uniform(const Array& key, const Shape& shape, DType dtype, double minval, double maxval, SourceLoc loc);
Array draw_normal(const Array& key, const Shape& shape, DType dtype, SourceLoc loc);
Array draw_exponential(const Array& key, const Shape& shape, DType dtype, SourceLoc loc);
Array draw_gumbel(const Array& key, const Shape& shape, DType dtype, SourceLoc loc);
/// 0 to n - 1 for any n, or an array's elements, shuffled along an axis.
Array shuffle(const Array& key, const Array& x, int axis, SourceLoc loc);
/// Splits a key into n keys.
std::vector<Array> split_key(const Array& key, int n, SourceLoc loc);

}  // namespace weft::detail
