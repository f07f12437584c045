// What a collective reads is not overwritten while it may be under way: with
// `ahead` of 1 until the next of its kind, so that the kernel behind it does
// not wait, or until its results are read.
// RUN: sed 's/AHEAD/0/' %s | pp-opt --pp-plan-buffers | FileCheck %s --check-prefix=NONE
// RUN: sed 's/AHEAD/1/' %s | pp-opt --pp-plan-buffers | FileCheck %s --check-prefix=ONE
// NONE: arena 256 slots
// NONE: pp.collective reduce_scatter sum over ["dp"] [1, 2] on 1 after [0, 1]
// NONE: pp.collective reduce_scatter sum over ["dp"] [3, 4] on 1 after [0, 2]
// NONE: pp.run @make [0, 5] on 0 after [1, 2]
// ONE: arena 320 slots
// ONE: pp.slot "third" activation at 128
// ONE: pp.collective reduce_scatter sum over ["dp"] [1, 2] on 1 after [0, 1]
// ONE: pp.run @make [0, 3] on 0 after []
// ONE: pp.collective reduce_scatter sum over ["dp"] [3, 4] on 1 after [0, 2]
// ONE: pp.run @make [0, 5] on 0 after [1, 1]
// ONE: pp.run @sum [2, 4, 6] on 0 after [1, 2]
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>, ahead = AHEAD>} {
  func.func private @main(tensor<16xf32>) -> tensor<8xf32>
  func.func private @make(%x: tensor<16xf32>) -> tensor<16xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @sum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.add %x, %y : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  pp.program @stage0 ranks [0, 1] arena 0 slots {
    pp.slot "x" parameter at -1 argument 0 : tensor<16xf32>
    pp.slot "first" activation at -1 : tensor<16xf32>
    pp.slot "a" activation at -1 : tensor<8xf32>
    pp.slot "second" activation at -1 : tensor<16xf32>
    pp.slot "b" activation at -1 : tensor<8xf32>
    pp.slot "third" activation at -1 : tensor<16xf32>
    pp.slot "sum" activation at -1 : tensor<8xf32>
  } queues {
    pp.queue "compute" compute
    pp.queue "collective dp" collective
  } setup {
  } body {
    pp.run @make [0, 1] on 0 after [] as backward 0 0
    pp.collective reduce_scatter sum over ["dp"] [1, 2] on 1 after [] as backward 0 0 {dimensions = array<i64: 0>}
    pp.run @make [0, 3] on 0 after [] as backward 0 0
    pp.collective reduce_scatter sum over ["dp"] [3, 4] on 1 after [] as backward 0 0 {dimensions = array<i64: 0>}
    pp.run @make [0, 5] on 0 after [] as backward 0 0
    pp.run @sum [2, 4, 6] on 0 after [] as backward 0 0
    pp.emit output 0 [6] on 0 after [] as update 0
    pp.step [] on 0 after []
  } teardown {
  }
}
