// What a kernel may overwrite is the target's to say: where elements are
// computed apart, none that others read. Their rows' sums are read before.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 | FileCheck %s --check-prefixes=CHECK,GPU --enable-var-scope
// RUN: pp-opt %s --pp-form-kernels=target=cpu | FileCheck %s --check-prefixes=CHECK,CPU --enable-var-scope

// CHECK-LABEL: func.func @main
func.func @main(%p: tensor<4x9xf32> {pp.name = "p", pp.role = #pp.role<state>}, %q: tensor<64x32xf32> {pp.name = "q", pp.role = #pp.role<state>}, %r: tensor<64x1xf32> {pp.name = "r", pp.role = #pp.role<state>}, %z: tensor<f32>) -> (tensor<4x9xf32> {pp.name = "p", pp.role = #pp.role<state>}, tensor<64x32xf32> {pp.name = "q", pp.role = #pp.role<state>}, tensor<64x1xf32> {pp.name = "r", pp.role = #pp.role<state>}) {
  %square = pp.mul %p, %p : tensor<4x9xf32>
  %end = pp.slice %square [0, 1], [4, 9], [1, 1] : tensor<4x9xf32> -> tensor<4x8xf32>
  %shifted = pp.pad %end, %z low [0, 0] high [0, 1] interior [0, 0] : tensor<4x8xf32>, tensor<f32> -> tensor<4x9xf32>
  %a = pp.mul %q, %q : tensor<64x32xf32>
  %b = pp.reduce sum %a dims [1] : tensor<64x32xf32> -> tensor<64xf32>
  %c = pp.broadcast %b dims [0] : tensor<64xf32> -> tensor<64x32xf32>
  %scaled = pp.div %q, %c : tensor<64x32xf32>
  %d = pp.mul %r, %r : tensor<64x1xf32>
  %e = pp.reduce sum %d dims [1] : tensor<64x1xf32> -> tensor<64xf32>
  %f = pp.broadcast %e dims [0] : tensor<64xf32> -> tensor<64x1xf32>
  %one = pp.div %r, %f : tensor<64x1xf32>
  return %shifted, %scaled, %one : tensor<4x9xf32>, tensor<64x32xf32>, tensor<64x1xf32>
}
// A row of the first is whole in a core's cache.
// CHECK: func.func private @{{.*}}: tensor<4x9xf32>
// CPU-SAME: pp.inplace = array<i64: 0, 0>
// GPU-NOT: pp.inplace
// CHECK-SAME: pp.rows
// CHECK: func.func private @{{.*}}: tensor<64x32xf32>
// CHECK-SAME: pp.inplace = array<i64: 0, 0>
// CHECK: func.func private @{{.*}}: tensor<64x1xf32>
// CHECK-SAME: pp.inplace = array<i64: 0, 0>
