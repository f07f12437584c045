// Four devices share out two key-value heads: each lies on two of them, and tp is
// divided between the groups and the heads of a group. What three devices cannot
// share so is refused, and each thing that the message speaks of runs.

// RUN: pp-opt %s --pp-parallelize="tp=4 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=DIVIDED
// DIVIDED: mesh = <["tp"=[2, 2]]>
// RUN: pp-run %s --parallelize="tp=4" --verify --quiet
// RUN: not pp-opt %s --pp-parallelize="tp=3" -o /dev/null 2>&1 | FileCheck %s
// CHECK: argument "k" expects at least 3 elements in dimension 1 of 'tensor<8x2x2xf64>', one per shard over "tp", got 2: tp=2 fits, a multiple of 2 where another dimension takes the rest, or give a plan whose seeds leave it whole

// RUN: pp-run %s --parallelize="tp=2" --verify --quiet
// RUN: pp-run %s --parallelize="tp=6" --verify --quiet
// RUN: echo '#pp.plan<mesh = <["tp"=3]>, seeds = [#pp.seed<"q", [{?}, {"tp"}, {?}], 1>], optimizer = #pp.optimizer<sgd, lr = 0.1>>' > %t.plan
// RUN: pp-run %s --parallelize="plan=%t.plan" --verify --quiet

// The only key-value head of many queries is whole on every device.
// RUN: sed -e s/8x2x2/8x1x2/g -e s/4x4x2x2xf64/4x4x1x2xf64/g -e s/4x4x2x4x2/4x4x1x8x2/g -e s/4x2x4x4x4/4x1x4x8x4/g -e s/4x2x4x4x2/4x1x4x8x2/g %s > %t.one.mlir
// RUN: pp-run %t.one.mlir --parallelize="tp=4" --verify --quiet
func.func @main(%x: tensor<4x4x8xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %wq: tensor<8x8x2xf64> {pp.name = "q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %wk: tensor<8x2x2xf64> {pp.name = "k", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %wo: tensor<8x2x8xf64> {pp.name = "o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %q = pp.dot_general %x, %wq batch [] x [] contract [2] x [0] : tensor<4x4x8xf64>, tensor<8x8x2xf64> -> tensor<4x4x8x2xf64>
  %k = pp.dot_general %x, %wk batch [] x [] contract [2] x [0] : tensor<4x4x8xf64>, tensor<8x2x2xf64> -> tensor<4x4x2x2xf64>
  %groups = pp.reshape %q : tensor<4x4x8x2xf64> -> tensor<4x4x2x4x2xf64>
  %scores = pp.dot_general %groups, %k batch [0, 2] x [0, 2] contract [4] x [3] : tensor<4x4x2x4x2xf64>, tensor<4x4x2x2xf64> -> tensor<4x2x4x4x4xf64>
  %p = pp.tanh %scores : tensor<4x2x4x4x4xf64>
  %mixed = pp.dot_general %p, %k batch [0, 1] x [0, 2] contract [4] x [1] : tensor<4x2x4x4x4xf64>, tensor<4x4x2x2xf64> -> tensor<4x2x4x4x2xf64>
  %t = pp.transpose %mixed perm [0, 2, 1, 3, 4] : tensor<4x2x4x4x2xf64> -> tensor<4x4x2x4x2xf64>
  %heads = pp.reshape %t : tensor<4x4x2x4x2xf64> -> tensor<4x4x8x2xf64>
  %y = pp.dot_general %heads, %wo batch [] x [] contract [2, 3] x [0, 1] : tensor<4x4x8x2xf64>, tensor<8x2x8xf64> -> tensor<4x4x8xf64>
  %loss = pp.reduce sum %y dims [0, 1, 2] : tensor<4x4x8xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
