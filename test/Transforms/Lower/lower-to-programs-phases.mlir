// A prologue runs once, before the first micro-batch; a weight fragment where
// the schedule says; what they compute is read where it is used. What runs more
// than once is a routine; the first weight fragment begins a sum, to which the
// second adds.
// RUN: pp-opt %s --pp-lower-to-programs | FileCheck %s

// CHECK-LABEL: pp.program @stage0
// CHECK: pp.slot "mul" activation at -1 copies 2 : tensor<4xf32>
// CHECK: routines {
// CHECK-NEXT: pp.routine "0F" {
// CHECK-NEXT: pp.load argument 1 [[[INPUT:[0-9]+]]] on 0 after [] as forward 0{{$}}
// CHECK-NEXT: pp.run @mul {{\[}}[[ONCE:[0-9]+]], [[INPUT]], [[OUT:[0-9]+]]] on 0 after [] as forward 0{{$}}
// CHECK-NEXT: }
// CHECK: body {
// CHECK-NEXT: pp.run @neg [0, [[ONCE]]] on 0 after []{{$}}
// CHECK-NEXT: pp.call "0F" for 0 after []
// CHECK-NEXT: pp.call "0F" for 1 after []
// CHECK-NEXT: pp.run @neg {{\[}}[[OUT]], [[SUM:[0-9]+]]] on 0 after [] as weight 0 0
// CHECK-NEXT: pp.run @neg {{\[}}[[OUT]], [[NEXT:[0-9]+]]] on 0 after [] as weight 0 1
// CHECK-NEXT: pp.run @accumulate_4_f32 {{\[}}[[SUM]], [[NEXT]]] on 0 after [] as weight 0 1
// CHECK: pp.emit output 0 {{\[}}[[SUM]]]
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @mul(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.mul %x, %y : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%w: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "w"},
                  %x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<gradient>, pp.name = "w"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0F1 0W0 0B1 0W1"]>} {
    %0 = pp.fragment prologue position 0 (%w) {
    ^bb0(%a: tensor<4xf32>):
      %y = pp.launch @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %1 = pp.fragment forward stage 0 (%0, %x) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %y = pp.launch @mul(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = pp.fragment weight stage 0 (%1) {
    ^bb0(%a: tensor<4xf32>):
      %y = pp.launch @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %3 = pp.accumulate %2 over "mb" : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
