// What needs nothing of each other shares launches on a GPU, where a launch costs
// as much as a small kernel: sums over the same rows, and updates. What another
// kernel reads, and sums far from each other, stay apart.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: pp-opt %s --pp-form-kernels=target=cpu | FileCheck %s --check-prefixes=CHECK,CPU

// CHECK-LABEL: func.func @sums
// CPU-COUNT-4: pp.launch
// GPU-COUNT-1: pp.launch
// CHECK-NOT: pp.launch
// CHECK: return
func.func @sums(%x: tensor<4096x768xf32>, %y: tensor<4096x768xf32>) -> (tensor<768xf32>, tensor<768xf32>) {
  %s = pp.reduce sum %x dims [0] : tensor<4096x768xf32> -> tensor<768xf32>
  %t = pp.reduce sum %y dims [0] : tensor<4096x768xf32> -> tensor<768xf32>
  return %s, %t : tensor<768xf32>, tensor<768xf32>
}

// CHECK-LABEL: func.func @sizes
// CPU-COUNT-3: pp.launch
// GPU-COUNT-1: pp.launch
// CHECK-NOT: pp.launch
// CHECK: return
func.func @sizes(%x: tensor<4096x768xf32>, %y: tensor<768xf32>, %z: tensor<100xf32>) -> (tensor<4096x768xf32>, tensor<768xf32>, tensor<100xf32>) {
  %a = pp.neg %x : tensor<4096x768xf32>
  %b = pp.exp %y : tensor<768xf32>
  %c = pp.exp %z : tensor<100xf32>
  return %a, %b, %c : tensor<4096x768xf32>, tensor<768xf32>, tensor<100xf32>
}

// The second one reads the first.
// CHECK-LABEL: func.func @read
// CHECK-COUNT-2: pp.launch
// CHECK-NOT: pp.launch
// CHECK: return
func.func @read(%x: tensor<64x4096xf32>) -> (tensor<64xf32>, tensor<4096xf32>) {
  %s = pp.reduce sum %x dims [1] : tensor<64x4096xf32> -> tensor<64xf32>
  %b = pp.broadcast %s dims [0] : tensor<64xf32> -> tensor<64x4096xf32>
  %d = pp.mul %x, %b : tensor<64x4096xf32>
  %t = pp.reduce sum %d dims [0] : tensor<64x4096xf32> -> tensor<4096xf32>
  return %s, %t : tensor<64xf32>, tensor<4096xf32>
}
