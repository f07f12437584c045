// Of a gather and elementwise ops beside it, whichever makes fewer bytes travel
// comes first.
// RUN: pp-opt %s --pp-optimize-collectives | FileCheck %s

pp.mesh @mesh = <["dp"=2, "tp"=2]>

// Behind a convert to fewer bits, and what stands before it.
// CHECK-LABEL: func.func @main
// CHECK: %[[HALF:.*]] = pp.constant dense<5.{{0+}}e-01> : tensor<4xf32>
// CHECK-NEXT: %[[M:.*]] = pp.mul %arg0, %[[HALF]] : tensor<4xf32>
// CHECK-NEXT: %[[T:.*]] = pp.tanh %[[M]] : tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = pp.convert %[[T]] : tensor<4xf32> -> tensor<4xbf16>
// CHECK-NEXT: %[[NARROW:.*]] = pp.all_gather %[[C]] dims [0] over @mesh ["dp"] {pp.origin = 7 : i64} : (tensor<4xbf16>) -> tensor<8xbf16>

// Before one to more.
// CHECK-NEXT: %[[FEW:.*]] = pp.all_gather %arg1 {{.*}} : (tensor<4xbf16>) -> tensor<8xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = pp.convert %[[FEW]] : tensor<8xbf16> -> tensor<8xf32>

// A sum of two is gathered once.
// CHECK-NEXT: %[[SUM:.*]] = pp.add %arg0, %arg2 {{.*}} : tensor<4xf32>
// CHECK-NEXT: %[[ONCE:.*]] = pp.all_gather %[[SUM]]

// Nothing is won behind an op that leaves the bytes as they are, with an operand
// of another gather, or where something else uses what is gathered.
// CHECK-NEXT: %[[G:.*]] = pp.all_gather %arg2
// CHECK-NEXT: pp.neg %[[G]]
// CHECK-NEXT: %[[A:.*]] = pp.all_gather %arg0 dims [0] over @mesh ["dp"]
// CHECK-NEXT: %[[B:.*]] = pp.all_gather %arg2 dims [0] over @mesh ["tp"]
// CHECK-NEXT: pp.add %[[A]], %[[B]]
// CHECK-NEXT: %[[U:.*]] = pp.all_gather %arg3
// CHECK-NEXT: pp.convert %[[U]]
// CHECK-NEXT: return %[[NARROW]], %[[WIDE]], %[[ONCE]]
func.func @main(%x: tensor<4xf32>, %y: tensor<4xbf16>, %z: tensor<4xf32>, %u: tensor<4xf32>)
    -> (tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>) {
  %half = pp.constant dense<0.5> : tensor<8xf32>
  %a = pp.all_gather %x dims [0] over @mesh ["dp"] {pp.origin = 7 : i64} : (tensor<4xf32>) -> tensor<8xf32>
  %b = pp.mul %a, %half : tensor<8xf32>
  %c = pp.tanh %b : tensor<8xf32>
  %d = pp.convert %c : tensor<8xf32> -> tensor<8xbf16>
  %e = pp.convert %y : tensor<4xbf16> -> tensor<4xf32>
  %f = pp.all_gather %e dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %g = pp.all_gather %x dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<update>} : (tensor<4xf32>) -> tensor<8xf32>
  %h = pp.all_gather %z dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<update>} : (tensor<4xf32>) -> tensor<8xf32>
  %i = pp.add %g, %h {pp.kind = #pp.kind<update>} : tensor<8xf32>
  %j = pp.all_gather %z dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %k = pp.neg %j : tensor<8xf32>
  %l = pp.all_gather %x dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<input_gradient>} : (tensor<4xf32>) -> tensor<8xf32>
  %m = pp.all_gather %z dims [0] over @mesh ["tp"] {pp.kind = #pp.kind<input_gradient>} : (tensor<4xf32>) -> tensor<8xf32>
  %n = pp.add %l, %m {pp.kind = #pp.kind<input_gradient>} : tensor<8xf32>
  %o = pp.all_gather %u dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %p = pp.convert %o : tensor<8xf32> -> tensor<8xbf16>
  return %d, %f, %i, %k, %n, %o, %p : tensor<8xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>
}
