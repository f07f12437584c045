// A sum over tp that one value needs comes first, and both over dp are one call
// after it: first come, first served would make two of them.
// RUN: pp-opt %s --pp-bucket-collectives | FileCheck %s
// CHECK: %[[PART:.*]] = pp.all_reduce sum {{.*}} over @mesh ["tp"]
// CHECK: pp.all_reduce sum %{{[^,]*}}, %[[PART]] over @mesh ["dp"]
// CHECK-NOT: pp.all_reduce
// CHECK: pp.all_gather %{{[^,]*}}, %{{.*}} dims [0, 1] over @mesh ["dp"] : (tensor<4xf32>, tensor<2x2xf32>) -> (tensor<8xf32>, tensor<2x4xf32>)
// CHECK-NOT: pp.all_gather
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>>} {
pp.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @main(%x: tensor<4xf32>, %y: tensor<2x2xf32>) -> (tensor<8xf32>, tensor<2x4xf32>) {
  %0:2 = pp.fragment update position 0(%x, %y) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<2x2xf32>):
    %1 = pp.all_reduce sum %a over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
    %2 = pp.all_reduce sum %b over @mesh ["tp"] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = pp.all_reduce sum %2 over @mesh ["dp"] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %4 = pp.all_gather %1 dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
    %5 = pp.all_gather %3 dims [1] over @mesh ["dp"] : (tensor<2x2xf32>) -> tensor<2x4xf32>
    pp.yield %4, %5 : tensor<8xf32>, tensor<2x4xf32>
  } : (tensor<4xf32>, tensor<2x2xf32>) -> (tensor<8xf32>, tensor<2x4xf32>)
  return %0#0, %0#1 : tensor<8xf32>, tensor<2x4xf32>
}
}
