// An image that is split along its height, and goes through another op before
// windows that overlap: gathered for them, which --pp-explain notes, with what
// can be split instead.
// RUN: pp-opt %s --pp-parallelize="plan=%S/explain-neighbours.plan" --pp-explain | FileCheck %s
// RUN: pp-run %s --parallelize="plan=%S/explain-neighbours.plan" --steps=2 --verify --quiet
// CHECK: what could be better
// CHECK: explain-neighbours.mlir:[[#@LINE+6]]:8: operand 0 of pp.convolution is gathered: a splits it along dimension 1, from seed "x" [{}, {"a"}, {}], but each element is computed with its neighbours, 2 times (1.50 KiB): avoided by a seed that splits its dimension 0 or 2 over a instead

func.func @main(%x: tensor<4x8x3xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<3x3x5xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.tanh %x : tensor<4x8x3xf64>
  %1 = pp.convolution %0, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [1] high [1] dilation [1] x [1] : tensor<4x8x3xf64>, tensor<3x3x5xf64> -> tensor<4x8x5xf64>
  %2 = pp.mul %1, %1 : tensor<4x8x5xf64>
  %3 = pp.reduce sum %2 dims [0, 1, 2] : tensor<4x8x5xf64> -> tensor<f64>
  return %3 : tensor<f64>
}
