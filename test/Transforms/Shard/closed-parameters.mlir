// What a seed keeps whole ({}) is not shared out: another dimension is, or none,
// and then a remark says so.
// RUN: pp-opt %s --pp-parallelize="plan=%S/closed-parameters.plan stop-after=spmd" 2>&1 | FileCheck %s
// RUN: pp-opt %s --pp-parallelize="plan=%S/closed-parameters.plan stop-after=spmd" --remarks-filter=pp-propagate-shardings -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: pp-run %s --parallelize="plan=%S/closed-parameters.plan" --steps=2 --verify --quiet
// RUN: sed 's/zero = 3/zero = 1/' %S/closed-parameters.plan > %t.plan
// RUN: pp-opt %s --pp-parallelize="plan=%t.plan stop-after=spmd" | FileCheck %s --check-prefix=UPDATE
// RUN: pp-run %s --parallelize="plan=%t.plan" --steps=2 --verify --quiet

// CHECK: tensor<8x2xf64> {{.*}}pp.name = "w"
// CHECK-SAME: tensor<4x4xf64> {{.*}}pp.name = "v"
// CHECK-SAME: tensor<8x2xf64> {{.*}}pp.name = "momentum_buffer.w"
// CHECK-SAME: tensor<4x4xf64> {{.*}}pp.name = "momentum_buffer.v"
// CHECK: pp.reduce_scatter sum %{{.*}} dims [1] over @mesh ["dp"] {{.*}} : (tensor<8x4xf64>) -> tensor<8x2xf64>
// REMARK: unfulfilled {{.*}}argument=v, got="[{}, {}]", of=zero=3, wanted=dp
// REMARK-NOT: unfulfilled
// UPDATE: tensor<8x4xf64> {{.*}}pp.name = "w"
// UPDATE-SAME: tensor<4x4xf64> {{.*}}pp.name = "v"
// UPDATE-SAME: tensor<8x2xf64> {{.*}}pp.name = "momentum_buffer.w"
// UPDATE-SAME: tensor<4x4xf64> {{.*}}pp.name = "momentum_buffer.v"
func.func @main(%x: tensor<6x8xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<8x4xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %v: tensor<4x4xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<6x8xf64>, tensor<8x4xf64> -> tensor<6x4xf64>
  %1 = pp.tanh %0 : tensor<6x4xf64>
  %2 = pp.dot_general %1, %v batch [] x [] contract [1] x [0] : tensor<6x4xf64>, tensor<4x4xf64> -> tensor<6x4xf64>
  %3 = pp.tanh %2 : tensor<6x4xf64>
  %loss = pp.reduce sum %3 dims [0, 1] : tensor<6x4xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
