// Query, key and value of one product: its columns get a dimension for them, however they are taken apart; a bias too. Parts that are not equal, and a parameter that others read, stay.
// RUN: pp-opt %s --inputs=x --labels=y | FileCheck %s

// CHECK: %[[B:arg0]]: tensor<3x4xf32> {pp.init = #pp.init<zeros>, pp.name = "b", pp.role = #pp.role<param>, pp.stored_shape = array<i64: 12>}
// CHECK-SAME: %[[W:arg1]]: tensor<4x3x4xf32> {{{.*}}pp.stored_shape = array<i64: 4, 12>}
// CHECK-SAME: %[[ROWS:arg2]]: tensor<2x6x8xf32> {{{.*}}pp.stored_shape = array<i64: 12, 8>}
// CHECK-SAME: %arg3: tensor<4x12xf32> {pp.init = #pp.init<normal, {{[^,]*}}, {{[^,]*}}>, pp.name = "uneven", pp.role = #pp.role<param>}
// CHECK-SAME: %arg4: tensor<4x4xf32> {pp.init = #pp.init<normal, {{[^,]*}}, {{[^,]*}}>, pp.name = "tied", pp.role = #pp.role<param>}
func.func @main(%b: tensor<12xf32> loc("p['b']"), %w: tensor<4x12xf32> loc("p['w']"), %rows: tensor<12x8xf32> loc("p['rows']"), %uneven: tensor<4x12xf32> loc("p['uneven']"), %tied: tensor<4x4xf32> loc("p['tied']"), %x: tensor<2x4xf32> loc("x"), %y: tensor<2xf32> loc("y")) -> tensor<f32> {
  // CHECK: %[[DOT:.*]] = pp.dot_general %arg5, %[[W]] batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[BIAS:.*]] = pp.broadcast %[[B]] dims [1, 2] : tensor<3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: %[[SUM:.*]] = pp.add %[[DOT]], %[[BIAS]]
  // CHECK: %[[Q:.*]] = pp.slice %[[SUM]] [0, 0, 0], [2, 1, 4], [1, 1, 1]
  // CHECK: pp.reshape %[[Q]] : tensor<2x1x4xf32> -> tensor<2x4xf32>
  // CHECK: pp.slice %[[SUM]] [0, 1, 0], [2, 2, 4], [1, 1, 1]
  // CHECK: pp.slice %[[SUM]] [0, 2, 0], [2, 3, 4], [1, 1, 1]
  %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
  %bias = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<12xf32>) -> tensor<2x12xf32>
  %sum = stablehlo.add %dot, %bias : tensor<2x12xf32>
  %q = stablehlo.slice %sum [0:2, 0:4] : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %k = stablehlo.slice %sum [0:2, 4:8] : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %v = stablehlo.slice %sum [0:2, 8:12] : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %qk = stablehlo.multiply %q, %k : tensor<2x4xf32>
  %qkv = stablehlo.multiply %qk, %v : tensor<2x4xf32>
  // Rows that a reshape and a transpose take apart, of a parameter on the left.
  // CHECK: %[[LEFT:.*]] = pp.dot_general %[[ROWS]], %{{.*}} batch [] x [] contract [2] x [1] : tensor<2x6x8xf32>, tensor<2x8xf32> -> tensor<2x6x2xf32>
  // CHECK: pp.reshape %[[LEFT]] : tensor<2x6x2xf32> -> tensor<2x3x2x2xf32>
  %twice = stablehlo.concatenate %qkv, %qkv, dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %left = stablehlo.dot_general %rows, %twice, contracting_dims = [1] x [1] : (tensor<12x8xf32>, tensor<2x8xf32>) -> tensor<12x2xf32>
  %apart = stablehlo.reshape %left : (tensor<12x2xf32>) -> tensor<2x3x2x2xf32>
  %turned = stablehlo.transpose %apart, dims = [1, 0, 2, 3] : (tensor<2x3x2x2xf32>) -> tensor<3x2x2x2xf32>
  %first = stablehlo.slice %turned [0:3, 0:1, 0:2, 0:2] : (tensor<3x2x2x2xf32>) -> tensor<3x1x2x2xf32>
  %second = stablehlo.slice %turned [0:3, 1:2, 0:2, 0:2] : (tensor<3x2x2x2xf32>) -> tensor<3x1x2x2xf32>
  %both = stablehlo.multiply %first, %second : tensor<3x1x2x2xf32>
  %z = stablehlo.dot_general %x, %uneven, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x12xf32>) -> tensor<2x12xf32>
  %most = stablehlo.slice %z [0:2, 0:8] : (tensor<2x12xf32>) -> tensor<2x8xf32>
  %least = stablehlo.slice %z [0:2, 8:12] : (tensor<2x12xf32>) -> tensor<2x4xf32>
  %t = stablehlo.dot_general %x, %tied, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %u = stablehlo.dot_general %t, %tied, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %low = stablehlo.slice %u [0:2, 0:2] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %high = stablehlo.slice %u [0:2, 2:4] : (tensor<2x4xf32>) -> tensor<2x2xf32>
  %lowhigh = stablehlo.multiply %low, %high : tensor<2x2xf32>
  %none = stablehlo.constant dense<0.0> : tensor<f32>
  %s0 = stablehlo.reduce(%both init: %none) applies stablehlo.add across dimensions = [0, 1, 2, 3] : (tensor<3x1x2x2xf32>, tensor<f32>) -> tensor<f32>
  %s1 = stablehlo.reduce(%most init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<f32>
  %s2 = stablehlo.reduce(%least init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  %s3 = stablehlo.reduce(%lowhigh init: %none) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %s4 = stablehlo.reduce(%y init: %none) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %s01 = stablehlo.add %s0, %s1 : tensor<f32>
  %s012 = stablehlo.add %s01, %s2 : tensor<f32>
  %s0123 = stablehlo.add %s012, %s3 : tensor<f32>
  %loss = stablehlo.add %s0123, %s4 : tensor<f32>
  return %loss : tensor<f32>
}
