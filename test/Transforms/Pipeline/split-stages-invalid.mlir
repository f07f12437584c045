// A value of parameters alone is repeated on every stage that uses it, which
// must then hold the parameter.
// RUN: pp-opt %s --pass-pipeline="builtin.module(pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-partition,pp-split-stages)" --verify-diagnostics

module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", cuts = [2], optimizer = #pp.optimizer<sgd, lr = 0.1>, threads = 1>} {
  // expected-error@+1 {{expects every stage that uses "w" to hold it, got a use on stage 1 and it on stages [0]}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %a = pp.sin %w : tensor<4xf32>
    %b = pp.tanh %x : tensor<4xf32>
    %c = pp.mul %b, %a : tensor<4xf32>
    %d = pp.reduce sum %c dims [0] : tensor<4xf32> -> tensor<f32>
    return %d : tensor<f32>
  }
}
