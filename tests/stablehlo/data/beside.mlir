module @jit_beside attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}}
  func.func public @main(%arg0: tensor<4x8xf32>) -> (tensor<2x8xf32> {jax.result_info = "result[0]"}, tensor<4x8xf32> {jax.result_info = "result[1]"}) {
    %0:2 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>, <@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%arg1: tensor<2x4xf32>) {
      %1 = "stablehlo.async_start"(%arg1) ({
      ^bb0(%arg2: tensor<2x4xf32>):
        %7 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
        ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
          %8 = stablehlo.add %arg3, %arg4 : tensor<f32>
          stablehlo.return %8 : tensor<f32>
        }) : (tensor<2x4xf32>) -> tensor<2x4xf32>
        stablehlo.return %7 : tensor<2x4xf32>
      }) : (tensor<2x4xf32>) -> !stablehlo.future<tensor<2x4xf32>>
      %2 = "stablehlo.async_start"(%arg1) ({
      ^bb0(%arg2: tensor<2x4xf32>):
        %7 = "stablehlo.all_gather"(%arg2) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<2x8xf32>
        stablehlo.return %7 : tensor<2x8xf32>
      }) : (tensor<2x4xf32>) -> !stablehlo.future<tensor<2x8xf32>>
      %3 = stablehlo.sine %arg1 : tensor<2x4xf32>
      %4 = "stablehlo.async_done"(%1) : (!stablehlo.future<tensor<2x4xf32>>) -> tensor<2x4xf32>
      %5 = stablehlo.add %3, %4 : tensor<2x4xf32>
      %6 = "stablehlo.async_done"(%2) : (!stablehlo.future<tensor<2x8xf32>>) -> tensor<2x8xf32>
      sdy.return %5, %6 : tensor<2x4xf32>, tensor<2x8xf32>
    } : (tensor<4x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>)
    return %0#0, %0#1 : tensor<2x8xf32>, tensor<4x8xf32>
  }
}
