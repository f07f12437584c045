// Indices that mean more than rows of a table get no bound: those below 0 are ignored here, as a label that is left out.
// RUN: pp-opt %s --inputs=0 | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[LABELS:arg0]]: tensor<4xi32> {pp.name = "arg0", pp.role = #pp.role<input>}
func.func @main(%labels: tensor<4xi32>, %table: tensor<8xf32>) -> tensor<f32> {
  %indices = stablehlo.reshape %labels : (tensor<4xi32>) -> tensor<4x1xi32>
  // CHECK: %[[ROWS:.*]] = pp.gather %arg1[%[[LABELS]]] batch 0
  %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xf32>, tensor<4x1xi32>) -> tensor<4xf32>
  %more = stablehlo.add %rows, %rows : tensor<4xf32>
  %zeros = stablehlo.constant dense<0> : tensor<4xi32>
  // CHECK: %[[COUNTS:.*]] = pp.compare ge %[[LABELS]], %{{.*}}
  %counts = stablehlo.compare GE, %labels, %zeros, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %nothing = stablehlo.constant dense<0.0> : tensor<4xf32>
  // CHECK: pp.select %[[COUNTS]]
  %kept = stablehlo.select %counts, %more, %nothing : tensor<4xi1>, tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%kept init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
