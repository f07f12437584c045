// Sums over micro-batches share launches on a GPU, a fragment's in its every run:
// those of low precision are widened, added and rounded together.
// RUN: pp-opt %s --pp-form-kernels=target=sm_90 --pp-lower-to-programs | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: pp-opt %s --pp-form-kernels=target=cpu --pp-lower-to-programs | FileCheck %s --check-prefixes=CHECK,CPU

// GPU-LABEL: func.func private @accumulate_2_tensors_1(
// GPU-SAME: %arg0: tensor<4xf32>, %arg1: tensor<6xf32>, %arg2: tensor<4xbf16>, %arg3: tensor<6xbf16>
// GPU-SAME: pp.inplace = array<i64: 0, 0, 1, 1>
// CHECK-LABEL: pp.program @stage0
// GPU: pp.run @convert_2_tensors_0 {{\[}}[[A:[0-9]+]], [[B:[0-9]+]], [[S:[0-9]+]], [[T:[0-9]+]]] {{.*}} forward 0 0
// GPU: pp.run @accumulate_2_tensors_1 {{\[}}[[S]], [[T]], [[C:[0-9]+]], [[D:[0-9]+]]] {{.*}} forward 0 1
// GPU-NOT: accumulate
// CPU-COUNT-2: pp.run @convert_{{.*}} forward 0 0
// CPU-COUNT-2: pp.run @accumulate_{{.*}} forward 0 1
module {
  pp.mesh @mesh = <["mb"=2 : time]>
  func.func @main(%x: tensor<4xbf16> {pp.role = #pp.role<input>, pp.name = "x"},
                  %y: tensor<6xbf16> {pp.role = #pp.role<input>, pp.name = "y"})
      -> (tensor<4xbf16> {pp.role = #pp.role<metric>, pp.name = "m"},
          tensor<6xbf16> {pp.role = #pp.role<metric>, pp.name = "n"})
      attributes {pp.schedule = #pp.schedule<"", ["0F0 0B0 0F1 0B1"]>} {
    %0:2 = pp.fragment forward stage 0 (%x, %y) {
    ^bb0(%a: tensor<4xbf16>, %b: tensor<6xbf16>):
      %c = pp.neg %a : tensor<4xbf16>
      %d = pp.exp %b : tensor<6xbf16>
      pp.yield %c, %d : tensor<4xbf16>, tensor<6xbf16>
    } : (tensor<4xbf16>, tensor<6xbf16>) -> (tensor<4xbf16>, tensor<6xbf16>)
    %1 = pp.accumulate %0#0 over "mb" : tensor<4xbf16>
    %2 = pp.accumulate %0#1 over "mb" : tensor<6xbf16>
    return %1, %2 : tensor<4xbf16>, tensor<6xbf16>
  }
}
