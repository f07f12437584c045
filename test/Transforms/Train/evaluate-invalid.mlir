// A value to predict that no name of the model is.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-evaluate=predict=logits

module attributes {pp.plan = #pp.plan<mesh = <[]>>} {
  // expected-error @below {{expects the name of a value to predict, one of hidden, scores, got 'logits'}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %h = pp.name %x "hidden" : tensor<4xf32>
    %s = pp.name %h "scores" : tensor<4xf32>
    %loss = pp.reduce sum %s dims [0] : tensor<4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>>} {
  // expected-error @below {{expects a model that names values (pp.name) to predict one, got none, got 'logits'}}
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %loss = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
