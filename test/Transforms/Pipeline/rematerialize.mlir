// The backward fragment keeps the fewest bytes and computes the rest again.
// RUN: pp-opt %s --pp-choose-residuals --pp-rematerialize | FileCheck %s
// Every pipeline has it: a GPT's backward pass computes its GELU's tanh again.
// RUN: pp-model gpt --layers=2 --hidden=32 --heads=4 --seq=8 --batch=8 --vocab=16 \
// RUN:   | pp-opt --pp-parallelize="pp=2 microbatches=2 stop-after=pipeline" | FileCheck %s --check-prefix=GPT
// GPT: pp.fragment backward stage 1
// GPT: pp.tanh
// GPT: pp.fragment backward stage 0
// GPT: pp.tanh
// GPT: pp.fragment update

// A GELU-like chain keeps its input, the product's operand is an argument, and
// the reduction is kept: it is never repeated.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]]:3 = pp.fragment forward stage 0
// CHECK: %[[H:.*]] = pp.dot_general
// CHECK: %[[L:.*]] = pp.reduce sum
// CHECK: pp.yield %[[L]], %[[H]], %{{.*}} : tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>
// CHECK: pp.fragment backward stage 0(%{{.*}}, %[[F]]#1, %[[F]]#2)
// CHECK: pp.tanh
// CHECK-NOT: pp.dot_general
// CHECK-NOT: pp.reduce max
func.func @main(%w: tensor<8x8xf32> {pp.role = #pp.role<param>, pp.name = "w"},
                %x: tensor<4x8xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"},
        tensor<4x8xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
  %f:5 = pp.fragment forward stage 0 (%x, %w) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>):
    %h = pp.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
    %t = pp.tanh %h : tensor<4x8xf32>
    %g = pp.mul %t, %h : tensor<4x8xf32>
    %l = pp.reduce sum %g dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %m = pp.reduce max %g dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %s = pp.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x8xf32>
    pp.yield %l, %h, %t, %g, %s : tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<8x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
  %d = pp.fragment backward stage 0 (%x, %f#1, %f#2, %f#3, %f#4) {
  ^bb0(%a: tensor<4x8xf32>, %h: tensor<4x8xf32>, %t: tensor<4x8xf32>, %g: tensor<4x8xf32>, %s: tensor<4x8xf32>):
    %0 = pp.mul %h, %t : tensor<4x8xf32>
    %1 = pp.add %0, %g : tensor<4x8xf32>
    %2 = pp.add %1, %s : tensor<4x8xf32>
    %3 = pp.mul %2, %a : tensor<4x8xf32>
    pp.yield %3 : tensor<4x8xf32>
  } : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %f#0, %d : tensor<4xf32>, tensor<4x8xf32>
}
