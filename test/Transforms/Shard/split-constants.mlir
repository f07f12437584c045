// Every use of a constant, an iota or a scalar that is broadcast has its own, so
// that users that share nothing else are not sharded alike.
// RUN: pp-opt %s --pp-split-constants | FileCheck %s
// RUN: pp-opt %s --pp-split-constants --pp-propagate-shardings | FileCheck %s --check-prefix=APART

// CHECK-COUNT-2: pp.broadcast
// CHECK-NOT: pp.broadcast
// CHECK-COUNT-2: pp.iota
// CHECK-NOT: pp.iota
// A scalar has no dimension, and a spread argument has one of its own.
// CHECK: pp.constant {{.*}}tensor<f32>
// CHECK: pp.broadcast %{{.*}} dims [0]
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
