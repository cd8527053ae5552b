// The lists of primitives, one a family. Keep sorted.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

PrimitiveList bitcast_primitives();
PrimitiveList call_primitives();
PrimitiveList callback_primitives();
PrimitiveList collective_move_primitives();
PrimitiveList collective_reduction_primitives();
PrimitiveList composite_primitives();
PrimitiveList concatenate_primitives();
PrimitiveList control_primitives();
PrimitiveList conv_primitives();
PrimitiveList cumulative_primitives();
PrimitiveList custom_derivative_primitives();
PrimitiveList dot_primitives();
PrimitiveList dynamic_slice_primitives();
PrimitiveList elementwise_primitives();
PrimitiveList fft_primitives();
PrimitiveList gather_primitives();
PrimitiveList iota_primitives();
PrimitiveList linear_call_primitives();
PrimitiveList linear_solve_primitives();
PrimitiveList map_rows_primitives();
PrimitiveList movement_primitives();
PrimitiveList pad_primitives();
PrimitiveList random_gamma_primitives();
PrimitiveList random_primitives();
PrimitiveList reduce_primitives();
PrimitiveList reduce_program_primitives();
PrimitiveList reduce_window_primitives();
PrimitiveList remat_primitives();
PrimitiveList scatter_primitives();
PrimitiveList select_window_primitives();
PrimitiveList shard_map_primitives();
PrimitiveList sharding_constraint_primitives();
PrimitiveList sort_primitives();
PrimitiveList spectral_primitives();
PrimitiveList split_primitives();
PrimitiveList stop_gradient_primitives();
PrimitiveList triangular_primitives();

}  // namespace weft::detail
