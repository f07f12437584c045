// Names and types of discardable attributes, and every constraint of kernels by
// its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects attributes that the dialect lists, got "pp.plam"}}
module @name attributes {pp.plam = 1 : i64} {}

// -----

func.func @type(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects array<i64: ...> as pp.stages, got 1 : i64}}
  %0 = pp.neg %x {pp.stages = 1 : i64} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{expects #pp.role<...> as pp.role, got "param" at argument "w"}}
func.func @argument(%x: tensor<4xf32>, %w: tensor<4xf32> {pp.name = "w", pp.role = "param"}) {
  return
}

// -----

// expected-error@+1 {{expects a string as pp.name, got 1 : i64 at result number 0}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {pp.name = 1 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{expects a body of one block, and arguments and at least one result that are tensors of static shape, got '(tensor<4xf32>) -> tensor<4xf32>' (kernel_c1)}}
func.func private @kernel_c1_external(tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>}

// -----

// expected-error@+1 {{got '(tensor<4xf32>) -> ()' (kernel_c1)}}
func.func private @kernel_c1_results(%x: tensor<4xf32>) attributes {pp.kernel = #pp.kernel<loops>} {
  return
}

// -----

func.func private @callee(tensor<4xf32>) -> tensor<4xf32>
func.func private @kernel_c1_ops(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
  // expected-error@+1 {{expects not to be in a kernel, which holds ops of level 1 and pp.axis_index (kernel_c1)}}
  %0 = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{expects pp.inplace to pair results below 1 with operands below 1 of their types, none twice, got [0, 1] (kernel_c2)}}
func.func private @kernel_c2_range(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 1>} {
  %0 = pp.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{got [0, 0] (kernel_c2)}}
func.func private @kernel_c2_type(%x: tensor<4xf32>) -> tensor<f32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 0>} {
  %0 = pp.reduce sum %x dims [0] : tensor<4xf32> -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error@+1 {{expects pp.workspace of at least 0 bytes, got -8 (kernel_c3)}}
func.func private @kernel_c3(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<contraction>, pp.workspace = -8 : i64} {
  %0 = pp.neg %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
