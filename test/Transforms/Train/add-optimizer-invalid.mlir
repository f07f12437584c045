// What pp-add-optimizer refuses, and how it says so.
// RUN: pp-opt %s --pp-add-optimizer --split-input-file --verify-diagnostics

// expected-error@+1 {{expects a plan (pp.plan) on the module; pp-make-plan writes one}}
module {
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<f32> {
    return %w : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = #pp.optimizer<sgd, lr = 1.0>, threads = 1>} {
  // expected-error@+1 {{expects a gradient of parameter "w" among the results; pp-differentiate adds it}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<f32> {
    return %w : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = #pp.optimizer<sgd, lr = 1.0, warmup = 5, decay = cosine, steps = 5>, threads = 1>} {
  // expected-error@+1 {{expects more steps than warm-up steps for a learning rate that falls, got 5 and 5}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"})
      -> (tensor<f32>, tensor<f32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}
