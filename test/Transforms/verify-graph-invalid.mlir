// Each breach of what holds of a module at every level, and of level 1, by its
// label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-graph

module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }

  // expected-error @below {{expects @main to be the only function that is no kernel, got func.func @step (model_c1)}}
  func.func @step() {
    return
  }
}

// -----

module {
  // expected-error @below {{expects no kernels before level 3; pp-form-kernels makes them, got func.func @kernel (model_c1)}}
  func.func private @kernel(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    return %x : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  pp.mesh @mesh = <["dp"=2]>
  // expected-error @below {{expects one mesh, got @mesh and @other (model_c1)}}
  pp.mesh @other = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// expected-error @below {{expects a plan (pp.plan) on the module; pp-make-plan writes one}}
module attributes {pp.level = #pp.level<graph>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  // expected-error @below {{expects the plan's mesh #pp.mesh<["dp"=2]>, got #pp.mesh<["dp"=4]> (model_c2)}}
  pp.mesh @mesh = <["dp"=4]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects pp.role and pp.name (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects role param, state, input or label, got metric (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "w"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects a name in UTF-8, got "��" (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "\FF\FE", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects a parameter to have another name than "__metadata__", which is no tensor in safetensors files (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "__metadata__", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects a unique name, got "x" a second time (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "x", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects pp.init on param "w" (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{result 0 of @main expects role loss, got metric (model_c4)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<metric>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{result 1 of @main expects pp.role and pp.name (model_c3)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<4xf32>) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l, %y : tensor<f32>, tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{result 1 of @main expects role state or metric, got gradient; pp-differentiate adds gradients (model_c4)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<4xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l, %y : tensor<f32>, tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{result 1 of @main expects the name of a state argument, got "w" (model_c4)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "w"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l, %y : tensor<f32>, tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{result 1 of @main expects the type of the argument it updates, 'tensor<4xf32>', got 'tensor<f32>' (model_c4)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<f32> {pp.role = #pp.role<state>, pp.name = "w"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l, %l : tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{result 2 of @main expects a unique name, got metric "m" a second time (model_c4)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<f32> {pp.role = #pp.role<metric>, pp.name = "m"}, tensor<f32> {pp.role = #pp.role<metric>, pp.name = "m"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l, %l, %l : tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects at most 8 dimensions, got 'tensor<1x1x1x1x1x1x1x1x1xf32>' (model_c5)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<1x1x1x1x1x1x1x1x1xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 0 of @main expects input "x" to have elements, got 'tensor<0xf32>' (model_c5)}}
  func.func @main(%x: tensor<0xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %w dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects a pp.stored_shape of as many elements as [4] has, got [2, 3] (model_c5)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.stored_shape = array<i64: 2, 3>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 1 of @main expects a pp.stored_shape of as many elements as [4] has, got [-2, -2] (model_c5)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.stored_shape = array<i64: -2, -2>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 0 of @main expects pp.bound above 0, and on inputs and labels of integers alone, got 0 for 'tensor<4xi32>' (model_c5)}}
  func.func @main(%x: tensor<4xi32> {pp.role = #pp.role<input>, pp.name = "x", pp.bound = 0 : i64}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %w dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 0 of @main expects pp.bound of at most 128, got 129 for 'tensor<4xi8>' (model_c5)}}
  func.func @main(%x: tensor<4xi8> {pp.role = #pp.role<input>, pp.name = "x", pp.bound = 129 : i64}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %w dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{argument 0 of @main expects no pp.global_shape yet, got array<i64: 4>; the passes of level 2 write it (model_c6)}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.global_shape = array<i64: 4>}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %x, %w : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    // expected-error @below {{expects no pp.kind yet, which pp-differentiate adds, got #pp.kind<update> (step_c2)}}
    %y = pp.mul %x, %w {pp.kind = #pp.kind<update>} : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    // expected-error @below {{expects no pp.stages yet, which pp-cut-stages adds, got array<i64: 0> (step_c2)}}
    %y = pp.mul %x, %w {pp.stages = array<i64: 0>} : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    // expected-error @below {{expects pp.origin to number a forward op, got 9223372036854775807; pp-differentiate numbers them (step_c2)}}
    %y = pp.mul %x, %w {pp.origin = 9223372036854775807 : i64} : tensor<4xf32>
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    // expected-note @below {{computed here}}
    %y = pp.mul %x, %w {pp.kind = #pp.kind<update>} : tensor<4xf32>
    // expected-error @below {{of kind forward expects no operand of a later part of the step, got operand 0 of kind update; pp-differentiate and pp-add-optimizer write pp.kind (step_c1)}}
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}, %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.mul %w, %w : tensor<4xf32>
    // expected-error @below {{expects a loss that is computed from an input or label, got a loss that is not (graph_c1)}}
    %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  // expected-error @below {{expects @main to be one block with arguments and results that are tensors of static shape, got '(tensor<4xf8E4M3FN>) -> tensor<f32>'}}
  func.func @main(%x: tensor<4xf8E4M3FN> {pp.role = #pp.role<input>, pp.name = "x"}) -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.constant dense<1.0> : tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module attributes {pp.level = #pp.level<graph>, pp.plan = #pp.plan<mesh = <["dp"=2]>, threads = 1>} {
  // expected-error @below {{expects a name, got none (model_c1)}}
  "pp.mesh"() <{sym_name = "", mesh = #pp.mesh<["dp"=2]>}> : () -> ()
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %l = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.name %x "y" : tensor<4xf32>
    // expected-error @below {{expects a unique name, got "y" a second time (model_c3)}}
    %z = pp.name %y "y" : tensor<4xf32>
    %l = pp.reduce sum %z dims [0] : tensor<4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}
