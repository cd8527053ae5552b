#include "samples.h"

namespace weft::test {

using namespace detail;

std::vector<SampleText> basic_samples() {
  return {
      // Movements.
      {"broadcast_in_dim", kAny, "a:$d[3]. let b:$d[2,3,2] = broadcast_in_dim[broadcast_dimensions=(1,)] a in (b,)"},
      {"broadcast_in_dim", kAny, "a:$d[]. let b:$d[2,3] = broadcast_in_dim a in (b,)"},
      {"broadcast_in_dim", kAny, "a:$d[1,3]. let b:$d[2,4,3] = broadcast_in_dim[broadcast_dimensions=(0, 2)] a in (b,)"},
      {"concatenate", kAny, "a:$d[2,3] b:$d[2,1] c:$d[2,4]. let d:$d[2,8] = concatenate[dimension=1] a b c in (d,)"},
      {"concatenate", kAny, "a:$d[2,3] b:$d[0,3] c:$d[2,3]. let d:$d[4,3] = concatenate[dimension=0] a b c in (d,)"},
      {"iota", kNumber, ". let a:$d[3,4] = iota[dimension=1 dtype=$n shape=(3, 4)] in (a,)"},
      {"pad", kAny, "a:$d[3,2] b:$d[]. let c:$d[7,4] = pad[padding_config=((1, 1, 1), (0, 2, 0))] a b in (c,)"},
      {"pad", kAny, "a:$d[5,3] b:$d[]. let c:$d[4,3] = pad[padding_config=((-2, 1, 0), (2, -2, 0))] a b in (c,)"},
      {"pad", kAny, "a:$d[5] b:$d[]. let c:$d[7] = pad[padding_config=((-1, -1, 1),)] a b in (c,)"},
      {"reshape", kAny, "a:$d[2,6]. let b:$d[3,4] = reshape[new_sizes=(3, 4)] a in (b,)"},
      {"reshape", kAny, "a:$d[2,3,2]. let b:$d[4,3] = reshape[dimensions=(2, 0, 1) new_sizes=(4, 3)] a in (b,)"},
      {"rev", kAny, "a:$d[2,3,2]. let b:$d[2,3,2] = rev[dimensions=(0, 1)] a in (b,)"},
      {"slice", kAny, "a:$d[5,4]. let b:$d[2,2] = slice[limit_indices=(5, 3) start_indices=(1, 1) strides=(2, 1)] a in (b,)"},
      {"slice", kAny, "a:$d[5,4]. let b:$d[3,4] = slice[limit_indices=(4, 4) start_indices=(1, 0) strides=None] a in (b,)"},
      {"split", kAny, "a:$d[2,5]. let b:$d[2,1] c:$d[2,4] = split[axis=1 sizes=(1, 4)] a in (b, c)"},
      {"squeeze", kAny, "a:$d[1,3,1]. let b:$d[3] = squeeze[dimensions=(0, 2)] a in (b,)"},
      {"stack", kAny, "a:$d[2,3] b:$d[2,3]. let c:$d[2,2,3] = stack[axis=1] a b in (c,)"},
      {"tile", kAny, "a:$d[2,3]. let b:$d[4,9] = tile[reps=(2, 3)] a in (b,)"},
      {"transpose", kAny, "a:$d[2,3,4]. let b:$d[4,2,3] = transpose[permutation=(2, 0, 1)] a in (b,)"},
      {"unstack", kAny, "a:$d[3,2]. let b:$d[3] c:$d[3] = unstack[axis=1] a in (b, c)"},

      // Reductions.
      {"argmax", kReal, "a:$d[3,4]. let b:i32[3] = argmax[axes=(1,) index_dtype=int32] a in (b,)"},
      {"argmin", kReal, "a:$d[3,4]. let b:i64[4] = argmin[axes=(0,) index_dtype=int64] a in (b,)"},
      {"cumlogsumexp", kFloating, "a:$d[3,4]. let b:$d[3,4] = cumlogsumexp[axis=0 reverse=False] a in (b,)"},
      {"cumlogsumexp", kFloating, "a:$d[3,4]. let b:$d[3,4] = cumlogsumexp[axis=1 reverse=True] a in (b,)"},
      {"cummax", kReal, "a:$d[3,4]. let b:$d[3,4] = cummax[axis=1 reverse=False] a in (b,)"},
      {"cummax", kReal, "a:$d[3,4]. let b:$d[3,4] = cummax[axis=0 reverse=True] a in (b,)"},
      {"cummin", kReal, "a:$d[3,4]. let b:$d[3,4] = cummin[axis=1 reverse=True] a in (b,)"},
      {"cumprod", kNumber, "a:$d[3,4]. let b:$d[3,4] = cumprod[axis=0 reverse=False] a in (b,)"},
      {"cumprod", kNumber, "a:$d[3,4]. let b:$d[3,4] = cumprod[axis=1 reverse=True] a in (b,)"},
      {"cumsum", kNumber, "a:$d[3,4]. let b:$d[3,4] = cumsum[axis=0 reverse=False] a in (b,)"},
      {"cumsum", kNumber, "a:$d[3,4]. let b:$d[3,4] = cumsum[axis=1 reverse=True] a in (b,)"},
      {"reduce_and", kBits, "a:$d[3,4]. let b:$d[3] = reduce_and[axes=(1,)] a in (b,)"},
      {"reduce_max", kReal, "a:$d[3,4]. let b:$d[4] = reduce_max[axes=(0,)] a in (b,)"},
      {"reduce_max", kReal, "a:$d[2,3,4]. let b:$d[3] = reduce_max[axes=(0, 2)] a in (b,)"},
      {"reduce_min", kReal, "a:$d[3,4]. let b:$d[] = reduce_min[axes=(0, 1)] a in (b,)"},
      {"reduce_or", kBits, "a:$d[3,4]. let b:$d[4] = reduce_or[axes=(0,)] a in (b,)"},
      {"reduce_prod", kNumber, "a:$d[3,4]. let b:$d[3] = reduce_prod[axes=(1,)] a in (b,)"},
      {"reduce_prod", kNumber, "a:$d[2,3,2]. let b:$d[3] = reduce_prod[axes=(0, 2)] a in (b,)"},
      {"reduce_sum", kNumber, "a:$d[3,4]. let b:$d[4] = reduce_sum[axes=(0,)] a in (b,)"},
      {"reduce_sum", kNumber, "a:$d[2,3,4]. let b:$d[3] = reduce_sum[axes=(0, 2)] a in (b,)"},
      {"reduce_sum", kNumber, "a:$d[2,0]. let b:$d[2] = reduce_sum[axes=(1,)] a in (b,)"},
      {"reduce_xor", kBits, "a:$d[3,4]. let b:$d[3] = reduce_xor[axes=(1,)] a in (b,)"},

      // Contractions.
      {"dot_general", kAny,
       "a:$d[3,4] b:$d[4,2]. let c:$d[3,2] = dot_general[dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=$n] a b in (c,)"},
      {"dot_general", kAny,
       "a:$d[2,3,4] b:$d[4,3,2]. let c:$d[2,3] = dot_general[dimension_numbers=(([2], [0]), ([0, 1], [2, 1])) preferred_element_type=$n] a "
       "b "
       "in (c,)"},
      {"dot_general", kAny,
       "a:$d[2,3] b:$d[3,2]. let c:$d[] = dot_general[dimension_numbers=(([0, 1], [1, 0]), ([], [])) preferred_element_type=$n] a b in "
       "(c,)"},
      {"dot_general", kAny,
       "a:$d[2,3] b:$d[2]. let c:$d[2,3,2] = dot_general[dimension_numbers=(([], []), ([], [])) preferred_element_type=$n] a b in (c,)"},

      // Positions that are computed.
      {"dynamic_slice", kAny, "a:$d[4,5] b:i32[] c:i32[]. let d:$d[2,3] = dynamic_slice[slice_sizes=(2, 3)] a b c in (d,)", -1, 3},
      {"dynamic_update_slice", kAny, "a:$d[4,5] b:$d[2,3] c:i32[] d:i32[]. let e:$d[4,5] = dynamic_update_slice a b c d in (e,)", -1, 3},
      {"gather", kAny,
       "a:$d[4,3] b:i32[5,1]. let c:$d[5,3] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
       "start_index_map=(0,), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=None indices_are_sorted=False "
       "mode=GatherScatterMode.CLIP slice_sizes=(1, 3) unique_indices=False] a b in (c,)",
       -1, 5},
      {"gather", kAny,
       "a:$d[4,3] b:i32[5,2]. let c:$d[5,2] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), "
       "start_index_map=(0, 1), operand_batching_dims=(), start_indices_batching_dims=()) fill_value=0 indices_are_sorted=False "
       "mode=GatherScatterMode.FILL_OR_DROP slice_sizes=(1, 2) unique_indices=False] a b in (c,)",
       -1, 3},
      {"gather", kAny,
       "a:$d[3,4] b:i32[3,1]. let c:$d[3] = gather[dimension_numbers=GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(1,), "
       "start_index_map=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,)) fill_value=None indices_are_sorted=False "
       "mode=GatherScatterMode.PROMISE_IN_BOUNDS slice_sizes=(1, 1) unique_indices=False] a b in (c,)",
       0, 3},
      {"scatter", kAny,
       "a:$d[7,3] b:i32[1,1] c:$d[1,3]. let d:$d[7,3] = scatter[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=True update_consts=() update_jaxpr=None] a b c in (d,)",
       -1, 7},
      {"scatter-add", kAny,
       "a:$d[4,3] b:i32[5,1] c:$d[5,3]. let d:$d[4,3] = scatter-add[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] a b c in (d,)",
       -1, 4},
      {"scatter-add", kAny,
       "a:$d[4,3] b:i32[2,2] c:$d[2,2]. let d:$d[4,3] = scatter-add[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0, 1), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.CLIP unique_indices=False] a b c in (d,)",
       -1, 4},
      {"scatter-max", kReal,
       "a:$d[4,3] b:i32[2,1] c:$d[2,3]. let d:$d[4,3] = scatter-max[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] a b c in (d,)",
       0, 4},
      {"scatter-min", kReal,
       "a:$d[4,3] b:i32[2,1] c:$d[2,3]. let d:$d[4,3] = scatter-min[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] a b c in (d,)",
       0, 4},
      {"scatter-mul", kAny,
       "a:$d[4,3] b:i32[4,1] c:$d[4,3]. let d:$d[4,3] = scatter-mul[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] a b c in (d,)",
       -1, 4},
      {"scatter-sub", kAny,
       "a:$d[4,3] b:i32[5,1] c:$d[5,3]. let d:$d[4,3] = scatter-sub[dimension_numbers=ScatterDimensionNumbers(update_window_dims=(1,), "
       "inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,), operand_batching_dims=(), scatter_indices_batching_dims=()) "
       "indices_are_sorted=False mode=GatherScatterMode.FILL_OR_DROP unique_indices=False] a b c in (d,)",
       -1, 4},

      // Sorting.
      {"sort", kAny, "a:$d[3,4]. let b:$d[3,4] = sort[dimension=1 is_stable=True num_keys=1] a in (b,)"},
      {"sort", kAny, "a:$d[3,4] b:$d[3,4]. let c:$d[3,4] d:$d[3,4] = sort[dimension=0 is_stable=True num_keys=1] a b in (c, d)"},
      {"top_k", kReal, "a:$d[3,5]. let b:$d[3,2] c:i32[3,2] = top_k[axis=1 k=2] a in (b, c)"},

      // Elementwise, without arithmetic.
      {"empty2", kAny, ". let a:$d[] = empty2[dtype=$n] in (a,)"},
      {"platform_index", kAny, ". let a:i32[] = platform_index[platforms=(('mosaic', 'tpu'), ('cuda', 'cpu'), None)] in (a,)"},
      {"name", kAny, "a:$d[2,3]. let b:$d[2,3] = name[name=x] a in (b,)"},
      {"sharding_constraint", kAny,
       "a:$d[2,3]. let b:$d[2,3] = sharding_constraint[sharding=NamedSharding(mesh=Mesh('i': 2, axis_types=(Auto,)), spec=P('i',), "
       "memory_kind=device)] a in (b,)"},
      {"stop_gradient", kAny, "a:$d[2,3]. let b:$d[2,3] = stop_gradient a in (b,)", 0, 2, false},

      {"polygamma", kFloating, "a:$d[3]. let b:$d[3] = exp a; c:$d[3] = polygamma 1.0:$d[] b in (c,)", 0, 2, true, 4},

      // Sub-programs; those that compute, and those that only hand on, which may be of any dtype.
      {"closed_call", kAny,
       "a:$d[3]. let b:$d[3] = closed_call[call_jaxpr={ lambda ; a:$d[3]. let b:$d[3] = rev[dimensions=(0,)] a in (b,) }] a in (b,)"},
      {"composite", kAny,
       "a:$d[3]. let b:$d[3] = composite[jaxpr={ lambda ; a:$d[3]. let b:$d[3] = rev[dimensions=(0,)] a in (b,) } name=my.reversed "
       "version=0] a in (b,)"},
      {"cond", kAny,
       "i:i32[] a:$d[3] b:$d[3]. let c:$d[3] = cond[branches=({ lambda ; a:$d[3] b:$d[3]. let  in (a,) } { lambda ; a:$d[3] b:$d[3]. let  "
       "in (b,) })] "
       "i a b in (c,)",
       0, 1},
      {"jit", kAny, "a:$d[3] b:$d[2]. let c:$d[2] d:$d[3] = jit[name=f jaxpr={ lambda ; a:$d[3] b:$d[2]. let  in (b, a) }] a b in (c, d)"},
      {"remat2", kAny,
       "a:$d[3]. let b:$d[3] = remat2[differentiated=False jaxpr={ lambda ; a:$d[3]. let b:$d[3] = rev[dimensions=(0,)] a in (b,) } "
       "policy=None "
       "prevent_cse=True] a in (b,)"},
      {"scan", kAny,
       "c:$d[2] x:$d[3,2]. let d:$d[2] y:$d[3,2] = scan[jaxpr={ lambda ; c:$d[2] x:$d[2]. let  in (x, c) } length=3 num_carry=1 "
       "num_consts=0 "
       "reverse=False unroll=1] c x in (d, y)"},
      {"while", kAny,
       "n:i32[] c:$d[2] e:$d[2]. let m:i32[] d:$d[2] f:$d[2] = while[body_jaxpr={ lambda ; n:i32[] c:$d[2] e:$d[2]. let m:i32[] = sub n "
       "1:i32[] in "
       "(m, e, c) } body_nconsts=0 cond_jaxpr={ lambda ; n:i32[] c:$d[2] e:$d[2]. let b:bool[] = gt n 0:i32[] in (b,) } cond_nconsts=0 "
       "max_steps=4] n c e in (m, d, f)",
       0, 4},
      {"closed_call", kNumber,
       "a:$d[3] b:$d[3]. let c:$d[3] = closed_call[call_jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b in (c,) }] a b in (c,)"},
      {"composite", kNumber,
       "a:$d[3] b:$d[3]. let c:$d[3] = composite[jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b in (c,) } name=my.product "
       "version=0] a b in (c,)"},
      {"cond", kNumber,
       "i:i32[] a:$d[3] b:$d[3]. let c:$d[3] = cond[branches=({ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b in (c,) } { lambda ; "
       "a:$d[3] "
       "b:$d[3]. let c:$d[3] = sub a b in (c,) })] i a b in (c,)",
       0, 1},
      {"cond", kNumber,
       "i:i32[] a:$d[3] b:$d[3]. let c:$d[3] d:$d[3] = cond[branches=({ lambda ; a:$d[3] b:$d[3]. let  in (a, b) } { lambda ; a:$d[3] "
       "b:$d[3]. let c:$d[3] = mul a b in (c, c) } { lambda ; a:$d[3] b:$d[3]. let  in (b, b) })] i a b in (c, d)",
       0, 2},
      {"jit", kNumber,
       "a:$d[3] b:$d[3]. let c:$d[3] d:$d[3] = jit[name=f jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b; d:$d[3] = sub c b in "
       "(d, c) }] a "
       "b in (c, d)"},
      {"linear_call", kNumber,
       "a:$d[3] b:$d[3]. let c:$d[3] = linear_call[call_jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b in (c,) } "
       "transpose_jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b in (c,) } num_known=1] a b in (c,)"},
      {"remat2", kNumber,
       "a:$d[3] b:$d[3]. let c:$d[3] = remat2[differentiated=False jaxpr={ lambda ; a:$d[3] b:$d[3]. let c:$d[3] = mul a b; d:$d[3] = mul "
       "c b in (d,) } "
       "policy=None prevent_cse=True] a b in (c,)"},
      {"scan", kNumber,
       "k:$d[2] c:$d[2] x:$d[3,2]. let d:$d[2] y:$d[3,2] = scan[jaxpr={ lambda ; k:$d[2] c:$d[2] x:$d[2]. let e:$d[2] = mul c x; f:$d[2] = "
       "sub e k in (f, e) } length=3 num_carry=1 num_consts=1 reverse=False unroll=1] k c x in (d, y)"},
      {"scan", kNumber,
       "c:$d[] x:$d[4]. let d:$d[] y:$d[4] = scan[jaxpr={ lambda ; c:$d[] x:$d[]. let e:$d[] = mul c x in (e, c) } length=4 num_carry=1 "
       "num_consts=0 reverse=True unroll=1] c x in (d, y)"},
      {"while", kNumber,
       "k:$d[2] n:i32[] c:$d[2]. let m:i32[] d:$d[2] = while[body_jaxpr={ lambda ; k:$d[2] n:i32[] c:$d[2]. let m:i32[] = sub n 1:i32[]; "
       "d:$d[2] = mul c k in (m, d) } body_nconsts=1 cond_jaxpr={ lambda ; n:i32[] c:$d[2]. let b:bool[] = gt n 0:i32[] in (b,) } "
       "cond_nconsts=0 max_steps=4] k n c in (m, d)",
       1, 4},
  };
}

const std::vector<SampleText>& sample_texts() {
  static const std::vector<SampleText> all = [] {
    std::vector<SampleText> list;
    for (auto family : {basic_samples, linalg_samples, window_samples, random_samples, traced_samples})
      for (SampleText& t : family()) list.push_back(std::move(t));
    return list;
  }();
  return all;
}

const std::vector<UnsampledPrimitive>& unsampled_primitives() {
  static const std::vector<UnsampledPrimitive> all = {
      {"global_to_host_local", "needs several processes: tests/distributed"},
      {"host_local_to_global", "needs several processes: tests/distributed"},
      {"debug_print", "writes to the standard output: tests/transforms/callback.cpp"},
      {"psum_invariant", "is psum with another type: tests/runtime, tests/golden"},
      {"pvary", "is the identity on values, and only changes types: tests/runtime, tests/golden"},
  };
  return all;
}

}  // namespace weft::test
