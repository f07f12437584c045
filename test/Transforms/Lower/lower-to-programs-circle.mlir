// A message that nobody reads soon is received before it is read, if the stages
// would else wait for one another in a circle. The last stage sends what it
// computes forward to the first, and may write over it in its backward pass, for
// which the first waits through the second: so the first receives that before it
// waits.
// RUN: pp-opt %s --pp-lower-to-programs --pp-share-slots --pp-plan-buffers --pp-verify-programs | FileCheck %s

// CHECK-LABEL: pp.program @stage0
// CHECK: body {
// CHECK: pp.call "receive 2F" for 0
// CHECK-NEXT: pp.call "receive 2F" for 1
// CHECK-NEXT: pp.call "receive 1B" for 0
// CHECK-NEXT: pp.run {{.*}} as backward 0 0
// CHECK: pp.call "receive 1B" for 1
// CHECK-LABEL: pp.program @stage1
// What closes no circle is received right before it is read.
// CHECK: pp.call "receive 0F" for 0
// CHECK-NEXT: pp.call "1F" for 0
// CHECK: pp.call "receive 0F" for 1
// CHECK-NEXT: pp.call "1F" for 1
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=3 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "pp"=3 : stage]>
  func.func private @neg(%x: tensor<1xf32>) -> tensor<1xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @mul(%x: tensor<1xf32>, %y: tensor<1xf32>) -> tensor<1xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.mul %x, %y : tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func @main(%x: tensor<1xf32> {pp.role = #pp.role<input>, pp.name = "x", pp.sharding = #pp.sharding<@mesh, [{"mb"}]>, pp.global_shape = array<i64: 2>})
      -> (tensor<1xf32> {pp.role = #pp.role<loss>, pp.name = "m", pp.sharding = #pp.sharding<@mesh, [{}]>, pp.global_shape = array<i64: 1>, pp.positions = array<i64: 0>})
      attributes {pp.schedule = #pp.schedule<"gpipe", ["0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1"]>} {
    %0 = pp.fragment forward stage 0 (%x) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %1 = pp.transfer %0 from 0 to 1 : tensor<1xf32>
    %2 = pp.fragment forward stage 1 (%1) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %3 = pp.transfer %2 from 1 to 2 : tensor<1xf32>
    %4 = pp.fragment forward stage 2 (%3) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %5 = pp.transfer %4 from 2 to 0 : tensor<1xf32>
    %6 = pp.fragment backward stage 2 (%4) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %7 = pp.transfer %6 from 2 to 1 : tensor<1xf32>
    %8 = pp.fragment backward stage 1 (%7) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %9 = pp.transfer %8 from 1 to 0 : tensor<1xf32>
    %10 = pp.fragment backward stage 0 (%9, %5) {
    ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
      %y = pp.launch @mul(%a, %b) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %11 = pp.accumulate %10 over "mb" : tensor<1xf32>
    return %11 : tensor<1xf32>
  }
}
