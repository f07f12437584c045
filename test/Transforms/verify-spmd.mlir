// Level 2 fulfils its contract; each breach is named, with the pass to blame.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-spmd

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    %l = pp.reduce sum %x dims [0] {pp.stages = array<i64: 0>} : tensor<4xf32> -> tensor<f32>
    %r = pp.all_reduce sum %l over @mesh ["dp"] {pp.stages = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument 0 of @main expects type 'tensor<4xf32>' for #pp.sharding<@mesh, [{"dp"}]>, got 'tensor<8xf32>' (model_c6)}}
  func.func @main(%x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    %l = pp.reduce sum %x dims [0] {pp.stages = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
    %r = pp.all_reduce sum %l over @mesh ["dp"] {pp.stages = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

// What is there for the whole step is not split over micro-batches.
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time]>
  // expected-error @below {{argument 1 of @main expects space axes of #pp.mesh<["mb"=2 : time]>, and time on inputs, labels and predictions alone, got "mb" in #pp.sharding<@mesh, [{"mb"}]> (model_c6)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 8>},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 8>}) {
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{result 0 of @main expects pp.sharding and pp.global_shape of rank 0; pp-partition writes them (model_c6)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %x dims [0] {pp.stages = array<i64: 0>} : tensor<4xf32> -> tensor<f32>
    %r = pp.all_reduce sum %l over @mesh ["dp"] {pp.stages = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument 0 of @main expects space axes of #pp.mesh<["dp"=2]>, and time on inputs, labels and predictions alone, got "rows" in #pp.sharding<@mesh, [{"rows"}]> (model_c6)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"rows"}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    %l = pp.reduce sum %x dims [0] {pp.stages = array<i64: 0>} : tensor<4xf32> -> tensor<f32>
    %r = pp.all_reduce sum %l over @mesh ["dp"] {pp.stages = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{argument 0 of @main expects sizes that divide into shards, got 9 for 2 of #pp.sharding<@mesh, [{"dp"}]>; pp-pad-dimensions sees to that (model_c6)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"dp"}]>, pp.global_shape = array<i64: 9>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    %l = pp.reduce sum %x dims [0] {pp.stages = array<i64: 0>} : tensor<4xf32> -> tensor<f32>
    %r = pp.all_reduce sum %l over @mesh ["dp"] {pp.stages = array<i64: 0>} : (tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<spmd>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main() {
    // expected-error @below {{expects no sharding left undone, got pp.iota; pp-partition should have removed it}}
    %0 = pp.iota dim 0 {pp.shardings = [#pp.sharding<@mesh, [{"dp"}]>]} : tensor<8xf32>
    return
  }
}

// -----

module attributes {pp.level = #pp.level<spmd>, pp.plan = #pp.plan<mesh = <["dp"=2, "pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "pp"=2 : stage]>
  func.func @main() {
    %0 = pp.iota dim 0 : tensor<8xf32>
    // expected-error @below {{expects an op of level 2, got pp.transfer}}
    %1 = pp.transfer %0 from 0 to 1 : tensor<8xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2, "pp"=2 : stage]>
  func.func @main(%x: tensor<8xf32>) {
    // expected-error @below {{expects no collective over the stage axis yet, got "pp"; pp-split-stages makes them (step_c4)}}
    %0 = pp.all_reduce sum %x over @mesh ["dp", "pp"] : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<8xf32>) {
    // expected-error @below {{expects the time axis of #pp.mesh<["dp"=2]>, got "mb"; pp-partition writes it (step_c4)}}
    %0 = pp.accumulate %x over "mb" : tensor<8xf32>
    return
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 8>}, %w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    // expected-error @below {{expects a value of one micro-batch, got a value of the whole step (step_c4)}}
    %0 = pp.accumulate %w over "mb" {pp.stages = array<i64: 0>} : tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    // expected-note @below {{computed here}}
    %0 = pp.sin %x {pp.stages = array<i64: 1>} : tensor<8xf32>
    // expected-error @below {{of kind forward on stage 0 expects operands that were computed before, forward from the first stage on, then backward from the last, got one of kind forward on stage 1; pp-cut-stages writes pp.stages (step_c3)}}
    %1 = pp.reduce sum %0 dims [0] {pp.stages = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    // expected-note @below {{computed here}}
    %0 = pp.sin %x {pp.kind = #pp.kind<input_gradient>, pp.stages = array<i64: 0>} : tensor<8xf32>
    // expected-error @below {{of kind input_gradient on stage 1 expects operands that were computed before, forward from the first stage on, then backward from the last, got one of kind input_gradient on stage 0; pp-cut-stages writes pp.stages (step_c3)}}
    %1 = pp.reduce sum %0 dims [0] {pp.kind = #pp.kind<input_gradient>, pp.stages = array<i64: 1>} : tensor<8xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 8>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.sharding = #pp.sharding<@mesh, []>, pp.global_shape = array<i64>}) {
    // expected-note @below {{computed here}}
    %0 = pp.sin %x {pp.kind = #pp.kind<input_gradient>, pp.stages = array<i64: 0>} : tensor<8xf32>
    // expected-error @below {{of kind forward expects no operand of a later part of the step, got operand 0 of kind input_gradient; pp-differentiate and pp-add-optimizer write pp.kind (step_c1)}}
    %1 = pp.reduce sum %0 dims [0] {pp.stages = array<i64: 0>} : tensor<8xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// expected-error @below {{expects a pp.mesh; pp-annotate-shardings adds it}}
module attributes {pp.level = #pp.level<spmd>} {
  func.func @main() {
    return
  }
}
