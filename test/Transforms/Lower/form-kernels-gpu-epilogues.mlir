// What a product takes along where the target's library does it in the same call:
// GELU as tanh has it, whose operand is a second result if anybody reads it; its
// gradient; the sum of an operand over what is contracted; a residual. Told by its values: the
// order of ops does not matter, the definition by erf is another function.
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU --enable-var-scope
// RUN: pp-opt %s --split-input-file --pp-form-kernels=target=cpu | FileCheck %s --check-prefixes=CHECK,CPU --enable-var-scope

// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[Y:.*]]:2 = pp.launch @[[K:matmul_0]](%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[Y]]#0, %[[Y]]#1
// GPU: func.func private @matmul_0
// GPU-SAME: -> (tensor<16x24xf32>, tensor<16x24xf32>)
// GPU-NOT: fused_
// CPU-NEXT: %[[V:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// CPU-NEXT: %[[Y:.*]] = pp.launch @fused_0(%[[V]])
// CPU-NEXT: return %[[Y]], %[[V]]
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %bias = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<16x24xf32>
  %v = pp.add %p, %bias : tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xf32>
  %y = pp.mul %up, %halved : tensor<16x24xf32>
  return %y, %v : tensor<16x24xf32>, tensor<16x24xf32>
}

// -----

// Nobody reads what GELU is given.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[Y:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[Y]]
// CPU-NEXT: pp.launch @matmul_0
// CPU-NEXT: pp.launch @fused_0
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>) -> tensor<16x24xf32> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %bias = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<16x24xf32>
  %v = pp.add %p, %bias : tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xf32>
  %y = pp.mul %up, %halved : tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}

// -----

// A part of GELU that is read is computed again from what GELU is given.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[Y:.*]]:2 = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: %[[T:.*]] = pp.launch @fused_0(%[[Y]]#1)
// GPU-NEXT: return %[[Y]]#0, %[[T]]
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %bias = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<16x24xf32>
  %v = pp.add %p, %bias : tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xf32>
  %y = pp.mul %up, %halved : tensor<16x24xf32>
  return %y, %t : tensor<16x24xf32>, tensor<16x24xf32>
}

// -----

// GELU by erf differs by up to 5e-4.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[V:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[Y:.*]] = pp.launch @fused_0(%[[V]])
// CHECK-NEXT: return %[[Y]], %[[V]]
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.707106769> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %bias = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<16x24xf32>
  %v = pp.add %p, %bias : tensor<16x24xf32>
  %scaled = pp.mul %v, %inner : tensor<16x24xf32>
  %t = pp.erf %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xf32>
  %y = pp.mul %up, %halved : tensor<16x24xf32>
  return %y, %v : tensor<16x24xf32>, tensor<16x24xf32>
}

// -----

// Constants are rounded to the type.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[Y:.*]]:2 = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[Y]]#0, %[[Y]]#1
func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>, %b: tensor<24xbf16>) -> (tensor<16x24xbf16>, tensor<16x24xbf16>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<bf16>
  %half = pp.broadcast %half_s dims [] : tensor<bf16> -> tensor<16x24xbf16>
  %one_s = pp.constant dense<1.0> : tensor<bf16>
  %one = pp.broadcast %one_s dims [] : tensor<bf16> -> tensor<16x24xbf16>
  %inner_s = pp.constant dense<0.797884583> : tensor<bf16>
  %inner = pp.broadcast %inner_s dims [] : tensor<bf16> -> tensor<16x24xbf16>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<bf16>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<bf16> -> tensor<16x24xbf16>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xbf16>, tensor<8x24xbf16> -> tensor<16x24xbf16>
  %bias = pp.broadcast %b dims [1] : tensor<24xbf16> -> tensor<16x24xbf16>
  %v = pp.add %p, %bias : tensor<16x24xbf16>
  %sq = pp.mul %v, %v : tensor<16x24xbf16>
  %lin = pp.mul %cubic, %sq : tensor<16x24xbf16>
  %sum = pp.add %lin, %one : tensor<16x24xbf16>
  %prod = pp.mul %v, %sum : tensor<16x24xbf16>
  %scaled = pp.mul %prod, %inner : tensor<16x24xbf16>
  %t = pp.tanh %scaled : tensor<16x24xbf16>
  %up = pp.add %t, %one : tensor<16x24xbf16>
  %halved = pp.mul %v, %half : tensor<16x24xbf16>
  %y = pp.mul %up, %halved : tensor<16x24xbf16>
  return %y, %v : tensor<16x24xbf16>, tensor<16x24xbf16>
}

// -----

// In f64 cublasLt does nothing beside products that it is not given as a matrix.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[P:.*]] = pp.launch @matmul_0(%arg0, %arg1)
// GPU-NEXT: pp.launch @fused_0(%arg2, %[[P]])
func.func @main(%x: tensor<16x8xf64>, %w: tensor<8x24xf64>, %b: tensor<24xf64>) -> (tensor<16x24xf64>, tensor<16x24xf64>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f64>
  %half = pp.broadcast %half_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %one_s = pp.constant dense<1.0> : tensor<f64>
  %one = pp.broadcast %one_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %inner_s = pp.constant dense<0.797884583> : tensor<f64>
  %inner = pp.broadcast %inner_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f64>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf64>, tensor<8x24xf64> -> tensor<16x24xf64>
  %bias = pp.broadcast %b dims [1] : tensor<24xf64> -> tensor<16x24xf64>
  %v = pp.add %p, %bias : tensor<16x24xf64>
  %sq = pp.mul %v, %v : tensor<16x24xf64>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf64>
  %sum = pp.add %lin, %one : tensor<16x24xf64>
  %prod = pp.mul %v, %sum : tensor<16x24xf64>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf64>
  %t = pp.tanh %scaled : tensor<16x24xf64>
  %up = pp.add %t, %one : tensor<16x24xf64>
  %halved = pp.mul %v, %half : tensor<16x24xf64>
  %y = pp.mul %up, %halved : tensor<16x24xf64>
  return %y, %v : tensor<16x24xf64>, tensor<16x24xf64>
}

// -----

// Its gradient, times what the product makes.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[D:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[D]]
// CPU-NEXT: pp.launch @matmul_0(%arg0, %arg1)
// CPU-NEXT: pp.launch @fused_0
func.func @main(%dy: tensor<16x8xf32>, %w: tensor<24x8xf32>, %v: tensor<16x24xf32>) -> tensor<16x24xf32> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %threes = pp.constant dense<0.134145> : tensor<f32>
  %three = pp.broadcast %threes dims [] : tensor<f32> -> tensor<16x24xf32>
  %d = pp.dot_general %dy, %w batch [] x [] contract [1] x [1] : tensor<16x8xf32>, tensor<24x8xf32> -> tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %d, %half : tensor<16x24xf32>
  %left = pp.mul %up, %halved : tensor<16x24xf32>
  %t2 = pp.mul %t, %t : tensor<16x24xf32>
  %rest = pp.sub %one, %t2 : tensor<16x24xf32>
  %lin3 = pp.mul %three, %sq : tensor<16x24xf32>
  %sum3 = pp.add %lin3, %one : tensor<16x24xf32>
  %a = pp.mul %halved, %v : tensor<16x24xf32>
  %b = pp.mul %a, %rest : tensor<16x24xf32>
  %c = pp.mul %b, %inner : tensor<16x24xf32>
  %right = pp.mul %c, %sum3 : tensor<16x24xf32>
  %dx = pp.add %left, %right : tensor<16x24xf32>
  return %dx : tensor<16x24xf32>
}

// -----

// Not if something else reads what the product makes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: pp.launch @matmul_0(%arg0, %arg1)
// CHECK-NEXT: pp.launch @fused_0
func.func @main(%dy: tensor<16x8xf32>, %w: tensor<24x8xf32>, %v: tensor<16x24xf32>) -> (tensor<16x24xf32>, tensor<16x24xf32>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %threes = pp.constant dense<0.134145> : tensor<f32>
  %three = pp.broadcast %threes dims [] : tensor<f32> -> tensor<16x24xf32>
  %d = pp.dot_general %dy, %w batch [] x [] contract [1] x [1] : tensor<16x8xf32>, tensor<24x8xf32> -> tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %d, %half : tensor<16x24xf32>
  %left = pp.mul %up, %halved : tensor<16x24xf32>
  %t2 = pp.mul %t, %t : tensor<16x24xf32>
  %rest = pp.sub %one, %t2 : tensor<16x24xf32>
  %lin3 = pp.mul %three, %sq : tensor<16x24xf32>
  %sum3 = pp.add %lin3, %one : tensor<16x24xf32>
  %a = pp.mul %halved, %v : tensor<16x24xf32>
  %b = pp.mul %a, %rest : tensor<16x24xf32>
  %c = pp.mul %b, %inner : tensor<16x24xf32>
  %right = pp.mul %c, %sum3 : tensor<16x24xf32>
  %dx = pp.add %left, %right : tensor<16x24xf32>
  return %dx, %d : tensor<16x24xf32>, tensor<16x24xf32>
}

// -----

// A weight's gradient, and its bias's.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[G:.*]]:2 = pp.launch @matmul_0(%arg0, %arg1)
// GPU-NEXT: return %[[G]]#0, %[[G]]#1
// CPU-NEXT: pp.launch @fused_0(%arg1)
// CPU-NEXT: pp.launch @matmul_0(%arg0, %arg1)
func.func @main(%x: tensor<4x16x8xf32>, %dy: tensor<4x16x24xf32>) -> (tensor<8x24xf32>, tensor<24xf32>) {
  %b = pp.reduce sum %dy dims [0, 1] : tensor<4x16x24xf32> -> tensor<24xf32>
  %w = pp.dot_general %x, %dy batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x8xf32>, tensor<4x16x24xf32> -> tensor<8x24xf32>
  return %w, %b : tensor<8x24xf32>, tensor<24xf32>
}

// -----

// A sum over less, and one that the product's operand waits for.
// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = pp.launch @fused_0(%arg1)
// CHECK: pp.launch @matmul_0(%
// CHECK: return
func.func @main(%x: tensor<4x16x8xf32>, %dy: tensor<4x16x24xf32>) -> (tensor<8x24xf32>, tensor<4x24xf32>) {
  %b = pp.reduce sum %dy dims [1] : tensor<4x16x24xf32> -> tensor<4x24xf32>
  %w = pp.dot_general %x, %dy batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x8xf32>, tensor<4x16x24xf32> -> tensor<8x24xf32>
  return %w, %b : tensor<8x24xf32>, tensor<4x24xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[X:.*]]:2 = pp.launch @fused_0(%arg0, %arg1)
// CHECK-NEXT: %[[W:.*]] = pp.launch @matmul_0(%[[X]]#{{.}}, %arg1)
// CHECK-NEXT: return %[[W]], %[[X]]#{{.}}
func.func @main(%x: tensor<64x24xf32>, %dy: tensor<64x24xf32>) -> (tensor<24x24xf32>, tensor<24xf32>) {
  %b = pp.reduce sum %dy dims [0] : tensor<64x24xf32> -> tensor<24xf32>
  %all = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<64x24xf32>
  %z = pp.add %x, %all : tensor<64x24xf32>
  %w = pp.dot_general %z, %dy batch [] x [] contract [0] x [0] : tensor<64x24xf32>, tensor<64x24xf32> -> tensor<24x24xf32>
  return %w, %b : tensor<24x24xf32>, tensor<24xf32>
}

// -----

// A residual in the place of what is there, with a bias; in f64, without one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT: %[[Z:.*]] = pp.launch @matmul_1(%arg4, %arg5, %arg6)
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>, %b: tensor<24xf32>, %r: tensor<16x24xf32>,
                %x64: tensor<16x8xf64>, %w64: tensor<8x24xf64>, %r64: tensor<16x24xf64>) -> (tensor<16x24xf32>, tensor<16x24xf64>) {
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %bias = pp.broadcast %b dims [1] : tensor<24xf32> -> tensor<16x24xf32>
  %v = pp.add %p, %bias : tensor<16x24xf32>
  %y = pp.add %r, %v : tensor<16x24xf32>
  %p64 = pp.dot_general %x64, %w64 batch [] x [] contract [1] x [0] : tensor<16x8xf64>, tensor<8x24xf64> -> tensor<16x24xf64>
  %z = pp.add %p64, %r64 : tensor<16x24xf64>
  return %y, %z : tensor<16x24xf32>, tensor<16x24xf64>
}

// -----

// Of an activation that the library has not, what a product takes along anyway:
// the gradient's factor of a half.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: pp.launch @matmul_0(%arg0, %arg1)
// CHECK-NEXT: pp.launch @fused_0
// CHECK: func.func private @matmul_0
// CHECK: pp.dot_general
// CHECK: pp.mul
// CHECK: return
func.func @main(%dy: tensor<16x8xf64>, %w: tensor<24x8xf64>, %v: tensor<16x24xf64>) -> tensor<16x24xf64> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f64>
  %half = pp.broadcast %half_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %one_s = pp.constant dense<1.0> : tensor<f64>
  %one = pp.broadcast %one_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %inner_s = pp.constant dense<0.797884583> : tensor<f64>
  %inner = pp.broadcast %inner_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f64>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f64> -> tensor<16x24xf64>
  %threes = pp.constant dense<0.134145> : tensor<f64>
  %three = pp.broadcast %threes dims [] : tensor<f64> -> tensor<16x24xf64>
  %d = pp.dot_general %dy, %w batch [] x [] contract [1] x [1] : tensor<16x8xf64>, tensor<24x8xf64> -> tensor<16x24xf64>
  %sq = pp.mul %v, %v : tensor<16x24xf64>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf64>
  %sum = pp.add %lin, %one : tensor<16x24xf64>
  %prod = pp.mul %v, %sum : tensor<16x24xf64>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf64>
  %t = pp.tanh %scaled : tensor<16x24xf64>
  %up = pp.add %t, %one : tensor<16x24xf64>
  %halved = pp.mul %d, %half : tensor<16x24xf64>
  %left = pp.mul %up, %halved : tensor<16x24xf64>
  %t2 = pp.mul %t, %t : tensor<16x24xf64>
  %rest = pp.sub %one, %t2 : tensor<16x24xf64>
  %lin3 = pp.mul %three, %sq : tensor<16x24xf64>
  %sum3 = pp.add %lin3, %one : tensor<16x24xf64>
  %a = pp.mul %halved, %v : tensor<16x24xf64>
  %b = pp.mul %a, %rest : tensor<16x24xf64>
  %c = pp.mul %b, %inner : tensor<16x24xf64>
  %right = pp.mul %c, %sum3 : tensor<16x24xf64>
  %dx = pp.add %left, %right : tensor<16x24xf64>
  return %dx : tensor<16x24xf64>
}

// -----

// What mixed precision makes of GELU: between converts it is computed in f32, and a literal is
// rounded.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[Y:.*]]:2 = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[Y]]#0, %[[Y]]#1
// CPU-NEXT: %[[V:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// CPU-NEXT: pp.launch @fused_0(%[[V]])
func.func @main(%x: tensor<16x8xbf16>, %w: tensor<8x24xbf16>, %b: tensor<24xbf16>) -> (tensor<16x24xbf16>, tensor<16x24xbf16>) {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half_l = pp.convert %half_s : tensor<f32> -> tensor<bf16>
  %half = pp.broadcast %half_l dims [] : tensor<bf16> -> tensor<16x24xbf16>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xbf16>, tensor<8x24xbf16> -> tensor<16x24xbf16>
  %bias = pp.broadcast %b dims [1] : tensor<24xbf16> -> tensor<16x24xbf16>
  %v = pp.add %p, %bias : tensor<16x24xbf16>
  %wide = pp.convert %v : tensor<16x24xbf16> -> tensor<16x24xf32>
  %sq = pp.mul %wide, %wide : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %wide, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xbf16>
  %again = pp.convert %halved : tensor<16x24xbf16> -> tensor<16x24xf32>
  %yw = pp.mul %up, %again : tensor<16x24xf32>
  %y = pp.convert %yw : tensor<16x24xf32> -> tensor<16x24xbf16>
  return %y, %v : tensor<16x24xbf16>, tensor<16x24xbf16>
}

// -----

// And of its gradient, where what it is given is a tensor of the low type, too.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[D:.*]] = pp.launch @matmul_0(%arg0, %arg1, %arg2)
// GPU-NEXT: return %[[D]]
// CPU-NEXT: pp.launch @matmul_0(%arg0, %arg1)
// CPU-NEXT: pp.launch @fused_0
func.func @main(%dy: tensor<16x8xbf16>, %w: tensor<24x8xbf16>, %v: tensor<16x24xbf16>) -> tensor<16x24xbf16> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %threes = pp.constant dense<0.134145> : tensor<f32>
  %three = pp.broadcast %threes dims [] : tensor<f32> -> tensor<16x24xf32>
  %low = pp.dot_general %dy, %w batch [] x [] contract [1] x [1] : tensor<16x8xbf16>, tensor<24x8xbf16> -> tensor<16x24xbf16>
  %d = pp.convert %low : tensor<16x24xbf16> -> tensor<16x24xf32>
  %wide = pp.convert %v : tensor<16x24xbf16> -> tensor<16x24xf32>
  %sq = pp.mul %wide, %wide : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %wide, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %d, %half : tensor<16x24xf32>
  %left = pp.mul %up, %halved : tensor<16x24xf32>
  %rounded = pp.convert %left : tensor<16x24xf32> -> tensor<16x24xbf16>
  %t2 = pp.mul %t, %t : tensor<16x24xf32>
  %rest = pp.sub %one, %t2 : tensor<16x24xf32>
  %lin3 = pp.mul %three, %sq : tensor<16x24xf32>
  %sum3 = pp.add %lin3, %one : tensor<16x24xf32>
  %a = pp.mul %halved, %wide : tensor<16x24xf32>
  %b = pp.mul %a, %rest : tensor<16x24xf32>
  %c = pp.mul %b, %inner : tensor<16x24xf32>
  %right = pp.mul %c, %sum3 : tensor<16x24xf32>
  %other = pp.convert %right : tensor<16x24xf32> -> tensor<16x24xbf16>
  %dx = pp.add %rounded, %other : tensor<16x24xbf16>
  return %dx : tensor<16x24xbf16>
}

// -----

// Rounding to less than the product has is the model's wish.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[P:.*]] = pp.launch @matmul_0(%arg0, %arg1)
// CHECK-NEXT: pp.launch @fused_0(%[[P]])
func.func @main(%x: tensor<16x8xf32>, %w: tensor<8x24xf32>) -> tensor<16x24xf32> {
  %half_s = pp.constant dense<5.0e-01> : tensor<f32>
  %half = pp.broadcast %half_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %one_s = pp.constant dense<1.0> : tensor<f32>
  %one = pp.broadcast %one_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %inner_s = pp.constant dense<0.797884583> : tensor<f32>
  %inner = pp.broadcast %inner_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %cubic_s = pp.constant dense<4.471500e-02> : tensor<f32>
  %cubic = pp.broadcast %cubic_s dims [] : tensor<f32> -> tensor<16x24xf32>
  %p = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<16x8xf32>, tensor<8x24xf32> -> tensor<16x24xf32>
  %low = pp.convert %p : tensor<16x24xf32> -> tensor<16x24xbf16>
  %v = pp.convert %low : tensor<16x24xbf16> -> tensor<16x24xf32>
  %sq = pp.mul %v, %v : tensor<16x24xf32>
  %lin = pp.mul %cubic, %sq : tensor<16x24xf32>
  %sum = pp.add %lin, %one : tensor<16x24xf32>
  %prod = pp.mul %v, %sum : tensor<16x24xf32>
  %scaled = pp.mul %prod, %inner : tensor<16x24xf32>
  %t = pp.tanh %scaled : tensor<16x24xf32>
  %up = pp.add %t, %one : tensor<16x24xf32>
  %halved = pp.mul %v, %half : tensor<16x24xf32>
  %y = pp.mul %up, %halved : tensor<16x24xf32>
  return %y : tensor<16x24xf32>
}

// -----

// Gradients in f32 of a product of bf16: the sum is of f32, and so is the product's result. A
// sum in bf16 beside such a product would not be rounded.
// CHECK-LABEL: func.func @main
// GPU-NEXT: %[[G:.*]]:2 = pp.launch @matmul_0(%arg0, %arg1)
// GPU-NEXT: pp.launch @fused_0(%arg2)
// GPU-NEXT: pp.launch @matmul_1(%arg0, %arg2)
// CPU-NEXT: pp.launch @fused_0(%arg1)
// CPU-NEXT: pp.launch @matmul_0(%arg0, %arg1)
func.func @main(%x: tensor<4x16x8xbf16>, %dy: tensor<4x16x24xbf16>, %dz: tensor<4x16x24xbf16>) -> (tensor<8x24xf32>, tensor<24xf32>, tensor<8x24xf32>, tensor<24xbf16>) {
  %wide = pp.convert %dy : tensor<4x16x24xbf16> -> tensor<4x16x24xf32>
  %b = pp.reduce sum %wide dims [0, 1] : tensor<4x16x24xf32> -> tensor<24xf32>
  %w = pp.dot_general %x, %dy batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x8xbf16>, tensor<4x16x24xbf16> -> tensor<8x24xf32>
  %bz = pp.reduce sum %dz dims [0, 1] : tensor<4x16x24xbf16> -> tensor<24xbf16>
  %wz = pp.dot_general %x, %dz batch [] x [] contract [0, 1] x [0, 1] : tensor<4x16x8xbf16>, tensor<4x16x24xbf16> -> tensor<8x24xf32>
  return %w, %b, %wz, %bz : tensor<8x24xf32>, tensor<24xf32>, tensor<8x24xf32>, tensor<24xbf16>
}
