// A parameter is stored, used and updated in layouts of its own: pp.reshard ops
// stand between them.
// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2 zero=1 optimizer=momentum" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefixes=CHECK,UPDATE
// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2 zero=2 optimizer=momentum" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefixes=CHECK,GRADIENT
// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2 zero=3 optimizer=momentum" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefixes=CHECK,PARAMETER
// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2 zero=3 zero.gather=step optimizer=momentum" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefix=STEP
// RUN: pp-opt %s --pp-make-plan="dp=2 microbatches=2 optimizer=momentum" --pp-differentiate --pp-add-optimizer --pp-cut-stages --pp-annotate-shardings | FileCheck %s --check-prefix=NONE
// Partitioned, gradients are reduced before or after they are summed.
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=1 optimizer=momentum stop-after=spmd" | FileCheck %s --check-prefix=LAST
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=2 optimizer=momentum stop-after=spmd" | FileCheck %s --check-prefix=EACH
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=3 optimizer=momentum stop-after=spmd" | FileCheck %s --check-prefix=GATHERED

// CHECK-NOT: pp.parameter = "w"} :
// UPDATE: %[[W:.*]] = pp.reshard %arg1 with ["dp"] {pp.kind = #pp.kind<update>
// PARAMETER: pp.reshard %arg1 without ["dp"] {pp.kind = #pp.kind<forward>, pp.origin
// UPDATE: %[[G:.*]] = pp.reshard %{{.*}} with ["dp"] {pp.kind = #pp.kind<weight_gradient>
// GRADIENT: pp.reshard %arg1 with ["dp"] {pp.kind = #pp.kind<update>
// GRADIENT: pp.reshard %{{.*}} with ["dp"] each {pp.kind = #pp.kind<weight_gradient>
// PARAMETER: pp.reshard %{{.*}} with ["dp"] each {pp.kind = #pp.kind<weight_gradient>
// UPDATE: pp.sub %[[W]]
// UPDATE: pp.reshard %{{.*}} without ["dp"] {pp.kind = #pp.kind<update>
// GRADIENT: pp.reshard %{{.*}} without ["dp"] {pp.kind = #pp.kind<update>
// PARAMETER-NOT: pp.reshard
// NONE-NOT: pp.reshard
// STEP: pp.reshard %arg1 without ["dp"] {pp.kind = #pp.kind<prologue>
// STEP: pp.reshard %{{.*}} with ["dp"] each
// STEP-NOT: pp.reshard

// LAST: %[[SUM:.*]] = pp.accumulate %{{.*}} over "mb" {{.*}} : tensor<6x4xf32>
// LAST: pp.reduce_scatter sum %[[SUM]] dims [0] over @mesh ["dp"] {{.*}} : (tensor<6x4xf32>) -> tensor<3x4xf32>
// EACH: %[[PART:.*]] = pp.reduce_scatter sum %{{.*}} dims [0] over @mesh ["dp"] {{.*}} : (tensor<6x4xf32>) -> tensor<3x4xf32>
// EACH: pp.accumulate %[[PART]] over "mb" {{.*}} : tensor<3x4xf32>
// GATHERED: %{{[^:]*}}: tensor<3x4xf32> {{.*}}pp.name = "w"
// GATHERED: pp.all_gather %arg1 dims [0] over @mesh ["dp"]
// GATHERED: return %{{[^,]*}}, %{{[^,]*}}, %{{.*}} : tensor<f32>, tensor<3x4xf32>, tensor<3x4xf32>
func.func @main(%x: tensor<8x6xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<6x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x6xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %1 = pp.tanh %0 : tensor<8x4xf32>
  %l = pp.reduce sum %1 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
