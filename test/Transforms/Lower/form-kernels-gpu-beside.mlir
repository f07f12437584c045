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

// Sums of an update share launches, though what follows reads them and others stand between; a
// long one has its parts first. What adds them up is behind all of them.
// CHECK-LABEL: func.func @totals
// CPU: pp.launch
// GPU-NEXT: %[[PARTS:.*]] = pp.launch @{{.*}}(%arg2) {{.*}} -> tensor<{{[0-9]+}}xf32>
// GPU-NEXT: %[[SUMS:.*]]:3 = pp.launch @{{.*}}(%arg0, %arg1, %[[PARTS]]) {{.*}} -> (tensor<f32>, tensor<f32>, tensor<f32>)
// GPU-NEXT: %[[CLIP:.*]] = pp.launch @{{.*}}(%[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2)
// GPU-NEXT: pp.launch @{{.*}}%[[CLIP]]
// GPU-NEXT: return
// CHECK: return
func.func @totals(%x: tensor<3072xf32>, %y: tensor<768xf32>, %z: tensor<768x768xf32>) -> (tensor<3072xf32>, tensor<768xf32>, tensor<768x768xf32>) {
  %xx = pp.mul %x, %x {pp.kind = #pp.kind<update>} : tensor<3072xf32>
  %xs = pp.reduce sum %xx dims [0] {pp.kind = #pp.kind<update>} : tensor<3072xf32> -> tensor<f32>
  %yy = pp.mul %y, %y {pp.kind = #pp.kind<update>} : tensor<768xf32>
  %ys = pp.reduce sum %yy dims [0] {pp.kind = #pp.kind<update>} : tensor<768xf32> -> tensor<f32>
  %zz = pp.mul %z, %z {pp.kind = #pp.kind<update>} : tensor<768x768xf32>
  %zs = pp.reduce sum %zz dims [0, 1] {pp.kind = #pp.kind<update>} : tensor<768x768xf32> -> tensor<f32>
  %xy = pp.add %xs, %ys {pp.kind = #pp.kind<update>} : tensor<f32>
  %all = pp.add %xy, %zs {pp.kind = #pp.kind<update>} : tensor<f32>
  %clip = pp.rsqrt %all {pp.kind = #pp.kind<update>} : tensor<f32>
  %cx = pp.broadcast %clip dims [] {pp.kind = #pp.kind<update>} : tensor<f32> -> tensor<3072xf32>
  %cy = pp.broadcast %clip dims [] {pp.kind = #pp.kind<update>} : tensor<f32> -> tensor<768xf32>
  %cz = pp.broadcast %clip dims [] {pp.kind = #pp.kind<update>} : tensor<f32> -> tensor<768x768xf32>
  %nx = pp.mul %x, %cx {pp.kind = #pp.kind<update>} : tensor<3072xf32>
  %ny = pp.mul %y, %cy {pp.kind = #pp.kind<update>} : tensor<768xf32>
  %nz = pp.mul %z, %cz {pp.kind = #pp.kind<update>} : tensor<768x768xf32>
  return %nx, %ny, %nz : tensor<3072xf32>, tensor<768xf32>, tensor<768x768xf32>
}
