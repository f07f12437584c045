// Every wrong seed is refused by the name of its argument.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-annotate-shardings

module attributes {pp.plan = #pp.plan<mesh = <["dp"=8]>, seeds = [#pp.seed<"x", [{"dp"}], 0>], threads = 1>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"dp"}], 0> expects at least 8 elements in dimension 0 of 'tensor<4xf32>', one per shard over "dp", got 4: dp=4 is the most}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"x", [{"tp"}], 0>], threads = 1>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"tp"}], 0> expects axes of #pp.mesh<["dp"=2]> in dimension 0, got "tp"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>,
    seeds = [#pp.seed<"x", [{"a"}], 0>, #pp.seed<"x", [{"b"}], 0>], threads = 1>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"b"}], 0> expects dimension 0 as {"b"}, got {"a"} from seed #pp.seed<"x", [{"a"}], 0>: leave one of them out}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

// Neither of these patterns is more exact than the other, however long it is.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>,
    seeds = [#pp.seed<"h.0.*", [{"a"}], 0>, #pp.seed<"h.*.mlp.weight", [{"b"}], 0>], threads = 1>} {
  // expected-error @below {{argument "h.0.mlp.weight": seed #pp.seed<"h.*.mlp.weight", [{"b"}], 0> expects dimension 0 as {"b"}, got {"a"} from seed #pp.seed<"h.0.*", [{"a"}], 0>: leave one of them out, or settle it by a seed of the name itself}}
  func.func @main(%x: tensor<4xf32> {pp.name = "h.0.mlp.weight", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>,
    seeds = [#pp.seed<"x", [{"a"}, {"a"}], 0>], threads = 1>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"a"}, {"a"}], 0> expects to use every axis once, got "a" a second time in dimension 1}}
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"x", [{}, {"dp"}], 0>], threads = 1>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{}, {"dp"}], 0> expects 1 dimension of 'tensor<4xf32>', got 2}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"y.*", [{"dp"}], 0>], threads = 1>} {
  // expected-error @below {{expects every seed to name an argument or a value of the model, got #pp.seed<"y.*", [{"dp"}], 0>; the nearest name is "x"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

// expected-error @below {{expects a plan (pp.plan) on the module; pp-make-plan writes one}}
module {
  func.func @main() {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, zero = 1, seeds = [#pp.seed<"x", [{"dp"}], 0>]>} {
  // expected-error @below {{expects an update of parameter "w" to share out for zero = 1, got none; pp-add-optimizer adds it}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %w: tensor<4xf32> {pp.name = "w", pp.role = #pp.role<param>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"x", [{"dp"}], 0, barrier>]>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"dp"}], 0, barrier> expects a value that the model computes: 'barrier' separates a value's readers from its producer; leave 'barrier' out}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"h.0.z", [{"dp"}, {}], 0, barrier>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    // expected-error @below {{value "h.0.z": seed #pp.seed<"h.0.z", [{"dp"}, {}], 0, barrier> expects 1 dimension of 'tensor<4xf32>', got 2}}
    %z = pp.name %x "h.0.z" : tensor<4xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"h.0.z", [{"dp"}], 0, barrier>, #pp.seed<"h.0.z", [{?}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    // expected-error @below {{value "h.0.z": seed #pp.seed<"h.0.z", [{?}], 0> expects a barrier to be the only seed, got #pp.seed<"h.0.z", [{"dp"}], 0, barrier> beside it: leave one of them out}}
    %z = pp.name %x "h.0.z" : tensor<4xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"h.0.y", [{"dp"}], 0, barrier>]>} {
  // expected-error @below {{expects every seed to name an argument or a value of the model, got #pp.seed<"h.0.y", [{"dp"}], 0, barrier>; the nearest name is "h.0.z"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    %z = pp.name %x "h.0.z" : tensor<4xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, seeds = [#pp.seed<"h.0.z", [{"dp"}], 0, barrier>]>} {
  func.func @main(%x: tensor<1xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    // expected-error @below {{value "h.0.z": seed #pp.seed<"h.0.z", [{"dp"}], 0, barrier> expects at least 2 elements in dimension 0 of 'tensor<1xf32>', one per shard over "dp", got 1: dp=1 is the most}}
    %z = pp.name %x "h.0.z" : tensor<1xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, seeds = [#pp.seed<"z", [{"pp"}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) {
    // expected-error @below {{value "z": seed #pp.seed<"z", [{"pp"}], 0> expects axes that split tensors in dimension 0, got #pp.axis<["pp"=2 : stage]>, over which ops are split; leave it out}}
    %z = pp.name %x "z" : tensor<4xf32>
    return
  }
}
