// Every constraint of collectives and of indices on a mesh, by its label.
// RUN: pp-opt %s --split-input-file --verify-diagnostics

func.func @axis_index_c1() {
  // expected-error@+1 {{expects a mesh named @mesh, got none (axis_index_c1)}}
  %0 = pp.axis_index @mesh ["dp"] : tensor<i32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @all_reduce_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects operands and results of their types, got 'tensor<8xf32>' for ['tensor<4xf32>'] (all_reduce_c1)}}
  %0 = pp.all_reduce sum %x over @mesh ["dp"] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_reduce_c1_none() {
  // expected-error@+1 {{expects operands and results of their types, got  for [] (all_reduce_c1)}}
  pp.all_reduce sum over @mesh ["dp"] : () -> ()
  return
}

// -----

pp.mesh @mesh = <["mb"=2 : time, "dp"=2]>
func.func @all_reduce_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects axes that hold devices, got the time axis "mb" (all_reduce_c2)}}
  %0 = pp.all_reduce sum %x over @mesh ["mb"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_reduce_c2_twice(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects every axis once, got "dp" twice (all_reduce_c2)}}
  %0 = pp.all_reduce sum %x over @mesh ["dp", "dp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_gather_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects an axis of @mesh, got "tp" (all_gather_c1)}}
  %0 = pp.all_gather %x dims [0] over @mesh ["tp"] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_gather_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects result type 'tensor<8xf32>', got 'tensor<4xf32>' (all_gather_c2)}}
  %0 = pp.all_gather %x dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_gather_c3(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects operands, as many results and as many dimensions, got 2, 2 and 1 (all_gather_c3)}}
  %0:2 = pp.all_gather %x, %x dims [0] over @mesh ["dp"] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @reduce_scatter_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects an axis of @mesh, got "tp" (reduce_scatter_c1)}}
  %0 = pp.reduce_scatter sum %x dims [0] over @mesh ["tp"] : (tensor<4xf32>) -> tensor<2xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=3]>
func.func @reduce_scatter_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects a size that divides by 3 in dimension 0, got 4 (reduce_scatter_c2)}}
  %0 = pp.reduce_scatter sum %x dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @reduce_scatter_c3(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects operands, as many results and as many dimensions, got 1, 2 and 1 (reduce_scatter_c3)}}
  %0:2 = pp.reduce_scatter sum %x dims [0] over @mesh ["dp"] : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_to_all_c1(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{expects an axis of @mesh, got "tp" (all_to_all_c1)}}
  %0 = pp.all_to_all %x split 0 concat 1 over @mesh ["tp"] : tensor<4x4xf32> -> tensor<2x8xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_to_all_c2(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{expects a dimension below 2, got 2 (all_to_all_c2)}}
  %0 = pp.all_to_all %x split 0 concat 2 over @mesh ["dp"] : tensor<4x4xf32> -> tensor<2x8xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @permute_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects an axis of @mesh, got "tp" (permute_c1)}}
  %0 = pp.permute %x over @mesh ["tp"] to ["tp"] : tensor<4xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2, "tp"=2]>
func.func @permute_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects the axes ["dp", "tp"] in any order, got ["tp", "tp"] (permute_c2)}}
  %0 = pp.permute %x over @mesh ["dp", "tp"] to ["tp", "tp"] : tensor<4xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_slice_c1(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects an axis of @mesh, got "tp" (all_slice_c1)}}
  %0 = pp.all_slice %x dim 0 over @mesh ["tp"] : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----

pp.mesh @mesh = <["dp"=2]>
func.func @all_slice_c2(%x: tensor<4xf32>) {
  // expected-error@+1 {{expects result type 'tensor<2xf32>', got 'tensor<4xf32>' (all_slice_c2)}}
  %0 = pp.all_slice %x dim 0 over @mesh ["dp"] : tensor<4xf32> -> tensor<4xf32>
  return
}
