// A mesh of the model is the plan's, behind the axes of keys. Micro-batches split what shares the batch's factor before the model's axes do; parameters and open dimensions stay.
// RUN: pp-opt %s --pp-make-plan="microbatches=2 pp=2" | FileCheck %s
// RUN: pp-opt %s --pp-make-plan="dp=2" | FileCheck %s --check-prefix=SAME
// RUN: not pp-opt %s --pp-make-plan="dp=4" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: sed 's/<@mesh, \[{"dp"}/<@mesh, [{"mb", "dp"}/' %s | pp-opt --pp-make-plan="microbatches=2 pp=2" | FileCheck %s
// RUN: sed 's/"model"/"pp"/' %s | not pp-opt --pp-make-plan="pp=2" 2>&1 | FileCheck %s --check-prefix=KIND

// KIND: error: expects no pp: the model's mesh #pp.mesh<["dp"=2, "pp"=2]> has an axis of that name which splits dimensions; rename it in the model
// CHECK: pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage, "dp"=2, "model"=2]>
// SAME: pp.plan = #pp.plan<mesh = <["dp"=2, "model"=2]>
// SIZE: error: expects dp=2, as the model's mesh #pp.mesh<["dp"=2, "model"=2]> has it, got 4

pp.mesh @mesh = <["dp"=2, "model"=2]>
// CHECK: pp.mesh @mesh = <["mb"=2 : time, "pp"=2 : stage, "dp"=2, "model"=2]>
// CHECK: pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {}, {}]>
// CHECK-SAME: pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{}, {"model"}]>
func.func @main(%x: tensor<4x2x8xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}, {}]>},
                %w: tensor<8x8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.sharding = #pp.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  // Rows of merged dimensions, of which the batch is major, and columns.
  %rows = pp.reshape %x : tensor<4x2x8xf32> -> tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{"mb", "dp"}, {}]>
  %a = pp.sharding_constraint %rows to <@mesh, [{"dp"}, {}]> : tensor<8x8xf32>
  %y = pp.dot_general %a, %w batch [] x [] contract [1] x [0] : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{?}, {"model"}]>
  %b = pp.sharding_constraint %y to <@mesh, [{?}, {"model"}]> : tensor<8x8xf32>
  %turned = pp.transpose %b perm [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{"model"}, {"mb", "dp", ?}]>
  %c = pp.sharding_constraint %turned to <@mesh, [{"model"}, {"dp", ?}]> : tensor<8x8xf32>
  // CHECK: pp.sharding_constraint %{{.*}} to <@mesh, [{}, {"model"}]>
  %d = pp.sharding_constraint %w to <@mesh, [{}, {"model"}]> : tensor<8x8xf32>
  %first = pp.reduce sum %c dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %second = pp.reduce sum %d dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %loss = pp.add %first, %second : tensor<f32>
  return %loss : tensor<f32>
}
