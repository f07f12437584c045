// A stage without an addend takes part in a sum over stages with zeros if it
// needs the result. Here stage 0 compares with its parameter, whose gradient is
// zero, and updates it by the clipped norm; the head's bias is read there, too,
// without a gradient, and gets that of stage 1. What both know is added once.
// RUN: pp-opt %s --pass-pipeline="builtin.module(pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-partition,pp-split-stages)" | FileCheck %s
// CHECK: pp.name = "threshold"{{[^)]*}}pp.positions = array<i64: 0>
// CHECK-SAME: pp.name = "bias"{{.*}}pp.positions = array<i64: 0, 1>
// CHECK-LABEL: pp.fragment update position 0
// CHECK: %[[GRADIENT:.*]] = pp.constant {{.*}} dense<0.000000e+00> : tensor<4xf32>
// CHECK-NEXT: pp.all_reduce sum %[[GRADIENT]] over @mesh ["pp"]
// CHECK: %[[SQUARES:.*]] = pp.add
// CHECK-NEXT: %[[NORM:.*]] = pp.all_reduce sum %[[SQUARES]] over @mesh ["pp"]
// CHECK: pp.sqrt %[[NORM]]
// CHECK-NOT: pp.all_reduce
// CHECK-LABEL: pp.fragment update position 1
// CHECK: pp.all_reduce sum %{{.*}} over @mesh ["pp"]
// CHECK: %[[REDUCED:.*]] = pp.reduce
// CHECK-NEXT: %[[SQUARE:.*]] = pp.convert %[[REDUCED]]
// CHECK-NEXT: pp.all_reduce sum %[[SQUARE]] over @mesh ["pp"]
// CHECK-NOT: pp.all_reduce
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage]>, schedule = "1f1b", cuts = [7], optimizer = #pp.optimizer<sgd, lr = 0.1, clip = 0.1>, threads = 1>} {
  func.func @main(%x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %threshold: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "threshold", pp.init = #pp.init<zeros>},
                  %bias: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "bias", pp.init = #pp.init<zeros>},
                  %scale: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "scale", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %0 = pp.broadcast %threshold dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %1 = pp.compare gt %x, %0 : tensor<2x4xf32> -> tensor<2x4xi1>
    %2 = pp.stop_gradient %bias : tensor<4xf32>
    %3 = pp.broadcast %2 dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %4 = pp.select %1, %x, %3 : tensor<2x4xi1>, tensor<2x4xf32>
    %5 = pp.tanh %4 : tensor<2x4xf32>
    %6 = pp.sin %5 : tensor<2x4xf32>
    %7 = pp.broadcast %scale dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %8 = pp.mul %6, %7 : tensor<2x4xf32>
    %9 = pp.broadcast %bias dims [1] : tensor<4xf32> -> tensor<2x4xf32>
    %10 = pp.add %8, %9 : tensor<2x4xf32>
    %11 = pp.sin %10 : tensor<2x4xf32>
    %loss = pp.reduce sum %11 dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
