// Without micro-batches a loss may add what a stage computes of the batch and
// what another measures of a parameter that is split: a sum over stages brings
// the latter to the update, and not to the forward fragment before it.
// RUN: pp-opt %s --pp-parallelize="stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment forward stage 1
// CHECK-SAME: (%{{[^,]*}}, %arg0, %arg2) {
// CHECK: pp.fragment update position 0(%arg1) {
// CHECK: %[[PART:.*]] = pp.reduce sum %{{.*}} dims [0]
// CHECK: pp.all_reduce sum %[[PART]] over @mesh ["pp"]
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage, "ep"=2]>, schedule = "1f1b", threads = 1, cuts = [1], seeds = [#pp.seed<"w", [{"ep"}], 0>], optimizer = #pp.optimizer<sgd, lr = 1.000000e-01>>} {
  func.func @main(%x: tensor<8x4xf64> {pp.name = "x", pp.role = #pp.role<input>},
                  %w: tensor<3xf64> {pp.init = #pp.init<normal, 0.0, 1.0>, pp.name = "w", pp.role = #pp.role<param>},
                  %v: tensor<4xf64> {pp.init = #pp.init<normal, 0.0, 1.0>, pp.name = "v", pp.role = #pp.role<param>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %0 = pp.sin %x : tensor<8x4xf64>
    %1 = pp.mul %0, %0 : tensor<8x4xf64>
    %2 = pp.reduce sum %x dims [0, 1] : tensor<8x4xf64> -> tensor<f64>
    %3 = pp.reduce sum %w dims [0] : tensor<3xf64> -> tensor<f64>
    %4 = pp.add %2, %3 : tensor<f64>
    %5 = pp.reduce sum %v dims [0] : tensor<4xf64> -> tensor<f64>
    %6 = pp.add %4, %5 : tensor<f64>
    %7 = pp.reduce sum %1 dims [0, 1] : tensor<8x4xf64> -> tensor<f64>
    %8 = pp.add %6, %7 : tensor<f64>
    %9 = pp.broadcast %v dims [1] : tensor<4xf64> -> tensor<8x4xf64>
    %10 = pp.mul %9, %x : tensor<8x4xf64>
    %11 = pp.reduce sum %10 dims [0, 1] : tensor<8x4xf64> -> tensor<f64>
    %12 = pp.add %8, %11 : tensor<f64>
    return %12 : tensor<f64>
  }
}
