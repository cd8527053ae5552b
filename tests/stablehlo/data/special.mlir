module @jit_special attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x3xf32>) -> (tensor<4x2xf32> {jax.result_info = "result[0][0]"}, tensor<4x2xi32> {jax.result_info = "result[0][1]"}, tensor<4x3xf32> {jax.result_info = "result[1]"}, tensor<4x3xf32> {jax.result_info = "result[2]"}, tensor<4x3xf32> {jax.result_info = "result[3]"}, tensor<4x4xf32> {jax.result_info = "result[4][0]"}, tensor<4x3xf32> {jax.result_info = "result[4][1]"}) {
    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<4x3xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
    %0 = chlo.digamma %arg0 : tensor<4x3xf32> -> tensor<4x3xf32>
    %1 = chlo.erf_inv %arg0 : tensor<4x3xf32> -> tensor<4x3xf32>
    %2 = chlo.lgamma %arg0 : tensor<4x3xf32> -> tensor<4x3xf32>
    %3:2 = stablehlo.custom_call @Qr(%arg0) {backend_config = ""} : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<3xf32>)
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.pad %3#0, %cst, low = [0, 0], high = [0, 1], interior = [0, 0] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x4xf32>
    %5 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%4, %3#1) {backend_config = ""} : (tensor<4x4xf32>, tensor<3xf32>) -> tensor<4x4xf32>
    %6 = stablehlo.iota dim = 0 : tensor<4x3xi32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x3xi32>
    %8 = stablehlo.add %6, %7 : tensor<4x3xi32>
    %9 = stablehlo.iota dim = 1 : tensor<4x3xi32>
    %10 = stablehlo.compare GE, %8, %9, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x3xf32>
    %12 = stablehlo.select %10, %11, %3#0 : tensor<4x3xi1>, tensor<4x3xf32>
    return %values, %indices, %0, %1, %2, %5, %12 : tensor<4x2xf32>, tensor<4x2xi32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>
  }
}
