// What crosses from stage to stage does so in its smaller form.

// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-partition | FileCheck %s

// The second stage reads %x split and whole, the first one whole, too: each gathers for itself.
// CHECK-LABEL: func.func @main
// CHECK: %[[X:.*]] = pp.exp %arg0 {{.*}}pp.stages = array<i64: 0>} : tensor<4xf32>
// CHECK: %[[HERE:.*]] = pp.all_gather %[[X]] {{.*}}pp.stages = array<i64: 0>} : (tensor<4xf32>) -> tensor<8xf32>
// CHECK: pp.dot_general %[[HERE]]
// CHECK: pp.tanh %[[X]] {{.*}}pp.stages = array<i64: 1>} : tensor<4xf32>
// CHECK: %[[THERE:.*]] = pp.all_gather %[[X]] {{.*}}pp.stages = array<i64: 1>} : (tensor<4xf32>) -> tensor<8xf32>
// CHECK: pp.dot_general %[[THERE]]
// CHECK: pp.dot_general %[[THERE]]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2, "pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2, "pp"=2 : stage]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>},
                  %a: tensor<8x6xf32> {pp.name = "a", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>})
      -> (tensor<6xf32>, tensor<8xf32>, tensor<6xf32>, tensor<6xf32>) {
    %0 = pp.exp %x {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64, pp.stages = array<i64: 0>} : tensor<8xf32>
    %1 = pp.dot_general %0, %a batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64, pp.stages = array<i64: 0>} : tensor<8xf32>, tensor<8x6xf32> -> tensor<6xf32>
    %2 = pp.tanh %0 {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64, pp.stages = array<i64: 1>} : tensor<8xf32>
    %3 = pp.dot_general %0, %a batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<forward>, pp.origin = 3 : i64, pp.stages = array<i64: 1>} : tensor<8xf32>, tensor<8x6xf32> -> tensor<6xf32>
    %4 = pp.dot_general %0, %a batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<forward>, pp.origin = 4 : i64, pp.stages = array<i64: 1>} : tensor<8xf32>, tensor<8x6xf32> -> tensor<6xf32>
    return %1, %2, %3, %4 : tensor<6xf32>, tensor<8xf32>, tensor<6xf32>, tensor<6xf32>
  }
}

// -----

// What two stages make each for itself, each has gathered once.
// CHECK-LABEL: func.func @main
// CHECK: %[[P:.*]] = pp.exp %arg0
// CHECK-COUNT-1: pp.all_gather %[[P]] {{.*}}pp.stages = array<i64: 0, 1>}
// CHECK-NOT: pp.all_gather
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2, "pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["tp"=2, "pp"=2 : stage]>
  func.func @main(%p: tensor<8xf32> {pp.name = "p", pp.sharding = #pp.sharding<@mesh, [{"tp"}]>},
                  %a: tensor<8x6xf32> {pp.name = "a", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}]>})
      -> (tensor<6xf32>, tensor<6xf32>) {
    %0 = pp.exp %p {pp.kind = #pp.kind<forward>, pp.origin = 0 : i64, pp.stages = array<i64: 0, 1>} : tensor<8xf32>
    %1 = pp.dot_general %0, %a batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<forward>, pp.origin = 1 : i64, pp.stages = array<i64: 0, 1>} : tensor<8xf32>, tensor<8x6xf32> -> tensor<6xf32>
    %2 = pp.dot_general %0, %a batch [] x [] contract [0] x [0] {pp.kind = #pp.kind<forward>, pp.origin = 2 : i64, pp.stages = array<i64: 0>} : tensor<8xf32>, tensor<8x6xf32> -> tensor<6xf32>
    return %1, %2 : tensor<6xf32>, tensor<6xf32>
  }
}
