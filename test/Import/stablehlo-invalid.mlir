// What cannot be imported is refused at its op, with what to do instead.
// RUN: pp-opt %s --import=stablehlo --inputs=0 --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { // expected-error {{expects a scalar loss as the first result, got 'tensor<4xf32>'; export a function that returns the mean loss of the batch}}
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{expects static shapes, got 'tensor<?xf32>'; export the model with a fixed batch}}
func.func @main(%x: tensor<?xf32>) -> tensor<f32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expects elements f64, f32, bf16, f16 or integers of 1, 8, 32 or 64 bits, got 'complex<f32>'}}
  %c = stablehlo.complex %x, %x : tensor<complex<f32>>
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot import stablehlo.atan2: pp has no op for it; write it with others}}
  %c = stablehlo.atan2 %x, %x : tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot import stablehlo.while whose number of iterations depends on data; use lax.scan, or lax.fori_loop with constant bounds}}
  %r = stablehlo.while(%y = %x) : tensor<f32>
  cond {
    %less = stablehlo.compare LT, %y, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    stablehlo.return %y : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

func.func @main(%x: tensor<2xui32>) -> tensor<f32> {
  // expected-error @below {{cannot import stablehlo.maximum of unsigned integers, got 'tensor<2xui32>'; convert them to signed ones}}
  %m = stablehlo.maximum %x, %x : tensor<2xui32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{cannot import a call of 'cu_attention', which is no part of the program}}
  %c = stablehlo.custom_call @cu_attention(%x) : (tensor<f32>) -> tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{expects no recursion, got a call of @main}}
  %c = call @main(%x) : (tensor<f32>) -> tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x4xf32>) -> tensor<f32> {
  // expected-error @below {{'stablehlo.transpose' op expects permutation to be 2 integers, got array<i64: 0>}}
  %t = stablehlo.transpose %x, dims = [0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<f32>, %n: tensor<i32>) -> tensor<f32> { // expected-error {{expects parameters to be floats, got 'arg1' of type 'tensor<i32>'; name it in --inputs, --labels or --states if it is no parameter}}
  return %x : tensor<f32>
}

// -----

// Of equal elements the last one, and indices that do not begin at 0.
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{cannot import a reduction of two values but those of jnp.argmax and jnp.argmin}}
  %r:2 = stablehlo.reduce(%x init: %least), (%i init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %p = stablehlo.compare GT, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare GT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %t = stablehlo.and %e, %l : tensor<i1>
      %q = stablehlo.or %p, %t : tensor<i1>
      %v = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
      %k = stablehlo.select %q, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
  return %r#0 : tensor<f32>
}

// -----

// Sorted by their distance from 0.
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  // expected-error @below {{cannot import stablehlo.sort but by the first operand, smallest or largest first; sort by one key}}
  %s = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.compare LT, %a, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %m = stablehlo.negate %a : tensor<f32>
    %c = stablehlo.select %p, %m, %a : tensor<i1>, tensor<f32>
    %q = stablehlo.compare LT, %b, %zero, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %n = stablehlo.negate %b : tensor<f32>
    %d = stablehlo.select %q, %n, %b : tensor<i1>, tensor<f32>
    %l = stablehlo.compare LT, %c, %d, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %l : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %f = stablehlo.slice %s [0:1] : (tensor<4xf32>) -> tensor<1xf32>
  %r = stablehlo.reshape %f : (tensor<1xf32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// The largest of what values are rounded to.
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  // expected-error @below {{cannot import a reduction of two values but those of jnp.argmax and jnp.argmin}}
  %r:2 = stablehlo.reduce(%x init: %least), (%i init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
    reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
      %n = stablehlo.convert %a : (tensor<f32>) -> tensor<i32>
      %m = stablehlo.convert %c : (tensor<f32>) -> tensor<i32>
      %p = stablehlo.compare GT, %n, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %n, %m, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %l = stablehlo.compare LT, %b, %d, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %t = stablehlo.and %e, %l : tensor<i1>
      %q = stablehlo.or %p, %t : tensor<i1>
      %v = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
      %k = stablehlo.select %q, %b, %d : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
  return %r#0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<f32> {
  // expected-error @below {{expects an argument of type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %r = "stablehlo.while"(%x) ({
  ^bb0(%y: tensor<5xf32>):
    %no = stablehlo.constant dense<false> : tensor<i1>
    stablehlo.return %no : tensor<i1>
  }, {
  ^bb0(%y: tensor<5xf32>):
    stablehlo.return %y : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{expects a padding that cuts off no more than there is, got low [-9223372036854775808], high [0]}}
  %p = "stablehlo.pad"(%x, %z) <{edge_padding_low = array<i64: -9223372036854775808>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %z : tensor<f32>
}
