// No gradient flows through stop_gradient, integers or comparisons.
// RUN: pp-opt %s --pp-differentiate --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%t: tensor<4xi32> {pp.role = #pp.role<input>, pp.name = "t"},
                %w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %g = pp.gather %w[%t] batch 0 : tensor<8xf32>, tensor<4xi32> -> tensor<4xf32>
  %s = pp.stop_gradient %g : tensor<4xf32>
  // CHECK: %[[M:.*]] = pp.compare gt
  %m = pp.compare gt %g, %s : tensor<4xf32> -> tensor<4xi1>
  %d = pp.select %m, %g, %s : tensor<4xi1>, tensor<4xf32>
  %l = pp.reduce sum %d dims [0] : tensor<4xf32> -> tensor<f32>
  // CHECK: %[[DG:.*]] = pp.select %[[M]], {{.*}}input_gradient
  // CHECK-NOT: pp.add
  // CHECK: %[[DW:.*]] = pp.scatter_add %{{.*}}[%{{.*}}], %[[DG]]
  // CHECK: return %{{.*}}, %[[DW]]
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @main
// expected-warning@+1 {{no parameter changes: none reaches the loss}}
func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<f32> {
  // CHECK: return %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  %s = pp.stop_gradient %w : tensor<f32>
  return %s : tensor<f32>
}
