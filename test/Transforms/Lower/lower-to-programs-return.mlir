// Results are read before what they name is overwritten: those for the driver
// first, then states that take the values of others at once.
// RUN: pp-opt %s --split-input-file --pp-lower-to-programs | FileCheck %s

// A state keeps the parameter before the update; a metric tells it.
// CHECK-LABEL: pp.program @stage0
// CHECK: pp.slot "w" parameter at -1 argument 1
// CHECK-NEXT: pp.slot "previous" optimizer at -1 argument 2
// CHECK: pp.copy [0, [[NEW:[0-9]+]]]
// CHECK-NEXT: pp.run @step {{\[}}[[NEW]], 2]
// CHECK: pp.emit output 3 [0]
// CHECK-NEXT: pp.copy [0, 1]
// CHECK-NEXT: pp.copy {{\[}}[[NEW]], 0]
// CHECK-NEXT: pp.step
module {
  pp.mesh @mesh = <[]>
  func.func private @step(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 0>} {
    %0 = pp.sub %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @sum(%x: tensor<4xf32>) -> tensor<f32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"},
                  %p: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "previous"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"},
          tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "previous"},
          tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "old"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0"]>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      %l = pp.launch @sum(%a) : (tensor<4xf32>) -> tensor<f32>
      pp.yield %l : tensor<f32>
    } : (tensor<4xf32>) -> tensor<f32>
    %1 = pp.fragment update position 0 (%w, %x) {
    ^bb0(%a: tensor<4xf32>, %g: tensor<4xf32>):
      %new = pp.launch @step(%a, %g) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      pp.yield %new : tensor<4xf32>
    } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return %0, %1, %w, %w : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Three states change places: one slot more.
// CHECK-LABEL: pp.program @stage0
// CHECK: pp.slot "old" activation at -1 : tensor<4xf32>
// CHECK: pp.emit output 0
// CHECK-NEXT: pp.copy [0, [[OLD:[0-9]+]]]
// CHECK-NEXT: pp.copy [1, 0]
// CHECK-NEXT: pp.copy [2, 1]
// CHECK-NEXT: pp.copy {{\[}}[[OLD]], 2]
// CHECK-NEXT: pp.step
module {
  pp.mesh @mesh = <[]>
  func.func private @sum(%x: tensor<4xf32>) -> tensor<f32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @main(%a: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "a"},
                  %b: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "b"},
                  %c: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "c"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "a"},
          tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "b"},
          tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "c"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0"]>} {
    %0 = pp.fragment forward stage 0 (%a) {
    ^bb0(%x: tensor<4xf32>):
      %l = pp.launch @sum(%x) : (tensor<4xf32>) -> tensor<f32>
      pp.yield %l : tensor<f32>
    } : (tensor<4xf32>) -> tensor<f32>
    return %0, %b, %c, %a : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
