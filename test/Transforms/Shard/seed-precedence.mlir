// Of seeds that cannot both hold, the one whose pattern is more exact has its way,
// dimension by dimension, whatever the order and the priorities; what it leaves
// open, the other says.
// RUN: pp-opt %s --split-input-file --pp-annotate-shardings | FileCheck %s

// A name is more exact than any pattern, `h.1.*` than `h.*`, and that than `*`.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "h.0.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {}]>
// CHECK-SAME: pp.name = "h.1.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"tp"}, {"dp"}]>
// CHECK-SAME: pp.name = "h.2.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp"}]>
// CHECK-SAME: pp.name = "head.weight", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"dp"}, {?}]>
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>, threads = 1,
    seeds = [#pp.seed<"h.0.weight", [{?}, {}], 3>, #pp.seed<"*", [{"dp"}, {?}], 0>,
             #pp.seed<"h.*.weight", [{?}, {"tp"}], 1>, #pp.seed<"h.1.*", [{"tp"}, {"dp", ?}], 2>,
             #pp.seed<"h.1.weight", [{?}, {"dp"}], 2>]>} {
  func.func @main(%a: tensor<4x4xf32> {pp.name = "h.0.weight", pp.role = #pp.role<input>},
                  %b: tensor<4x4xf32> {pp.name = "h.1.weight", pp.role = #pp.role<input>},
                  %c: tensor<4x4xf32> {pp.name = "h.2.weight", pp.role = #pp.role<input>},
                  %d: tensor<4x4xf32> {pp.name = "head.weight", pp.role = #pp.role<input>}) -> tensor<4x4xf32> {
    return %a : tensor<4x4xf32>
  }
}

// -----

// Of a value, too: what is overruled makes no constraint, a barrier as a whole.
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = pp.neg
// CHECK-NEXT: %[[A0:.*]] = pp.sharding_constraint %[[A]] to <@mesh, [{"tp"}]> priority 0 : tensor<4xf32>
// CHECK-NEXT: %[[B:.*]] = pp.neg %[[A0]]
// CHECK-NEXT: pp.sharding_constraint %[[B]] to <@mesh, [{}]> barrier
// CHECK-NOT: pp.sharding_constraint
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1,
    seeds = [#pp.seed<"h.*", [{}], 0, barrier>, #pp.seed<"h.0", [{"tp"}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    %0 = pp.neg %x : tensor<4xf32>
    %1 = pp.name %0 "h.0" : tensor<4xf32>
    %2 = pp.neg %1 : tensor<4xf32>
    %3 = pp.name %2 "h.1" : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
