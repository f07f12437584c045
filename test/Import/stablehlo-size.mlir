// Text that grows when it is read, or is larger than it looks: refused, or read in the time that its length takes.
// RUN: pp-opt %s --inputs=x --split-input-file --verify-diagnostics | FileCheck %s

// Two rows of a parameter with 2^32, which a loop reads as those of a stack.
// CHECK: func.func @main(%arg0: tensor<4294967296x1xf32>
// CHECK: pp.slice %arg0 [0, 0], [1, 1], [1, 1]
func.func @main(%w: tensor<4294967296x1xf32> loc("w"), %x: tensor<1x1xf32> loc("x")) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i32>, tensor<1x1xf32>
  cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %less = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 1] : (tensor<4294967296x1xf32>, tensor<i32>, tensor<i32>) -> tensor<1x1xf32>
    %product = stablehlo.multiply %h, %row : tensor<1x1xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %product : tensor<i32>, tensor<1x1xf32>
  }
  %loss = stablehlo.reshape %r#1 : (tensor<1x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A mask that 2^40 paths reach.
// CHECK: func.func @main
func.func @main(%x: tensor<4xi32> loc("x"), %w: tensor<8xf32> loc("w")) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<4xi32>
  %a0 = stablehlo.compare GE, %x, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %a1 = stablehlo.and %a0, %a0 : tensor<4xi1>
  %a2 = stablehlo.and %a1, %a1 : tensor<4xi1>
  %a3 = stablehlo.and %a2, %a2 : tensor<4xi1>
  %a4 = stablehlo.and %a3, %a3 : tensor<4xi1>
  %a5 = stablehlo.and %a4, %a4 : tensor<4xi1>
  %a6 = stablehlo.and %a5, %a5 : tensor<4xi1>
  %a7 = stablehlo.and %a6, %a6 : tensor<4xi1>
  %a8 = stablehlo.and %a7, %a7 : tensor<4xi1>
  %a9 = stablehlo.and %a8, %a8 : tensor<4xi1>
  %a10 = stablehlo.and %a9, %a9 : tensor<4xi1>
  %a11 = stablehlo.and %a10, %a10 : tensor<4xi1>
  %a12 = stablehlo.and %a11, %a11 : tensor<4xi1>
  %a13 = stablehlo.and %a12, %a12 : tensor<4xi1>
  %a14 = stablehlo.and %a13, %a13 : tensor<4xi1>
  %a15 = stablehlo.and %a14, %a14 : tensor<4xi1>
  %a16 = stablehlo.and %a15, %a15 : tensor<4xi1>
  %a17 = stablehlo.and %a16, %a16 : tensor<4xi1>
  %a18 = stablehlo.and %a17, %a17 : tensor<4xi1>
  %a19 = stablehlo.and %a18, %a18 : tensor<4xi1>
  %a20 = stablehlo.and %a19, %a19 : tensor<4xi1>
  %a21 = stablehlo.and %a20, %a20 : tensor<4xi1>
  %a22 = stablehlo.and %a21, %a21 : tensor<4xi1>
  %a23 = stablehlo.and %a22, %a22 : tensor<4xi1>
  %a24 = stablehlo.and %a23, %a23 : tensor<4xi1>
  %a25 = stablehlo.and %a24, %a24 : tensor<4xi1>
  %a26 = stablehlo.and %a25, %a25 : tensor<4xi1>
  %a27 = stablehlo.and %a26, %a26 : tensor<4xi1>
  %a28 = stablehlo.and %a27, %a27 : tensor<4xi1>
  %a29 = stablehlo.and %a28, %a28 : tensor<4xi1>
  %a30 = stablehlo.and %a29, %a29 : tensor<4xi1>
  %a31 = stablehlo.and %a30, %a30 : tensor<4xi1>
  %a32 = stablehlo.and %a31, %a31 : tensor<4xi1>
  %a33 = stablehlo.and %a32, %a32 : tensor<4xi1>
  %a34 = stablehlo.and %a33, %a33 : tensor<4xi1>
  %a35 = stablehlo.and %a34, %a34 : tensor<4xi1>
  %a36 = stablehlo.and %a35, %a35 : tensor<4xi1>
  %a37 = stablehlo.and %a36, %a36 : tensor<4xi1>
  %a38 = stablehlo.and %a37, %a37 : tensor<4xi1>
  %a39 = stablehlo.and %a38, %a38 : tensor<4xi1>
  %a40 = stablehlo.and %a39, %a39 : tensor<4xi1>
  %indices = stablehlo.reshape %x : (tensor<4xi32>) -> tensor<4x1xi32>
  %rows = "stablehlo.gather"(%w, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %none = stablehlo.constant dense<0.0> : tensor<4xf32>
  %kept = stablehlo.select %a40, %rows, %none : tensor<4xi1>, tensor<4xf32>
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%kept init: %start) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Rows of a stack, one of whose names another parameter has: the stack stays whole.
// CHECK: func.func @main(%arg0: tensor<2x4xf32>
// CHECK-SAME: pp.name = "layers.w"
// CHECK-SAME: pp.name = "layers.1.w"
func.func @main(%w: tensor<2x4xf32> loc("p['layers']['w']"), %t: tensor<1x4xf32> loc("p['layers'][1]['w']"), %x: tensor<1x4xf32> loc("x")) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %taken = stablehlo.multiply %x, %t : tensor<1x4xf32>
  %r:2 = stablehlo.while(%i = %zero, %h = %taken) : tensor<i32>, tensor<1x4xf32>
  cond {
    %two = stablehlo.constant dense<2> : tensor<i32>
    %less = stablehlo.compare LT, %i, %two, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %w, %i, %zero, sizes = [1, 4] : (tensor<2x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %product = stablehlo.multiply %h, %row : tensor<1x4xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %product : tensor<i32>, tensor<1x4xf32>
  }
  %start = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%r#1 init: %start) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A donated parameter whose one result is the loss: no training step.
// CHECK: func.func @main(%arg0: tensor<f32>
// CHECK-SAME: pp.role = #pp.role<param>
func.func @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32} loc("w"), %x: tensor<f32> loc("x")) -> tensor<f32> {
  %loss = stablehlo.multiply %w, %x : tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Calls that double: 2^21 operations in 22 functions.
func.func @main(%w: tensor<f32> loc("w"), %x: tensor<f32> loc("x")) -> tensor<f32> {
  %y = call @f0(%w) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f0(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f1(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f1(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f1(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f2(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f2(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f2(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f3(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f3(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f3(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f4(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f4(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f4(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f5(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f5(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f5(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f6(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f6(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f6(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f7(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f7(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f7(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f8(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f8(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f8(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f9(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f9(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f9(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f10(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f10(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f10(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f11(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f11(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f11(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f12(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f12(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f12(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f13(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f13(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f13(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f14(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f14(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f14(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f15(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f15(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f15(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f16(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f16(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f16(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f17(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f17(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f17(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f18(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f18(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f18(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f19(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f19(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f19(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f20(%x) : (tensor<f32>) -> tensor<f32>
  %b = call @f20(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f20(%x: tensor<f32>) -> tensor<f32> {
  %a = call @f21(%x) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{expects a model of at most 2000000 ops, loops unrolled}}
  %b = call @f21(%a) : (tensor<f32>) -> tensor<f32>
  return %b : tensor<f32>
}
func.func private @f21(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
