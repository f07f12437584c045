// How kernels for GPUs are divided: into rows that a few lanes have in registers,
// and where the sum goes over rows, into as few columns as memory is read at once.
// A sum of everything is that of sums of rows. Processors add up blocks of rows first.
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
  // GPU: pp.launch @fused_1(
  // CPU: %[[BLOCKS:.*]] = pp.launch @fused_1(%arg0){{.*}} -> tensor<256x768xf32>
  // CPU: pp.launch @fused_2(%[[BLOCKS]]){{.*}} -> tensor<768xf32>
  %s = pp.reduce sum %x dims [0] : tensor<4096x768xf32> -> tensor<768xf32>
  return %s : tensor<768xf32>
}

// CHECK-LABEL: func.func @all
func.func @all(%x: tensor<4096x768xf32>) -> tensor<f32> {
  // CPU: pp.launch @fused_3(%arg0)
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

// Nothing divides a prime number: its row is filled up, as its elements are made.
// CHECK-LABEL: func.func @prime
func.func @prime(%x: tensor<1x1000003xf32>) -> tensor<1xf32> {
  // GPU-NEXT: %[[FILLED:.*]] = pp.launch @{{.*}}(%{{.*}} -> tensor<1001920xf32>
  // GPU-NEXT: %[[ROWS:.*]] = pp.launch @[[$PRIME:.*]](%[[FILLED]]){{.*}} -> tensor<62xf32>
  // GPU-NEXT: pp.launch @{{.*}}(%[[ROWS]]){{.*}} -> tensor<1xf32>
  // GPU-NEXT: return
  %n = pp.mul %x, %x : tensor<1x1000003xf32>
  %s = pp.reduce sum %n dims [1] : tensor<1x1000003xf32> -> tensor<1xf32>
  return %s : tensor<1xf32>
}

// Where there are other dimensions, nothing is copied.
// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<128x50021xf32>, %y: tensor<128x50021xf32>) -> tensor<f32> {
  // GPU-NOT: -> tensor<{{.*}}50021xf32>
  // GPU-NOT: -> tensor<6402688xf32>
  // GPU: %[[ROWS:.*]] = pp.launch @{{.*}}(%arg0, %arg1){{.*}} -> tensor<128xf32>
  // GPU-NEXT: pp.launch @{{.*}}(%[[ROWS]]){{.*}} -> tensor<f32>
  // GPU-NEXT: return
  %n = pp.mul %x, %y : tensor<128x50021xf32>
  %s = pp.reduce sum %n dims [0, 1] : tensor<128x50021xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// A count of elements that rows would share evenly is no reason to divide the rest.
// CHECK-LABEL: func.func @largest
func.func @largest(%x: tensor<16384x32003xf32>) -> tensor<f32> {
  // GPU: %[[ROWS:.*]] = pp.launch @{{.*}}(%arg0){{.*}} -> tensor<16384xf32>
  // GPU-NEXT: pp.launch @{{.*}}(%[[ROWS]]){{.*}} -> tensor<f32>
  // GPU-NEXT: return
  %s = pp.reduce max %x dims [0, 1] : tensor<16384x32003xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// A sum of columns that leaves as few rows as a batch has is one of parts, and of these: the
// rows would be long, and few of a GPU's cores had one. Shorter ones join what they add up.
// CHECK-LABEL: func.func @biases
func.func @biases(%x: tensor<8x1280x3072xf32>, %y: tensor<8x20x768xf32>)
    -> (tensor<8x1280x3072xf32>, tensor<8x3072xf32>, tensor<8x20x768xf32>, tensor<8x768xf32>) {
  // GPU: %[[TANH:.*]] = pp.launch @{{.*}}(%arg0){{.*}} -> tensor<8x1280x3072xf32>
  // GPU: %[[PARTS:.*]] = pp.launch @[[$PARTS:.*]](%[[TANH]]){{.*}} -> tensor<8x64x3072xf32>
  // GPU: pp.launch @{{.*}}(%[[PARTS]]){{.*}} -> tensor<8x3072xf32>
  // GPU: pp.launch @{{.*}}(%arg1){{.*}} -> (tensor<8x20x768xf32>, tensor<8x768xf32>)
  %t = pp.tanh %x : tensor<8x1280x3072xf32>
  %s = pp.reduce sum %t dims [1] : tensor<8x1280x3072xf32> -> tensor<8x3072xf32>
  %u = pp.tanh %y : tensor<8x20x768xf32>
  %v = pp.reduce sum %u dims [1] : tensor<8x20x768xf32> -> tensor<8x768xf32>
  return %t, %s, %u, %v : tensor<8x1280x3072xf32>, tensor<8x3072xf32>, tensor<8x20x768xf32>, tensor<8x768xf32>
}

// GPU: func.func private @fused_0{{.*}} #pp.rows<256,
// CPU: func.func private @fused_0{{.*}} #pp.rows<2,
// GPU: func.func private @fused_1{{.*}} #pp.rows<96,
// CPU: func.func private @fused_1{{.*}} #pp.rows<256,
// GPU: func.func private @fused_2{{.*}} #pp.rows<4096,
// CPU: func.func private @fused_2{{.*}} #pp.rows<12,
// CPU: func.func private @fused_3{{.*}} #pp.rows<1,
// GPU: func.func private @[[$LONG]]{{.*}} #pp.rows<3200,
// GPU: func.func private @[[$PRIME]]{{.*}} #pp.rows<62,
// GPU: func.func private @[[$PARTS]]{{.*}} #pp.rows<196608,
