// What a stage reads of a parameter has to be there, and stages have to exist;
// pp-cut-stages sees to it.
// RUN: pp-opt %s --pp-split-stages --split-input-file --verify-diagnostics

module {
  pp.mesh @mesh = <["mb"=2 : time, "pp"=2 : stage]>
  // expected-error@+1 {{expects every position that uses "w" to hold it, got a use at position 1 and it at positions [0]}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.stages = array<i64: 0>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.sin %w : tensor<4xf32>
    %b = pp.tanh %x {pp.stages = array<i64: 0>} : tensor<4xf32>
    %c = pp.mul %b, %a {pp.stages = array<i64: 1>} : tensor<4xf32>
    %d = pp.reduce sum %c dims [0] {pp.stages = array<i64: 1>} : tensor<4xf32> -> tensor<f32>
    %e = pp.accumulate %d over "mb" : tensor<f32>
    return %e : tensor<f32>
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%v: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "v", pp.stages = array<i64: 0>},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.stages = array<i64: 1>})
      -> (tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "product"}) {
    // expected-error@+1 {{expects a stage that holds all parameters and states of its operands, got none; pp-cut-stages assigns them}}
    %0 = pp.mul %v, %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time, "pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "y"}) {
    // expected-error@+1 {{expects stages (pp.stages), got none; pp-cut-stages assigns them}}
    %0 = pp.tanh %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "y"}) {
    // expected-error@+1 {{expects ascending stages (pp.stages) below 2, got [7]}}
    %0 = pp.tanh %x {pp.stages = array<i64: 7>} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{argument "w" expects ascending stages (pp.stages) below 2, got [1, 0]}}
  func.func @main(%w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.stages = array<i64: 1, 0>}) {
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func private @callee()
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) {
    // expected-error@+1 {{expects an op of level 2, got func.call}}
    func.call @callee() : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{expects @main to be one block with arguments and results that are tensors of static shape, got '(index) -> ()'}}
  func.func @main(%x: index) {
    return
  }
}
