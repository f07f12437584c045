// Contractions take along what the library can do; the rest is fused by rows.
// RUN: pp-opt %s --pp-form-kernels --split-input-file | FileCheck %s

// A softmax is one kernel whose rows are those of its input.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT: %[[Y:.*]] = pp.launch @fused_0(%{{.*}}) {{.*}}: (tensor<64x128xf32>) -> tensor<64x128xf32>
// CHECK-NEXT: return %[[Y]]
func.func @softmax(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %m = pp.reduce max %x dims [1] : tensor<64x128xf32> -> tensor<64xf32>
  %mb = pp.broadcast %m dims [0] : tensor<64xf32> -> tensor<64x128xf32>
  %s = pp.sub %x, %mb : tensor<64x128xf32>
  %e = pp.exp %s : tensor<64x128xf32>
  %d = pp.reduce sum %e dims [1] : tensor<64x128xf32> -> tensor<64xf32>
  %db = pp.broadcast %d dims [0] : tensor<64xf32> -> tensor<64x128xf32>
  %y = pp.div %e, %db : tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}
// CHECK: func.func private @fused_0
// CHECK-SAME: pp.kernel = #pp.kernel<loops>
// CHECK-SAME: pp.rows = #pp.rows<64, {{\[\[}}1, 64, 1, 1, 1, 128]]>

// -----

// Bias and residual go into the product, the transposed operand is read as it
// lies; equal kernels are one function. Its sums are kept in the result.
// CHECK-LABEL: func.func @linear
// CHECK-NEXT: %[[A:.*]] = pp.launch @matmul_0(%[[X:.*]], %[[W:.*]], %[[B:.*]], %[[X]])
// CHECK-NEXT: %[[C:.*]] = pp.launch @matmul_0(%[[A]], %[[W]], %[[B]], %[[A]])
// CHECK-NEXT: return %[[C]]
func.func @linear(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>, %b: tensor<16xf32>) -> tensor<8x16xf32> {
  %t = pp.transpose %w perm [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
  %bb = pp.broadcast %b dims [1] : tensor<16xf32> -> tensor<8x16xf32>
  %0 = pp.dot_general %x, %t batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %1 = pp.add %0, %bb : tensor<8x16xf32>
  %2 = pp.add %1, %x : tensor<8x16xf32>
  %3 = pp.dot_general %2, %t batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
  %4 = pp.add %3, %bb : tensor<8x16xf32>
  %5 = pp.add %4, %2 : tensor<8x16xf32>
  return %5 : tensor<8x16xf32>
}
// CHECK: func.func private @matmul_0
// CHECK-SAME: attributes {pp.kernel = #pp.kernel<contraction>} {
// CHECK-NEXT: pp.transpose
// CHECK-NEXT: pp.dot_general
// CHECK-NEXT: pp.broadcast
// CHECK-NEXT: pp.add
// CHECK-NEXT: pp.add
// CHECK-NOT: func.func

// -----

// A result that later micro-batches are added to is not the place of sums to
// which something is added, too; one that is also sent stays where it is.
// CHECK-LABEL: func.func @sums
// CHECK: pp.launch @[[SUM:matmul_[0-9]+]](
// CHECK: pp.launch @[[SENT:matmul_[0-9]+]](
// CHECK: func.func private @[[SUM]]
// CHECK-SAME: pp.workspace = {{[0-9]+}} : i64
// CHECK: func.func private @[[SENT]]
// CHECK-SAME: attributes {pp.kernel = #pp.kernel<contraction>} {
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @sums(%x: tensor<8x16xf32>, %w: tensor<16x16xf32>)
      -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %0:2 = pp.fragment forward stage 0 (%x, %w) {
    ^bb0(%a: tensor<8x16xf32>, %b: tensor<16x16xf32>):
      %y = pp.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
      %z = pp.add %y, %a : tensor<8x16xf32>
      %u = pp.dot_general %a, %b batch [] x [] contract [1] x [1] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32>
      %v = pp.add %u, %a : tensor<8x16xf32>
      pp.yield %z, %v : tensor<8x16xf32>, tensor<8x16xf32>
    } : (tensor<8x16xf32>, tensor<16x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %1 = pp.accumulate %0#0 over "mb" : tensor<8x16xf32>
    %2 = pp.accumulate %0#1 over "mb" : tensor<8x16xf32>
    return %1, %2, %0#1 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
}

// -----

// Integers have no library.
// CHECK-LABEL: func.func @integers
// CHECK: pp.launch @fused_0
// CHECK: pp.dot_general
func.func @integers(%x: tensor<4x4xi32>) -> tensor<4x4xi32> {
  %0 = pp.dot_general %x, %x batch [] x [] contract [1] x [0] : tensor<4x4xi32>, tensor<4x4xi32> -> tensor<4x4xi32>
  return %0 : tensor<4x4xi32>
}

// -----

// An update writes where the parameter was; the norm has read it before.
// CHECK-LABEL: func.func @main
// CHECK: pp.launch @fused_0
// CHECK: pp.launch @fused_1
// CHECK: func.func private @fused_0
// CHECK-NOT: pp.inplace
// CHECK: func.func private @fused_1
// CHECK-SAME: pp.inplace = array<i64: 0, 0>
func.func @main(%p: tensor<256x256xf32> {pp.role = #pp.role<param>, pp.name = "p"},
                %g: tensor<256x256xf32> {pp.role = #pp.role<input>, pp.name = "g"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
        tensor<256x256xf32> {pp.role = #pp.role<param>, pp.name = "p"}) {
  %lr = pp.constant dense<1.000000e-03> : tensor<f32>
  %b = pp.broadcast %lr dims [] : tensor<f32> -> tensor<256x256xf32>
  %s = pp.mul %b, %g {pp.kind = #pp.kind<update>} : tensor<256x256xf32>
  %n = pp.sub %p, %s {pp.kind = #pp.kind<update>} : tensor<256x256xf32>
  %q = pp.mul %p, %p : tensor<256x256xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<256x256xf32> -> tensor<f32>
  return %l, %n : tensor<f32>, tensor<256x256xf32>
}

// -----

// This device's part of a tensor is found inside a kernel.
// CHECK-LABEL: func.func @sliced
// CHECK-NEXT: pp.launch @fused_0
// CHECK: func.func private @fused_0
// CHECK: pp.axis_index @mesh ["tp"] : tensor<i32>
// CHECK: pp.dynamic_slice
pp.mesh @mesh = <["tp"=2]>
func.func @sliced(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = pp.all_slice %x dim 0 over @mesh ["tp"] : tensor<8x4xf32> -> tensor<4x4xf32>
  %1 = pp.neg %0 : tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// Collectives keep their order: what feeds the first shares no kernel with what
// reads the second.
// CHECK-LABEL: func.func @ordered
// CHECK-NEXT: %[[A:.*]] = pp.launch @fused_0
// CHECK-NEXT: pp.all_reduce sum %[[A]]
// CHECK-NEXT: %[[B:.*]] = pp.all_reduce
// CHECK-NEXT: pp.launch @fused_1({{.*}}%[[B]]
pp.mesh @mesh = <["tp"=2]>
func.func @ordered(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = pp.exp %x : tensor<4xf32>
  %1 = pp.all_reduce sum %0 over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  %2 = pp.all_reduce sum %y over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
  %3 = pp.add %0, %2 : tensor<4xf32>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The kernel that makes rows adds up blocks of them, for sums that leave columns:
// the products are in no memory.
// CHECK-LABEL: func.func @columns
// CHECK-NEXT: %[[ONE:.*]]:2 = pp.launch @fused_0(%arg0, %arg1){{.*}} -> (tensor<4x128x256xf32>, tensor<4x8x256xf32>)
// CHECK-NEXT: %[[SUM:.*]] = pp.launch @fused_1(%[[ONE]]#1){{.*}} -> tensor<256xf32>
// CHECK-NEXT: return %[[ONE]]#0, %[[SUM]]
func.func @columns(%x: tensor<4x128x256xf32>, %y: tensor<4x128x256xf32>)
    -> (tensor<4x128x256xf32>, tensor<256xf32>) {
  %a = pp.add %x, %y : tensor<4x128x256xf32>
  %b = pp.mul %a, %y : tensor<4x128x256xf32>
  %s = pp.reduce sum %b dims [0, 1] : tensor<4x128x256xf32> -> tensor<256xf32>
  return %a, %s : tensor<4x128x256xf32>, tensor<256xf32>
}

// Rows that nothing divides are added up from memory, as are few.
// CHECK-LABEL: func.func @prime
// CHECK-NEXT: pp.launch @fused_2(%arg0){{.*}} -> tensor<256xf32>
// CHECK-NEXT: return
func.func @prime(%x: tensor<8x127x256xf32>) -> tensor<256xf32> {
  %s = pp.reduce sum %x dims [0, 1] : tensor<8x127x256xf32> -> tensor<256xf32>
  return %s : tensor<256xf32>
}
// CHECK-LABEL: func.func @few
// CHECK-NEXT: pp.launch @fused_3(%arg0){{.*}} -> tensor<1024xf32>
// CHECK-NEXT: return
func.func @few(%x: tensor<64x1024xf32>) -> tensor<1024xf32> {
  %s = pp.reduce sum %x dims [0] : tensor<64x1024xf32> -> tensor<1024xf32>
  return %s : tensor<1024xf32>
}

// -----

// There is nothing to divide in a tensor without elements.
// CHECK-LABEL: func.func @empty
// CHECK: func.func private @fused_0({{.*}}pp.rows<1, {{\[\[}}1, 1, 4, 1, 1, 0]]>
func.func @empty(%x: tensor<4x0xf32>) -> tensor<4x0xf32> {
  %0 = pp.exp %x : tensor<4x0xf32>
  return %0 : tensor<4x0xf32>
}

// -----

// Every row of the new values reads more of the old ones than its own: no row
// may be overwritten before the others are done.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @fused_0
// CHECK-NOT: pp.inplace
// CHECK-SAME: pp.rows = #pp.rows<300,
// CHECK: func.func private @fused_1
// CHECK-NOT: pp.inplace
// CHECK-SAME: pp.rows = #pp.rows<400,
func.func @main(%s: tensor<300x300xf64> {pp.role = #pp.role<state>, pp.name = "s"},
                %q: tensor<400xf64> {pp.role = #pp.role<state>, pp.name = "q"})
    -> (tensor<300x300xf64> {pp.role = #pp.role<state>, pp.name = "s"},
        tensor<400xf64> {pp.role = #pp.role<state>, pp.name = "q"}) {
  %0 = pp.transpose %s perm [1, 0] : tensor<300x300xf64> -> tensor<300x300xf64>
  %1 = pp.sub %s, %0 : tensor<300x300xf64>
  %2 = pp.broadcast %q dims [0] : tensor<400xf64> -> tensor<400x400xf64>
  %3 = pp.broadcast %q dims [1] : tensor<400xf64> -> tensor<400x400xf64>
  %4 = pp.sub %2, %3 : tensor<400x400xf64>
  %5 = pp.tanh %4 : tensor<400x400xf64>
  %6 = pp.reduce sum %5 dims [1] : tensor<400x400xf64> -> tensor<400xf64>
  return %1, %6 : tensor<300x300xf64>, tensor<400xf64>
}
