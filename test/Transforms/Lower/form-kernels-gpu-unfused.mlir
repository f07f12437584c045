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

// -----

// Between converts an epilogue is computed in the model's types.
// CHECK-LABEL: func.func private @epilogue_0
// CHECK-SAME: (%[[P:.*]]: tensor<64x80xbf16>) -> tensor<64x80xbf16>
// CHECK: %[[W:.*]] = pp.convert %[[P]] : tensor<64x80xbf16> -> tensor<64x80xf32>
// CHECK: pp.tanh %{{.*}} : tensor<64x80xf32>
// CHECK: %[[Y:.*]] = pp.convert %{{.*}} : tensor<64x80xf32> -> tensor<64x80xbf16>
// CHECK-NEXT: return %[[Y]]
// CHECK: @matmul_0({{.*}}pp.unfused = @epilogue_0
func.func @main(%x: tensor<64x48xbf16>, %w: tensor<48x80xbf16>) -> tensor<64x80xbf16> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<64x80xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<64x80xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<64x80xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<64x80xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<64x48xbf16>, tensor<48x80xbf16> -> tensor<64x80xbf16>
  %v = pp.convert %p : tensor<64x80xbf16> -> tensor<64x80xf32>
  %sq = pp.mul %v, %v : tensor<64x80xf32>
  %lin = pp.mul %cubic, %sq : tensor<64x80xf32>
  %sum = pp.add %lin, %one : tensor<64x80xf32>
  %prod = pp.mul %v, %sum : tensor<64x80xf32>
  %scaled = pp.mul %prod, %inner : tensor<64x80xf32>
  %t = pp.tanh %scaled : tensor<64x80xf32>
  %up = pp.add %t, %one : tensor<64x80xf32>
  %halved = pp.mul %v, %half : tensor<64x80xf32>
  %yw = pp.mul %up, %halved : tensor<64x80xf32>
  %y = pp.convert %yw : tensor<64x80xf32> -> tensor<64x80xbf16>
  return %y : tensor<64x80xbf16>
}
