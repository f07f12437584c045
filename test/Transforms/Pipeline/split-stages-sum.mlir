// Every stage with an addend takes part in a sum over stages, also where nobody
// asks for the result: the loss is returned from stage 0 only. A parameter that
// no stage uses lives on the first one, which joins in the clipped norm.
// RUN: pp-opt %s --pass-pipeline="builtin.module(pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-partition,pp-split-stages)" | FileCheck %s
// CHECK: pp.name = "unused"{{[^)]*}}pp.positions = array<i64: 0>
// CHECK: pp.fragment update position 0
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["pp"]
// CHECK: pp.fragment update position 1
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["pp"]
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage]>, schedule = "1f1b", cuts = [4], optimizer = #pp.optimizer<sgd, lr = 0.1, clip = 0.1>, threads = 1>} {
  func.func @main(%x: tensor<4x8xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                  %unused: tensor<3xf32> {pp.role = #pp.role<param>, pp.name = "unused", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.sin %x : tensor<4x8xf32>
    %b = pp.exp %a : tensor<4x8xf32>
    %c = pp.tanh %b : tensor<4x8xf32>
    %first = pp.reduce sum %c dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %d = pp.broadcast %w dims [1] : tensor<8xf32> -> tensor<4x8xf32>
    %e = pp.mul %c, %d : tensor<4x8xf32>
    %f = pp.sin %e : tensor<4x8xf32>
    %second = pp.reduce sum %f dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    %loss = pp.add %first, %second : tensor<f32>
    return %loss : tensor<f32>
  }
}
