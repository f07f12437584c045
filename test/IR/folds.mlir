// Simplifications: what differentiation leaves behind disappears.
// RUN: pp-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @elementwise
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[M:.*]]: tensor<2x4xi1>)
func.func @elementwise(%x: tensor<2x4xf32>, %m: tensor<2x4xi1>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xi1>) {
  %zero = pp.constant dense<0.0> : tensor<f32>
  %one = pp.constant dense<1.0> : tensor<f32>
  %zeros = pp.broadcast %zero dims [] : tensor<f32> -> tensor<2x4xf32>
  %ones = pp.broadcast %one dims [] : tensor<f32> -> tensor<2x4xf32>
  %a = pp.add %zeros, %x : tensor<2x4xf32>
  %b = pp.mul %a, %ones : tensor<2x4xf32>
  %c = pp.sub %b, %zeros : tensor<2x4xf32>
  %d = pp.div %c, %ones : tensor<2x4xf32>
  %n = pp.neg %d : tensor<2x4xf32>
  %p = pp.neg %n : tensor<2x4xf32>
  %s = pp.select %m, %p, %p : tensor<2x4xi1>, tensor<2x4xf32>
  %q = pp.not %m : tensor<2x4xi1>
  %r = pp.not %q : tensor<2x4xi1>
  // A subtraction from zero is no identity, nor is a division of one.
  // CHECK: %[[D:.*]] = pp.sub %{{.*}}, %[[X]]
  %t = pp.sub %zeros, %x : tensor<2x4xf32>
  // CHECK: %[[Q:.*]] = pp.div %{{.*}}, %[[X]]
  %v = pp.div %ones, %x : tensor<2x4xf32>
  %all = pp.constant dense<true> : tensor<2x4xi1>
  %u = pp.select %all, %x, %t : tensor<2x4xi1>, tensor<2x4xf32>
  // CHECK: return %[[X]], %[[D]], %[[X]], %[[Q]], %[[M]]
  return %s, %t, %u, %v, %r : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xi1>
}

// Only conversions that lose nothing on the way are skipped.
// CHECK-LABEL: func.func @converts
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xf32>)
func.func @converts(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf64>, tensor<4xf32>) {
  %a = pp.convert %x : tensor<4xbf16> -> tensor<4xf32>
  %b = pp.convert %a : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: %[[WIDE:.*]] = pp.convert %[[X]] : tensor<4xbf16> -> tensor<4xf64>
  %c = pp.convert %a : tensor<4xf32> -> tensor<4xf64>
  // CHECK: %[[LOW:.*]] = pp.convert %[[Y]] : tensor<4xf32> -> tensor<4xbf16>
  // CHECK: %[[HIGH:.*]] = pp.convert %[[LOW]]
  %d = pp.convert %y : tensor<4xf32> -> tensor<4xbf16>
  %e = pp.convert %d : tensor<4xbf16> -> tensor<4xf32>
  // CHECK: return %[[X]], %[[WIDE]], %[[HIGH]]
  return %b, %c, %e : tensor<4xbf16>, tensor<4xf64>, tensor<4xf32>
}

// Neither of two floats of 16 bits has all numbers of the other; both have those
// of i8.
// CHECK-LABEL: func.func @convertsOfSixteenBits
// CHECK-SAME: (%[[X:.*]]: tensor<4xbf16>, %[[Y:.*]]: tensor<4xi8>)
func.func @convertsOfSixteenBits(%x: tensor<4xbf16>, %y: tensor<4xi8>) -> (tensor<4xbf16>, tensor<4xi8>, tensor<4xf32>) {
  // CHECK: %[[HALF:.*]] = pp.convert %[[X]] : tensor<4xbf16> -> tensor<4xf16>
  // CHECK: %[[BACK:.*]] = pp.convert %[[HALF]]
  %a = pp.convert %x : tensor<4xbf16> -> tensor<4xf16>
  %b = pp.convert %a : tensor<4xf16> -> tensor<4xbf16>
  %c = pp.convert %y : tensor<4xi8> -> tensor<4xbf16>
  %d = pp.convert %c : tensor<4xbf16> -> tensor<4xi8>
  // CHECK: %[[WIDE:.*]] = pp.convert %[[Y]] : tensor<4xi8> -> tensor<4xf32>
  %e = pp.convert %c : tensor<4xbf16> -> tensor<4xf32>
  // CHECK: return %[[BACK]], %[[Y]], %[[WIDE]]
  return %b, %d, %e : tensor<4xbf16>, tensor<4xi8>, tensor<4xf32>
}

// CHECK-LABEL: func.func @moves
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @moves(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>, tensor<5x2x6x3x4xf32>) {
  %a = pp.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %b = pp.transpose %a perm [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[T:.*]] = pp.transpose %[[X]] perm [1, 0, 2] {pp.origin = 3 : i64}
  %c = pp.transpose %a perm [0, 2, 1] {pp.origin = 3 : i64} : tensor<3x4x2xf32> -> tensor<3x2x4xf32>
  %d = pp.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %e = pp.reshape %d : tensor<6x4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[B:.*]] = pp.broadcast %[[X]] dims [1, 3, 4]
  %f = pp.broadcast %x dims [0, 2, 3] : tensor<2x3x4xf32> -> tensor<2x6x3x4xf32>
  %g = pp.broadcast %f dims [1, 2, 3, 4] : tensor<2x6x3x4xf32> -> tensor<5x2x6x3x4xf32>
  // CHECK: return %[[X]], %[[T]], %[[X]], %[[B]]
  return %b, %c, %e, %g : tensor<2x3x4xf32>, tensor<3x2x4xf32>, tensor<2x3x4xf32>, tensor<5x2x6x3x4xf32>
}

// The gradient of slices that divide a tensor; the sum's origin is kept.
// CHECK-LABEL: func.func @pads
// CHECK-SAME: (%[[Q:.*]]: tensor<2x1xf32>, %[[K:.*]]: tensor<2x1xf32>, %[[V:.*]]: tensor<2x2xf32>)
func.func @pads(%q: tensor<2x1xf32>, %k: tensor<2x1xf32>, %v: tensor<2x2xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %z = pp.constant dense<0.0> : tensor<f32>
  // CHECK: %[[ALL:.*]] = pp.concatenate %[[Q]], %[[K]], %[[V]] dim 1 {pp.origin = 7 : i64}
  %a = pp.pad %v, %z low [0, 2] high [0, 0] interior [0, 0] : tensor<2x2xf32>, tensor<f32> -> tensor<2x4xf32>
  %b = pp.pad %k, %z low [0, 1] high [0, 2] interior [0, 0] : tensor<2x1xf32>, tensor<f32> -> tensor<2x4xf32>
  %c = pp.pad %q, %z low [0, 0] high [0, 3] interior [0, 0] : tensor<2x1xf32>, tensor<f32> -> tensor<2x4xf32>
  %d = pp.add %c, %a : tensor<2x4xf32>
  %e = pp.add %d, %b {pp.origin = 7 : i64} : tensor<2x4xf32>
  // Parts that leave a gap stay.
  // CHECK: %[[GAP:.*]] = pp.add
  %f = pp.pad %v, %z low [0, 1] high [0, 1] interior [0, 0] : tensor<2x2xf32>, tensor<f32> -> tensor<2x4xf32>
  %g = pp.add %f, %c : tensor<2x4xf32>
  // CHECK: return %[[ALL]], %[[GAP]]
  return %e, %g : tensor<2x4xf32>, tensor<2x4xf32>
}

// Moves that move nothing.
// CHECK-LABEL: func.func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[Z:.*]]: tensor<f32>)
func.func @identities(%x: tensor<2x4xf32>, %z: tensor<f32>) -> (tensor<2x4xf32>, tensor<8x1xf32>, tensor<2x3xf32>) {
  %a = pp.slice %x [0, 0], [2, 4], [1, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  %b = pp.pad %a, %z low [0, 0] high [0, 0] interior [0, 0] : tensor<2x4xf32>, tensor<f32> -> tensor<2x4xf32>
  %c = pp.concatenate %b dim 1 : tensor<2x4xf32> -> tensor<2x4xf32>
  %d = pp.reduce sum %c dims [] : tensor<2x4xf32> -> tensor<2x4xf32>
  %e = pp.transpose %d perm [0, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  %f = pp.broadcast %e dims [0, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  %g = pp.reshape %f : tensor<2x4xf32> -> tensor<2x4xf32>
  %h = pp.convert %g : tensor<2x4xf32> -> tensor<2x4xf32>
  // CHECK: %[[R:.*]] = pp.reshape %[[X]] : tensor<2x4xf32> -> tensor<8x1xf32>
  %i = pp.reshape %h : tensor<2x4xf32> -> tensor<4x2xf32>
  %j = pp.reshape %i : tensor<4x2xf32> -> tensor<8x1xf32>
  // A slice that takes a part stays.
  // CHECK: %[[S:.*]] = pp.slice %[[X]]
  %k = pp.slice %h [0, 1], [2, 4], [1, 1] : tensor<2x4xf32> -> tensor<2x3xf32>
  // CHECK: return %[[X]], %[[R]], %[[S]]
  return %h, %j, %k : tensor<2x4xf32>, tensor<8x1xf32>, tensor<2x3xf32>
}

// Selections that are decided.
// CHECK-LABEL: func.func @selects
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>)
func.func @selects(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %true = pp.constant dense<true> : tensor<4xi1>
  %false = pp.constant dense<false> : tensor<4xi1>
  %a = pp.select %true, %x, %y : tensor<4xi1>, tensor<4xf32>
  %b = pp.select %false, %x, %y : tensor<4xi1>, tensor<4xf32>
  // CHECK: return %[[X]], %[[Y]]
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
