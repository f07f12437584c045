// What the model says of a value, a seed or a constraint must not contradict:
// both are named, with the dimension and what would do.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-annotate-shardings

// An argument and a seed.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{?}, {"b"}], 0>]>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{?}, {"b"}], 0> expects dimension 1 as {"b"}, got {"a"} from pp.sharding [{?}, {"a"}] of argument "x": leave one of them out}}
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{?}, {"a"}]>}) {
    return
  }
}

// -----

// What is closed as whole is not split, and what is shorter may be left open.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{"a", "b"}], 0>]>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{"a", "b"}], 0> expects dimension 0 as {"a", "b"}, got {"a"} from pp.sharding [{"a"}] of argument "x": leave one of them out, or write {"a", ?}, behind which the other may go on}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) {
    return
  }
}

// -----

// An axis in two dimensions.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, seeds = [#pp.seed<"x", [{?}, {"a"}], 0>]>} {
  // expected-error @below {{argument "x": seed #pp.seed<"x", [{?}, {"a"}], 0> expects "a" in dimension 1, got pp.sharding [{"a"}, {?}] of argument "x", which has it in dimension 0: an axis splits one dimension; leave it out of one}}
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {?}]>}) {
    return
  }
}

// -----

// A result is its argument's new value, and lies as that does.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"s", [{"b"}], 0>]>} {
  // expected-error @below {{argument "s": seed #pp.seed<"s", [{"b"}], 0> expects dimension 0 as {"b"}, got {"a"} from pp.sharding [{"a"}] of result "s": leave one of them out}}
  func.func @main(%s: tensor<4xf32> {pp.name = "s", pp.role = #pp.role<state>})
      -> (tensor<4xf32> {pp.name = "s", pp.role = #pp.role<state>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) {
    return %s : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"y", [{"b"}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}, // expected-note {{the value that it reads}}
                  %y: tensor<4xf32> {pp.name = "y", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    // expected-error @below {{[{"b"}] expects dimension 0 as {"b"}, got {"a"} from pp.sharding [{"a"}] of argument "x": leave one of them out, or write 'barrier' behind the constraint, for which its readers have the value in another layout}}
    %0 = pp.sharding_constraint %x to <@mesh, [{"b"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A constraint and a seed, of an argument and of a named value.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{"a"}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> { // expected-note {{the value that it reads}}
    // expected-error @below {{[{}] expects dimension 0 as {}, got {"a"} from seed #pp.seed<"x", [{"a"}], 0>: leave one of them out}}
    %0 = pp.sharding_constraint %x to <@mesh, [{}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"n", [{"a"}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    %n = pp.name %x "n" : tensor<4xf32> // expected-note {{the value that it reads}}
    // expected-error @below {{[{"b"}] expects dimension 0 as {"b"}, got {"a"} from seed "n" [{"a"}]: leave one of them out}}
    %0 = pp.sharding_constraint %n to <@mesh, [{"b"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Two constraints.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{?}, {?}], 0>]>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4x4xf32> { // expected-note {{the value that it reads}}
    %0 = pp.sharding_constraint %x to <@mesh, [{"a"}, {?}]> : tensor<4x4xf32>
    %1 = pp.sharding_constraint %0 to <@mesh, [{?}, {"b"}]> : tensor<4x4xf32>
    // expected-error @below {{[{?}, {"a"}] expects dimension 1 as {"a"}, got {"b"} from constraint}}
    %2 = pp.sharding_constraint %1 to <@mesh, [{?}, {"a"}]> : tensor<4x4xf32>
    return %2 : tensor<4x4xf32>
  }
}

// -----

// Side by side.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{?}, {?}], 0>]>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %t = pp.tanh %x : tensor<4x4xf32> // expected-note {{the value that it reads}}
    %0 = pp.sharding_constraint %t to <@mesh, [{"a"}, {}]> : tensor<4x4xf32>
    // expected-error @below {{[{"b"}, {}] expects dimension 0 as {"b"}, got {"a"} from constraint}}
    %1 = pp.sharding_constraint %t to <@mesh, [{"b"}, {}]> : tensor<4x4xf32>
    return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// An axis that splits another dimension already.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"y", [{"b"}], 0>]>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}, {?}]>}, // expected-note {{the value that it reads}}
                  %y: tensor<4xf32> {pp.name = "y", pp.role = #pp.role<input>}) -> tensor<4x4xf32> {
    // expected-error @below {{[{?}, {"a"}] expects "a" in dimension 1, got pp.sharding [{"a"}, {?}] of argument "x", which has it in dimension 0: an axis splits one dimension; leave it out of one, or write 'barrier'}}
    %0 = pp.sharding_constraint %x to <@mesh, [{?}, {"a"}]> : tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}

// -----

// Behind a barrier it is another value, of which the barrier speaks.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2, "b"=2]>, seeds = [#pp.seed<"x", [{"a"}, {?}], 0>]>} {
  func.func @main(%x: tensor<4x4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %0 = pp.sharding_constraint %x to <@mesh, [{?}, {"a"}]> barrier : tensor<4x4xf32> // expected-note {{the value that it reads}}
    %1 = pp.sharding_constraint %0 to <@mesh, [{"b"}, {?}]> : tensor<4x4xf32>
    // expected-error @below {{[{"a"}, {?}] expects dimension 0 as {"a"}, got {"b"} from constraint}}
    %2 = pp.sharding_constraint %0 to <@mesh, [{"a"}, {?}]> : tensor<4x4xf32>
    return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// -----

// Axes, meshes and sizes are looked at as those of seeds.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  // expected-error @below {{argument "x": pp.sharding [{"b"}] of argument "x" expects axes of #pp.mesh<["a"=2]> in dimension 0, got "b"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"b"}]>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  // expected-error @below {{argument "x": pp.sharding [{"a"}] of argument "x" expects the mesh @mesh, got @devices}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@devices, [{"a"}]>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=8]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  // expected-error @below {{argument "x": pp.sharding [{"a"}] of argument "x" expects at least 8 elements in dimension 0 of 'tensor<4xf32>', one per shard over "a", got 4: a=4 is the most}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    // expected-error @below {{[{"b"}] expects axes of #pp.mesh<["a"=2]> in dimension 0, got "b"}}
    %0 = pp.sharding_constraint %x to <@mesh, [{"b"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    // expected-error @below {{[{"a"}] expects the mesh @mesh, got @devices}}
    %0 = pp.sharding_constraint %x to <@devices, [{"a"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage, "a"=2]>, seeds = [#pp.seed<"x", [{?}], 0>]>} {
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>}) -> tensor<4xf32> {
    // expected-error @below {{[{"pp"}] expects axes that split tensors in dimension 0, got #pp.axis<["pp"=2 : stage]>, over which ops are split; leave it out}}
    %0 = pp.sharding_constraint %x to <@mesh, [{"pp"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "a"=2]>, seeds = [#pp.seed<"x", [{"mb"}], 0>]>} {
  // expected-error @below {{result "y": pp.sharding [{"mb"}] of result "y" expects axes that split results in dimension 0, got #pp.axis<["mb"=2 : time]>, whose micro-batches become one value; leave it out}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>})
      -> (tensor<4xf32> {pp.name = "y", pp.role = #pp.role<metric>, pp.sharding = #pp.sharding<@mesh, [{"mb"}]>}) {
    return %x : tensor<4xf32>
  }
}
