// A gradient whose dimensions come in another order takes the transpose that
// moves whole rows, where one of the two operand orders allows it.
// RUN: pp-opt %s --pp-differentiate | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[P:[^:]*]]: tensor<2x3x4x6xf32> {{{.*}}"p"
func.func @main(%p: tensor<2x3x4x6xf32> {pp.role = #pp.role<input>, pp.name = "p"},
                %v: tensor<2x6x3x5xf32> {pp.role = #pp.role<param>, pp.name = "v"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %y = pp.dot_general %p, %v batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x3x4x6xf32>, tensor<2x6x3x5xf32> -> tensor<2x3x4x5xf32>
  // CHECK: %[[U:.*]] = pp.broadcast {{.*}} -> tensor<2x3x4x5xf32>
  // CHECK: %[[G:.*]] = pp.dot_general %[[P]], %[[U]] {{.*}} -> tensor<2x3x6x5xf32>
  // CHECK: pp.transpose %[[G]] perm [0, 2, 1, 3]
  %l = pp.reduce sum %y dims [0, 1, 2, 3] : tensor<2x3x4x5xf32> -> tensor<f32>
  return %l : tensor<f32>
}
