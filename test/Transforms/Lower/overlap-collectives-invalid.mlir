// A step that is not split yet has no fragments with collectives to issue early.
// RUN: pp-opt %s --pp-overlap-collectives --verify-diagnostics

module attributes {pp.plan = #pp.plan<mesh = <["dp"=1]>>} {
  // expected-error@+1 {{expects fragments (level 3), got none; pp-split-stages makes them}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
