// Errors of shapes, dtypes and axes.
#include "refused.h"

using namespace weft;

namespace {
const DotDimensionNumbers kBatched{.contracting = {{{2}, {1}}}, .batch = {{{0}, {0}}}};
}  // namespace

REFUSED(add_shape_mismatch, ShapeError, ones({3, 4}) + ones({3, 5}), "add", "f32[3,4]", "f32[3,5]")
REFUSED(lax_add_rank_mismatch, Error, parse("{ lambda ; a:f32[3,4] b:f32[4]. let c:f32[3,4] = add a b in (c,) }"), "add", "f32[3,4]",
        "f32[4]", "line 1")
REFUSED(lax_add_dtype_mismatch, Error, parse("{ lambda ; a:f32[3] b:i32[3]. let c:f32[3] = add a b in (c,) }"), "add", "float32", "int32",
        "line 1")
REFUSED(dot_contraction_mismatch, ShapeError, matmul(ones({2, 3}), ones({4, 5})), "matmul", "f32[2,3]", "f32[4,5]", "3", "4")
REFUSED(dot_general_batch_mismatch, ShapeError, dot_general(ones({2, 3, 4}), ones({5, 4, 6}), kBatched), "dot_general", "batch", "2", "5")
REFUSED(concatenate_mismatch, ShapeError, concatenate({ones({2, 3}), ones({2, 4})}, 0), "concatenate", "f32[2,3]", "f32[2,4]", "0")
REFUSED(reshape_wrong_size, ShapeError, reshape(ones({2, 3}), {4, 2}), "reshape", "f32[2,3]", "6", "(4, 2)", "8")
REFUSED(transpose_bad_permutation, AxisError, transpose(ones({2, 3}), {0, 0}), "transpose", "axis 0", "twice", "f32[2,3]")
REFUSED(reduce_axis_out_of_range, AxisError, sum(ones({2, 3}), 2), "sum", "axis 2", "f32[2,3]")
REFUSED(einsum_size_conflict, ShapeError, einsum("ij,jk->ik", ones({2, 3}), ones({4, 5})), "einsum", "j", "3", "4")
REFUSED(dynamic_update_slice_dtype, DTypeError, dynamic_update_slice(ones(4), ones(2, int32), {0}), "dynamic_update_slice", "f32[4]",
        "i32[2]")
REFUSED(dynamic_slice_too_large, ShapeError, dynamic_slice(ones({3, 4}), {0, 0}, {2, 5}), "dynamic_slice", "5", "f32[3,4]")
REFUSED(bitwise_on_floats, DTypeError, ones(2) & ones(2), "and", "f32[2]", "bool or integer")
REFUSED(sin_of_integers_lax, Error, parse("{ lambda ; a:i32[3]. let c:i32[3] = sin a in (c,) }"), "sin", "int32", "floating or complex")
REFUSED(max_of_empty, ShapeError, max(zeros({0, 3}), 0), "max", "f32[0,3]", "empty")
REFUSED(conv_channel_mismatch, ShapeError, conv_general_dilated(ones({1, 3, 8, 8}), ones({4, 2, 3, 3}), {1, 1}, "SAME"),
        "conv_general_dilated", "3 features", "kernel of 2 features", "1 group,", "f32[1,3,8,8]")
