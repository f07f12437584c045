// On a GPU, a scatter_add stands alone where each element looks through many indices;
// with one index for each row, as that of a label, it is elementwise.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 | FileCheck %s

// CHECK-LABEL: func.func @label
// CHECK-COUNT-1: pp.launch
// CHECK-NOT: pp.launch
// CHECK: return
func.func @label(%x: tensor<8x1024x50257xf32>, %i: tensor<8x1024xi32>, %u: tensor<8x1024xf32>) -> tensor<8x1024x50257xf32> {
  %zero = pp.constant dense<0.0> : tensor<f32>
  %zeros = pp.broadcast %zero dims [] : tensor<f32> -> tensor<8x1024x50257xf32>
  %neg = pp.neg %u : tensor<8x1024xf32>
  %picked = pp.scatter_add %zeros[%i], %neg batch 2 : tensor<8x1024x50257xf32>, tensor<8x1024xi32>, tensor<8x1024xf32>
  %e = pp.exp %x : tensor<8x1024x50257xf32>
  %sum = pp.add %e, %picked : tensor<8x1024x50257xf32>
  return %sum : tensor<8x1024x50257xf32>
}

// CHECK-LABEL: func.func @embedding
// CHECK-COUNT-2: pp.launch
// CHECK-NOT: pp.launch
// CHECK: return
func.func @embedding(%x: tensor<50257x768xf32>, %i: tensor<8x1024xi32>, %u: tensor<8x1024x768xf32>) -> tensor<50257x768xf32> {
  %zero = pp.constant dense<0.0> : tensor<f32>
  %zeros = pp.broadcast %zero dims [] : tensor<f32> -> tensor<50257x768xf32>
  %picked = pp.scatter_add %zeros[%i], %u batch 0 : tensor<50257x768xf32>, tensor<8x1024xi32>, tensor<8x1024x768xf32>
  %sum = pp.add %x, %picked : tensor<50257x768xf32>
  return %sum : tensor<50257x768xf32>
}
