// A metric adds up terms of both stages, one after the other: each stage adds
// up its own, and one sum over stages joins them.
// RUN: pp-opt %s --pp-parallelize="pp=2 microbatches=2 cuts=e stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment update position 0
// CHECK: %[[A:.*]] = pp.add %{{.*}}, %{{.*}} {pp.kind = #pp.kind<update>} : tensor<f32>
// CHECK-NEXT: %[[SUM:.*]] = pp.all_reduce sum %[[A]] over @mesh ["pp"]
// CHECK-NOT: pp.all_reduce
// CHECK: pp.fragment update position 1
// CHECK: %[[B:.*]] = pp.add
// CHECK: pp.all_reduce sum %[[B]] over @mesh ["pp"]
// CHECK-NOT: pp.all_reduce
func.func @main(%x: tensor<4x8xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
        tensor<f32> {pp.role = #pp.role<metric>, pp.name = "terms"}) {
  %a = pp.sin %x : tensor<4x8xf32>
  %a1 = pp.reduce sum %a dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %b = pp.exp %a : tensor<4x8xf32>
  %b1 = pp.reduce sum %b dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %d = pp.broadcast %w dims [1] : tensor<8xf32> -> tensor<4x8xf32>
  %e = pp.mul %b, %d : tensor<4x8xf32> loc("e")
  %e1 = pp.reduce sum %e dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %f = pp.sin %e : tensor<4x8xf32>
  %loss = pp.reduce sum %f dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %g = pp.tanh %f : tensor<4x8xf32>
  %g1 = pp.reduce sum %g dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %two = pp.add %a1, %b1 : tensor<f32>
  %three = pp.add %two, %e1 : tensor<f32>
  %terms = pp.add %three, %g1 : tensor<f32>
  return %loss, %terms : tensor<f32>, tensor<f32>
}
