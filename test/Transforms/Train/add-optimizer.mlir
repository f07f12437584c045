// Gradients become updated parameters and states; step scalars are in f64.
// RUN: pp-opt %s --split-input-file --pp-add-optimizer | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-add-optimizer=keep-gradients=true | FileCheck %s --check-prefix=KEEP

// Plain SGD keeps no state and needs no step.
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[W:[^:]*]]: tensor<8xf32> {{{[^}]*}}}, %[[G:[^:]*]]: tensor<8xf32> {{{[^}]*}}})
// CHECK-SAME: -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<8xf32> {pp.name = "w", pp.role = #pp.role<param>})
// KEEP-LABEL: func.func @main
// KEEP-SAME: -> (tensor<f32> {{{.*}}}, tensor<8xf32> {pp.name = "w", pp.role = #pp.role<param>}, tensor<8xf32> {pp.name = "w", pp.role = #pp.role<gradient>})
module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = #pp.optimizer<sgd, lr = 1.0e-1>, threads = 1>} {
  func.func @main(%w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                  %x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<8xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    // CHECK: %[[LOSS:.*]] = pp.reduce
    %l = pp.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
    // CHECK: %[[RATE:.*]] = pp.constant {pp.kind = #pp.kind<update>} dense<1.000000e-01> : tensor<f64>
    // CHECK: %[[NARROW:.*]] = pp.convert %[[RATE]] {{.*}} : tensor<f64> -> tensor<f32>
    // CHECK: %[[SPREAD:.*]] = pp.broadcast %[[NARROW]]
    // CHECK: %[[STEP:.*]] = pp.mul %[[G]], %[[SPREAD]]
    // CHECK: %[[NEW:.*]] = pp.sub %[[W]], %[[STEP]] {pp.kind = #pp.kind<update>, pp.parameter = "w"}
    // CHECK: return %[[LOSS]], %[[NEW]]
    return %l, %x : tensor<f32>, tensor<8xf32>
  }
}

// -----

// AdamW on bf16: f32 states of the parameter's checkpoint shape, a clipped
// gradient, a step counter.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<i32> {pp.init = #pp.init<zeros>, pp.name = "optimizer.step", pp.role = #pp.role<state>}
// CHECK-SAME: tensor<2x4xf32> {pp.init = #pp.init<zeros>, pp.name = "exp_avg.w", pp.parameter = "w", pp.role = #pp.role<state>, pp.stored_shape = array<i64: 8>}
// CHECK-SAME: tensor<2x4xf32> {pp.init = #pp.init<zeros>, pp.name = "exp_avg_sq.w"
// CHECK-SAME: -> (tensor<bf16> {{{[^}]*}}}, tensor<f64> {pp.name = "grad_norm", pp.role = #pp.role<metric>}, tensor<2x4xbf16> {pp.name = "w", pp.role = #pp.role<param>}, tensor<i32> {pp.name = "optimizer.step", pp.role = #pp.role<state>}, tensor<2x4xf32> {pp.name = "exp_avg.w", {{.*}}}, tensor<2x4xf32> {pp.name = "exp_avg_sq.w"
module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = #pp.optimizer<adamw, lr = 1.0e-1, clip = 1.0>, threads = 1>} {
  func.func @main(%w: tensor<2x4xbf16> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>, pp.stored_shape = array<i64: 8>})
      -> (tensor<bf16> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<2x4xbf16> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    %l = pp.reduce sum %w dims [0, 1] {pp.origin = 0 : i64} : tensor<2x4xbf16> -> tensor<bf16>
    %g = pp.neg %w {pp.kind = #pp.kind<weight_gradient>, pp.origin = 0 : i64} : tensor<2x4xbf16>
    // What belongs to a parameter has the origin of its gradient.
    // CHECK: pp.reduce sum %{{.*}} dims [0, 1] {pp.kind = #pp.kind<update>, pp.origin = 0 : i64, pp.parameter = "w"}
    // The norm over all parameters has none.
    // CHECK: pp.sqrt %{{.*}} {pp.kind = #pp.kind<update>} : tensor<f64>
    // CHECK: pp.convert %{{.*}} {pp.kind = #pp.kind<update>, pp.origin = 0 : i64, pp.parameter = "w"} : tensor<2x4xf32> -> tensor<2x4xbf16>
    return %l, %g : tensor<bf16>, tensor<2x4xbf16>
  }
}

// -----

// With a scaled loss: zero if the gradients are finite, their squares as they are, so that
// nothing but the update reads them divided; the norm is divided.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[G:[^:]*]]: tensor<8xf32> {{{[^}]*}}pp.name = "x"
// CHECK-SAME: %[[S:[^:]*]]: tensor<f32> {{{[^}]*}}pp.name = "optimizer.loss_scale"
// CHECK: %[[WIDE:.*]] = pp.convert %[[S]]
// CHECK: %[[INVERSE:.*]] = pp.div %{{.*}}, %[[WIDE]]
// CHECK: %[[NARROW:.*]] = pp.convert %[[INVERSE]]
// CHECK: %[[SIZE:.*]] = pp.abs %[[G]]
// CHECK: %[[ZEROS:.*]] = pp.mul %[[SIZE]]
// CHECK: %[[ZERO:.*]] = pp.reduce sum %[[ZEROS]]
// CHECK: %[[TOTAL:.*]] = pp.convert %[[ZERO]]
// CHECK: %[[UNSCALED:.*]] = pp.mul %[[G]], %
// CHECK: %[[FINITE:.*]] = pp.compare lt %[[TOTAL]]
// CHECK: pp.not %[[FINITE]]
// CHECK: %[[SQUARES:.*]] = pp.mul %[[G]], %[[G]]
// CHECK: pp.reduce sum %[[SQUARES]]
// CHECK: %[[NORM:.*]] = pp.sqrt
// CHECK: %[[DIVISOR:.*]] = pp.convert %[[NARROW]]
// CHECK: %[[DIVIDED:.*]] = pp.mul %[[NORM]], %[[DIVISOR]]
// CHECK: pp.mul %[[UNSCALED]], %
// CHECK: return %{{[^,]*}}, %[[S]], %{{[^,]*}}, %[[DIVIDED]],
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "f16", optimizer = #pp.optimizer<sgd, lr = 1.0e-1, clip = 1.0>, threads = 1>} {
  func.func @main(%w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                  %x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                  %s: tensor<f32> {pp.role = #pp.role<state>, pp.name = "optimizer.loss_scale", pp.init = #pp.init<constant, 65536.0>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<8xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    %l = pp.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
    return %l, %x : tensor<f32>, tensor<8xf32>
  }
}

// -----

// A rate that varies is a metric: as scheduled, without Adam's correction.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<f64> {pp.name = "learning_rate", pp.role = #pp.role<metric>}
module attributes {pp.plan = #pp.plan<mesh = <[]>, optimizer = #pp.optimizer<adam, lr = 1.0e-1, warmup = 4>, threads = 1>} {
  func.func @main(%w: tensor<8xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                  %x: tensor<8xf32> {pp.role = #pp.role<input>, pp.name = "x"})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<8xf32> {pp.role = #pp.role<gradient>, pp.name = "w"}) {
    // CHECK: %[[SHARE:.*]] = pp.min
    // CHECK: %[[RATE:.*]] = pp.mul %{{.*}}, %[[SHARE]]
    // CHECK: return %{{[^,]*}}, %[[RATE]],
    %l = pp.reduce sum %w dims [0] : tensor<8xf32> -> tensor<f32>
    return %l, %x : tensor<f32>, tensor<8xf32>
  }
}
