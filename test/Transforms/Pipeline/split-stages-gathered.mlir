// A parameter that is gathered once a step, before the micro-batches, and made
// the new value of a state that another stage reads, too: it comes there by a
// sum over stages.
// RUN: pp-run %s --parallelize="dp=2 zero=3 zero.gather=step pp=2 microbatches=4" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=2 zero=3 zero.gather=step pp=2" --steps=2 --verify --quiet
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 zero.gather=step pp=2 microbatches=4 stop-after=pipeline" | FileCheck %s
// CHECK-NOT: pp.fragment prologue position 0
// CHECK: pp.fragment prologue position 1
// CHECK: pp.fragment update position 0
// CHECK: pp.all_reduce sum %{{.*}} over @mesh ["pp"]

func.func @main(%x: tensor<13x3xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %i: tensor<13x4xi32> {pp.name = "i", pp.role = #pp.role<input>, pp.bound = 3 : i64},
                %w: tensor<3x3xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %s: tensor<3x3xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.init = #pp.init<constant, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<3x3xf64> {pp.name = "s", pp.role = #pp.role<state>}) {
  %0 = pp.dot_general %x, %s batch [] x [] contract [1] x [0] : tensor<13x3xf64>, tensor<3x3xf64> -> tensor<13x3xf64>
  %1 = pp.div %0, %x : tensor<13x3xf64>
  %2 = pp.gather %w[%i] batch 0 : tensor<3x3xf64>, tensor<13x4xi32> -> tensor<13x4x3xf64>
  %3 = pp.mul %s, %s : tensor<3x3xf64>
  %4 = pp.add %w, %3 : tensor<3x3xf64>
  %5 = pp.reduce sum %1 dims [0, 1] : tensor<13x3xf64> -> tensor<f64>
  %6 = pp.reduce sum %2 dims [0, 1, 2] : tensor<13x4x3xf64> -> tensor<f64>
  %7 = pp.add %5, %6 : tensor<f64>
  return %7, %4 : tensor<f64>, tensor<3x3xf64>
}
