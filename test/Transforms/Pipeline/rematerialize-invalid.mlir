// What pp-rematerialize refuses: to repeat a reduction or an exchange that
// pp-choose-residuals would have marked.
// RUN: pp-opt %s --pp-rematerialize --split-input-file --verify-diagnostics

module {
  pp.mesh @mesh = <["tp"=2]>
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      // expected-error@+1 {{expects pp.keep, since backward needs its result and it cannot run again; pp-choose-residuals marks it}}
      %t = pp.all_reduce sum %a over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %a, %t : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4xf32>):
      pp.yield %t : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %b : tensor<4xf32>
  }
}

// -----

// Also behind a value that can run again.
module {
  pp.mesh @mesh = <["ep"=2]>
  func.func @main(%x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"}) -> tensor<4x2xf32> {
    %f:2 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<2x4xf32>):
      // expected-error@+1 {{expects pp.keep, since backward needs its result and it cannot run again; pp-choose-residuals marks it}}
      %s = pp.all_to_all %a split 1 concat 0 over @mesh ["ep"] : tensor<2x4xf32> -> tensor<4x2xf32>
      %t = pp.tanh %s : tensor<4x2xf32>
      pp.yield %a, %t : tensor<2x4xf32>, tensor<4x2xf32>
    } : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>)
    %b = pp.fragment backward stage 0 (%f#1) {
    ^bb0(%t: tensor<4x2xf32>):
      pp.yield %t : tensor<4x2xf32>
    } : (tensor<4x2xf32>) -> tensor<4x2xf32>
    return %b : tensor<4x2xf32>
  }
}
