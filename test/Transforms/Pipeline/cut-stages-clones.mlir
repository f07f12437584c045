// Forward computes the broadcast twice, once for backward alone, which uses it
// where the other one is. The gradient is summed up there, too.
// RUN: pp-opt %s --pp-parallelize="pp=3 optimizer=sgd stop-after=graph" \
// RUN:   | pp-opt --pp-split-constants --pp-cut-stages | FileCheck %s
// RUN: pp-opt %s --pp-parallelize="pp=3 optimizer=sgd" -o /dev/null

// CHECK-COUNT-2: pp.broadcast %{{.*}} dims [0] {pp.origin = 1 : i64, pp.stages = array<i64: 1>}
// CHECK: pp.reduce sum %{{.*}} {pp.kind = #pp.kind<weight_gradient>, pp.origin = 1 : i64, pp.stages = array<i64: 1>}
func.func @main(%arg0: tensor<13x3x3xf64> {pp.name = "x", pp.role = #pp.role<input>}, %arg1: tensor<13x3xi32> {pp.name = "indices", pp.role = #pp.role<input>}, %arg2: tensor<3x3xf64> {pp.init = #pp.init<normal, 0.000000e+00, 1.000000e+00>, pp.name = "w0", pp.role = #pp.role<param>}) -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.reduce max %arg2 dims [1] : tensor<3x3xf64> -> tensor<3xf64>
  %1 = pp.broadcast %0 dims [0] : tensor<3xf64> -> tensor<3x3xf64>
  %2 = pp.mul %arg2, %1 : tensor<3x3xf64>
  %3 = pp.reshape %arg0 : tensor<13x3x3xf64> -> tensor<13x1x9xf64>
  %4 = pp.gather %2[%arg1] batch 0 : tensor<3x3xf64>, tensor<13x3xi32> -> tensor<13x3x3xf64>
  %5 = pp.sin %3 : tensor<13x1x9xf64>
  %6 = pp.reduce sum %5 dims [0, 1, 2] : tensor<13x1x9xf64> -> tensor<f64>
  %7 = pp.reduce sum %4 dims [0, 1, 2] : tensor<13x3x3xf64> -> tensor<f64>
  %8 = pp.add %6, %7 : tensor<f64>
  return %8 : tensor<f64>
}
