// Stages are assigned to forward ops by their number.
// RUN: pp-opt %s --pp-cut-stages --verify-diagnostics

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", threads = 1>} {
  // expected-error@+1 {{expects forward ops that pp-differentiate numbered (pp.origin), got none}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}
