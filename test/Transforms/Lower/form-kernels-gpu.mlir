// For a target whose kernels keep no rows, what reads many elements for each of
// its own stands alone: it, and whoever reads it, would compute them again and
// again. The rest is still fused.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: pp-opt %s --pp-form-kernels=target=cpu | FileCheck %s --check-prefixes=CHECK,CPU

// CHECK-LABEL: func.func @main
// CPU-NEXT: pp.launch @
// CPU-NEXT: return
// GPU-NEXT: %[[X:.*]] = pp.launch @fused_0(%arg0)
// GPU-NEXT: %[[C:.*]] = pp.launch @fused_1(%arg1, %[[X]])
// GPU-NEXT: %[[Y:.*]] = pp.launch @fused_2(%[[C]])
// GPU-NEXT: return %[[Y]]
func.func @main(%x: tensor<2x8x8x16xi32>, %w: tensor<3x3x16x16xi32>) -> tensor<2x8x8x16xi32> {
  %a = pp.neg %x : tensor<2x8x8x16xi32>
  %c = pp.convolution %a, %w batch [] x [] contract [3] x [2] window [1, 2] x [0, 1] -> [1, 2] strides [1, 1] low [1, 1] high [1, 1] dilation [1, 1] x [1, 1] : tensor<2x8x8x16xi32>, tensor<3x3x16x16xi32> -> tensor<2x8x8x16xi32>
  %n = pp.neg %c : tensor<2x8x8x16xi32>
  %y = pp.abs %n : tensor<2x8x8x16xi32>
  return %y : tensor<2x8x8x16xi32>
}
