// Layers are numbered as the program reads them, not by depth: what stands far
// apart is not held together.
// RUN: pp-opt %s --split-input-file --pp-make-plan="dp=2 zero=3 optimizer=sgd" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s

// Two towers, the second from another input: each has its layers, a bias that of
// its product.
// CHECK-LABEL: @main(%arg0: tensor<8x6xf32>
// CHECK-SAME: pp.layer = 0 : i64, pp.name = "a.0"
// CHECK-SAME: pp.layer = 0 : i64, pp.name = "a.0.bias"
// CHECK-SAME: pp.layer = 1 : i64, pp.name = "a.1"
// CHECK-SAME: pp.layer = 2 : i64, pp.name = "b.0"
// CHECK-SAME: pp.layer = 2 : i64, pp.name = "b.0.bias"
// CHECK-SAME: pp.layer = 3 : i64, pp.name = "b.1"
func.func @main(%x: tensor<8x6xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %y: tensor<8x6xf32> {pp.name = "y", pp.role = #pp.role<input>},
                %a0: tensor<6x6xf32> {pp.name = "a.0", pp.role = #pp.role<param>},
                %a0b: tensor<8x6xf32> {pp.name = "a.0.bias", pp.role = #pp.role<param>},
                %a1: tensor<6x6xf32> {pp.name = "a.1", pp.role = #pp.role<param>},
                %b0: tensor<6x6xf32> {pp.name = "b.0", pp.role = #pp.role<param>},
                %b0b: tensor<8x6xf32> {pp.name = "b.0.bias", pp.role = #pp.role<param>},
                %b1: tensor<6x6xf32> {pp.name = "b.1", pp.role = #pp.role<param>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %a0 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %1 = pp.add %0, %a0b : tensor<8x6xf32>
  %2 = pp.dot_general %1, %a1 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %3 = pp.dot_general %y, %b0 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %4 = pp.add %3, %b0b : tensor<8x6xf32>
  %5 = pp.dot_general %4, %b1 batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
  %6 = pp.mul %2, %5 : tensor<8x6xf32>
  %l = pp.reduce sum %6 dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Every block of a decoder reads what the encoder made (%0): its keys are
// gathered beside the block's queries, and not with those of all blocks.
// CHECK-LABEL: @main(%arg0: tensor<8x4xf32>
// CHECK-SAME: pp.layer = 0 : i64, pp.name = "encoder"
// CHECK-SAME: pp.layer = 0 : i64, pp.name = "embedding"
// CHECK-SAME: pp.layer = 1 : i64, pp.name = "0.query"
// CHECK-SAME: pp.layer = 1 : i64, pp.name = "0.key"
// CHECK-SAME: pp.layer = 2 : i64, pp.name = "1.query"
// CHECK-SAME: pp.layer = 2 : i64, pp.name = "1.key"
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %y: tensor<8x4xf32> {pp.name = "y", pp.role = #pp.role<input>},
                %e: tensor<4x4xf32> {pp.name = "encoder", pp.role = #pp.role<param>},
                %d: tensor<8x4xf32> {pp.name = "embedding", pp.role = #pp.role<param>},
                %q0: tensor<4x4xf32> {pp.name = "0.query", pp.role = #pp.role<param>},
                %k0: tensor<4x4xf32> {pp.name = "0.key", pp.role = #pp.role<param>},
                %q1: tensor<4x4xf32> {pp.name = "1.query", pp.role = #pp.role<param>},
                %k1: tensor<4x4xf32> {pp.name = "1.key", pp.role = #pp.role<param>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %e batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %1 = pp.add %y, %d : tensor<8x4xf32>
  %2 = pp.dot_general %1, %q0 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %3 = pp.dot_general %0, %k0 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %4 = pp.mul %2, %3 : tensor<8x4xf32>
  %5 = pp.dot_general %4, %q1 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %6 = pp.dot_general %0, %k1 batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %7 = pp.mul %5, %6 : tensor<8x4xf32>
  %l = pp.reduce sum %7 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
