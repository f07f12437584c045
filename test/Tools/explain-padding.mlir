// Ops that padding puts in have no sources of the op that they are for: what a
// slice gathers is not there to fit the seed of the sum behind it, and a value
// that is masked goes back to whom it did without a mask. A slice that needs all
// of its operand could not work as that lies.
// RUN: pp-opt %s --pp-parallelize="plan=%S/explain-padding.plan" --pp-explain | FileCheck %s
// RUN: pp-run %s --parallelize="plan=%S/explain-padding.plan" --steps=2 --verify --quiet
// CHECK: a all_reduce, forward: 1 call of 8 B
// CHECK: result "loss" of @main needs []
// CHECK-NEXT: from seed "summed" [{"a"}, {}]
// CHECK: operand 0 of pp.slice needs [{}, {}]
// CHECK-NEXT: from seed "x" [{}, {"a"}]
// CHECK-NEXT: a all_to_all

func.func @main(%x: tensor<9x8xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<8xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %b = pp.broadcast %w dims [1] : tensor<8xf64> -> tensor<9x8xf64>
  %0 = pp.mul %x, %b : tensor<9x8xf64>
  %1 = pp.cumsum %0 dim 1 : tensor<9x8xf64>
  %2 = pp.name %1 "summed" : tensor<9x8xf64>
  %3 = pp.mul %2, %2 : tensor<9x8xf64>
  %4 = pp.reduce sum %3 dims [0, 1] : tensor<9x8xf64> -> tensor<f64>
  return %4 : tensor<f64>
}
