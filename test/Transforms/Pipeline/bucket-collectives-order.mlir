// Sums over stages keep their order, for other stages have the same: the two
// sums over dp could become one call only behind the second of them.
// RUN: pp-opt %s --pp-bucket-collectives | FileCheck %s
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["dp"]
// CHECK: %[[FIRST:.*]] = pp.all_reduce sum {{.*}} over @mesh ["dp"]
// CHECK: pp.all_reduce sum %[[FIRST]] over @mesh ["pp"]
// CHECK: %[[SECOND:.*]] = pp.all_reduce sum {{.*}} over @mesh ["pp"]
// CHECK: pp.all_reduce sum %[[SECOND]] over @mesh ["dp"]
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage, "dp"=2]>>} {
pp.mesh @mesh = <["pp"=2 : stage, "dp"=2]>
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = pp.fragment update position 0(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = pp.all_reduce sum %a over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
    %2 = pp.mul %1, %1 : tensor<4xf32>
    %3 = pp.all_reduce sum %2 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
    %4 = pp.all_reduce sum %3 over @mesh ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
    %5 = pp.all_reduce sum %b over @mesh ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
    %6 = pp.all_reduce sum %5 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
    pp.yield %4, %6 : tensor<4xf32>, tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
}
}
