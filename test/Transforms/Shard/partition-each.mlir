// What is reduced in every micro-batch is so over the axes too that split what
// comes of it.
// RUN: pp-opt %s --pp-propagate-shardings --pp-pad-dimensions --pp-partition | FileCheck %s
// CHECK: %[[SUM:.*]] = pp.reduce sum %arg0
// CHECK-NOT: pp.accumulate
// CHECK: %[[PART:.*]] = pp.reduce_scatter {{.*}} -> tensor<2xf64>
// CHECK-NEXT: pp.accumulate %[[PART]] over "mb" {{.*}}: tensor<2xf64>
// CHECK-NOT: pp.all_
// CHECK: return
module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=2, "tp"=2]>, threads = 1, zero = 2>} {
  pp.mesh @mesh = <["mb"=2 : time, "dp"=2, "tp"=2]>
  func.func @main(%x: tensor<8x6x8xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"mb", "dp", ?}, {"tp", ?}, {?}]>},
                  %w: tensor<8xf64> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"tp", "dp"}]>})
      -> (tensor<8xf64> {pp.name = "w", pp.role = #pp.role<param>}) {
    %0 = pp.reduce sum %x dims [0, 1] {pp.kind = #pp.kind<weight_gradient>} : tensor<8x6x8xf64> -> tensor<8xf64>
    %1 = pp.reshard %0 with ["dp"] each {pp.kind = #pp.kind<weight_gradient>, pp.parameter = "w"} : tensor<8xf64>
    %2 = pp.add %w, %1 {pp.kind = #pp.kind<update>} : tensor<8xf64>
    return %2 : tensor<8xf64>
  }
}
