// What arrives at a softmax y leaves as y (g - sum of g y): neither the
// exponential nor its sum is read again. A sum over other elements is no softmax.
// RUN: pp-opt %s --pp-differentiate | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%w: tensor<2x3xf32> {pp.role = #pp.role<param>, pp.name = "w"},
                %x: tensor<2x3xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %z = pp.mul %w, %x : tensor<2x3xf32>
  %e = pp.exp %z : tensor<2x3xf32>
  %s = pp.reduce sum %e dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %b = pp.broadcast %s dims [0] : tensor<2xf32> -> tensor<2x3xf32>
  // CHECK: %[[Y:.*]] = pp.div
  %y = pp.div %e, %b : tensor<2x3xf32>
  %v = pp.exp %y : tensor<2x3xf32>
  %t = pp.reduce sum %v dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %u = pp.reduce max %t dims [0] : tensor<2xf32> -> tensor<f32>
  %f = pp.broadcast %u dims [] : tensor<f32> -> tensor<2x3xf32>
  // CHECK: %[[OTHER:.*]] = pp.div
  %q = pp.div %v, %f : tensor<2x3xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  // CHECK: pp.div {{.*}}pp.kind
  // CHECK: %[[G:.*]] = pp.mul %{{.*}}, %{{.*}} {pp.kind = #pp.kind<input_gradient>, pp.origin = 5
  // CHECK-NEXT: %[[GY:.*]] = pp.mul %[[G]], %[[Y]] {{.*}}pp.origin = 4
  // CHECK-NEXT: %[[SUM:.*]] = pp.reduce sum %[[GY]] dims [1]
  // CHECK-NEXT: %[[SUMS:.*]] = pp.broadcast %[[SUM]] dims [0]
  // CHECK-NEXT: %[[LESS:.*]] = pp.sub %[[G]], %[[SUMS]]
  // CHECK-NEXT: %[[DZ:.*]] = pp.mul %[[Y]], %[[LESS]]
  // CHECK-NEXT: %[[DW:.*]] = pp.mul %[[DZ]], %arg1
  // CHECK-NEXT: return %{{.*}}, %[[DW]]
  return %l : tensor<f32>
}
