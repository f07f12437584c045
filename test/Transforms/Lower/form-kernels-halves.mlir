// Between the ops of a kernel bf16 and f16 are f32: they are rounded where they
// are written.
// RUN: pp-opt %s --pp-form-kernels --split-input-file | FileCheck %s
// RUN: sed 's/bf16/f16/g' %s > %t
// RUN: pp-opt %t --pp-form-kernels --split-input-file | FileCheck %t

// What is computed from what was computed is not rounded in between; memory has
// bf16.
// CHECK-LABEL: func.func @chain
// CHECK: pp.launch @{{.*}} : (tensor<64x128xbf16>, tensor<128xbf16>) -> tensor<64x128xbf16>
// CHECK: func.func private @fused_0(%[[X:.*]]: tensor<64x128xbf16>, %[[B:.*]]: tensor<128xbf16>)
// CHECK-SAME: pp.approximate
// CHECK-DAG: %[[XF:.*]] = pp.convert %[[X]] : tensor<64x128xbf16> -> tensor<64x128xf32>
// CHECK-DAG: %[[BF:.*]] = pp.convert %[[B]] : tensor<128xbf16> -> tensor<128xf32>
// CHECK-DAG: %[[BS:.*]] = pp.broadcast %[[BF]] dims [1] : tensor<128xf32> -> tensor<64x128xf32>
// CHECK: %[[S:.*]] = pp.add %[[XF]], %[[BS]] : tensor<64x128xf32>
// CHECK: %[[T:.*]] = pp.tanh %[[S]] : tensor<64x128xf32>
// CHECK: %[[Y:.*]] = pp.convert %[[T]] : tensor<64x128xf32> -> tensor<64x128xbf16>
// CHECK: return %[[Y]]
func.func @chain(%x: tensor<64x128xbf16>, %b: tensor<128xbf16>) -> tensor<64x128xbf16> {
  %bs = pp.broadcast %b dims [1] : tensor<128xbf16> -> tensor<64x128xbf16>
  %s = pp.add %x, %bs : tensor<64x128xbf16>
  %y = pp.tanh %s : tensor<64x128xbf16>
  return %y : tensor<64x128xbf16>
}

// -----

// A convert of the model rounds; one to f32 gets what was computed.
// CHECK-LABEL: func.func @converts
// CHECK: func.func private @fused_0
// CHECK: %[[E:.*]] = pp.exp %{{.*}} : tensor<64x128xf32>
// CHECK: %[[L:.*]] = pp.log %[[E]] : tensor<64x128xf32>
// CHECK: %[[H:.*]] = pp.convert %[[L]] : tensor<64x128xf32> -> tensor<64x128xbf16>
// CHECK: %[[W:.*]] = pp.convert %[[H]] : tensor<64x128xbf16> -> tensor<64x128xf32>
// CHECK: pp.sub %[[L]], %[[W]]
func.func @converts(%x: tensor<64x128xbf16>) -> tensor<64x128xf32> {
  %e = pp.exp %x : tensor<64x128xbf16>
  %f = pp.convert %e : tensor<64x128xbf16> -> tensor<64x128xf32>
  %l = pp.log %f : tensor<64x128xf32>
  %h = pp.convert %l : tensor<64x128xf32> -> tensor<64x128xbf16>
  %w = pp.convert %h : tensor<64x128xbf16> -> tensor<64x128xf32>
  %y = pp.sub %l, %w : tensor<64x128xf32>
  return %y : tensor<64x128xf32>
}

// -----

// What only moves stays as it lies.
// CHECK-LABEL: func.func @moves
// CHECK: func.func private @fused_0
// CHECK-NOT: xf32
// CHECK: pp.transpose %{{.*}} perm [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
// CHECK-NOT: xf32
func.func @moves(%x: tensor<64x128xbf16>) -> tensor<128x64xbf16> {
  %y = pp.transpose %x perm [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
  return %y : tensor<128x64xbf16>
}

// -----

// Of two kernels that compute one value the comparison sees the same bits: all
// that leads to it is rounded by every op. What does not lead to it is not.
// CHECK-LABEL: func.func @largest
// CHECK-NOT: pp.approximate
// CHECK-DAG: pp.exp %{{.*}} : tensor<64x128xbf16>
// CHECK-DAG: pp.reduce max %{{.*}} : tensor<64x128xbf16> -> tensor<64xbf16>
// CHECK-DAG: pp.compare eq %{{.*}} : tensor<64x128xbf16> -> tensor<64x128xi1>
// CHECK-DAG: pp.tanh %{{.*}} : tensor<64x128xf32>
func.func @largest(%x: tensor<64x128xbf16>, %g: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %zero = pp.constant dense<0.0> : tensor<64x128xbf16>
  %e = pp.exp %x : tensor<64x128xbf16>
  %m = pp.reduce max %e dims [1] : tensor<64x128xbf16> -> tensor<64xbf16>
  %ms = pp.broadcast %m dims [0] : tensor<64xbf16> -> tensor<64x128xbf16>
  %c = pp.compare eq %e, %ms : tensor<64x128xbf16> -> tensor<64x128xi1>
  %t = pp.tanh %g : tensor<64x128xbf16>
  %y = pp.select %c, %t, %zero : tensor<64x128xi1>, tensor<64x128xbf16>
  return %y : tensor<64x128xbf16>
}

// -----

// No rounding leads across zero.
// CHECK-LABEL: func.func @positive
// CHECK: func.func private @fused_0
// CHECK: %[[S:.*]] = pp.add %{{.*}} : tensor<64x128xf32>
// CHECK: pp.compare gt %[[S]], %{{.*}} : tensor<64x128xf32> -> tensor<64x128xi1>
func.func @positive(%x: tensor<64x128xbf16>, %y: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %zero = pp.constant dense<0.0> : tensor<64x128xbf16>
  %s = pp.add %x, %y : tensor<64x128xbf16>
  %c = pp.compare gt %s, %zero : tensor<64x128xbf16> -> tensor<64x128xi1>
  %z = pp.select %c, %y, %zero : tensor<64x128xi1>, tensor<64x128xbf16>
  return %z : tensor<64x128xbf16>
}

// -----

// It does lead to zero: two numbers that are close may be one in bf16.
// CHECK-LABEL: func.func @zero
// CHECK: func.func private @fused_0
// CHECK: %[[S:.*]] = pp.sub %{{.*}} : tensor<64x128xbf16>
// CHECK: pp.compare eq %[[S]], %{{.*}} : tensor<64x128xbf16> -> tensor<64x128xi1>
func.func @zero(%x: tensor<64x128xbf16>, %y: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
  %zero = pp.constant dense<0.0> : tensor<64x128xbf16>
  %e = pp.exp %x : tensor<64x128xbf16>
  %s = pp.sub %e, %y : tensor<64x128xbf16>
  %c = pp.compare eq %s, %zero : tensor<64x128xbf16> -> tensor<64x128xi1>
  %z = pp.select %c, %y, %zero : tensor<64x128xi1>, tensor<64x128xbf16>
  return %z : tensor<64x128xbf16>
}

// -----

// A sum that other kernels read is f32 in memory. What a product reads, and what
// leaves the function, has its own type.
// CHECK-LABEL: func.func @sums
// CHECK: %[[S:.*]]:3 = pp.launch @{{.*}} -> (tensor<64xbf16>, tensor<64x128xbf16>, tensor<64xf32>)
// CHECK: pp.launch @{{.*}}(%[[S]]#2, %{{.*}}) {{.*}} : (tensor<64xf32>, tensor<64x32xbf16>)
// CHECK: return %{{.*}}, %[[S]]#0
func.func @sums(%x: tensor<64x128xbf16>, %w: tensor<128x32xbf16>) -> (tensor<64x32xbf16>, tensor<64xbf16>) {
  %m = pp.reduce max %x dims [1] : tensor<64x128xbf16> -> tensor<64xbf16>
  %ms = pp.broadcast %m dims [0] : tensor<64xbf16> -> tensor<64x128xbf16>
  %d = pp.sub %x, %ms : tensor<64x128xbf16>
  %e = pp.exp %d : tensor<64x128xbf16>
  %s = pp.reduce sum %e dims [1] : tensor<64x128xbf16> -> tensor<64xbf16>
  %p = pp.dot_general %e, %w batch [] x [] contract [1] x [0] : tensor<64x128xbf16>, tensor<128x32xbf16> -> tensor<64x32xbf16>
  %ss = pp.broadcast %s dims [0] : tensor<64xbf16> -> tensor<64x32xbf16>
  %y = pp.div %p, %ss : tensor<64x32xbf16>
  return %y, %m : tensor<64x32xbf16>, tensor<64xbf16>
}

// -----

// Every op rounds where the plan says so.
// CHECK-LABEL: func.func @strict
// CHECK: func.func private @fused_0
// CHECK-NOT: {{xf32|approximate}}
// CHECK: return
module attributes {pp.plan = #pp.plan<mesh = <[]>, schedule = "1f1b", numerics = "strict">} {
  func.func @strict(%x: tensor<64x128xbf16>) -> tensor<64x128xbf16> {
    %e = pp.exp %x : tensor<64x128xbf16>
    %y = pp.tanh %e : tensor<64x128xbf16>
    return %y : tensor<64x128xbf16>
  }
}
