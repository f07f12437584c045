// A seed's pattern matches whole names: beginning, end and the order of the parts
// between its stars count, and parts do not overlap.
// RUN: pp-opt %s --pp-annotate-shardings | FileCheck %s
// CHECK: pp.name = "h.0.mlp.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}
// CHECK: pp.name = "h.10.mlp.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}
// CHECK: pp.name = "x.h.0.mlp.weight", pp.role = #pp.role<input>}
// CHECK: pp.name = "h.0.mlp.weights", pp.role = #pp.role<input>}
// CHECK: pp.name = "h.0.weight.mlp", pp.role = #pp.role<input>}
// CHECK: pp.name = "h.mlp.weight", pp.role = #pp.role<input>}
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>,
    seeds = [#pp.seed<"h.*.mlp.*weight", [{"a"}], 0>], threads = 1>} {
  func.func @main(%a: tensor<4xf32> {pp.name = "h.0.mlp.weight", pp.role = #pp.role<input>},
                  %b: tensor<4xf32> {pp.name = "h.10.mlp.weight", pp.role = #pp.role<input>},
                  %c: tensor<4xf32> {pp.name = "x.h.0.mlp.weight", pp.role = #pp.role<input>},
                  %d: tensor<4xf32> {pp.name = "h.0.mlp.weights", pp.role = #pp.role<input>},
                  %e: tensor<4xf32> {pp.name = "h.0.weight.mlp", pp.role = #pp.role<input>},
                  %f: tensor<4xf32> {pp.name = "h.mlp.weight", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    return %a : tensor<4xf32>
  }
}
