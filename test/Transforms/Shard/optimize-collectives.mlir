// Equal collectives are shared, a sliced reduction is scattered, unused ones go.
// RUN: pp-opt %s --pp-optimize-collectives | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[G:.*]] = pp.all_gather %arg0
// CHECK-NEXT: pp.add %[[G]], %[[G]]
// CHECK-NEXT: pp.reduce_scatter sum %arg1 dims [0] over @mesh ["dp"] {pp.origin = 3 : i64} : (tensor<8xf32>) -> tensor<4xf32>
// A reduction with a second use stays; so does one over other axes.
// CHECK-NEXT: %[[R:.*]] = pp.all_reduce sum %arg1 over @mesh ["tp"]
// CHECK-NEXT: pp.all_slice %[[R]] dim 0 over @mesh ["dp"]
// CHECK-NEXT: return
pp.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>, tensor<4xf32>) {
  %unused = pp.all_reduce sum %y over @mesh ["dp", "tp"] : (tensor<8xf32>) -> tensor<8xf32>
  %a = pp.all_gather %x dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %b = pp.all_gather %x dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  %c = pp.add %a, %b : tensor<8xf32>
  %r = pp.all_reduce sum %y over @mesh ["dp"] {pp.origin = 3 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  %s = pp.all_slice %r dim 0 over @mesh ["dp"] : tensor<8xf32> -> tensor<4xf32>
  %q = pp.all_reduce sum %y over @mesh ["tp"] : (tensor<8xf32>) -> tensor<8xf32>
  %t = pp.all_slice %q dim 0 over @mesh ["dp"] : tensor<8xf32> -> tensor<4xf32>
  return %c, %s, %t : tensor<8xf32>, tensor<4xf32>, tensor<4xf32>
}
