// Each breach of level 3 is named: alone, and before a program is written.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-pipeline
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-lower-to-programs

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    // expected-error@+1 {{expects a position on the stage axis below 2, got 2}}
    %0 = pp.fragment forward stage 2 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main() attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    // expected-error@+1 {{expects to be the only forward fragment of stage 0}}
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{expects operand 0 to be at position 1: an argument there, a result of its fragments, or a transferred value}}
    pp.fragment forward stage 1 (%0) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{expects operand 0 to be at position 0 once a step}}
    pp.fragment update position 0 (%0) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    // expected-error@+1 {{expects what a fragment at position 0 computes}}
    %0 = pp.transfer %x from 0 to 1 : tensor<4xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{expects another position below 2 as its target, got 7}}
    %1 = pp.transfer %0 from 0 to 7 : tensor<4xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    // expected-error@+1 {{expects what a fragment computes for each micro-batch}}
    %0 = pp.accumulate %x over "mb" : tensor<4xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    // expected-error@+1 {{expects to be in a fragment; pp-split-stages puts it there}}
    %0 = pp.neg %x : tensor<4xf32>
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{result 0 of @main expects the name of a param argument, which it updates, got "v"}}
  func.func @main(%w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"})
      -> (tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "v"}) attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return %w : tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{result 0 of @main expects a value that position 1 has once a step, and the argument that it updates}}
  func.func @main(%w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.positions = array<i64: 0>})
      -> (tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.positions = array<i64: 1>}) attributes {pp.schedule = #pp.schedule<"", []>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return %w : tensor<4xf32>
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{expects pp.schedule to have a list of actions for each of 2 positions, got 1}}
  func.func @main() attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{pp.schedule: position 1, action 1: expects stage 0 at position 0 only, got 0B0}}
  func.func @main() attributes {pp.schedule = #pp.schedule<"", ["0F0", "1F0 0B0 1B0"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  // expected-error@+1 {{expects 1F0 first, got 1B0}}
  func.func @main() attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0", "1B0 1F0"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  // expected-error@+1 {{expects pp.schedule to have 2 weight actions for stage 0, which has a weight fragment, got 1}}
  func.func @main() attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0W0 0F1 0B1"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    pp.fragment weight stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  // expected-error@+1 {{expects pp.schedule to have 2 or no weight actions for stage 0, which has no weight fragment, got 1}}
  func.func @main() attributes {pp.schedule = #pp.schedule<"", ["0F0 0F1 0B0 0B1 0W0"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xf32>) attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0F1 0B1"]>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %1 = pp.accumulate %0 over "mb" : tensor<4xf32>
    // expected-error@+1 {{expects operand 0 not to be a sum over micro-batches, which is there once all of them have run; only an update can read it}}
    pp.fragment backward stage 0 (%1) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}

// -----

// One of two micro-batches would be taken for both.
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0F1 0B1"]>} {
    // expected-error@+1 {{expects operand 0 to be at position 0 once a step}}
    pp.fragment prologue position 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}

// -----

module {
  pp.mesh @mesh = <[]>
  // expected-error@+1 {{result 0 of @main expects the name of a state argument, which it updates, got "x"}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "x"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0"]>} {
    pp.fragment forward stage 0 () {
      pp.yield
    } : () -> ()
    return %x : tensor<4xf32>
  }
}

// -----

// What is there once a step is no part of a sum over its micro-batches.
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"}) -> (tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"}) attributes {pp.schedule = #pp.schedule<"", []>} {
    %0 = pp.fragment update position 0 (%w) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{expects what a fragment computes for each micro-batch}}
    %1 = pp.accumulate %0 over "mb" : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
