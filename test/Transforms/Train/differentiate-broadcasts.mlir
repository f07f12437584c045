// A broadcast of parameters that is used twice becomes two, whose gradients are
// reduced before they are added up. One of an activation stays one.
// RUN: pp-opt %s --pp-differentiate | FileCheck %s
// CHECK: pp.broadcast %[[W:.*]] dims [1] {pp.origin = 0
// CHECK-NEXT: pp.broadcast %[[W]] dims [1] {pp.origin = 1
// CHECK: pp.broadcast {{.*}} dims [0] {pp.origin
// CHECK-NOT: pp.broadcast {{.*}} dims [0] {pp.origin
// CHECK: %[[FIRST:.*]] = pp.reduce sum {{.*}} dims [0] {{.*}}-> tensor<3xf32>
// CHECK: %[[SECOND:.*]] = pp.reduce sum {{.*}} dims [0] {{.*}}-> tensor<3xf32>
// CHECK: pp.add {{.*}} : tensor<3xf32>
func.func @main(%x: tensor<2x3xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %w: tensor<3xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %b = pp.broadcast %w dims [1] : tensor<3xf32> -> tensor<2x3xf32>
  %0 = pp.mul %x, %b : tensor<2x3xf32>
  %1 = pp.reduce sum %0 dims [1] : tensor<2x3xf32> -> tensor<2xf32>
  %2 = pp.broadcast %1 dims [0] : tensor<2xf32> -> tensor<2x3xf32>
  %3 = pp.mul %2, %b : tensor<2x3xf32>
  %4 = pp.mul %3, %2 : tensor<2x3xf32>
  %l = pp.reduce sum %4 dims [0, 1] : tensor<2x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
