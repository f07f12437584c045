// A state may name its parameter, and nothing else.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-graph

module {
  // expected-error@+1 {{argument 0 of @main expects pp.parameter on states only, got it on param "w"}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.parameter = "w"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{argument 1 of @main expects pp.parameter to name a parameter, got "m"}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                  %m: tensor<f32> {pp.role = #pp.role<state>, pp.name = "m", pp.init = #pp.init<zeros>, pp.parameter = "m"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    return %w : tensor<f32>
  }
}
