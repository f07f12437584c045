// What several gathers have in common is gathered once where the rest is small,
// and a broadcast makes no more than the slice of it that is read.
// RUN: pp-opt %s --split-input-file --pp-optimize-collectives --cse | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = pp.all_gather %arg0 dims [0] over @mesh ["dp"] {pp.origin = 3 : i64}
// CHECK-NEXT: %[[Y:.*]] = pp.all_gather %arg1 dims [0] over @mesh ["dp"] {pp.origin = 3 : i64} : (tensor<2xf32>) -> tensor<4xf32>
// CHECK-NEXT: %[[YS:.*]] = pp.broadcast %[[Y]] dims [0] {pp.origin = 2 : i64} : tensor<4xf32> -> tensor<4x8xf32>
// CHECK-NEXT: %[[P:.*]] = pp.mul %[[X]], %[[YS]] {pp.origin = 2 : i64} : tensor<4x8xf32>
// A vector along the other dimension is there already.
// CHECK: %[[ZS:.*]] = pp.broadcast %arg2 dims [1] : tensor<8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: %[[Q:.*]] = pp.sub %[[ZS]], %[[X]] : tensor<4x8xf32>
// CHECK-NEXT: return %[[P]], %[[Q]]
pp.mesh @mesh = <["dp"=2]>
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2xf32>, %z: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %ys = pp.broadcast %y dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %a = pp.mul %x, %ys {pp.origin = 2 : i64} : tensor<2x8xf32>
  %b = pp.all_gather %a dims [0] over @mesh ["dp"] {pp.origin = 3 : i64} : (tensor<2x8xf32>) -> tensor<4x8xf32>
  %zs = pp.broadcast %z dims [1] : tensor<8xf32> -> tensor<2x8xf32>
  %c = pp.sub %zs, %x : tensor<2x8xf32>
  %d = pp.all_gather %c dims [0] over @mesh ["dp"] : (tensor<2x8xf32>) -> tensor<4x8xf32>
  return %b, %d : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Not for one alone, nor where as much is left to gather, nor in another part of
// the step.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-5: pp.all_gather %{{[0-9]+}} dims [0]
// CHECK-NOT: pp.all_gather
pp.mesh @mesh = <["dp"=2]>
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2xf32>, %z: tensor<2x8x1xf32>, %u: tensor<2x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %ys = pp.broadcast %y dims [0] : tensor<2xf32> -> tensor<2x8xf32>
  %a = pp.mul %x, %ys : tensor<2x8xf32>
  %b = pp.all_gather %a dims [0] over @mesh ["dp"] : (tensor<2x8xf32>) -> tensor<4x8xf32>
  %xs = pp.broadcast %x dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x1xf32>
  %as = pp.broadcast %a dims [0, 1] : tensor<2x8xf32> -> tensor<2x8x1xf32>
  %c = pp.mul %z, %xs : tensor<2x8x1xf32>
  %d = pp.all_gather %c dims [0] over @mesh ["dp"] : (tensor<2x8x1xf32>) -> tensor<4x8x1xf32>
  %e = pp.mul %z, %as : tensor<2x8x1xf32>
  %f = pp.all_gather %e dims [0] over @mesh ["dp"] : (tensor<2x8x1xf32>) -> tensor<4x8x1xf32>
  %g = pp.add %u, %ys : tensor<2x8xf32>
  %h = pp.all_gather %g dims [0] over @mesh ["dp"] : (tensor<2x8xf32>) -> tensor<4x8xf32>
  %i = pp.sub %u, %ys {pp.kind = #pp.kind<input_gradient>} : tensor<2x8xf32>
  %j = pp.all_gather %i dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<input_gradient>} : (tensor<2x8xf32>) -> tensor<4x8xf32>
  return %b, %d, %f, %h, %j : tensor<4x8xf32>, tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = pp.broadcast %arg0 dims [1] : tensor<8xf32> -> tensor<2x8xf32>
// CHECK-NEXT: %[[S:.*]] = pp.all_slice %arg0 dim 0 over @mesh ["dp"] : tensor<8xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = pp.broadcast %[[S]] dims [1] : tensor<4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return %[[A]], %[[B]]
pp.mesh @mesh = <["dp"=2]>
func.func @main(%x: tensor<8xf32>) -> (tensor<2x8xf32>, tensor<4x4xf32>) {
  %a = pp.broadcast %x dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %b = pp.all_slice %a dim 0 over @mesh ["dp"] : tensor<4x8xf32> -> tensor<2x8xf32>
  %c = pp.all_slice %a dim 1 over @mesh ["dp"] : tensor<4x8xf32> -> tensor<4x4xf32>
  return %b, %c : tensor<2x8xf32>, tensor<4x4xf32>
}
