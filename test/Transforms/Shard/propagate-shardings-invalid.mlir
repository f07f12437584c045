// Shardings and ops that propagation cannot work with are refused by name.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-propagate-shardings

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x"}) -> tensor<4xf32> {
    // expected-error @below {{expects an op with a sharding rule, got pp.all_reduce}}
    %0 = pp.all_reduce sum %x over @mesh ["a"] : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  // expected-error @below {{argument "x" expects axes of #pp.mesh<["a"=2]>, got "b"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"b"}]>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  // expected-error @below {{argument "x" of type 'tensor<4xf32>' expects a sharding of its rank that is not partial}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}, {}]>}) {
    return
  }
}

// -----

// Where windows overlap, shards would have to know each other's edges.
module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>,
    seeds = [#pp.seed<"x", [{?}, {"sp"}, {?}], 0>], threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<2x8x3xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{?}, {"sp"}, {?}]>},
                  %w: tensor<3x3x5xf32> {pp.name = "w"}) -> tensor<2x8x5xf32> {
    // expected-error @below {{expects operand 0 of pp.convolution whole along dimension 1, where each element is computed with its neighbours, got it split over "sp" by seed "x" [{?}, {"sp"}, {?}]: split its dimension 0 or 2 instead}}
    %0 = pp.convolution %x, %w batch [] x [] contract [2] x [1] window [1] x [0] -> [1] strides [1] low [1] high [1] dilation [1] x [1] : tensor<2x8x3xf32>, tensor<3x3x5xf32> -> tensor<2x8x5xf32>
    return %0 : tensor<2x8x5xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["sp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["sp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x"}) -> (tensor<8xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"sp"}]>}) {
    // expected-error @below {{expects result 0 of pp.reduce_window whole along dimension 0, where each element is computed with its neighbours, got it split over "sp" by pp.sharding [{"sp"}] of result "y": none of its dimensions can be}}
    %0 = pp.reduce_window max %x dims [0] sizes [3] strides [1] dilation [1] low [1] high [1] : tensor<8xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

// expected-error @below {{expects a pp.mesh; pp-annotate-shardings adds it}}
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  func.func @main() {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x"}) -> tensor<4xf32> {
    // expected-error @below {{expects axes of #pp.mesh<["a"=2]>, got #pp.sharding<@mesh, [{"b"}]>}}
    %0 = pp.sharding_constraint %x to <@mesh, [{"b"}]> : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage, "dp"=2, "tp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["pp"=2 : stage, "dp"=2, "tp"=2]>
  // expected-error @below {{expects every axis of #pp.mesh<["pp"=2 : stage, "dp"=2, "tp"=2]> to split some tensor, got none over "tp": leave the axis out, or give an argument a seed that names it}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["a"=2]>
  // expected-error @below {{result "y" expects axes of #pp.mesh<["a"=2]>, got "b"}}
  func.func @main(%x: tensor<4xf32> {pp.name = "x"}) -> (tensor<4xf32> {pp.name = "y", pp.sharding = #pp.sharding<@mesh, [{"b"}]>}) {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "a"=2]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "a"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x"}) -> tensor<4xf32> {
    // expected-error @below {{expects axes that split tensors over devices, got #pp.axis<["mb"=2 : time]>}}
    %0 = pp.reshard %x with ["a", "mb"] : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// An op that has one rule.
module attributes {pp.plan = #pp.plan<mesh = <["a"=2]>>} {
  pp.mesh @mesh = <["a"=2]>
  func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"a"}]>}) -> tensor<4xf32> {
    // expected-error @below {{expects pp.in_shards on an op that takes or adds up a part of a dimension, got pp.tanh, which has one way to be split: leave it out}}
    %0 = pp.tanh %x {pp.in_shards = true} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
