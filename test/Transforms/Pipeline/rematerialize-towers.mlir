// Two towers: where one backward fragment keeps nothing, the others are no less
// rewritten.
// RUN: pp-opt %s --pp-parallelize="pp=3 microbatches=4 remat=full cuts=l2,l4 stop-after=pipeline" | FileCheck %s
// CHECK: %{{[0-9]+}} = pp.fragment forward stage 0
// CHECK: %{{[0-9]+}} = pp.fragment forward stage 1

module {
func.func @main(%x: tensor<8x16xf32> {pp.name="x", pp.role=#pp.role<input>}, %w0: tensor<16x16xf32> {pp.name="w0", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}, %w1: tensor<16x16xf32> {pp.name="w1", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}, %w2: tensor<16x16xf32> {pp.name="w2", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}, %w3: tensor<16x16xf32> {pp.name="w3", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}, %w4: tensor<16x16xf32> {pp.name="w4", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}, %w5: tensor<16x16xf32> {pp.name="w5", pp.role=#pp.role<param>, pp.init = #pp.init<normal, 0.0, 2.0e-01>}) -> (tensor<f32> {pp.name="loss", pp.role=#pp.role<loss>}) {
%d0 = pp.dot_general %x, %w0 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l0")
%v0 = pp.tanh %d0 : tensor<8x16xf32> loc("l0")
%d1 = pp.dot_general %v0, %w1 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l1")
%v1 = pp.tanh %d1 : tensor<8x16xf32> loc("l1")
%d2 = pp.dot_general %x, %w2 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l2")
%v2 = pp.tanh %d2 : tensor<8x16xf32> loc("l2")
%d3 = pp.dot_general %v2, %w3 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l3")
%v3 = pp.tanh %d3 : tensor<8x16xf32> loc("l3")
%c = pp.add %v1, %v3 : tensor<8x16xf32> loc("l4")
%d4 = pp.dot_general %c, %w4 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l4")
%v4 = pp.tanh %d4 : tensor<8x16xf32> loc("l4")
%d5 = pp.dot_general %v4, %w5 batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x16xf32> -> tensor<8x16xf32> loc("l5")
%v5 = pp.tanh %d5 : tensor<8x16xf32> loc("l5")
%l = pp.reduce sum %v5 dims [0, 1] : tensor<8x16xf32> -> tensor<f32> loc("l5")
return %l : tensor<f32>}}