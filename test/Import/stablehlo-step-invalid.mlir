// Steps whose parts cannot be told apart are refused, with what to return or to write instead.
// RUN: pp-opt %s --import=stablehlo --split-input-file --verify-diagnostics

// expected-error @below {{expects a loss, a scalar as the first result, or a step that JAX differentiated, with the locations of its ops, got a function without gradients; write it by lower(...).as_text(debug_info=True)}}
func.func @main(%w: tensor<4xf32> {jax.buffer_donor = true}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  return %w, %loss : tensor<4xf32>, tensor<f32>
}

// -----

// expected-error @below {{expects a step that returns its loss, one number that is computed from the batch and from no gradient, got 0 such results}}
func.func @main(%w: tensor<4xf32> {jax.buffer_donor = true}, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %g = stablehlo.multiply %w, %x : tensor<4xf32> loc("jit(step)/transpose(jvp())/mul")
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  return %g, %loss : tensor<4xf32>, tensor<f32>
}

// -----

// expected-error @below {{got 2 such results; return a dictionary of them that has one called 'loss'}}
func.func @main(%w: tensor<f32> {jax.buffer_donor = true}, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %a = stablehlo.multiply %w, %x : tensor<f32>
  %b = stablehlo.add %w, %x : tensor<f32>
  %g = stablehlo.multiply %w, %x : tensor<f32> loc("jit(step)/transpose(jvp())/mul")
  return %g, %a, %b : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{expects a step that returns new values of its parameters, got none; return a pytree of the same names and types, or donate the arguments: jax.jit(step, donate_argnums=(0, 1))}}
func.func @main(%w: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %y = stablehlo.multiply %w, %x : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.negate %x : tensor<4xf32> loc("jit(step)/transpose(jvp())/neg")
  return %g, %loss : tensor<4xf32>, tensor<f32>
}
