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
  %none = stablehlo.constant dense<0> : tensor<i32>
  %start = stablehlo.compare GE, %x, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %mask:2 = stablehlo.while(%i = %none, %m = %start) : tensor<i32>, tensor<4xi1>
  cond {
    %times = stablehlo.constant dense<40> : tensor<i32>
    %less = stablehlo.compare LT, %i, %times, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %twice = stablehlo.and %m, %m : tensor<4xi1>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %twice : tensor<i32>, tensor<4xi1>
  }
  %indices = stablehlo.reshape %x : (tensor<4xi32>) -> tensor<4x1xi32>
  %rows = "stablehlo.gather"(%w, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %nothing = stablehlo.constant dense<0.0> : tensor<4xf32>
  %kept = stablehlo.select %mask#1, %rows, %nothing : tensor<4xi1>, tensor<4xf32>
  %sum = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%kept init: %sum) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
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

// Calls that multiply: 8^7 operations in 8 functions.
func.func @main(%w: tensor<f32> loc("w"), %x: tensor<f32> loc("x")) -> tensor<f32> {
  %y = call @f0(%w) : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
func.func private @f0(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f1(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f1(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f1(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f1(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f1(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f1(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f1(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f1(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f1(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f2(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f2(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f2(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f2(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f2(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f2(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f2(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f2(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f2(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f3(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f3(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f3(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f3(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f3(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f3(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f3(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f3(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f3(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f4(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f4(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f4(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f4(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f4(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f4(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f4(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f4(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f4(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f5(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f5(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f5(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f5(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f5(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f5(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f5(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f5(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f5(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f6(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f6(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f6(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f6(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f6(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f6(%5) : (tensor<f32>) -> tensor<f32>
  %7 = call @f6(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f6(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f6(%0: tensor<f32>) -> tensor<f32> {
  %1 = call @f7(%0) : (tensor<f32>) -> tensor<f32>
  %2 = call @f7(%1) : (tensor<f32>) -> tensor<f32>
  %3 = call @f7(%2) : (tensor<f32>) -> tensor<f32>
  %4 = call @f7(%3) : (tensor<f32>) -> tensor<f32>
  %5 = call @f7(%4) : (tensor<f32>) -> tensor<f32>
  %6 = call @f7(%5) : (tensor<f32>) -> tensor<f32>
  // expected-error @below {{expects a model of at most 2000000 ops, loops unrolled}}
  %7 = call @f7(%6) : (tensor<f32>) -> tensor<f32>
  %8 = call @f7(%7) : (tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}
func.func private @f7(%0: tensor<f32>) -> tensor<f32> {
  return %0 : tensor<f32>
}
