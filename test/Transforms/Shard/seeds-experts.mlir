// Experts that a product introduces are split over "ep", and not over "tp" beside
// it: seeds that are found do not contradict each other.
// RUN: pp-opt %s --pp-parallelize="ep=2 tp=2 optimizer=sgd" --emit=plan | FileCheck %s
// RUN: pp-run %s --parallelize="ep=2 tp=2 optimizer=sgd" --steps=2 --verify --quiet
// CHECK: #pp.seed<"w", [{"ep"}, {?}], 0>
// CHECK-NOT: #pp.seed<"w"
// CHECK: #pp.seed<"u", [{?}, {"tp"}], 1>
// CHECK-NOT: #pp.seed
func.func @main(%x: tensor<8x6xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x6xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>, pp.dims = ["expert", ""]},
                %v: tensor<4x6xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %u: tensor<6x8xf64> {pp.name = "u", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %t: tensor<8x6xf64> {pp.name = "t", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [1] : tensor<8x6xf64>, tensor<4x6xf64> -> tensor<8x4xf64>
  %1 = pp.tanh %0 : tensor<8x4xf64>
  %2 = pp.dot_general %1, %v batch [] x [] contract [1] x [0] : tensor<8x4xf64>, tensor<4x6xf64> -> tensor<8x6xf64>
  %3 = pp.tanh %2 : tensor<8x6xf64>
  %4 = pp.dot_general %3, %u batch [] x [] contract [1] x [0] : tensor<8x6xf64>, tensor<6x8xf64> -> tensor<8x8xf64>
  %5 = pp.tanh %4 : tensor<8x8xf64>
  %6 = pp.dot_general %5, %t batch [] x [] contract [1] x [0] : tensor<8x8xf64>, tensor<8x6xf64> -> tensor<8x6xf64>
  %7 = pp.tanh %6 : tensor<8x6xf64>
  %loss = pp.reduce sum %7 dims [0, 1] : tensor<8x6xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
