// A copy goes, and its two slots are one, where nobody reads one value after the
// other has taken its place: later instructions, and the next step's.
// RUN: pp-opt %s --split-input-file --pp-share-slots | FileCheck %s

// An update works in place: its parameter is read by nobody else.
// CHECK-LABEL: pp.program @updates
// CHECK: pp.slot "w" parameter at -1 argument 0
// CHECK-NEXT: pp.slot "g" gradient
// CHECK-NEXT: } queues
// CHECK: body
// CHECK-NEXT: pp.run @step [0, 1] on 0
// CHECK-NEXT: pp.step
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @step(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 0>} {
    %0 = pp.sub %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @updates ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "new" activation at -1 : tensor<4xf32>
    pp.slot "g" gradient at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.copy [0, 1] on 0 after []
    pp.run @step [1, 2] on 0 after []
    pp.copy [1, 0] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// The old value is handed out after the update: both copies stay.
// CHECK-LABEL: pp.program @reads_later
// CHECK: body
// CHECK-NEXT: pp.copy [0, 1]
// CHECK-NEXT: pp.run @step [1, 2]
// CHECK-NEXT: pp.emit output 0 [0]
// CHECK-NEXT: pp.copy [1, 0]
module {
  func.func private @main(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  func.func private @step(%w: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = array<i64: 0, 0>} {
    %0 = pp.sub %w, %g : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @reads_later ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "new" activation at -1 : tensor<4xf32>
    pp.slot "g" gradient at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.copy [0, 1] on 0 after []
    pp.run @step [1, 2] on 0 after []
    pp.emit output 0 [0] on 0 after []
    pp.copy [1, 0] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// An all_reduce overwrites what it alone reads (1), not what is read twice or
// later (2, 3), nor what was received (4).
// CHECK-LABEL: pp.program @reduces
// CHECK: pp.collective all_reduce sum over ["dp"] [1, 2, 2, 3, 4, 1, 5, 6, 7, 8]
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @neg(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @reduces ranks [0, 1] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "once" activation at -1 : tensor<4xf32>
    pp.slot "twice" activation at -1 : tensor<4xf32>
    pp.slot "later" activation at -1 : tensor<4xf32>
    pp.slot "recv" communication at -1 : tensor<4xf32>
    pp.slot "a" activation at -1 : tensor<4xf32>
    pp.slot "b" activation at -1 : tensor<4xf32>
    pp.slot "c" activation at -1 : tensor<4xf32>
    pp.slot "d" activation at -1 : tensor<4xf32>
    pp.slot "e" activation at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
    pp.queue "recv 1" recv
    pp.queue "collective dp" collective
  } setup {
  } body {
    pp.run @neg [0, 1] on 0 after []
    pp.run @neg [0, 2] on 0 after []
    pp.run @neg [0, 3] on 0 after []
    pp.recv from 1 [4] on 1 after []
    pp.collective all_reduce sum over ["dp"] [1, 2, 2, 3, 4, 5, 6, 7, 8, 9] on 2 after []
    pp.emit output 0 [3] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// What the body reads before it writes was left by the step before: it must not
// share with what is copied over it later and read in between.
// CHECK-LABEL: pp.program @persists
// CHECK: body
// CHECK-NEXT: pp.emit output 0 [1]
// CHECK-NEXT: pp.run @neg [0, 1]
// CHECK-NEXT: pp.step
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @neg(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @persists ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "last" activation at -1 : tensor<4xf32>
    pp.slot "new" activation at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
    pp.copy [0, 1] on 0 after []
  } body {
    pp.emit output 0 [1] on 0 after []
    pp.run @neg [0, 2] on 0 after []
    pp.copy [2, 1] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// A gated kernel that is skipped leaves its result as it was: the copy is read.
// CHECK-LABEL: pp.program @gated
// CHECK: body
// CHECK-NEXT: pp.copy [0, 1]
// CHECK-NEXT: pp.run @neg [2, 0]
// CHECK-NEXT: pp.emit output 0 [0]
// CHECK-NEXT: pp.gate @neg [2, 1, 3]
// CHECK-NEXT: pp.copy [1, 0]
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @neg(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @gated ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "old" activation at -1 : tensor<4xf32>
    pp.slot "g" gradient at -1 : tensor<4xf32>
    pp.slot "flag" activation at -1 : tensor<i32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.copy [0, 1] on 0 after []
    pp.run @neg [2, 0] on 0 after []
    pp.emit output 0 [0] on 0 after []
    pp.gate @neg [2, 1, 3] on 0 after []
    pp.copy [1, 0] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// A sum does not take the place of another sum's operand, although what was
// there is dead by then and a copy joins them later: operands would be crossed.
// CHECK-LABEL: pp.program @crosses
// CHECK: pp.collective all_reduce sum over ["dp"] [1, 2, 3, 4]
// CHECK-NEXT: pp.copy [4, 1]
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @neg(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @crosses ranks [0, 1] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "a" activation at -1 : tensor<4xf32>
    pp.slot "b" activation at -1 : tensor<4xf32>
    pp.slot "sum of a" activation at -1 : tensor<4xf32>
    pp.slot "sum of b" activation at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
    pp.queue "collective dp" collective
  } setup {
  } body {
    pp.run @neg [0, 1] on 0 after []
    pp.run @neg [0, 2] on 0 after []
    pp.collective all_reduce sum over ["dp"] [1, 2, 3, 4] on 1 after []
    pp.copy [4, 1] on 0 after []
    pp.emit output 0 [1] on 0 after []
    pp.emit output 0 [2] on 0 after []
    pp.emit output 0 [3] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// What ends the run reads what the last body left: that body may not put
// something else there.
// CHECK-LABEL: pp.program @tells
// CHECK: body
// CHECK-NEXT: pp.run @neg [0, 1]
// CHECK-NEXT: pp.run @neg [1, 2]
// CHECK-NEXT: pp.copy [2, 3]
// CHECK-NEXT: pp.run @neg [0, 2]
// CHECK-NEXT: pp.emit output 0 [2]
// CHECK-NEXT: pp.step
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
  func.func private @neg(%w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.neg %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  pp.program @tells ranks [0] arena 0 slots {
    pp.slot "w" parameter at -1 argument 0 : tensor<4xf32>
    pp.slot "a" activation at -1 : tensor<4xf32>
    pp.slot "b" activation at -1 : tensor<4xf32>
    pp.slot "last" activation at -1 : tensor<4xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.run @neg [0, 1] on 0 after []
    pp.run @neg [1, 2] on 0 after []
    pp.copy [2, 3] on 0 after []
    pp.run @neg [0, 2] on 0 after []
    pp.emit output 0 [2] on 0 after []
    pp.step [] on 0 after []
  } teardown {
    pp.emit output 0 [3] on 0 after []
  }
}
