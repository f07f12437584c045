// What pp-differentiate refuses, and how it says so.
// RUN: pp-opt %s --pp-differentiate --split-input-file --verify-diagnostics

// expected-error@+1 {{expects a scalar float loss as the first result of @main}}
func.func @main(%w: tensor<2xf32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<2xf32> {
  return %w : tensor<2xf32>
}

// -----

// expected-error@+1 {{expects parameters of a float type, got "w" of type 'tensor<i32>'}}
func.func @main(%w: tensor<i32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<f32> {
  %l = pp.convert %w : tensor<i32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error@+1 {{expects a forward graph, got the gradient "w" among the results}}
func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"})
    -> (tensor<f32>, tensor<f32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @main(%w: tensor<f32> {pp.role = #pp.role<param>, pp.name = "w"}) -> tensor<f32> {
  // expected-error@+1 {{expects an op with a gradient, got pp.all_reduce}}
  %l = pp.all_reduce sum %w over @mesh ["dp"] : (tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
