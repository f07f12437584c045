// Slots are those of programs.
// RUN: pp-opt %s --pp-plan-buffers --verify-diagnostics

// expected-error@+1 {{expects programs (level 4), got none; pp-lower-to-programs writes them}}
module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
