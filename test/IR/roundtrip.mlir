// Every attribute and a sample of ops print as they parse.
// RUN: pp-opt %s | pp-opt | FileCheck %s

// CHECK-LABEL: module attributes
// CHECK-SAME: #pp.plan<mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=2]>, schedule = "1f1b", threads = 1, remat = "auto", memory-limit = "1GiB", seeds = [#pp.seed<"tokens", [{"mb", "dp"}, {}], 0>], cuts = [42], optimizer = #pp.optimizer<adamw, lr = 1.000000e-03, clip = 1.000000e+00>>
module attributes {pp.plan = #pp.plan<
    mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=2]>, schedule = "1f1b",
    remat = "auto", memory-limit = "1GiB",
    seeds = [#pp.seed<"tokens", [{"mb", "dp"}, {}], 0>],
    cuts = [42], optimizer = #pp.optimizer<adamw, lr = 1.0e-3, clip = 1.0>, threads = 1>} {
  // CHECK: pp.mesh @mesh = <["mb"=4 : time, "dp"=2, "tp"=2]>
  pp.mesh @mesh = <["mb"=4 : time, "dp"=2, "tp"=2]>

  // CHECK: pp.program @stage0 ranks [0] arena 128 slots {
  // CHECK-NEXT: pp.slot "w" parameter at 0 argument 0 : tensor<4x8xf32>
  // CHECK: setup {
  // CHECK-NEXT: } body {
  // CHECK-NEXT: pp.send to 1 [0] on 0 after [0, 1] as forward 0 1
  // CHECK-NEXT: pp.collective all_reduce sum over ["dp"] [0, 0] on 0
  // CHECK-NEXT: pp.collective permute over ["dp", "tp"] to ["tp", "dp"] [0, 0] on 0
  // CHECK: } teardown {
  // CHECK-NEXT: }
  pp.program @stage0 ranks [0] arena 128 slots {
    pp.slot "w" parameter at 0 argument 0 : tensor<4x8xf32>
  } queues {
    pp.queue "send 1" send
  } setup {
  } body {
    pp.send to 1 [0] on 0 after [0, 1] as forward 0 1
    pp.collective all_reduce sum over ["dp"] [0, 0] on 0 after []
    pp.collective permute over ["dp", "tp"] to ["tp", "dp"] [0, 0] on 0 after []
    pp.step [] on 0 after []
  } teardown {
  }

  // CHECK-LABEL: func.func @main
  // CHECK-SAME: pp.init = #pp.init<normal, 0.000000e+00, 2.000000e-02>
  // CHECK-SAME: pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp", ?}], partial = {"mb"=sum}>
  func.func @main(%x: tensor<4x8xf32> {pp.role = #pp.role<param>, pp.name = "w",
        pp.init = #pp.init<normal, 0.0, 0.02>,
        pp.sharding = #pp.sharding<@mesh, [{"dp"}, {"tp", ?}], partial={"mb"=sum}>},
      %i: tensor<4xi32>) -> tensor<4xf32> {
    // CHECK: pp.constant dense<0.000000e+00> : tensor<f32>
    %z = pp.constant dense<0.0> : tensor<f32>
    // CHECK: pp.broadcast %{{.*}} dims [] : tensor<f32> -> tensor<4x8xf32>
    %b = pp.broadcast %z dims [] : tensor<f32> -> tensor<4x8xf32>
    %y = pp.max %x, %b : tensor<4x8xf32>
    // CHECK: pp.dot_general %{{.*}}, %{{.*}} batch [] x [] contract [1] x [1]
    %d = pp.dot_general %x, %y batch [] x [] contract [1] x [1] : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
    // CHECK: pp.gather %{{.*}}[%{{.*}}] batch 1
    %g = pp.gather %d[%i] batch 1 : tensor<4x4xf32>, tensor<4xi32> -> tensor<4xf32>
    // CHECK: pp.all_reduce{{ +}}sum %{{.*}} over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
    %r = pp.all_reduce sum %g over @mesh ["tp"] : (tensor<4xf32>) -> tensor<4xf32>
    // CHECK: pp.reduce{{ +}}max %{{.*}} dims [1]
    %m = pp.reduce max %d dims [1] : tensor<4x4xf32> -> tensor<4xf32>
    // CHECK: pp.fragment{{ +}}forward stage 0(%{{.*}}) {
    %f = pp.fragment forward stage 0 (%r) {
    ^bb0(%a: tensor<4xf32>):
      pp.yield %a : tensor<4xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    %s = pp.add %f, %m : tensor<4xf32>
    return %s : tensor<4xf32>
  }
}
