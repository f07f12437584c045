// The first result is the loss, and says so.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-verify-graph

module {
  // expected-error@+1 {{result 0 of @main expects role loss, got metric}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<metric>, pp.name = "loss"}) {
    return %w : tensor<f32>
  }
}

// -----

module {
  // expected-error@+1 {{result 0 of @main expects pp.role and pp.name (model_c3)}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
      -> tensor<f32> {
    return %w : tensor<f32>
  }
}
