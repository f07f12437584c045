// Seeds by analysis: the batch over mb and dp; over tp the parameters that
// introduce a dimension which only contractions with parameters reduce.
// RUN: pp-model gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=32 \
// RUN:   | pp-opt --pass-pipeline="builtin.module(pp-make-plan{dp=2 tp=2 microbatches=2},pp-annotate-shardings)" \
// RUN:   | FileCheck %s --check-prefix=GPT
// RUN: pp-model mlp --layers=4 --input=4 --hidden=8 --classes=3 --batch=4 \
// RUN:   | pp-opt --pass-pipeline="builtin.module(pp-make-plan{tp=2},pp-annotate-shardings)" \
// RUN:   | FileCheck %s --check-prefix=MLP
// RUN: pp-opt %s --split-input-file --pp-annotate-shardings | FileCheck %s --check-prefix=USER

// Heads and the inner dimension of the feed-forward part, one seed each.
// GPT: seeds = [#pp.seed<"tokens", [{"mb", "dp"}, {}], 0>, #pp.seed<"labels", [{"mb", "dp"}, {}], 0>, #pp.seed<"h.*.attn.c_attn.weight", [{?}, {?}, {"tp"}, {?}], 1>, #pp.seed<"h.*.mlp.c_fc.weight", [{?}, {"tp"}], 1>]
// GPT: pp.name = "tokens", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"mb", "dp"}, {}]>
// GPT: pp.name = "h.1.mlp.c_fc.weight", pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{?}, {"tp"}]>

// A parameter is split once, so every other layer introduces a class.
// MLP: seeds = [#pp.seed<"layers.0.weight", [{?}, {"tp"}], 1>, #pp.seed<"layers.2.weight", [{?}, {"tp"}], 1>]

// The user's seeds are taken as they are; two of them may share an argument.
// USER: pp.mesh @mesh = <["a"=2, "b"=2]>
// USER: pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {"b"}]>
// USER: pp.name = "y", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {?}]>
// Or a value: each has its own priority there.
// USER: pp.sharding_constraint %{{.*}} to <@mesh, [{"a"}, {?}]> priority 0
// USER: pp.sharding_constraint %{{.*}} to <@mesh, [{?}, {"b"}]> priority 2
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>,
    seeds = [#pp.seed<"*", [{"a"}, {?}], 0>, #pp.seed<"x", [{?}, {"b"}], 1>, #pp.seed<"z", [{?}, {"b"}], 2>], threads = 1>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %y: tensor<4x4xf32> {pp.name = "y", pp.role = #pp.role<input>}) -> tensor<4x4xf32> {
    %0 = pp.add %x, %y : tensor<4x4xf32>
    %z = pp.name %0 "z" : tensor<4x4xf32>
    return %z : tensor<4x4xf32>
  }
}

// -----

// A name of its use hides no parameter from the analysis.
// USER: seeds = [#pp.seed<"w", [{?}, {"tp"}], 1>]
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>, threads = 1>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %w: tensor<4x6xf32> {pp.name = "w", pp.role = #pp.role<param>},
                  %v: tensor<6x4xf32> {pp.name = "v", pp.role = #pp.role<param>}) -> tensor<4x4xf32> {
    %n = pp.name %w "used" : tensor<4x6xf32>
    %0 = pp.dot_general %x, %n batch [] x [] contract [1] x [0] : tensor<4x4xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %1 = pp.tanh %0 : tensor<4x6xf32>
    %2 = pp.dot_general %1, %v batch [] x [] contract [1] x [0] : tensor<4x6xf32>, tensor<6x4xf32> -> tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}
