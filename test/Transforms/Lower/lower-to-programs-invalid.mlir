// A step that is not split yet has no fragments to unroll; once it is unrolled,
// none is left.
// RUN: pp-opt %s --pp-lower-to-programs --split-input-file --verify-diagnostics

// expected-error@+1 {{pp-lower-to-programs expects a module of level pipeline, got one of level graph: pp-split-stages and the passes before it come first}}
module {
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
  } setup {
  } body {
  } teardown {
  }
}

// -----

// A backward fragment reads what the weight fragment computes after it.
module {
  pp.mesh @mesh = <[]>
  func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0W0"]>} {
    // expected-note@+1 {{computed here}}
    %0 = pp.fragment weight stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      %y = pp.launch @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error@+1 {{expects a value that position 0 has by then for micro-batch 0; pp.schedule runs what computes it later, or not at all}}
    pp.fragment backward stage 0 (%0) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}

// -----

// A forward fragment reads what another stage computes backward, which waits for
// it there: no order of receives helps.
module {
  pp.mesh @mesh = <["pp"=2 : stage]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0", "1F0 1B0"]>} {
    %0 = pp.fragment backward stage 1 (%x) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    // expected-note@+1 {{computed here}}
    %1 = pp.transfer %0 from 1 to 0 : tensor<4xf32>
    // expected-error@+1 {{expects a value that position 0 has by then for micro-batch 0; pp.schedule runs what computes it later, or not at all}}
    %2 = pp.fragment forward stage 0 (%1) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %3 = pp.transfer %2 from 0 to 1 : tensor<4xf32>
    pp.fragment forward stage 1 (%3) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield
    } : (tensor<4xf32>) -> ()
    return
  }
}
