// What a library may refuse on the device is a kernel, too, which is given what the product leaves
// and overwrites it. Where the result is reordered behind an epilogue, what that reads is
// reordered instead. Nobody refuses on processors.
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=sm_90 | FileCheck %s --enable-var-scope
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=cpu | FileCheck %s --check-prefix=CPU

// CPU-NOT: pp.unfused
// CPU-NOT: @epilogue

// CHECK-LABEL: func.func private @epilogue_0
// CHECK-SAME: (%[[B:.*]]: tensor<80xf32>, %[[P:.*]]: tensor<4x16x80xf32>) -> tensor<4x16x80xf32>
// CHECK-SAME: pp.epilogue = "{{[0-9a-f]*}}", pp.inplace = array<i64: 0, 1>
// CHECK: %[[A:.*]] = pp.add %[[P]], %
// CHECK-NEXT: return %[[A]]
// CHECK: @matmul_0({{.*}}pp.unfused = @epilogue_0
func.func @main(%x: tensor<64x48xf32>, %w: tensor<48x80xf32>, %b: tensor<80xf32>) -> tensor<4x16x80xf32> {
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<64x48xf32>, tensor<48x80xf32> -> tensor<64x80xf32>
  %bias = pp.broadcast %b dims [1] : tensor<80xf32> -> tensor<64x80xf32>
  %v = pp.add %p, %bias : tensor<64x80xf32>
  %y = pp.reshape %v : tensor<64x80xf32> -> tensor<4x16x80xf32>
  return %y : tensor<4x16x80xf32>
}

// -----

// The product's factor, and what reorders it at once, are the library's.
// CHECK-LABEL: func.func private @epilogue_0
// CHECK-SAME: (%[[R:.*]]: tensor<80x64xf32>, %[[P:.*]]: tensor<80x64xf32>) -> tensor<80x64xf32>
// CHECK-NOT: pp.mul
// CHECK: %[[V:.*]] = pp.transpose %[[R]]
// CHECK-NEXT: %[[T:.*]] = pp.transpose %[[V]]
// CHECK-NEXT: %[[A:.*]] = pp.add %[[P]], %[[T]]
// CHECK-NEXT: return %[[A]]
// CHECK: @matmul_0({{.*}}pp.unfused = @epilogue_0
func.func @main(%x: tensor<64x48xf32>, %w: tensor<48x80xf32>, %r: tensor<80x64xf32>) -> tensor<80x64xf32> {
  %two_s = pp.constant dense<2.0> : tensor<f32>
  %two = pp.broadcast %two_s dims [] : tensor<f32> -> tensor<64x80xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<64x48xf32>, tensor<48x80xf32> -> tensor<64x80xf32>
  %s = pp.mul %p, %two : tensor<64x80xf32>
  %q = pp.transpose %r perm [1, 0] : tensor<80x64xf32> -> tensor<64x80xf32>
  %v = pp.add %s, %q : tensor<64x80xf32>
  %y = pp.transpose %v perm [1, 0] : tensor<64x80xf32> -> tensor<80x64xf32>
  return %y : tensor<80x64xf32>
}

// -----

// Sums leave the product alone.
// CHECK-LABEL: func.func private @epilogue_0
// CHECK-SAME: (%[[D:.*]]: tensor<4x16x24xf32>) -> tensor<24xf32>
// CHECK-NOT: pp.inplace
// CHECK: pp.reduce sum %[[D]]
func.func @main(%x: tensor<4x16x8xf32>, %dy: tensor<4x16x24xf32>) -> (tensor<8x24xf32>, tensor<24xf32>) {
  %b = pp.reduce sum %dy dims [0, 1] : tensor<4x16x24xf32> -> tensor<24xf32>
  %w = pp.dot_general %x, %dy batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x8xf32>, tensor<4x16x24xf32> -> tensor<8x24xf32>
  return %w, %b : tensor<8x24xf32>, tensor<24xf32>
}
