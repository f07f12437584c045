// The forms that JAX prints are read without the real dialects, and come out with the attributes of the generic form.
// RUN: pp-opt %s --import=none | FileCheck %s
// RUN: pp-opt %s --import=none | pp-opt --import=none | FileCheck %s

// CHECK: "sdy.mesh"() {mesh = "<[\22x\22=2]>", sym_name = "mesh"} : () -> ()
sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @forms
func.func @forms(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>}, %w: tensor<8x2xf32>, %i: tensor<i32>, %m: tensor<4x8xi1>) -> tensor<4x8xf32> {
  // CHECK: "stablehlo.constant"() {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<4x8xi32>
  %iota = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK: "stablehlo.add"(%{{.*}}, %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %add = stablehlo.add %x, %x : tensor<4x8xf32>
  // CHECK: "stablehlo.convert"(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf64>
  %convert = stablehlo.convert %x : (tensor<4x8xf32>) -> tensor<4x8xf64>
  // CHECK: "stablehlo.select"(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %select = stablehlo.select %m, %x, %add : tensor<4x8xi1>, tensor<4x8xf32>
  // CHECK: "stablehlo.compare"(%{{.*}}, %{{.*}}) {compare_type = "SIGNED", comparison_direction = "LT"}
  %compare = stablehlo.compare LT, %iota, %iota, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
  // CHECK: "stablehlo.broadcast_in_dim"(%{{.*}}) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4x8xf32>
  %broadcast = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK: "stablehlo.slice"(%{{.*}}) {limit_indices = array<i64: 4, 7>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>}
  %slice = stablehlo.slice %x [0:4, 1:7:2] : (tensor<4x8xf32>) -> tensor<4x3xf32>
  // CHECK: "stablehlo.dynamic_slice"(%{{.*}}, %{{.*}}, %{{.*}}) {slice_sizes = array<i64: 1, 8>}
  %dynamic = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK: "stablehlo.pad"(%{{.*}}, %{{.*}}) {edge_padding_high = array<i64: 0, -1>, edge_padding_low = array<i64: 1, 0>, interior_padding = array<i64: 0, 0>}
  %pad = stablehlo.pad %x, %c, low = [1, 0], high = [0, -1], interior = [0, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<5x7xf32>
  // CHECK: "stablehlo.dot_general"(%{{.*}}, %{{.*}}) {dot_dimension_numbers = {lhs_contracting_dimensions = array<i64: 1>, rhs_contracting_dimensions = array<i64: 0>}, precision_config = ["DEFAULT", "DEFAULT"]}
  %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK: "stablehlo.reduce"(%{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: "stablehlo.maximum"
  // CHECK-NEXT: "stablehlo.return"
  // CHECK-NEXT: }) {dimensions = array<i64: 1>}
  %max = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: "stablehlo.reduce"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ({
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<f32>, %[[B:.*]]: tensor<i32>, %[[C:.*]]: tensor<f32>, %[[D:.*]]: tensor<i32>):
  // CHECK-NEXT: "stablehlo.return"(%[[C]], %[[B]])
  %two:2 = stablehlo.reduce(%x init: %c), (%iota init: %i) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%d: tensor<i32>, %e: tensor<i32>) {
    stablehlo.return %b, %d : tensor<f32>, tensor<i32>
  }
  // CHECK: "stablehlo.while"(%{{.*}}, %{{.*}}) ({
  %loop:2 = stablehlo.while(%n = %i, %y = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %less = stablehlo.compare LT, %n, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    stablehlo.return %n, %y : tensor<i32>, tensor<4x8xf32>
  }
  // CHECK: "stablehlo.custom_call"(%{{.*}}) {backend_config = "", call_target_name = "Sharding"}
  %call = stablehlo.custom_call @Sharding(%x) {backend_config = ""} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: "chlo.top_k"(%{{.*}}) {k = 3 : i64} : (tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x3xi32>)
  %values, %indices = chlo.top_k(%x, k = 3) : tensor<4x8xf32> -> (tensor<4x3xf32>, tensor<4x3xi32>)
  // CHECK: "chlo.erf"(%{{.*}}) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %erf = chlo.erf %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK: "stablehlo.convolution"
  // CHECK-SAME: dimension_numbers = {{\[\[}}"b", 0, "f"], [0, "i", "o"], ["b", 0, "f"]]
  // CHECK-SAME: padding = [array<i64: 1, 1>]
  // CHECK-SAME: window_strides = array<i64: 2>
  %image = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %kernel = stablehlo.reshape %w : (tensor<8x2xf32>) -> tensor<2x4x2xf32>
  %convolution = stablehlo.convolution(%image, %kernel) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x4x4xf32>, tensor<2x4x2xf32>) -> tensor<2x3x2xf32>
  // CHECK: "sdy.sharding_constraint"(%{{.*}}) {sharding = "<@mesh, [{\22x\22}, {}]>"}
  %placed = sdy.sharding_constraint %add <@mesh, [{"x"}, {}]> : tensor<4x8xf32>
  return %placed : tensor<4x8xf32>
}
