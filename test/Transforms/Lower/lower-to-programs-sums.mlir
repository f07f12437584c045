// Sums over micro-batches: of low precision in f32, rounded once.
// RUN: pp-opt %s --split-input-file --pp-lower-to-programs | FileCheck %s

// CHECK-LABEL: func.func private @accumulate_4_bf16(%arg0: tensor<4xf32>, %arg1: tensor<4xbf16>) -> tensor<4xf32>
// CHECK-LABEL: pp.program @stage0
// CHECK: pp.slot "gradient" gradient at -1 : tensor<4xf32>
// CHECK: pp.run @neg [0, [[A:[0-9]+]]]
// CHECK: pp.run @convert_4_bf16_to_f32 {{\[}}[[A]], [[SUM:[0-9]+]]]
// CHECK: pp.run @neg [{{[0-9]+}}, [[B:[0-9]+]]]
// CHECK: pp.run @accumulate_4_bf16 {{\[}}[[SUM]], [[B]]]
// CHECK: pp.run @convert_4_f32_to_bf16 {{\[}}[[SUM]], [[TOTAL:[0-9]+]]] {{.*}} update
// CHECK-NEXT: pp.emit output 0 {{\[}}[[TOTAL]]]
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func private @neg(%x: tensor<4xbf16>) -> tensor<4xbf16> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<4xbf16>
    return %0 : tensor<4xbf16>
  }
  func.func @main(%x: tensor<4xbf16> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xbf16> {pp.role = #pp.role<metric>, pp.name = "m"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0F1 0B1"]>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xbf16>):
      %y = pp.launch @neg(%a) : (tensor<4xbf16>) -> tensor<4xbf16>
      pp.yield %y : tensor<4xbf16>
    } : (tensor<4xbf16>) -> tensor<4xbf16>
    %1 = pp.accumulate %0 over "mb" : tensor<4xbf16>
    return %1 : tensor<4xbf16>
  }
}

// -----

// What backward reads of each micro-batch cannot be where the sum is.
// CHECK-LABEL: pp.program @stage0
// CHECK: pp.run @neg [0, [[A:[0-9]+]]] {{.*}} forward 0 0
// CHECK-NEXT: pp.copy {{\[}}[[A]], [[SUM:[0-9]+]]]
// CHECK: pp.run @neg [{{[0-9]+}}, [[B:[0-9]+]]] {{.*}} forward 0 1
// CHECK-NEXT: pp.run @accumulate_4_f32 {{\[}}[[SUM]], [[B]]]
// CHECK: pp.run @neg {{\[}}[[A]], {{[0-9]+}}] {{.*}} backward 0 0
// CHECK: pp.run @neg {{\[}}[[B]], {{[0-9]+}}] {{.*}} backward 0 1
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func private @neg(%x: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "m"},
          tensor<4xf32> {pp.role = #pp.role<metric>, pp.name = "n"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0F1 0B0 0B1"]>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<4xf32>):
      %y = pp.launch @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %1 = pp.fragment backward stage 0 (%0) {
    ^bb0(%a: tensor<4xf32>):
      %y = pp.launch @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %y : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %2 = pp.accumulate %0 over "mb" : tensor<4xf32>
    %3 = pp.accumulate %1 over "mb" : tensor<4xf32>
    return %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
}
