// What is of kind prologue is computed once a step, on every stage that reads it,
// before the first micro-batch; backward keeps nothing of it apart.
// RUN: pp-opt %s --pp-split-stages --pp-choose-residuals --pp-rematerialize --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: %[[A:.*]] = pp.fragment prologue position 0(%arg1) {
// CHECK-NEXT: ^bb0(%[[W:.*]]: tensor<2xf32>):
// CHECK-NEXT: %[[G:.*]] = pp.all_gather %[[W]]
// CHECK-NEXT: pp.yield %[[G]]
// CHECK: %[[B:.*]] = pp.fragment prologue position 1(%arg1) {
// CHECK: pp.fragment forward stage 0({{.*}}%[[A]]
// CHECK-NOT: pp.all_gather
// CHECK: pp.fragment forward stage 1({{.*}}%[[B]]
// CHECK-NOT: pp.all_gather
// CHECK: pp.fragment backward stage 1({{.*}}%[[B]]
// CHECK-NOT: pp.all_gather
module {
  pp.mesh @mesh = <["mb"=2 : time, "pp"=2 : stage, "dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<2xf32> {pp.role = #pp.role<param>, pp.name = "w"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<4xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    %a = pp.all_gather %w dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<prologue>} : (tensor<2xf32>) -> tensor<4xf32>
    %b = pp.mul %x, %a {pp.stages = array<i64: 0>} : tensor<4xf32>
    %c = pp.mul %b, %a {pp.stages = array<i64: 1>} : tensor<4xf32>
    %d = pp.reduce sum %c dims [0] {pp.stages = array<i64: 1>} : tensor<4xf32> -> tensor<f32>
    %e = pp.accumulate %d over "mb" : tensor<f32>
    %g = pp.mul %c, %a {pp.kind = #pp.kind<weight_gradient>, pp.stages = array<i64: 1>} : tensor<4xf32>
    %h = pp.accumulate %g over "mb" {pp.kind = #pp.kind<weight_gradient>} : tensor<4xf32>
    return %e, %h : tensor<f32>, tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<2xf32> {pp.role = #pp.role<param>, pp.name = "w"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    // expected-error@+1 {{of kind prologue expects operands computed from parameters and states alone, got another one (step_c5)}}
    %a = pp.all_gather %x dims [0] over @mesh ["dp"] {pp.kind = #pp.kind<prologue>} : (tensor<4xf32>) -> tensor<8xf32>
    %d = pp.reduce sum %a dims [0] {pp.stages = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
    %e = pp.accumulate %d over "mb" : tensor<f32>
    return %e : tensor<f32>
  }
}
