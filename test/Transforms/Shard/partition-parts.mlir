// Slices of a dimension that is split: one element in so many is taken in each
// shard; of a small part each shard gives what it has; and what is more than
// half of the whole gathers it.

// RUN: pp-opt %s --split-input-file --pp-propagate-shardings --pp-split-scans --pp-pad-dimensions --pp-partition | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: pp.slice %arg0 [1], [4], [2] : tensor<4xf32> -> tensor<2xf32>
// CHECK-NEXT: pp.pad {{.*}} low [1] high [0] interior [1] : tensor<2xf32>, tensor<f32> -> tensor<4xf32>
// CHECK-NEXT: return
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"sp"}]>}, %zero: tensor<f32> {pp.name = "zero"})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{"sp"}]>}) {
    %0 = pp.slice %x [1], [8], [2] : tensor<8xf32> -> tensor<4xf32>
    %1 = pp.pad %0, %zero low [1] high [0] interior [1] : tensor<4xf32>, tensor<f32> -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----

// The last of eight: one number is summed, where four were gathered.
// CHECK-LABEL: func.func @main
// CHECK: %[[OFFSET:.*]] = pp.sub
// CHECK: %[[WIDE:.*]] = pp.pad %arg0, {{.*}} low [1] high [1] interior [0] : tensor<4xf32>, tensor<f32> -> tensor<6xf32>
// CHECK: pp.dynamic_slice %[[WIDE]][%[[OFFSET]]] : tensor<6xf32>, tensor<i32> -> tensor<1xf32>
// CHECK: pp.all_reduce sum {{.*}} (tensor<1xf32>) -> tensor<1xf32>
// CHECK-NOT: pp.all_gather
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"sp"}]>}) -> tensor<1xf32> {
    %0 = pp.slice %x [7], [8], [1] : tensor<8xf32> -> tensor<1xf32>
    return %0 : tensor<1xf32>
  }
}

// -----

// Three thirds are gathered once.
// CHECK-LABEL: func.func @main
// CHECK: pp.all_gather
// CHECK-NOT: pp.all_
// CHECK: return
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<6xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"sp"}]>}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
    %0 = pp.slice %x [0], [2], [1] : tensor<6xf32> -> tensor<2xf32>
    %1 = pp.slice %x [2], [4], [1] : tensor<6xf32> -> tensor<2xf32>
    %2 = pp.slice %x [4], [6], [1] : tensor<6xf32> -> tensor<2xf32>
    return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}

// -----

// A sequence of which most rows are read is gathered; one of which few are, gives what it has of
// them. Rows that are added up are gathered, too, where the sums are about as many.
// CHECK-LABEL: func.func @main
// CHECK: %[[ALL:.*]] = pp.all_gather %arg0 dims [1] {{.*}} -> tensor<2x8x3xf32>
// CHECK: pp.gather %[[ALL]]
// CHECK: %[[FEW:.*]] = pp.select {{.*}} : tensor<2x4x3xi1>, tensor<2x4x3xf32>
// CHECK: pp.all_reduce sum %[[FEW]]
// CHECK-NOT: pp.all_
// CHECK: pp.scatter_add %{{.*}}[%{{.*}}], %[[ALL]]
// CHECK-NOT: pp.all_
// CHECK: return
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<2x8x3xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"sp"}, {}]>},
                  %most: tensor<2x5xi32> {pp.name = "most"}, %few: tensor<2x4xi32> {pp.name = "few"},
                  %all: tensor<2x8xi32> {pp.name = "all"}, %sums: tensor<2x5x3xf32> {pp.name = "sums"})
      -> (tensor<2x5x3xf32>, tensor<2x4x3xf32>, tensor<2x5x3xf32>) {
    %0 = pp.gather %x[%most] batch 1 : tensor<2x8x3xf32>, tensor<2x5xi32> -> tensor<2x5x3xf32>
    %1 = pp.gather %x[%few] batch 1 : tensor<2x8x3xf32>, tensor<2x4xi32> -> tensor<2x4x3xf32>
    %2 = pp.scatter_add %sums[%all], %x batch 1 : tensor<2x5x3xf32>, tensor<2x8xi32>, tensor<2x8x3xf32>
    return %0, %1, %2 : tensor<2x5x3xf32>, tensor<2x4x3xf32>, tensor<2x5x3xf32>
  }
}

// -----

// Three of six rows are read, and are four with padding: whether they are summed is said before that.
// CHECK-LABEL: func.func @main
// CHECK-NOT: pp.all_gather
// CHECK: pp.all_reduce sum {{.*}} over @mesh ["tp"] : (tensor<4x2x4xf32>)
// CHECK: return
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "tp"=2]>
  func.func @main(%x: tensor<4x6x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"tp"}, {}]>},
                  %i: tensor<4x3xi32> {pp.name = "i", pp.sharding = #pp.sharding<@mesh, [{}, {"dp"}]>}) -> tensor<4x3x4xf32> {
    %0 = pp.gather %x[%i] batch 1 : tensor<4x6x4xf32>, tensor<4x3xi32> -> tensor<4x3x4xf32>
    return %0 : tensor<4x3x4xf32>
  }
}

// -----

// What the model says of it stays, whatever it sends.
// CHECK-LABEL: func.func @main
// CHECK: %[[ALL:.*]] = pp.all_gather %arg0
// CHECK: pp.gather %[[ALL]]
// CHECK: pp.all_reduce sum {{.*}} (tensor<2x7xf32>) -> tensor<2x7xf32>
// CHECK-NOT: pp.in_shards
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<2x8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}, {"sp"}]>}, %few: tensor<2x1xi32> {pp.name = "few"},
                  %y: tensor<2x8xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{}, {"sp"}]>})
      -> (tensor<2x1xf32>, tensor<2x7xf32>) {
    %0 = pp.gather %x[%few] batch 1 {pp.in_shards = false} : tensor<2x8xf32>, tensor<2x1xi32> -> tensor<2x1xf32>
    %1 = pp.slice %y [0, 1], [2, 8], [1, 1] {pp.in_shards = true} : tensor<2x8xf32> -> tensor<2x7xf32>
    return %0, %1 : tensor<2x1xf32>, tensor<2x7xf32>
  }
}
