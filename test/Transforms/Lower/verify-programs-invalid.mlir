// There is nothing to prove of a graph.
// RUN: pp-opt %s --pp-verify-programs --verify-diagnostics

// expected-error@+1 {{expects @main, a mesh and programs (level 4); pp-lower-to-programs writes programs}}
module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
