// A way to split that does not fit is not chosen, and nobody hears of it: tp beside
// ep would cut 8 experts into 16.
// RUN: pp-opt %s --pp-parallelize="ep=4 tp=4 optimizer=sgd" --emit=plan | FileCheck %s
// CHECK: #pp.seed<"dispatched"

module {
  func.func @main(%x: tensor<16x32xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "feature"]},
      %W: tensor<8x32x64xf32> {pp.name = "W", pp.role = #pp.role<param>, pp.dims = ["expert", "", ""], pp.init = #pp.init<normal, 0.0, 1.0>},
      %U: tensor<32x128xf32> {pp.name = "U", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
      %V: tensor<128x32xf32> {pp.name = "V", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
      %G: tensor<8x64x4xf32> {pp.name = "G", pp.role = #pp.role<param>, pp.dims = ["expert", "", ""], pp.init = #pp.init<normal, 0.0, 1.0>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %u = pp.dot_general %x, %U batch [] x [] contract [1] x [0] : tensor<16x32xf32>, tensor<32x128xf32> -> tensor<16x128xf32>
    %ut = pp.tanh %u : tensor<16x128xf32>
    %v = pp.dot_general %ut, %V batch [] x [] contract [1] x [0] : tensor<16x128xf32>, tensor<128x32xf32> -> tensor<16x32xf32>
    %b = pp.broadcast %v dims [0, 2] : tensor<16x32xf32> -> tensor<16x8x32xf32>
    %d = pp.name %b "dispatched" dims ["batch", "expert", ""] : tensor<16x8x32xf32>
    %h = pp.dot_general %d, %W batch [1] x [0] contract [2] x [1] : tensor<16x8x32xf32>, tensor<8x32x64xf32> -> tensor<8x16x64xf32>
    %s = pp.reduce sum %h dims [2] : tensor<8x16x64xf32> -> tensor<8x16xf32>
    %sb = pp.broadcast %s dims [0, 1] : tensor<8x16xf32> -> tensor<8x16x64xf32>
    %n = pp.sub %h, %sb : tensor<8x16x64xf32>
    %p = pp.name %n "processed" dims ["expert", "batch", ""] : tensor<8x16x64xf32>
    %o = pp.dot_general %p, %G batch [] x [] contract [0, 2] x [0, 1] : tensor<8x16x64xf32>, tensor<8x64x4xf32> -> tensor<16x4xf32>
    %q = pp.mul %o, %o : tensor<16x4xf32>
    %l = pp.reduce sum %q dims [0, 1] : tensor<16x4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}
