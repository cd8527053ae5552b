module @jit_elements attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32>) -> (tensor<2x3xi8> {jax.result_info = "result[0]"}, tensor<2x3xi16> {jax.result_info = "result[1]"}, tensor<2x3xi32> {jax.result_info = "result[2]"}, tensor<2x3xui8> {jax.result_info = "result[3]"}, tensor<2x3xui16> {jax.result_info = "result[4]"}, tensor<2x3xui32> {jax.result_info = "result[5]"}, tensor<2x3xf16> {jax.result_info = "result[6]"}, tensor<2x3xf32> {jax.result_info = "result[7]"}, tensor<2x3xcomplex<f32>> {jax.result_info = "result[8]"}, tensor<2xbf16> {jax.result_info = "result[9]"}, tensor<17xi1> {jax.result_info = "result[10]"}, tensor<3xi1> {jax.result_info = "result[11]"}, tensor<2x9xi1> {jax.result_info = "result[12]"}, tensor<f32> {jax.result_info = "result[13]"}, tensor<0x2xf32> {jax.result_info = "result[14]"}) {
    %c = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi8>
    %c_0 = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi16>
    %c_1 = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
    %c_2 = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xui8>
    %c_3 = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xui16>
    %c_4 = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xui32>
    %cst = stablehlo.constant dense<[[0.000000e+00, 1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00, 5.000000e+00]]> : tensor<2x3xf16>
    %cst_5 = stablehlo.constant dense<[[0.000000e+00, 1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00, 5.000000e+00]]> : tensor<2x3xf32>
    %cst_6 = stablehlo.constant dense<[[(0.000000e+00,0.000000e+00), (1.000000e+00,0.000000e+00), (2.000000e+00,0.000000e+00)], [(3.000000e+00,0.000000e+00), (4.000000e+00,0.000000e+00), (5.000000e+00,0.000000e+00)]]> : tensor<2x3xcomplex<f32>>
    %cst_7 = stablehlo.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xbf16>
    %c_8 = stablehlo.constant dense<[true, false, true, false, true, false, true, false, true, false, true, false, true, false, true, false, true]> : tensor<17xi1>
    %c_9 = stablehlo.constant dense<true> : tensor<3xi1>
    %c_10 = stablehlo.constant dense<false> : tensor<2x9xi1>
    %cst_11 = stablehlo.constant dense<> : tensor<0x2xf32>
    %0 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<i8>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i8>) -> tensor<2x3xi8>
    %2 = stablehlo.add %c, %1 : tensor<2x3xi8>
    %3 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<i16>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i16>) -> tensor<2x3xi16>
    %5 = stablehlo.add %c_0, %4 : tensor<2x3xi16>
    %6 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %7 = stablehlo.add %c_1, %6 : tensor<2x3xi32>
    %8 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<ui8>
    %9 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<ui8>) -> tensor<2x3xui8>
    %10 = stablehlo.add %c_2, %9 : tensor<2x3xui8>
    %11 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<ui16>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<ui16>) -> tensor<2x3xui16>
    %13 = stablehlo.add %c_3, %12 : tensor<2x3xui16>
    %14 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<ui32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<ui32>) -> tensor<2x3xui32>
    %16 = stablehlo.add %c_4, %15 : tensor<2x3xui32>
    %17 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f16>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f16>) -> tensor<2x3xf16>
    %19 = stablehlo.add %cst, %18 : tensor<2x3xf16>
    %20 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %22 = stablehlo.add %cst_5, %21 : tensor<2x3xf32>
    %23 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<complex<f32>>
    %24 = stablehlo.broadcast_in_dim %23, dims = [] : (tensor<complex<f32>>) -> tensor<2x3xcomplex<f32>>
    %25 = stablehlo.add %cst_6, %24 : tensor<2x3xcomplex<f32>>
    %26 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<bf16>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<bf16>) -> tensor<2xbf16>
    %28 = stablehlo.add %cst_7, %27 : tensor<2xbf16>
    %c_12 = stablehlo.constant dense<0> : tensor<i32>
    %29 = stablehlo.compare GT, %arg0, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %30 = stablehlo.broadcast_in_dim %29, dims = [] : (tensor<i1>) -> tensor<17xi1>
    %31 = stablehlo.xor %c_8, %30 : tensor<17xi1>
    %c_13 = stablehlo.constant dense<0> : tensor<i32>
    %32 = stablehlo.compare GT, %arg0, %c_13, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %33 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<i1>) -> tensor<3xi1>
    %34 = stablehlo.xor %c_9, %33 : tensor<3xi1>
    %c_14 = stablehlo.constant dense<0> : tensor<i32>
    %35 = stablehlo.compare GT, %arg0, %c_14, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %36 = stablehlo.broadcast_in_dim %35, dims = [] : (tensor<i1>) -> tensor<2x9xi1>
    %37 = stablehlo.xor %c_10, %36 : tensor<2x9xi1>
    %38 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %cst_15 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %39 = stablehlo.add %cst_15, %38 : tensor<f32>
    %40 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
    %41 = stablehlo.broadcast_in_dim %40, dims = [] : (tensor<f32>) -> tensor<0x2xf32>
    %42 = stablehlo.add %cst_11, %41 : tensor<0x2xf32>
    return %2, %5, %7, %10, %13, %16, %19, %22, %25, %28, %31, %34, %37, %39, %42 : tensor<2x3xi8>, tensor<2x3xi16>, tensor<2x3xi32>, tensor<2x3xui8>, tensor<2x3xui16>, tensor<2x3xui32>, tensor<2x3xf16>, tensor<2x3xf32>, tensor<2x3xcomplex<f32>>, tensor<2xbf16>, tensor<17xi1>, tensor<3xi1>, tensor<2x9xi1>, tensor<f32>, tensor<0x2xf32>
  }
}
