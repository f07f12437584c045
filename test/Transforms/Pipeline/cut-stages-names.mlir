// A name is no stage's work: nothing of it is left when stages are made.
// RUN: not pp-opt %s --pp-parallelize="pp=2 optimizer=sgd" 2>&1 | FileCheck %s

// CHECK: expects at most 1 stages, one for each forward op between an input and the loss, got 2
func.func @main(%x: tensor<12x3x4xf64> {pp.name = "x", pp.role = #pp.role<input>},
    %w: tensor<4xf64> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.name %x "v" : tensor<12x3x4xf64>
  %1 = pp.dot_general %0, %w batch [] x [] contract [2] x [0] : tensor<12x3x4xf64>, tensor<4xf64> -> tensor<12x3xf64>
  %2 = pp.reduce sum %1 dims [0, 1] : tensor<12x3xf64> -> tensor<f64>
  return %2 : tensor<f64>
}
