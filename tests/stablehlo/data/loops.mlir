module @jit_loops attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<4x3xf32>) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<4x3xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.slice %arg1 [0:1, 0:3] : (tensor<4x3xf32>) -> tensor<1x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:4 = stablehlo.while(%iterArg = %arg1, %iterArg_5 = %c, %iterArg_6 = %1, %iterArg_7 = %2) : tensor<4x3xf32>, tensor<i32>, tensor<3xf32>, tensor<4x3xf32>
    cond {
      %c_8 = stablehlo.constant dense<4> : tensor<i32>
      %13 = stablehlo.compare LT, %iterArg_5, %c_8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %13 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_5) : (tensor<4x3xf32>, tensor<i32>) -> tensor<3xf32>
      %14:2 = func.call @closed_call(%iterArg_6, %13) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      %15 = func.call @dynamic_update_index_in_dim(%iterArg_7, %14#1, %iterArg_5) : (tensor<4x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<4x3xf32>
      %c_8 = stablehlo.constant dense<1> : tensor<i32>
      %16 = stablehlo.add %iterArg_5, %c_8 : tensor<i32>
      stablehlo.return %iterArg, %16, %14#0, %15 : tensor<4x3xf32>, tensor<i32>, tensor<3xf32>, tensor<4x3xf32>
    }
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5:3 = stablehlo.while(%iterArg = %arg0, %iterArg_5 = %c_1, %iterArg_6 = %4) : tensor<i32>, tensor<i32>, tensor<3xf32>
    cond {
      %13 = stablehlo.compare LT, %iterArg_5, %iterArg, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %13 : tensor<i1>
    } do {
      %c_7 = stablehlo.constant dense<1> : tensor<i32>
      %13 = stablehlo.add %iterArg_5, %c_7 : tensor<i32>
      %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %15 = stablehlo.multiply %iterArg_6, %14 : tensor<3xf32>
      stablehlo.return %iterArg, %13, %15 : tensor<i32>, tensor<i32>, tensor<3xf32>
    }
    %6 = stablehlo.convert %arg0 : tensor<i32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<2> : tensor<i32>
    %7 = stablehlo.clamp %c_2, %6, %c_3 : tensor<i32>
    %8 = "stablehlo.case"(%7) ({
      %13 = stablehlo.cosine %5#2 : tensor<3xf32>
      stablehlo.return %13 : tensor<3xf32>
    }, {
      %13 = stablehlo.exponential %5#2 : tensor<3xf32>
      stablehlo.return %13 : tensor<3xf32>
    }, {
      %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<3xf32>
      %14 = stablehlo.subtract %5#2, %13 : tensor<3xf32>
      stablehlo.return %14 : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %9 = stablehlo.multiply %8, %3#2 : tensor<3xf32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %10 = stablehlo.compare GT, %arg0, %c_4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %11 = stablehlo.convert %10 : (tensor<i1>) -> tensor<i32>
    %12 = "stablehlo.case"(%11) ({
      %13 = stablehlo.negate %3#3 : tensor<4x3xf32>
      stablehlo.return %13 : tensor<4x3xf32>
    }, {
      %13 = stablehlo.abs %3#3 : tensor<4x3xf32>
      stablehlo.return %13 : tensor<4x3xf32>
    }) : (tensor<i32>) -> tensor<4x3xf32>
    return %9, %12 : tensor<3xf32>, tensor<4x3xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x3xf32>, %arg1: tensor<i32>) -> tensor<3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 3] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32>
    return %1 : tensor<3xf32>
  }
  func.func private @closed_call(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    %1 = stablehlo.sine %0 : tensor<3xf32>
    %2 = stablehlo.multiply %arg0, %arg1 : tensor<3xf32>
    return %1, %2 : tensor<3xf32>, tensor<3xf32>
  }
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<4x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<i32>) -> tensor<4x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
    return %1 : tensor<4x3xf32>
  }
}
