// What cannot be partitioned is refused where it stands.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-partition

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{"mb"}]>}) {
    %0 = pp.reduce sum %x dims [0] {pp.shardings = [#pp.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
    %1 = pp.broadcast %0 dims [] {pp.shardings = [#pp.sharding<@mesh, [{"mb"}]>]} : tensor<f32> -> tensor<8xf32>
    // expected-error @above {{expects operands that exist per micro-batch, got a sum over all of them}}
    return %1 : tensor<8xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<f32> {pp.sharding = #pp.sharding<@mesh, []>}) {
    // expected-error @below {{expects only sums over micro-batches, got a max}}
    %0 = pp.reduce max %x dims [0] {pp.shardings = [#pp.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<8xf32> {pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{}]>, pp.name = "y"}) {
    // expected-error @below {{expects a value that is whole over micro-batches, got one per micro-batch: result "y" of @main wants [{}]}}
    %0 = pp.neg %x {pp.shardings = [#pp.sharding<@mesh, [{"mb"}]>]} : tensor<8xf32>
    return %0 : tensor<8xf32>
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
