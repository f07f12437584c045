// Global tensors become local ones; collectives say what caused them.
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-partition | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-partition \
// RUN:   --remark-format=emitRemark --remarks-filter=pp-partition 2>&1 | FileCheck %s --check-prefix=REMARK

// Two partial products are added, then reduced once; over micro-batches a sum
// is accumulated at once, before the devices' sums.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<2x4xf32> {pp.global_shape = array<i64: 8, 4>, pp.name = "x"
// CHECK-SAME: -> (tensor<2x4xf32> {pp.global_shape = array<i64: 8, 4>
// CHECK: %[[A:.*]] = pp.dot_general
// CHECK: %[[B:.*]] = pp.dot_general
// CHECK: %[[AB:.*]] = pp.add %[[A]], %[[B]] : tensor<4x4xf32>
// CHECK: %[[SUM:.*]] = pp.accumulate %[[AB]] over "mb"
// CHECK: pp.reduce_scatter sum %[[SUM]]
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
  func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {}]>},
                  %y: tensor<8x4xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {}]>}) -> tensor<8x4xf32> {
    %0 = pp.neg %x : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
