// Every use of a constant, an iota or a broadcast has its own, so that users that
// share nothing else are not sharded alike.
// RUN: pp-opt %s --split-input-file --pp-split-constants | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-split-constants --pp-propagate-shardings | FileCheck %s --check-prefix=APART

// CHECK-LABEL: @main
// CHECK-COUNT-2: pp.broadcast {{.*}} dims []
// CHECK-NOT: pp.broadcast
// CHECK-COUNT-2: pp.iota
// CHECK-NOT: pp.iota
// A scalar has no dimension.
// CHECK: pp.constant {{.*}}tensor<f32>
// CHECK-COUNT-2: pp.broadcast {{.*}} dims [0]
// CHECK-NOT: pp.broadcast
// CHECK: return

// APART: pp.max {{.*}}#pp.sharding<@mesh, [{"a"}, {}]>
// APART: pp.max {{.*}}#pp.sharding<@mesh, [{}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
                  %w: tensor<4x4xf32> {pp.name = "w"}, %s: tensor<f32> {pp.name = "s"}, %b: tensor<4xf32> {pp.name = "b"})
      -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<f32>, tensor<4x4xf32>) {
    %zeros = pp.broadcast %s dims [] : tensor<f32> -> tensor<4x4xf32>
    %0 = pp.max %x, %zeros : tensor<4x4xf32>
    %1 = pp.max %w, %zeros : tensor<4x4xf32>
    %i = pp.iota dim 0 : tensor<4x4xi32>
    %one = pp.constant dense<1.0> : tensor<f32>
    %two = pp.add %one, %one : tensor<f32>
    %spread = pp.broadcast %b dims [0] : tensor<4xf32> -> tensor<4x4xf32>
    %sum = pp.add %spread, %spread : tensor<4x4xf32>
    return %0, %1, %i, %i, %two, %sum : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xi32>, tensor<4x4xi32>, tensor<f32>, tensor<4x4xf32>
  }
}

// -----

// The vector is split up as its broadcasts are, of which one is wanted over the
// first dimension and the other whole.
// CHECK-LABEL: @main
// CHECK-COUNT-2: pp.constant {{.*}}tensor<4xf32>
// CHECK-NOT: pp.constant
// CHECK-COUNT-2: pp.broadcast
// CHECK-NOT: pp.broadcast
// CHECK: return

// APART: pp.mul {{.*}}#pp.sharding<@mesh, [{"a"}, {}]>
// APART: pp.mul {{.*}}#pp.sharding<@mesh, [{}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
                  %w: tensor<4x4xf32> {pp.name = "w"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %c = pp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %b = pp.broadcast %c dims [1] : tensor<4xf32> -> tensor<4x4xf32>
    %0 = pp.mul %x, %b : tensor<4x4xf32>
    %1 = pp.mul %w, %b : tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// A mask computed from constants ties as much: each of its uses has all that it
// is computed from, down to the iota of which rows and columns are made.
// CHECK-LABEL: @main
// CHECK-COUNT-4: pp.iota
// CHECK-NOT: pp.iota
// CHECK-COUNT-2: pp.compare
// CHECK-NOT: pp.compare
// CHECK: return

// APART: pp.select {{.*}}#pp.sharding<@mesh, [{"a"}, {}]>
// APART: pp.select {{.*}}#pp.sharding<@mesh, [{}, {}]>
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>},
                  %w: tensor<4x4xf32> {pp.name = "w"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %i = pp.iota dim 0 : tensor<4xi32>
    %rows = pp.broadcast %i dims [0] : tensor<4xi32> -> tensor<4x4xi32>
    %columns = pp.broadcast %i dims [1] : tensor<4xi32> -> tensor<4x4xi32>
    %mask = pp.compare ge %rows, %columns : tensor<4x4xi32> -> tensor<4x4xi1>
    %0 = pp.select %mask, %x, %x : tensor<4x4xi1>, tensor<4x4xf32>
    %1 = pp.select %mask, %w, %w : tensor<4x4xi1>, tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// What serves one use stays whole: else each step of this chain would double it.
// CHECK-LABEL: @main
// CHECK-COUNT-8: pp.add
// CHECK-NOT: pp.add
// CHECK: return
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}]>},
                  %w: tensor<4xf32> {pp.name = "w"}) -> (tensor<4xf32>, tensor<4xf32>) {
    %c = pp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %1 = pp.add %c, %c : tensor<4xf32>
    %2 = pp.add %1, %1 : tensor<4xf32>
    %3 = pp.add %2, %2 : tensor<4xf32>
    %4 = pp.add %3, %3 : tensor<4xf32>
    %5 = pp.mul %x, %4 : tensor<4xf32>
    %6 = pp.mul %w, %4 : tensor<4xf32>
    return %5, %6 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Random bits are work, and both uses of a stream mean the same.
// CHECK-LABEL: @main
// CHECK-COUNT-1: pp.random_bits
// CHECK-NOT: pp.random_bits
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4xi32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) -> (tensor<4xi32>, tensor<4xi32>) {
    %seed = pp.constant dense<1> : tensor<i64>
    %step = pp.constant dense<0> : tensor<i32>
    %bits = pp.random_bits %seed, %step stream 1 : tensor<i64>, tensor<i32> -> tensor<4xi32>
    %0 = pp.add %x, %bits : tensor<4xi32>
    %1 = pp.mul %x, %bits : tensor<4xi32>
    return %0, %1 : tensor<4xi32>, tensor<4xi32>
  }
}
