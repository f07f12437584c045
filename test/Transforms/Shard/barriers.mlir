// What a barrier puts between two layouts: experts over "ep", and the batch
// over all devices elsewhere. Tokens travel by all_to_all, once in each direction
// of the step, and nothing is gathered.

// RUN: pp-opt %s --pp-parallelize="plan=%S/barriers.plan stop-after=spmd" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK-NOT: all_gather{{.*}}"ep"
// CHECK: pp.all_to_all %{{.*}} split 1 concat 0 over @mesh ["ep"] {pp.origin
// CHECK: pp.all_to_all %{{.*}} split 1 concat 0 over @mesh ["ep"] {pp.origin
// CHECK-NOT: all_gather{{.*}}"ep"
// CHECK: pp.all_to_all %{{.*}} split 0 concat 1 over @mesh ["ep"] {pp.kind = #pp.kind<input_gradient>
// CHECK: pp.all_to_all %{{.*}} split 0 concat 1 over @mesh ["ep"] {pp.kind = #pp.kind<input_gradient>
// CHECK-NOT: all_to_all
// RUN: pp-run %s --parallelize="plan=%S/barriers.plan" --steps=2 --verify --quiet

// The seeds stand in the module, and so does what they say of gradients.
// RUN: pp-opt %s --pp-parallelize="plan=%S/barriers.plan stop-after=graph" -o %t.graph.mlir
// RUN: grep -c "pp.name .*gradient" %t.graph.mlir | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: 2
// RUN: pp-opt %t.graph.mlir --pp-split-constants --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefix=ANNOTATED
// ANNOTATED: pp.sharding_constraint %{{.*}} to <@mesh, [{"mb", "dp"}, {"ep"}, {?}, {?}]> barrier priority 0 {pp.origin = 2
// ANNOTATED: pp.sharding_constraint %{{.*}} from <@mesh, [{?}, {"mb", "dp", "ep"}, {?}, {?}]> barrier priority 0 {pp.kind = #pp.kind<input_gradient>


func.func @main(%x: tensor<8x4x8xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
                %m: tensor<8x4x2x3xf64> {pp.name = "mask", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", "", ""]},
                %e: tensor<8x8xf64> {pp.name = "embed", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %w: tensor<2x8x8xf64> {pp.name = "experts", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>, pp.dims = ["expert", "", ""]})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %h = pp.dot_general %x, %e batch [] x [] contract [2] x [0] : tensor<8x4x8xf64>, tensor<8x8xf64> -> tensor<8x4x8xf64>
  %0 = pp.dot_general %m, %h batch [0] x [0] contract [1] x [1] : tensor<8x4x2x3xf64>, tensor<8x4x8xf64> -> tensor<8x2x3x8xf64>
  %1 = pp.name %0 "moe.dispatched" dims ["batch", "expert", "", ""] : tensor<8x2x3x8xf64>
  %2 = pp.dot_general %1, %w batch [1] x [0] contract [3] x [1] : tensor<8x2x3x8xf64>, tensor<2x8x8xf64> -> tensor<2x8x3x8xf64>
  %3 = pp.tanh %2 : tensor<2x8x3x8xf64>
  %4 = pp.name %3 "moe.outputs" dims ["", "batch", "", ""] : tensor<2x8x3x8xf64>
  %5 = pp.dot_general %m, %4 batch [0] x [1] contract [2, 3] x [0, 2] : tensor<8x4x2x3xf64>, tensor<2x8x3x8xf64> -> tensor<8x4x8xf64>
  %6 = pp.add %5, %h : tensor<8x4x8xf64>
  %7 = pp.mul %6, %6 : tensor<8x4x8xf64>
  %8 = pp.reduce sum %7 dims [0, 1, 2] : tensor<8x4x8xf64> -> tensor<f64>
  return %8 : tensor<f64>
}
