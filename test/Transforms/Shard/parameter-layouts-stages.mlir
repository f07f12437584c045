// A parameter of two stages: each reduces its part of the gradient into the
// layout of the update, and these are added up.
// RUN: pp-opt %s --pp-parallelize="dp=2 pp=2 zero=1 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefixes=CHECK,STEP
// RUN: pp-opt %s --pp-parallelize="dp=2 pp=2 zero=2 microbatches=2 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefixes=CHECK,EACH
// On one stage they are added first.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=1 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=ONE

// CHECK-COUNT-2: pp.reduce_scatter sum {{.*}} dims [0] over @mesh ["dp"] {{.*}} : (tensor<4x4xf32>) -> tensor<2x4xf32>
// CHECK-NOT: pp.all_reduce {{.*}}tensor<4x4xf32>
// STEP: pp.add {{.*}} : tensor<2x4xf32>
// EACH: %[[A:.*]] = pp.accumulate {{.*}} : tensor<2x4xf32>
// EACH: pp.add {{.*}} : tensor<2x4xf32>

// ONE: pp.add {{.*}}weight_gradient{{.*}} : tensor<4x4xf32>
// ONE: pp.reduce_scatter sum {{.*}} : (tensor<4x4xf32>) -> tensor<2x4xf32>
// ONE-NOT: pp.reduce_scatter
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = pp.tanh %0 : tensor<8x4xf32>
  %2 = pp.dot_general %1, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %l = pp.reduce sum %2 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
