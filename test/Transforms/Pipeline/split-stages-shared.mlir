// What is computed from a parameter alone is repeated on every stage that uses
// it. These hold the parameter, add up its gradient and update it alike.
// RUN: pp-opt %s --pass-pipeline="builtin.module(pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-partition,pp-split-stages)" | FileCheck %s
// CHECK: pp.name = "w"{{.*}}pp.positions = array<i64: 0, 2>
// CHECK-LABEL: pp.fragment forward stage 0
// CHECK: pp.sin
// CHECK-LABEL: pp.fragment forward stage 1
// CHECK-NOT: pp.sin
// CHECK-LABEL: pp.fragment forward stage 2
// CHECK: pp.sin
// CHECK-LABEL: pp.fragment update position 0
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["pp"] stages [0, 2]
// CHECK-NOT: pp.all_reduce
// CHECK-LABEL: pp.fragment update position 2
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["pp"] stages [0, 2]
// CHECK-NOT: pp.all_reduce
// CHECK: return {{.*}} : tensor<f32>, tensor<4xf32>, tensor<4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=3 : stage]>, schedule = "1f1b", cuts = [4, 5], optimizer = #pp.optimizer<sgd, lr = 0.1>, threads = 1>} {
  func.func @main(%x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.sin %w : tensor<4xf32>
    %b = pp.broadcast %a dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %c = pp.mul %x, %b : tensor<2x4xf32>
    %d = pp.tanh %c : tensor<2x4xf32>
    %e = pp.mul %d, %b : tensor<2x4xf32>
    %f = pp.tanh %e : tensor<2x4xf32>
    %loss = pp.reduce sum %f dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
