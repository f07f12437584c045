// Between the second and the third product 4 columns cross, before the last 64:
// less to send outweighs a less even share of the work.
// RUN: pp-opt %s --pp-parallelize="pp=2 optimizer=sgd stop-after=spmd" | FileCheck %s
// CHECK: cuts = [2]
module {
  func.func @main(%x: tensor<64x64xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %w0: tensor<64x64xf32> {pp.name = "w0", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                  %w1: tensor<64x4xf32> {pp.name = "w1", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                  %w2: tensor<4x64xf32> {pp.name = "w2", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                  %w3: tensor<64x80xf32> {pp.name = "w3", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %a = pp.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    %b = pp.dot_general %a, %w1 batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x4xf32> -> tensor<64x4xf32>
    %c = pp.dot_general %b, %w2 batch [] x [] contract [1] x [0] : tensor<64x4xf32>, tensor<4x64xf32> -> tensor<64x64xf32>
    %d = pp.dot_general %c, %w3 batch [] x [] contract [1] x [0] : tensor<64x64xf32>, tensor<64x80xf32> -> tensor<64x80xf32>
    %l = pp.reduce sum %d dims [0, 1] : tensor<64x80xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}
