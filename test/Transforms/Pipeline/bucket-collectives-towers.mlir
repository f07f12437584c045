// Two towers, one after the other: nothing of the second is gathered in one call
// with what the first reads, though their layers lie as deep.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 optimizer=sgd stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment forward stage 0
// CHECK: pp.all_gather {{.*}} : (tensor<3x6xf32>) -> tensor<6x6xf32>
// CHECK: pp.all_gather {{.*}} : (tensor<3x6xf32>) -> tensor<6x6xf32>
// CHECK: pp.dot_general {{.*}}tensor<6x6xf32>
// CHECK: pp.all_gather {{.*}} : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: pp.all_gather {{.*}} : (tensor<2x4xf32>) -> tensor<4x4xf32>
// CHECK: pp.dot_general {{.*}}tensor<4x4xf32>
// CHECK: pp.fragment backward stage 0
func.func @main(%x: tensor<8x6xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %y: tensor<8x4xf32> {pp.name = "y", pp.role = #pp.role<input>},
                %a0: tensor<6x6xf32> {pp.name = "a.0", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %a1: tensor<6x6xf32> {pp.name = "a.1", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %b0: tensor<4x4xf32> {pp.name = "b.0", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %b1: tensor<4x4xf32> {pp.name = "b.1", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %a0 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %1 = pp.tanh %0 : tensor<8x6xf32>
  %2 = pp.dot_general %1, %a1 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %3 = pp.dot_general %y, %b0 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %4 = pp.tanh %3 : tensor<8x4xf32>
  %5 = pp.dot_general %4, %b1 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %6 = pp.reduce sum %2 dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  %7 = pp.reduce sum %5 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %l = pp.add %6, %7 : tensor<f32>
  return %l : tensor<f32>
}
