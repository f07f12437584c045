// A bias of 2 x 4, the two groups of which lie on two devices: parts of three
// devices each would be 2 x 6, padded in the middle. It is shared out no further,
// with a remark; the weight is, along a dimension that can be.
// RUN: pp-opt %s --pp-parallelize="plan=%S/minor-factors.plan stop-after=spmd" | FileCheck %s
// RUN: pp-opt %s --pp-parallelize="plan=%S/minor-factors.plan stop-after=spmd" --remarks-filter=pp-propagate-shardings -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: pp-run %s --parallelize="plan=%S/minor-factors.plan" --steps=2 --verify --quiet
// RUN: sed 's/zero = 3/zero = 1/' %S/minor-factors.plan > %t.plan
// RUN: pp-run %s --parallelize="plan=%t.plan" --steps=2 --verify --quiet

// CHECK: tensor<2x4xf64> {{.*}}pp.name = "w"
// CHECK-SAME: tensor<4xf64> {{.*}}pp.name = "b"
// CHECK-SAME: tensor<2x4xf64> {{.*}}pp.name = "momentum_buffer.w"
// CHECK-SAME: tensor<4xf64> {{.*}}pp.name = "momentum_buffer.b"
// REMARK: unfulfilled {{.*}}argument=b, got="[{"tp"}]", of=zero=3, wanted=dp
// REMARK-NOT: unfulfilled
func.func @main(%x: tensor<6x6xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<6x8xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %b: tensor<8xf64> {pp.name = "b", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<6x6xf64>, tensor<6x8xf64> -> tensor<6x8xf64>
  %1 = pp.broadcast %b dims [1] : tensor<8xf64> -> tensor<6x8xf64>
  %2 = pp.mul %0, %1 : tensor<6x8xf64>
  %3 = pp.reshape %2 : tensor<6x8xf64> -> tensor<6x2x4xf64>
  %4 = pp.reduce sum %3 dims [2] : tensor<6x2x4xf64> -> tensor<6x2xf64>
  %5 = pp.tanh %4 : tensor<6x2xf64>
  %loss = pp.reduce sum %5 dims [0, 1] : tensor<6x2xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
