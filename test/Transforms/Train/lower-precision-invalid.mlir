// What pp-lower-precision refuses, and how it says so.
// RUN: pp-opt %s --pp-lower-precision --split-input-file --verify-diagnostics

module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
  // expected-error@+1 {{precision=bf16 expects a model in f32, got parameter "w" of type 'tensor<f64>'; leave precision out}}
  func.func @main(%w: tensor<f64> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>}) -> tensor<f64> {
    return %w : tensor<f64>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
  // expected-error@+1 {{precision=bf16 expects parameters in f32, got none}}
  func.func @main(%w: tensor<bf16> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>}) -> tensor<bf16> {
    return %w : tensor<bf16>
  }
}
