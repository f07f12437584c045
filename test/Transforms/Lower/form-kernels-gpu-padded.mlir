// What a product reads or writes has its rows further apart in memory where they are no multiple
// of 16 bytes and the target wishes so: made by the product or by the kernel that computes it, read
// by others through a slice that is in their kernels, handed on between fragments. What is returned,
// or updated, lies as others know it. Processors have no such wish.
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=sm_90 | FileCheck %s --enable-var-scope
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=cpu | FileCheck %s --check-prefix=CPU

// CPU-NOT: pp.padded
// CPU-NOT: 1024

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[L:.*]] = pp.launch @matmul_0(%arg0, %arg1) {{.*}} -> tensor<4x16x1024xf32>
// CHECK-NEXT: %[[G:.*]] = pp.launch @fused_0(%[[L]]) {{.*}} : (tensor<4x16x1024xf32>) -> tensor<4x16x1024xf32>
// CHECK-NEXT: %[[X:.*]] = pp.launch @matmul_1(%[[G]], %arg1)
// CHECK-NEXT: %[[W:.*]] = pp.launch @matmul_2(%[[G]], %arg0)
// CHECK-NEXT: return %[[X]], %[[W]]
// CHECK: func.func private @matmul_0
// CHECK: pp.pad {{.*}} {pp.padded}
// CHECK: func.func private @fused_0
// CHECK: pp.slice {{.*}} {pp.padded} : tensor<4x16x1024xf32> -> tensor<4x16x1003xf32>
// CHECK: pp.pad {{.*}} {pp.padded}
func.func @main(%x: tensor<4x16x48xf32>, %w: tensor<1003x48xf32>) -> (tensor<4x16x48xf32>, tensor<1003x48xf32>) {
  %l = pp.dot_general %x, %w batch [] x [] contract [2] x [1] : tensor<4x16x48xf32>, tensor<1003x48xf32> -> tensor<4x16x1003xf32>
  %m = pp.reduce max %l dims [2] : tensor<4x16x1003xf32> -> tensor<4x16xf32>
  %b = pp.broadcast %m dims [0, 1] : tensor<4x16xf32> -> tensor<4x16x1003xf32>
  %s = pp.sub %l, %b : tensor<4x16x1003xf32>
  %g = pp.exp %s : tensor<4x16x1003xf32>
  %dx = pp.dot_general %g, %w batch [] x [] contract [2] x [0] : tensor<4x16x1003xf32>, tensor<1003x48xf32> -> tensor<4x16x48xf32>
  %dw = pp.dot_general %g, %x batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x1003xf32>, tensor<4x16x48xf32> -> tensor<1003x48xf32>
  return %dx, %dw : tensor<4x16x48xf32>, tensor<1003x48xf32>
}

// -----

// A bias is added in passing, by who stands in, too, which reads and writes no padding.
// CHECK-LABEL: func.func private @epilogue_0
// CHECK-SAME: (%[[B:.*]]: tensor<1003xf32>, %[[P:.*]]: tensor<16x1024xf32>) -> tensor<16x1024xf32>
// CHECK: %[[R:.*]] = pp.slice %[[P]] {{.*}} {pp.padded}
// CHECK: %[[A:.*]] = pp.add %[[R]], %
// CHECK: %[[S:.*]] = pp.pad %[[A]]
// CHECK-NEXT: return %[[S]]
// CHECK: func.func private @matmul_0({{.*}} -> tensor<16x1024xf32> attributes {{{.*}}pp.unfused = @epilogue_0
func.func @main(%x: tensor<16x48xf32>, %w: tensor<48x1003xf32>, %b: tensor<1003xf32>) -> tensor<16xf32> {
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x48xf32>, tensor<48x1003xf32> -> tensor<16x1003xf32>
  %bias = pp.broadcast %b dims [1] : tensor<1003xf32> -> tensor<16x1003xf32>
  %l = pp.add %p, %bias : tensor<16x1003xf32>
  %m = pp.reduce max %l dims [1] : tensor<16x1003xf32> -> tensor<16xf32>
  return %m : tensor<16xf32>
}

// -----

// A row of 36 of 33 elements is near enough, one of 16 of 13 is not, one of 36 is good as it is.
// CHECK-LABEL: func.func @short
// CHECK: pp.launch @matmul_0({{.*}} -> tensor<16x36xf32>
// CHECK: pp.launch @matmul_1({{.*}} -> tensor<16x13xf32>
// CHECK: pp.launch @matmul_2({{.*}} -> tensor<16x36xf32>
// CHECK: func.func private @matmul_2
// CHECK-NOT: pp.padded
// CHECK: func.func private @fused_0
func.func @short(%x: tensor<16x8xf32>, %u: tensor<8x33xf32>, %v: tensor<8x13xf32>, %w: tensor<8x36xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %p = pp.dot_general %x, %u batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x33xf32> -> tensor<16x33xf32>
  %q = pp.dot_general %x, %v batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x13xf32> -> tensor<16x13xf32>
  %r = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x36xf32> -> tensor<16x36xf32>
  %a = pp.reduce max %p dims [1] : tensor<16x33xf32> -> tensor<16xf32>
  %b = pp.reduce max %q dims [1] : tensor<16x13xf32> -> tensor<16xf32>
  %c = pp.reduce max %r dims [1] : tensor<16x36xf32> -> tensor<16xf32>
  return %a, %b, %c : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Two kernels that read it, of which one has rows and the other columns, have the slice each.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[P:.*]] = pp.launch @matmul_0({{.*}} -> tensor<2048x36xf32>
// CHECK-NEXT: pp.launch @fused_{{.*}}(%[[P]]) {{.*}} : (tensor<2048x36xf32>) -> tensor<2048xf32>
// CHECK-NEXT: pp.launch @fused_{{.*}}(%[[P]]) {{.*}} : (tensor<2048x36xf32>) -> tensor<33xf32>
// CHECK-NEXT: return
func.func @twice(%x: tensor<2048x8xf32>, %w: tensor<8x33xf32>) -> (tensor<2048xf32>, tensor<33xf32>) {
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<2048x8xf32>, tensor<8x33xf32> -> tensor<2048x33xf32>
  %a = pp.reduce max %p dims [1] : tensor<2048x33xf32> -> tensor<2048xf32>
  %b = pp.reduce max %p dims [0] : tensor<2048x33xf32> -> tensor<33xf32>
  return %a, %b : tensor<2048xf32>, tensor<33xf32>
}

// -----

// Neither what is returned, nor what a reader would have to copy.
// CHECK-LABEL: func.func @known
// CHECK-NOT: tensor<16x36xf32>
func.func @known(%x: tensor<16x8xf32>, %w: tensor<8x33xf32>, %v: tensor<528x4xf32>) -> (tensor<16x33xf32>, tensor<4xf32>) {
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x33xf32> -> tensor<16x33xf32>
  %q = pp.tanh %p : tensor<16x33xf32>
  %r = pp.reshape %q : tensor<16x33xf32> -> tensor<528xf32>
  %s = pp.dot_general %r, %v batch [] x [] contract [0] x [0] : tensor<528xf32>, tensor<528x4xf32> -> tensor<4xf32>
  return %p, %s : tensor<16x33xf32>, tensor<4xf32>
}

// -----

// Fragments hand on what is padded; weights' gradients lie as these do.
module attributes {pp.level = #pp.level<pipeline>} {
  // CHECK-LABEL: func.func @main
  // CHECK: pp.fragment forward stage 0
  // CHECK: pp.yield {{.*}} : tensor<16x36xf32>
  // CHECK: pp.fragment backward stage 0
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<16x8xf32>, %[[L:.*]]: tensor<16x36xf32>):
  // CHECK-NEXT: %[[G:.*]] = pp.launch @fused_0(%[[L]]) {{.*}} : (tensor<16x36xf32>) -> tensor<16x36xf32>
  // CHECK-NEXT: pp.launch @matmul_1({{.*}} : (tensor<16x8xf32>, tensor<16x36xf32>) -> tensor<8x33xf32>
  // CHECK: pp.fragment update position 0
  // CHECK: func.func private @matmul_1
  func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x33xf32>) -> tensor<8x33xf32> {
    %0 = pp.fragment forward stage 0 (%x, %w) {
    ^bb0(%a: tensor<16x8xf32>, %b: tensor<8x33xf32>):
      %p = pp.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x33xf32> -> tensor<16x33xf32>
      pp.yield %p : tensor<16x33xf32>
    } : (tensor<16x8xf32>, tensor<8x33xf32>) -> tensor<16x33xf32>
    %1 = pp.fragment backward stage 0 (%x, %0) {
    ^bb0(%a: tensor<16x8xf32>, %p: tensor<16x33xf32>):
      %g = pp.tanh %p : tensor<16x33xf32>
      %d = pp.dot_general %a, %g batch [] x [] contract [0] x [0] : tensor<16x8xf32>, tensor<16x33xf32> -> tensor<8x33xf32>
      pp.yield %d : tensor<8x33xf32>
    } : (tensor<16x8xf32>, tensor<16x33xf32>) -> tensor<8x33xf32>
    %2 = pp.fragment update position 0 (%w, %1) {
    ^bb0(%b: tensor<8x33xf32>, %d: tensor<8x33xf32>):
      %n = pp.sub %b, %d : tensor<8x33xf32>
      pp.yield %n : tensor<8x33xf32>
    } : (tensor<8x33xf32>, tensor<8x33xf32>) -> tensor<8x33xf32>
    return %2 : tensor<8x33xf32>
  }
}

// -----

// Whoever computes a value again has rows in which it can be computed, from padded rows, too.
// CHECK-LABEL: func.func @again
// CHECK: func.func private @fused_0{{.*}}#pp.rows<1, {{\[\[}}1, 1, 9]]>
// CHECK-NEXT: pp.slice {{.*}} {pp.padded}
func.func @again(%x: tensor<432x9xf64>, %w: tensor<9x9xf64>, %m: tensor<432x9xi1>) -> tensor<9xf64> {
  %y = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<432x9xf64>, tensor<9x9xf64> -> tensor<432x9xf64>
  %zero = pp.constant dense<0.0> : tensor<f64>
  %zeros = pp.broadcast %zero dims [] : tensor<f64> -> tensor<432x9xf64>
  %e = pp.select %m, %y, %zeros : tensor<432x9xi1>, tensor<432x9xf64>
  %s = pp.reduce sum %e dims [0] : tensor<432x9xf64> -> tensor<9xf64>
  return %s : tensor<9xf64>
}
