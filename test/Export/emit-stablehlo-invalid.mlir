// An op without a form is refused at its place, and nothing is written.
// RUN: not pp-opt %s --emit=stablehlo -o %t.mlir 2>&1 | FileCheck %s
// RUN: test ! -e %t.mlir -a ! -e %t.mlir.json
// CHECK: emit-stablehlo-invalid.mlir:[[#@LINE+6]]:10: error: expects windows without dilation, got [2, 1]: StableHLO's select_and_scatter has none

func.func @main(%x: tensor<8x6xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %w: tensor<4x6xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {

    %y = pp.select_and_scatter %x, %w dims [0, 1] sizes [2, 1] strides [2, 1] dilation [2, 1] low [1, 0] high [0, 0]
      : tensor<8x6xf32>, tensor<4x6xf32>
  %l = pp.reduce sum %y dims [0, 1] : tensor<8x6xf32> -> tensor<f32>
  return %l : tensor<f32>
}
