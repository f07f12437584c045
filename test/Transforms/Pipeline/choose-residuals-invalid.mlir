// What pp-choose-residuals refuses, and how it says so.
// RUN: pp-opt %s --pp-choose-residuals --split-input-file --verify-diagnostics

// Keep, in the model, and recompute, in the plan, of one value.
module attributes {pp.plan = #pp.plan<mesh = <[]>, recompute = "h.*.mlp">} {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      // expected-error@unknown {{of "h.0.mlp" is marked keep and recompute, by the plan's keys or by pp.checkpoint; leave one of them out}}
      %t = pp.tanh %a {pp.checkpoint = #pp.checkpoint<keep>} : tensor<4xf32> loc("h.0.mlp")
      pp.yield %a, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// The same of two keys of the plan.
module attributes {pp.plan = #pp.plan<mesh = <[]>, keep = "* tanh", recompute = "h.1">} {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      // expected-error@unknown {{of "h.1.mlp" is marked keep and recompute, by the plan's keys or by pp.checkpoint; leave one of them out}}
      %t = pp.tanh %a : tensor<4xf32> loc("h.1.mlp")
      pp.yield %a, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// A sum over devices is never repeated.
module attributes {pp.plan = #pp.plan<mesh = <["tp"=2]>>} {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      // expected-error@unknown {{of "h.0.attn" reduces or exchanges values between devices, which is never repeated; leave its pp.checkpoint out}}
      %t = pp.all_reduce sum %a over @mesh ["tp"] {pp.checkpoint = #pp.checkpoint<recompute>} : (tensor<4xf32>) -> tensor<4xf32> loc("h.0.attn")
      pp.yield %a, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// Nor is an exchange, and nothing else has the name.
// expected-error@+1 {{recompute="h.0.moe" names no value that backward needs and may compute again}}
module attributes {pp.plan = #pp.plan<mesh = <["ep"=2]>, recompute = "h.0.moe">} {
  pp.mesh @mesh = <["ep"=2]>
  func.func @main(%x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4x2xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<2x4xf32>):
      %t = pp.all_to_all %a split 1 concat 0 over @mesh ["ep"] : tensor<2x4xf32> -> tensor<4x2xf32> loc("h.0.moe")
      pp.yield %a, %t : tensor<2x4xf32>, tensor<4x2xf32>
    } : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4x2xf32>):
      pp.yield %t : tensor<4x2xf32>
    } : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %b : tensor<4x2xf32>
  }
}

// -----

// Names of values that backward does not read.
// expected-error@+1 {{recompute="h.7" names no value that backward needs and may compute again; names are those of ops' locations, such as h.0.attn, and an op may follow: "h.*.attn exp"; what reduces or exchanges values between devices is never repeated}}
module attributes {pp.plan = #pp.plan<mesh = <[]>, keep = "h.0.mlp", recompute = "h.7">} {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      %t = pp.tanh %a : tensor<4xf32> loc("h.0.mlp")
      %u = pp.exp %t : tensor<4xf32> loc("h.7")
      pp.yield %u, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{keep="h.0.mlp exp" names no value that backward needs}}
module attributes {pp.plan = #pp.plan<mesh = <[]>, keep = "h.0.mlp exp">} {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      %t = pp.tanh %a : tensor<4xf32> loc("h.0.mlp")
      pp.yield %a, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// Parameter, loss and gradient have 64 bytes each.
module attributes {pp.plan = #pp.plan<mesh = <[]>, remat = "auto", memory-limit = "64">} {
  pp.mesh @mesh = <[]>
  // expected-error@+1 {{memory-limit=64 bytes is met by no choice of what is kept that was tried: a rank of position 0 needs 192 bytes in the leanest; raise the limit, or split more (precision, zero, microbatches, pp, tp)}}
  func.func @main(%w: tensor<16xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 16>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>},
          tensor<16xf32> {pp.role = #pp.role<gradient>, pp.name = "w", pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 16>})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0"]>} {
    %f:2 = pp.fragment forward stage 0 (%w) {
    ^bb0(%a: tensor<16xf32>):
      %t = pp.tanh %a : tensor<16xf32>
      %l = pp.reduce sum %t dims [0] : tensor<16xf32> -> tensor<f32>
      pp.yield %l, %t : tensor<f32>, tensor<16xf32>
    } : (tensor<16xf32>) -> (tensor<f32>, tensor<16xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<16xf32>):
      %0 = pp.exp %t : tensor<16xf32>
      pp.yield %0 : tensor<16xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %f#0, %b : tensor<f32>, tensor<16xf32>
  }
}
