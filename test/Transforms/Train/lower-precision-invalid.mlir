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
  // expected-error@+1 {{precision=bf16 expects parameters in f32, got none; leave precision out: the model says itself in which types it computes}}
  func.func @main(%w: tensor<bf16> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>}) -> tensor<bf16> {
    return %w : tensor<bf16>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16", precision.f32 = "head exp">} {
  // expected-error@+1 {{precision.f32="head exp" names no op; names are those of ops' locations, such as lm_head, and an op may follow: "h.*.attn exp"}}
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>}) -> tensor<f32> {
    return %w : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16", precision.f32 = "head", precision.low = "* exp">} {
  func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>}) -> tensor<f32> {
    // expected-error@unknown {{of "head" is named by precision.f32 and by precision.low; leave one of them out}}
    %e = pp.exp %w : tensor<f32> loc("head")
    return %e : tensor<f32>
  }
}
