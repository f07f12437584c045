// On a GPU, whose library multiplies matrices alone, a convolution is a product of copies of what
// its windows meet, with zeros around them computed by whoever copies; without windows that slide
// it is one of what is there. Few results of long sums are sums of parts. Where a copy is read
// by few, or copies were very many, it stays a loop. Processors know windows.
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=sm_90 | FileCheck %s --enable-var-scope
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=cpu | FileCheck %s --check-prefix=CPU
// CPU-NOT: pp.gather

// CHECK-LABEL: func.func @forward
// CHECK: %[[P:.*]] = pp.launch @{{.*}}(%arg0) {{.*}} -> tensor<4x18x18x16xf32>
// CHECK: %[[C:.*]] = pp.launch @[[$COPY:.*]](%[[P]]) {{.*}} -> tensor<4x16x16x3x3x16xf32>
// CHECK: pp.launch @[[$DOT:.*]](%[[C]], %arg1)
// CHECK: func.func private @[[$DOT]]
// CHECK: contract [3, 4, 5] x [0, 1, 2]
// CHECK: func.func private @[[$COPY]]
// CHECK: pp.gather
func.func @forward(%x: tensor<4x16x16x16xf32>, %w: tensor<3x3x16x24xf32>) -> tensor<4x16x16x24xf32> {
  %y = pp.convolution %x, %w batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2] strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1] : tensor<4x16x16x16xf32>, tensor<3x3x16x24xf32> -> tensor<4x16x16x24xf32>
  return %y : tensor<4x16x16x24xf32>
}

// -----

// The gradient of the kernel of 7 x 7 x 3: rows of 147 are 148 apart, and the images are parts.
// CHECK-LABEL: func.func @kernel
// CHECK: %[[C:.*]] = pp.launch @{{.*}}-> tensor<64x16x16x148xf32>
// CHECK: %[[D:.*]] = pp.launch @[[$DOT:.*]](%[[C]], %arg1) {{.*}} -> tensor<64x147x8xf32>
// CHECK: pp.launch @{{.*}}(%[[D]]) {{.*}} -> tensor<7x7x3x8xf32>
// CHECK: func.func private @[[$DOT]]
// CHECK: batch [0] x [0] contract [1, 2] x [1, 2]
func.func @kernel(%x: tensor<64x32x32x3xf32>, %dy: tensor<64x16x16x8xf32>) -> tensor<7x7x3x8xf32> {
  %dw = pp.convolution %x, %dy batch [] x [] contract [0] x [0] window [1, 2] x [1, 2] -> [0, 1] strides [1, 1] low [3, 3] high [2, 2] dilation [1, 1] x [2, 2] : tensor<64x32x32x3xf32>, tensor<64x16x16x8xf32> -> tensor<7x7x3x8xf32>
  return %dw : tensor<7x7x3x8xf32>
}

// -----

// CHECK-LABEL: func.func @pointwise
// CHECK-NEXT: pp.launch @[[$DOT:.*]](%arg0, %arg1)
// CHECK-NEXT: return
// CHECK: func.func private @[[$DOT]]
// CHECK: pp.dot_general
func.func @pointwise(%x: tensor<4x16x16x16xf32>, %w: tensor<1x1x16x24xf32>) -> tensor<4x16x16x24xf32> {
  %y = pp.convolution %x, %w batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2] strides [1, 1] low [0, 0] high [0, 0] dilation [1, 1] x [1, 1] : tensor<4x16x16x16xf32>, tensor<1x1x16x24xf32> -> tensor<4x16x16x24xf32>
  return %y : tensor<4x16x16x24xf32>
}

// -----

// Of one channel each; of elements that are far apart.
// CHECK-LABEL: func.func @loops
// CHECK-NOT: pp.gather
func.func @loops(%x: tensor<4x16x16x16xf32>, %w: tensor<3x3x16xf32>, %v: tensor<2x8x16xf32>, %u: tensor<2x16x16xf32>) -> (tensor<16x4x16x16xf32>, tensor<2x2x16xf32>) {
  %y = pp.convolution %x, %w batch [3] x [2] contract [] x [] window [1, 2] x [0, 1] -> [2, 3] strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1] : tensor<4x16x16x16xf32>, tensor<3x3x16xf32> -> tensor<16x4x16x16xf32>
  %z = pp.convolution %v, %u batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [3500001] low [0] high [0] dilation [1000000] x [1] : tensor<2x8x16xf32>, tensor<2x16x16xf32> -> tensor<2x2x16xf32>
  return %y, %z : tensor<16x4x16x16xf32>, tensor<2x2x16xf32>
}
