// Every constraint of ops that compute, by its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @iota_c1() {
  // expected-error@+1 {{expects a dimension from 0 to 1, got 2 (iota_c1)}}
  %0 = pp.iota dim 2 : tensor<4x8xi32>
  return
}

// -----

func.func @random_bits_c1(%s: tensor<i64>, %t: tensor<i32>) {
  // expected-error@+1 {{expects no offsets, or 2 together with as many global sizes, got 1 and 1 (random_bits_c1)}}
  %0 = pp.random_bits %s, %t offsets(%t : tensor<i32>) of [8] stream 7 : tensor<i64>, tensor<i32> -> tensor<4x8xi32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects strictly increasing dimensions below 2, got [1, 0] (reduce_c1)}}
  %0 = pp.reduce sum %x dims [1, 0] : tensor<4x8xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c3_logic(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects elements that and can reduce, got 'tensor<4xf32>' (reduce_c3)}}
  %0 = pp.reduce and %x dims [0] : tensor<4xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_c3_numbers(%x: tensor<4xi1>) {
  // expected-error@+1 {{expects elements that sum can reduce, got 'tensor<4xi1>' (reduce_c3)}}
  %0 = pp.reduce sum %x dims [0] : tensor<4xi1> -> tensor<i1>
  return
}

// -----

func.func @reduce_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects type 'tensor<4xf32>', got 'tensor<8xf32>' (reduce_c2)}}
  %0 = pp.reduce sum %x dims [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @argmax_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a dimension from 0 to 1, got -1 (argmax_c1)}}
  %0 = pp.argmax %x dim -1 : tensor<4x8xf32> -> tensor<4xi32>
  return
}

// -----

func.func @cumsum_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a dimension from 0 to 1, got 2 (cumsum_c1)}}
  %0 = pp.cumsum %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @convolution_c1(%x: tensor<4x8x3xf32>, %w: tensor<3x3x5xf32>) {
  // expected-error@+1 {{expects paired, distinct batch, contracting and window dimensions, got batch [] x [], contract [2] x [1], window [2] x [0] -> [1] (convolution_c1)}}
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [2] x [0] -> [1] strides [1] low [0] high [0] dilation [1] x [1] : tensor<4x8x3xf32>, tensor<3x3x5xf32> -> tensor<4x6x5xf32>
  return
}

// -----

func.func @convolution_c2(%x: tensor<4x8x3xf32>, %w: tensor<3x2x5xf32>) {
  // expected-error@+1 {{expects equal sizes of paired dimensions and one element type, floats or integers as the result's, got 'tensor<4x8x3xf32>' and 'tensor<3x2x5xf32>' (convolution_c2)}}
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [0] high [0] dilation [1] x [1] : tensor<4x8x3xf32>, tensor<3x2x5xf32> -> tensor<4x6x5xf32>
  return
}

// -----

func.func @convolution_c3(%x: tensor<4x8x3xf32>, %w: tensor<3x3x5xf32>) {
  // expected-error@+1 {{expects strides and dilations of at least 1, got [0] (convolution_c3)}}
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [0] low [0] high [0] dilation [1] x [1] : tensor<4x8x3xf32>, tensor<3x3x5xf32> -> tensor<4x6x5xf32>
  return
}

// -----

func.func @convolution_c3_number(%x: tensor<4x8x3xf32>, %w: tensor<3x3x5xf32>) {
  // expected-error@+1 {{expects 1 strides, lows, highs and dilations below 2^31, got [0, 0] (convolution_c3)}}
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [0, 0] high [0] dilation [1] x [1] : tensor<4x8x3xf32>, tensor<3x3x5xf32> -> tensor<4x6x5xf32>
  return
}

// -----

func.func @convolution_c4(%x: tensor<4x8x3xf32>, %w: tensor<3x3x5xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x6x5xf32>', got 'tensor<4x8x5xf32>' (convolution_c4)}}
  %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [0] high [0] dilation [1] x [1] : tensor<4x8x3xf32>, tensor<3x3x5xf32> -> tensor<4x8x5xf32>
  return
}

// -----

func.func @reduce_window_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects strictly increasing dimensions below 2 with a size, stride and dilation of at least 1, a low and a high each, got dims [2], sizes [3], strides [1], dilation [1], low [1], high [1] (reduce_window_c1)}}
  %0 = pp.reduce_window max %x dims [2] sizes [3] strides [1] dilation [1] low [1] high [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @reduce_window_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects sum, max or min, got prod (reduce_window_c2)}}
  %0 = pp.reduce_window prod %x dims [1] sizes [3] strides [1] dilation [1] low [1] high [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @reduce_window_c3(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x4xf32>', got 'tensor<4x8xf32>' (reduce_window_c3)}}
  %0 = pp.reduce_window max %x dims [1] sizes [3] strides [2] dilation [1] low [1] high [1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @select_and_scatter_c1(%x: tensor<4x8xf32>, %u: tensor<4x8xf32>) {
  // expected-error@+1 {{a low and a high each, got dims [1], sizes [0], strides [1], dilation [1], low [1], high [1] (select_and_scatter_c1)}}
  %0 = pp.select_and_scatter %x, %u dims [1] sizes [0] strides [1] dilation [1] low [1] high [1] : tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @select_and_scatter_c2(%x: tensor<4x8xf32>, %u: tensor<4x7xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x8xf32>', got 'tensor<4x7xf32>' (select_and_scatter_c2)}}
  %0 = pp.select_and_scatter %x, %u dims [1] sizes [3] strides [1] dilation [1] low [1] high [1] : tensor<4x8xf32>, tensor<4x7xf32>
  return
}

// -----

func.func @dot_general_c1(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{expects paired, distinct batch and contracting dimensions, got batch [0] x [0], contract [0] x [1] (dot_general_c1)}}
  %0 = pp.dot_general %x, %y batch [0] x [0] contract [0] x [1] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @dot_general_c2_result(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{got 'tensor<4x4xf32>' and 'tensor<4x4xf32>' (dot_general_c2)}}
  %0 = pp.dot_general %x, %x batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xi32>
  return
}

// -----

func.func @dot_general_c2(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) {
  // expected-error@+1 {{expects equal sizes of paired dimensions and one element type, floats or integers as the result's, got 'tensor<4x8xf32>' and 'tensor<8x4xf32>' (dot_general_c2)}}
  %0 = pp.dot_general %x, %y batch [] x [] contract [1] x [1] : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @dot_general_c3(%x: tensor<4x8xf32>, %y: tensor<8x5xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x5xf32>', got 'tensor<5x4xf32>' (dot_general_c3)}}
  %0 = pp.dot_general %x, %y batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x5xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @gather_c1(%x: tensor<4x8xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{expects 1 equal leading dimensions and a table dimension after them, got 'tensor<4x8xf32>' and 'tensor<5xi32>' (gather_c1)}}
  %0 = pp.gather %x[%i] batch 1 : tensor<4x8xf32>, tensor<5xi32> -> tensor<5xf32>
  return
}

// -----

func.func @gather_c2(%x: tensor<4x8xf32>, %i: tensor<5xi32>) {
  // expected-error@+1 {{expects type 'tensor<5x8xf32>', got 'tensor<5xf32>' (gather_c2)}}
  %0 = pp.gather %x[%i] batch 0 : tensor<4x8xf32>, tensor<5xi32> -> tensor<5xf32>
  return
}

// -----

func.func @gather_c3(%x: tensor<0x3xf32>, %i: tensor<4xi32>, %none: tensor<0xi32>) {
  %empty = pp.gather %x[%none] batch 0 : tensor<0x3xf32>, tensor<0xi32> -> tensor<0x3xf32>
  // expected-error@+1 {{expects a table with at least one row to pick 'tensor<4x3xf32>' from, got 'tensor<0x3xf32>' (gather_c3)}}
  %0 = pp.gather %x[%i] batch 0 : tensor<0x3xf32>, tensor<4xi32> -> tensor<4x3xf32>
  return
}

// -----

func.func @scatter_add_c1(%x: tensor<4x8xf32>, %i: tensor<5xi32>, %u: tensor<5xf32>) {
  // expected-error@+1 {{expects 1 equal leading dimensions and a table dimension after them, got 'tensor<4x8xf32>' and 'tensor<5xi32>' (scatter_add_c1)}}
  %0 = pp.scatter_add %x[%i], %u batch 1 : tensor<4x8xf32>, tensor<5xi32>, tensor<5xf32>
  return
}

// -----

func.func @scatter_add_c2(%x: tensor<4x8xf32>, %i: tensor<5xi32>, %u: tensor<5xf32>) {
  // expected-error@+1 {{expects type 'tensor<5x8xf32>', got 'tensor<5xf32>' (scatter_add_c2)}}
  %0 = pp.scatter_add %x[%i], %u batch 0 : tensor<4x8xf32>, tensor<5xi32>, tensor<5xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @sharding_constraint_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 'barrier' with 'from', got none (sharding_constraint_c2)}}
  %0 = pp.sharding_constraint %x from <@mesh, [{"dp"}, {}]> : tensor<4x8xf32>
  return
}

// -----

func.func @name_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a name, got none (name_c1)}}
  %0 = pp.name %x "" : tensor<4x8xf32>
  return
}

// -----

func.func @name_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a kind for each dimension of 'tensor<4x8xf32>', got ["batch"] (name_c2)}}
  %0 = pp.name %x "x" dims ["batch"] : tensor<4x8xf32>
  return
}

// -----

func.func @sharding_constraint_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a sharding of rank 2 that is not partial, got #pp.sharding<@mesh, [{"dp"}]> (sharding_constraint_c1)}}
  %0 = pp.sharding_constraint %x to <@mesh, [{"dp"}]> : tensor<4x8xf32>
  return
}

// -----

func.func @reduce_c4(%x: tensor<4x0xf32>) {
  // expected-error@+1 {{expects elements to take max of, got none in 'tensor<4x0xf32>' (reduce_c4)}}
  %0 = pp.reduce max %x dims [1] : tensor<4x0xf32> -> tensor<4xf32>
  return
}

// -----

func.func @top_k_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x2xi32>', got 'tensor<3x2xi32>' (top_k_c1)}}
  %0 = pp.top_k %x dim 1 : tensor<4x8xf32> -> tensor<3x2xi32>
  return
}

// -----

func.func @top_k_c1_dimension(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a dimension from 0 to 1, got 2 (top_k_c1)}}
  %0 = pp.top_k %x dim 2 : tensor<4x8xf32> -> tensor<4x2xi32>
  return
}

// -----

func.func @top_k_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects at most 8 elements along dimension 1, got 9 (top_k_c2)}}
  %0 = pp.top_k %x dim 1 : tensor<4x8xf32> -> tensor<4x9xi32>
  return
}

// -----

func.func @argmax_c2(%x: tensor<4x0xf32>) {
  // expected-error@+1 {{expects elements to take the largest of, got none in 'tensor<4x0xf32>' (argmax_c2)}}
  %0 = pp.argmax %x dim 1 : tensor<4x0xf32> -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{expects 'whole' to name dimensions of 'tensor<4x8xf32>', ascending, got [1, 0] (reshard_c3)}}
  %0 = pp.reshard %x with ["dp"] whole [1, 0] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
