// What cannot be partitioned is refused where it stands.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-partition

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{"mb"}]>}) {
    %0 = pp.reduce sum %x dims [0] {pp.shardings = [#pp.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32> // expected-note {{the sum}}
    %1 = pp.broadcast %0 dims [] {pp.shardings = [#pp.sharding<@mesh, [{"mb"}]>]} : tensor<f32> -> tensor<8xf32>
    // expected-error @above {{expects operands that exist per micro-batch, got operand 0, which derives from a sum over all of them along dimension 0 of operand 0 of pp.reduce: microbatches=1 leaves the batch whole}}
    return %1 : tensor<8xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<f32> {pp.sharding = #pp.sharding<@mesh, []>}) {
    // expected-error @below {{expects only sums over micro-batches, got a max along dimension 0 of operand 0: microbatches=1 leaves the batch whole}}
    %0 = pp.reduce max %x dims [0] {pp.shardings = [#pp.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{}]>, pp.name = "y"}) {
    %0 = pp.neg %x {pp.shardings = [#pp.sharding<@mesh, [{"mb"}]>]} : tensor<8xf32> // expected-note {{the value that it reads}}
    // expected-error @below {{expects a value that is whole over micro-batches in dimension 0, got one per micro-batch: result "y" of @main needs [{}]; microbatches=1 leaves the batch whole}}
    return %0 : tensor<8xf32>
  }
}

// -----

// What subtracts a mean over the batch from the batch is told of other norms.
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}, {}]>})
      -> (tensor<8x4xf32> {pp.sharding = #pp.sharding<@mesh, [{"mb"}, {}]>}) {
    %0 = pp.reduce sum %x dims [0] {pp.shardings = [#pp.sharding<@mesh, [{}]>]} : tensor<8x4xf32> -> tensor<4xf32> // expected-note {{the sum}}
    %1 = pp.neg %0 {pp.shardings = [#pp.sharding<@mesh, [{}]>]} : tensor<4xf32>
    // expected-error @below {{expects operands that exist per micro-batch, got operand 0, which derives from a sum over all of them along dimension 0 of operand 0 of pp.reduce: microbatches=1 leaves the batch whole, and a norm of each sample alone, such as group norm, has no such sum}}
    %2 = pp.broadcast %1 dims [1] {pp.shardings = [#pp.sharding<@mesh, [{"mb"}, {}]>]} : tensor<4xf32> -> tensor<8x4xf32>
    %3 = pp.add %x, %2 {pp.shardings = [#pp.sharding<@mesh, [{"mb"}, {}]>]} : tensor<8x4xf32>
    return %3 : tensor<8x4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=3]>
  // expected-error @below {{expects dimension 0 of 'tensor<8xf32>' to divide into 3 shards; pp-pad-dimensions sees to that}}
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>}) {
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument "x" expects pp.sharding; pp-propagate-shardings writes it}}
  func.func @main(%x: tensor<8xf32> {pp.name = "x"}) {
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}]>}) {
    // expected-error @below {{expects a sharding per result (pp.shardings); pp-propagate-shardings writes them}}
    %0 = pp.neg %x : tensor<8xf32>
    return
  }
}
