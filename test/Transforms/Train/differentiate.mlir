// The backward pass follows the forward one; every op names its origin and kind.
// RUN: pp-opt %s --pp-differentiate | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x2xf32> {{{.*}}"x"{{.*}}}, %[[W:[^:]*]]: tensor<2x3xf32> {{{.*}}"w"{{.*}}}, %[[B:[^:]*]]: tensor<3xf32> {{{.*}}"b"{{.*}}}, %{{.*}}: tensor<5xf32>
// CHECK-SAME: tensor<2x3xf32> {pp.name = "w", pp.role = #pp.role<gradient>}
// CHECK-SAME: tensor<3xf32> {pp.name = "b", pp.role = #pp.role<gradient>}
// CHECK-SAME: tensor<5xf32> {pp.name = "unused", pp.role = #pp.role<gradient>}
func.func @main(%x: tensor<4x2xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %w: tensor<2x3xf32> {pp.role = #pp.role<param>, pp.name = "w"},
                %b: tensor<3xf32> {pp.role = #pp.role<param>, pp.name = "b"},
                %unused: tensor<5xf32> {pp.role = #pp.role<param>, pp.name = "unused"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
        tensor<4x3xf32> {pp.role = #pp.role<metric>, pp.name = "y"}) {
  // CHECK: pp.dot_general %[[X]], %[[W]] {{.*}}{pp.origin = 0 : i64}
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %c = pp.broadcast %b dims [1] : tensor<3xf32> -> tensor<4x3xf32>
  %y = pp.add %h, %c : tensor<4x3xf32>
  // CHECK: %[[E:.*]] = pp.exp {{.*}}{pp.origin = 3 : i64}
  %e = pp.exp %y : tensor<4x3xf32>
  // A dead op is neither numbered nor kept.
  // CHECK-NOT: pp.sin
  %dead = pp.sin %y : tensor<4x3xf32>
  // CHECK: %[[P:.*]] = pp.mul %[[E]], %{{.*}} {pp.origin = 4 : i64}
  %p = pp.mul %e, %y : tensor<4x3xf32>
  // CHECK: pp.reduce sum %[[P]] {{.*}}{pp.origin = 5 : i64}
  %l = pp.reduce sum %p dims [0, 1] : tensor<4x3xf32> -> tensor<f32>

  // The seed, spread by the reduction's gradient.
  // CHECK: pp.constant {pp.kind = #pp.kind<input_gradient>, pp.origin = 5 : i64} dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[DP:.*]] = pp.broadcast {{.*}}pp.origin = 5
  // CHECK: %[[DE:.*]] = pp.mul %[[DP]], %{{.*}} {pp.kind = #pp.kind<input_gradient>, pp.origin = 4
  // CHECK: %[[DY1:.*]] = pp.mul %[[DP]], %[[E]] {pp.kind = #pp.kind<input_gradient>, pp.origin = 4
  // exp reuses its result.
  // CHECK: %[[DY0:.*]] = pp.mul %[[DE]], %[[E]] {pp.kind = #pp.kind<input_gradient>, pp.origin = 3
  // Two uses of %y add up where %y was produced, in order of the uses.
  // CHECK: %[[DY:.*]] = pp.add %[[DY0]], %[[DY1]] {pp.kind = #pp.kind<input_gradient>, pp.origin = 2
  // CHECK: %[[DB:.*]] = pp.reduce sum %[[DY]] dims [0] {pp.kind = #pp.kind<weight_gradient>, pp.origin = 1
  // The weight's gradient needs no transpose, and the input gets none.
  // CHECK: %[[DW:.*]] = pp.dot_general %[[X]], %[[DY]] batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<weight_gradient>, pp.origin = 0
  // CHECK-NOT: pp.dot_general
  // CHECK: %[[Z:.*]] = pp.constant {pp.kind = #pp.kind<weight_gradient>{{.*}} dense<0.000000e+00>
  // CHECK: %[[ZERO:.*]] = pp.broadcast %[[Z]]
  // CHECK: return %{{.*}}, %{{.*}}, %[[DW]], %[[DB]], %[[ZERO]]
  return %l, %y : tensor<f32>, tensor<4x3xf32>
}
