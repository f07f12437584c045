// The norm of all parameters in the loss is summed over stages like that of the
// gradients: no parameter moves for it.
// RUN: pp-opt %s --pass-pipeline="builtin.module(pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-partition,pp-split-stages)" | FileCheck %s
// CHECK: pp.name = "v"{{[^)]*}}pp.positions = array<i64: 0>
// CHECK-SAME: pp.name = "w"{{[^)]*}}pp.positions = array<i64: 1>
// CHECK-LABEL: pp.fragment update position 0
// CHECK: pp.all_reduce sum {{.*}} : (tensor<f32>)
// CHECK-NOT: pp.all_reduce {{.*}} : (tensor<4xf32>)
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage]>, schedule = "1f1b", cuts = [3], optimizer = #pp.optimizer<sgd, lr = 0.1>, threads = 1>} {
  func.func @main(%x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %v: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "v", pp.init = #pp.init<zeros>},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %0 = pp.broadcast %v dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %1 = pp.mul %x, %0 : tensor<2x4xf32>
    %2 = pp.tanh %1 : tensor<2x4xf32>
    %3 = pp.broadcast %w dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %4 = pp.mul %2, %3 : tensor<2x4xf32>
    %5 = pp.tanh %4 : tensor<2x4xf32>
    %error = pp.reduce sum %5 dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    %6 = pp.mul %v, %v : tensor<4xf32>
    %7 = pp.reduce sum %6 dims [0] : tensor<4xf32> -> tensor<f32>
    %8 = pp.mul %w, %w : tensor<4xf32>
    %9 = pp.reduce sum %8 dims [0] : tensor<4xf32> -> tensor<f32>
    %10 = pp.add %7, %9 : tensor<f32>
    %decay = pp.constant dense<1.000000e-02> : tensor<f32>
    %penalty = pp.mul %10, %decay : tensor<f32>
    %loss = pp.add %error, %penalty : tensor<f32>
    return %loss : tensor<f32>
  }
}
