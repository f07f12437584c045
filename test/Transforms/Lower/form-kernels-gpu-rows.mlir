// How kernels for GPUs are divided: into rows that a few lanes have in registers,
// and where the sum goes over rows, into as few columns as memory is read at once.
// A sum of everything is that of sums of rows. Processors have their own ways.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: pp-opt %s --pp-form-kernels=target=cpu | FileCheck %s --check-prefixes=CHECK,CPU

// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<2x4x32x32xf32>) -> tensor<2x4x32x32xf32> {
  // CHECK: pp.launch @fused_0(
  %m = pp.reduce max %x dims [3] : tensor<2x4x32x32xf32> -> tensor<2x4x32xf32>
  %b = pp.broadcast %m dims [0, 1, 2] : tensor<2x4x32xf32> -> tensor<2x4x32x32xf32>
  %d = pp.sub %x, %b : tensor<2x4x32x32xf32>
  %e = pp.exp %d : tensor<2x4x32x32xf32>
  return %e : tensor<2x4x32x32xf32>
}

// CHECK-LABEL: func.func @columns
func.func @columns(%x: tensor<4096x768xf32>) -> tensor<768xf32> {
  // CHECK: pp.launch @fused_1(
  %s = pp.reduce sum %x dims [0] : tensor<4096x768xf32> -> tensor<768xf32>
  return %s : tensor<768xf32>
}

// CHECK-LABEL: func.func @all
func.func @all(%x: tensor<4096x768xf32>) -> tensor<f32> {
  // CPU: pp.launch @fused_2(%arg0)
  // CPU-NEXT: return
  // GPU: %[[ROWS:.*]] = pp.launch @fused_2(%arg0){{.*}} -> tensor<4096xf32>
  // GPU: pp.launch @fused_3(%[[ROWS]]){{.*}} -> tensor<f32>
  %s = pp.reduce sum %x dims [0, 1] : tensor<4096x768xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// Of a dimension, rows have what divides it.
// CHECK-LABEL: func.func @long
func.func @long(%x: tensor<2x25000000xf32>) -> tensor<f32> {
  // CPU: %[[SUM:.*]] = pp.launch @{{.*}}(%arg0)
  // CPU-NEXT: return %[[SUM]]
  // GPU: %[[ROWS:.*]] = pp.launch @[[$LONG:.*]](%arg0){{.*}} -> tensor<2x1600xf32>
  // GPU: pp.launch @{{.*}}(%[[ROWS]]){{.*}} -> tensor<f32>
  %n = pp.mul %x, %x : tensor<2x25000000xf32>
  %s = pp.reduce sum %n dims [0, 1] : tensor<2x25000000xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// Nothing divides a prime number: what is left over is a row, too.
// CHECK-LABEL: func.func @prime
func.func @prime(%x: tensor<1x1000003xf32>) -> tensor<1xf32> {
  // GPU: pp.launch @[[$PRIME:.*]](%{{.*}} -> tensor<61xf32>
  // GPU: return %{{.*}} : tensor<1xf32>
  %s = pp.reduce sum %x dims [1] : tensor<1x1000003xf32> -> tensor<1xf32>
  return %s : tensor<1xf32>
}

// GPU: func.func private @fused_0{{.*}} #pp.rows<256,
// CPU: func.func private @fused_0{{.*}} #pp.rows<2,
// GPU: func.func private @fused_1{{.*}} #pp.rows<96,
// CPU: func.func private @fused_1{{.*}} #pp.rows<12,
// GPU: func.func private @fused_2{{.*}} #pp.rows<4096,
// CPU: func.func private @fused_2{{.*}} #pp.rows<1,
// GPU: func.func private @[[$LONG]]{{.*}} #pp.rows<3200,
// GPU: func.func private @[[$PRIME]]{{.*}} #pp.rows<61,
