// There is nothing to prove of a graph, nor of a program without its table of
// arguments and results.
// RUN: pp-opt %s --pp-verify-programs --split-input-file --verify-diagnostics

// expected-error@+1 {{pp-verify-programs expects a module of level program, got one of level graph: pp-lower-to-programs and the passes before it come first}}
module {
  func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<4xf32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
    %y = pp.neg %x : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, threads = 1>} {
  pp.mesh @mesh = <[]>
  // expected-error@+1 {{argument 0 of @main expects pp.role and pp.name (model_c3)}}
  func.func private @main(tensor<f32> {pp.name = "x"})
  pp.program @stage0 ranks [0] arena 64 slots {
    pp.slot "x" activation at 0 : tensor<f32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <["dp"=1]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=1]>
  // expected-error@+1 {{argument 0 of @main expects pp.sharding and pp.global_shape of rank 0; pp-partition writes them (model_c6)}}
  func.func private @main(tensor<f32> {pp.role = #pp.role<input>, pp.name = "x", pp.global_shape = array<i64>, pp.sharding = #pp.sharding<@mesh, [{"dp"}]>})
  pp.program @stage0 ranks [0] arena 64 slots {
    pp.slot "x" activation at 0 : tensor<f32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, threads = 1>} {
  pp.mesh @mesh = <[]>
  // expected-error@+1 {{result 0 of @main expects a tensor of static shape, got 'index'}}
  func.func private @main() -> index
  pp.program @stage0 ranks [0] arena 64 slots {
    pp.slot "x" activation at 0 : tensor<f32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

module attributes {pp.plan = #pp.plan<mesh = <[]>, threads = 1>} {
  pp.mesh @mesh = <[]>
  func.func private @main() -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss", pp.global_shape = array<i64>, pp.sharding = #pp.sharding<@mesh, []>})
  pp.program @stage0 ranks [0] arena 64 slots {
    pp.slot "x" activation at 0 : tensor<f32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    // expected-error@+1 {{expects a result of @main that is a loss, metric, gradient or prediction, got 1}}
    pp.emit output 1 [0] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }
}

// -----

// A wrong overlap inside one queue: everything is ordered, and "x" is gone.
// expected-error@+1 {{reads 'x'; expects bytes last written through it, got what rank 0, body #1 '0F load'}}
module attributes {pp.plan = #pp.plan<mesh = <[]>, threads = 1>} {
  pp.mesh @mesh = <[]>
  func.func private @main(tensor<1xf32> {pp.role = #pp.role<input>, pp.name = "in", pp.global_shape = array<i64: 1>, pp.sharding = #pp.sharding<@mesh, [{}]>})
      -> (tensor<1xf32> {pp.role = #pp.role<loss>, pp.name = "out", pp.global_shape = array<i64: 1>, pp.sharding = #pp.sharding<@mesh, [{}]>})
  pp.program @stage0 ranks [0] arena 64 slots {
    pp.slot "x" activation at 0 : tensor<1xf32>
    pp.slot "y" activation at 0 : tensor<1xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.load argument 0 [0] on 0 after [] as forward 0
    pp.load argument 0 [1] on 0 after [] as forward 0
    pp.emit output 0 [0] on 0 after [] as forward 0
    pp.step [] on 0 after []
  } teardown {
  }
}
