// Level 2 fulfils its contract; each breach is named, with the pass to blame.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-spmd

module {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 8>}) {
    %0 = pp.all_gather %x dim 0 over @mesh ["dp"] : tensor<4xf32> -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument 0 of @main expects type 'tensor<4xf32>' for #pp.sharding<@mesh, [{"dp"}]>, got 'tensor<8xf32>'}}
  func.func @main(%x: tensor<8xf32> {pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>}) {
    return
  }
}

// -----

// What is there for the whole step is not split over micro-batches.
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  // expected-error @below {{argument 1 of @main expects inputs and labels only to be split over "mb", got #pp.sharding<@mesh, [{"mb"}]>}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 8>},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 8>}) {
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{result 0 of @main expects pp.sharding and pp.global_shape of rank 1; pp-partition writes them}}
  func.func @main() -> tensor<8xf32> {
    %0 = pp.iota dim 0 : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main() {
    // expected-error @below {{expects no sharding left undone, got pp.iota; pp-partition should have removed it}}
    %0 = pp.iota dim 0 {pp.shardings = [#pp.sharding<@mesh, [{"dp"}]>]} : tensor<8xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2, "pp"=2 : stage]>
  func.func @main() {
    %0 = pp.iota dim 0 : tensor<8xf32>
    // expected-error @below {{expects an op of level 2, got pp.transfer}}
    %1 = pp.transfer %0 from 0 to 1 : tensor<8xf32>
    return
  }
}

// -----

// expected-error @below {{expects a pp.mesh; pp-annotate-shardings adds it}}
module {
  func.func @main() {
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument 0 of @main expects to lie at rest as its ops use it, got pp.stored = #pp.sharding<@mesh, [{"dp"}]>}}
  func.func @main(%x: tensor<4xf32> {pp.sharding = #pp.sharding<@mesh, [{}]>, pp.stored = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>}) {
    return
  }
}
