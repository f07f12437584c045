// What has no elements may be asked to be whole.
// RUN: pp-opt %s --pp-annotate-shardings | FileCheck %s
// CHECK: pp.sharding_constraint {{.*}} : tensor<0x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"x", [{"dp"}], 0>], threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %none: tensor<0x4xf32> {pp.name = "none", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>})
      -> (tensor<4xf32> {pp.name = "y", pp.role = #pp.role<metric>}, tensor<0x4xf32> {pp.name = "none", pp.role = #pp.role<state>}) {
    %0 = pp.sharding_constraint %none to <@mesh, [{}, {?}]> : tensor<0x4xf32>
    return %x, %0 : tensor<4xf32>, tensor<0x4xf32>
  }
}
