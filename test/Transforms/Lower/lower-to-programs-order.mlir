// What two stages exchange in one direction arrives in the order in which it is
// sent, whatever is asked for first: the backward pass of stage 0 reads what
// stage 1 computes in both of its passes.
// RUN: pp-opt %s --pp-lower-to-programs --pp-share-slots --pp-plan-buffers --pp-verify-programs | FileCheck %s

// CHECK-LABEL: pp.program @stage0
// CHECK: body {
// CHECK: pp.call "receive 1F" for 0
// CHECK: pp.call "receive 1F" for 1
// CHECK: pp.call "receive 1B" for 0
// CHECK: pp.call "receive 1B" for 1
// CHECK-LABEL: pp.program @stage1
// CHECK: pp.routine "1F" {
// CHECK: pp.send to 0 {{.*}} as forward 1{{$}}
// CHECK: pp.routine "1B" {
// CHECK: pp.send to 0 {{.*}} as backward 1{{$}}
// CHECK: body {
// CHECK: pp.call "1F" for 0
// CHECK: pp.call "1F" for 1
// CHECK: pp.call "1B" for 0
// CHECK: pp.call "1B" for 1
module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "pp"=2 : stage]>, threads = 1>} {
  pp.mesh @mesh = <["mb"=2 : time, "pp"=2 : stage]>
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
      attributes {pp.schedule = #pp.schedule<"gpipe", ["0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"]>} {
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
    %3 = pp.fragment backward stage 1 (%2) {
    ^bb0(%a: tensor<1xf32>):
      %y = pp.launch @neg(%a) : (tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>) -> tensor<1xf32>
    %4 = pp.transfer %3 from 1 to 0 : tensor<1xf32>
    %5 = pp.transfer %2 from 1 to 0 : tensor<1xf32>
    %6 = pp.fragment backward stage 0 (%4, %5) {
    ^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
      %y = pp.launch @mul(%a, %b) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
      pp.yield %y : tensor<1xf32>
    } : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    %7 = pp.accumulate %6 over "mb" : tensor<1xf32>
    return %7 : tensor<1xf32>
  }
}
