// A parameter that another queue reads first, since the step before has written
// it, is overwritten when that is done. A step ends when all queues are done.
// Nothing waits for itself, or twice.
// RUN: pp-opt %s --pp-plan-buffers | FileCheck %s
// CHECK: body
// CHECK-NEXT: pp.send to 1 [0] on 1 after []
// CHECK-NEXT: pp.run @halve [0] on 0 after [1, 1]
// CHECK-NEXT: pp.run @halve [0] on 0 after []
// CHECK-NEXT: pp.send to 1 [0] on 1 after [0, 2]
// CHECK-NEXT: pp.step [] on 0 after [1, 2]
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @halve(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 0>} {
    %0 = pp.constant dense<0.5> : tensor<4xf32>
    %1 = pp.mul %w, %0 : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  pp.program @stage0 ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
    pp.queue "send 1" send
  } setup {
  } body {
    pp.send to 1 [0] on 1 after [] as forward 0 0
    pp.run @halve [0] on 0 after [] as update 0 0
    pp.run @halve [0] on 0 after [] as update 0 0
    pp.send to 1 [0] on 1 after [] as update 0 0
    pp.step [] on 0 after []
  } teardown {
  }
}
