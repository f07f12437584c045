// A step that is not split yet has no fragments to unroll; once it is unrolled,
// none is left.
// RUN: pp-opt %s --pp-lower-to-programs --split-input-file --verify-diagnostics

module {
  // expected-error@+1 {{expects fragments (level 3), got none; pp-split-stages makes them}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// expected-error@+1 {{expects @main with a body (levels 1 to 3), got the programs that pp-lower-to-programs made of it}}
module {
  func.func private @main(tensor<4xf32>)
  pp.program @stage0 ranks [0] arena 0 slots {
  } queues {
  } prologue {
  } body {
  } epilogue {
  }
}
