// Convolutions are contractions, too.
// RUN: pp-opt %s --pp-form-kernels --split-input-file | FileCheck %s

// Where channels come last, bias and residual go into the product.
// CHECK-LABEL: func.func @images
// CHECK-NEXT: %[[Y:.*]] = pp.launch @convolution_0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT: return %[[Y]]
func.func @images(%x: tensor<2x8x8x16xf32>, %w: tensor<3x3x16x16xf32>, %b: tensor<16xf32>) -> tensor<2x8x8x16xf32> {
  %0 = pp.convolution %x, %w batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2] strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1] : tensor<2x8x8x16xf32>, tensor<3x3x16x16xf32> -> tensor<2x8x8x16xf32>
  %bb = pp.broadcast %b dims [3] : tensor<16xf32> -> tensor<2x8x8x16xf32>
  %1 = pp.add %0, %bb : tensor<2x8x8x16xf32>
  %2 = pp.add %1, %x : tensor<2x8x8x16xf32>
  return %2 : tensor<2x8x8x16xf32>
}
// CHECK: func.func private @convolution_0
// CHECK-SAME: pp.kernel = #pp.kernel<contraction>
// CHECK-NEXT: pp.convolution
// CHECK-NEXT: pp.broadcast
// CHECK-NEXT: pp.add
// CHECK-NEXT: pp.add
// CHECK-NOT: func.func

// -----

// Where they come first, image and kernel are turned round once, since each
// element is read for each place of the window; so is the result.
// CHECK-LABEL: func.func @channels_first
// CHECK-NEXT: pp.launch @fused_0({{.*}}) {{.*}} -> tensor<2x8x8x16xf32>
// CHECK-NEXT: pp.launch @fused_1({{.*}}) {{.*}} -> tensor<3x3x16x4xf32>
// CHECK-NEXT: pp.launch @convolution_0({{.*}}) {{.*}}: (tensor<2x8x8x16xf32>, tensor<3x3x16x4xf32>) -> tensor<2x8x8x4xf32>
// CHECK-NEXT: pp.launch @fused_2({{.*}}) {{.*}} -> tensor<2x4x8x8xf32>
// CHECK-NEXT: return {{.*}} : tensor<2x4x8x8xf32>
func.func @channels_first(%x: tensor<2x16x8x8xf32>, %w: tensor<4x16x3x3xf32>) -> tensor<2x4x8x8xf32> {
  %0 = pp.convolution %x, %w batch [] x [] contract [1] x [1] window [2, 3] x [2, 3] -> [2, 3] strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1] : tensor<2x16x8x8xf32>, tensor<4x16x3x3xf32> -> tensor<2x4x8x8xf32>
  return %0 : tensor<2x4x8x8xf32>
}

// -----

// Integers are no library's.
// CHECK-LABEL: func.func @integers
// CHECK-NEXT: pp.launch @fused_0
func.func @integers(%x: tensor<2x8x3xi32>, %w: tensor<3x3x5xi32>) -> tensor<2x8x5xi32> {
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [1] high [1] dilation [1] x [1] : tensor<2x8x3xi32>, tensor<3x3x5xi32> -> tensor<2x8x5xi32>
  return %0 : tensor<2x8x5xi32>
}
