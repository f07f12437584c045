// Every constraint of ops that move elements, by its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @broadcast_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 2 strictly increasing dimensions below 3, got [1, 0] (broadcast_c1)}}
  %0 = pp.broadcast %x dims [1, 0] : tensor<4x8xf32> -> tensor<8x4x2xf32>
  return
}

// -----

func.func @broadcast_c2(%x: tensor<8xf32>) {
  // expected-error@+1 {{expects result dimension 1 to have size 8, got 4 (broadcast_c2)}}
  %0 = pp.broadcast %x dims [1] : tensor<8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @reshape_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 32 elements, got 33 (reshape_c1)}}
  %0 = pp.reshape %x : tensor<4x8xf32> -> tensor<33xf32>
  return
}

// -----

func.func @reverse_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects strictly increasing dimensions below 2, got [1, 1] (reverse_c1)}}
  %0 = pp.reverse %x dims [1, 1] : tensor<4x8xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects a permutation of 2 dimensions, got [0, 0] (transpose_c1)}}
  %0 = pp.transpose %x perm [0, 0] : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects type 'tensor<8x4xf32>', got 'tensor<4x8xf32>' (transpose_c2)}}
  %0 = pp.transpose %x perm [1, 0] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 2 starts, limits and strides, got [0], [4, 8], [1, 1] (slice_c1)}}
  %0 = pp.slice %x [0], [4, 8], [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects 0 <= start <= limit <= 8 and a stride of at least 1 in dimension 1, got 2, 9, 1 (slice_c2)}}
  %0 = pp.slice %x [0, 2], [4, 9], [1, 1] : tensor<4x8xf32> -> tensor<4x7xf32>
  return
}

// -----

func.func @slice_c3(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{expects type 'tensor<4x3xf32>', got 'tensor<4x2xf32>' (slice_c3)}}
  %0 = pp.slice %x [0, 2], [4, 8], [1, 2] : tensor<4x8xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @pad_c1(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expects 1 low, high and interior amounts of at least 0 and a scalar, got [-1], [0], [0] and 'tensor<f32>' (pad_c1)}}
  %0 = pp.pad %x, %v low [-1] high [0] interior [0] : tensor<4xf32>, tensor<f32> -> tensor<3xf32>
  return
}

// -----

func.func @pad_c2_overflow(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expects a dimension of less than 2^63 elements, got more in dimension 0 (pad_c2)}}
  %y = pp.pad %x, %v low [9223372036854775807] high [9223372036854775807] interior [0] : tensor<4xf32>, tensor<f32> -> tensor<2xf32>
  return
}

// -----

func.func @pad_c2(%x: tensor<4xf32>, %v: tensor<f32>) {
  // expected-error@+1 {{expects type 'tensor<8xf32>', got 'tensor<9xf32>' (pad_c2)}}
  %0 = pp.pad %x, %v low [1] high [0] interior [1] : tensor<4xf32>, tensor<f32> -> tensor<9xf32>
  return
}

// -----

func.func @concatenate_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects operands of rank 1 and a dimension below it, got 'tensor<4xf32>' and 1 (concatenate_c1)}}
  %0 = pp.concatenate %x dim 1 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @concatenate_c2(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error@+1 {{expects sizes that agree but in dimension 0, got 'tensor<4x7xf32>' (concatenate_c2)}}
  %0 = pp.concatenate %x, %y dim 0 : tensor<4x8xf32>, tensor<4x7xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @dynamic_slice_c1(%x: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{expects a part of 'tensor<4xf32>' and a start per dimension, got 'tensor<5xf32>' and 1 starts (dynamic_slice_c1)}}
  %0 = pp.dynamic_slice %x [%i] : tensor<4xf32>, tensor<i32> -> tensor<5xf32>
  return
}

// -----

func.func @dynamic_update_slice_c1(%x: tensor<4xf32>, %u: tensor<5xf32>, %i: tensor<i32>) {
  // expected-error@+1 {{expects a part of 'tensor<4xf32>' and a start per dimension, got 'tensor<5xf32>' and 1 starts (dynamic_update_slice_c1)}}
  %0 = pp.dynamic_update_slice %x, %u [%i] : tensor<4xf32>, tensor<5xf32>, tensor<i32>
  return
}
