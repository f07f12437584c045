// A step that JAX differentiated becomes a training step: roles from donated memory and names, parts from locations, what jax.checkpoint repeats merged.
// RUN: pp-opt %s | FileCheck %s
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=1" --pp-predict | FileCheck %s --check-prefix=PIPELINE
// RUN: not pp-opt %s --pp-parallelize="dp=2 lr=0.1" 2>&1 | FileCheck %s --check-prefix=LR
// RUN: not pp-opt %s --pp-parallelize="optimizer=sgd" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not pp-opt %s --pp-parallelize="precision=bf16" 2>&1 | FileCheck %s --check-prefix=PRECISION
// RUN: not pp-opt %s --inputs=params 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not pp-opt %s --evaluate --pp-parallelize=dp=2 2>&1 | FileCheck %s --check-prefix=EVAL

// PIPELINE: mesh dp=2: 2 ranks
// LR: error: expects no 'lr' for a training step, which has gradients, types and an update of its own, got '0.1': leave it out, or import the loss
// OPTIMIZER: error: expects no 'optimizer' for a training step
// PRECISION: error: expects no 'precision' for a training step
// BATCH: error: expects --inputs and --labels of a batch, got 'w', of which the step returns a new value
// EVAL: error: expects a model to evaluate, got a module of level graph

// CHECK: module attributes {pp.level = #pp.level<graph>}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W:arg0]]: tensor<4x4xf32> {pp.init = #pp.init<normal, {{[^>]*}}>, pp.name = "w", pp.role = #pp.role<param>}
// CHECK-SAME: %[[COUNT:arg1]]: tensor<i32> {pp.init = #pp.init<zeros>, pp.name = "opt_state.0.count", pp.role = #pp.role<state>}
// CHECK-SAME: %[[TRACE:arg2]]: tensor<4x4xf32> {pp.init = #pp.init<zeros>, pp.name = "opt_state.0.trace.w", pp.parameter = "w", pp.role = #pp.role<state>}
// CHECK-SAME: %[[X:arg3]]: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>}
// CHECK-SAME: -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<f32> {pp.name = "norm", pp.role = #pp.role<metric>}, tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>}, tensor<i32> {pp.name = "opt_state.0.count", pp.role = #pp.role<state>}, tensor<4x4xf32> {pp.name = "opt_state.0.trace.w", pp.role = #pp.role<state>})
module @jit_step {
  func.func public @main(%w: tensor<4x4xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"), %count: tensor<i32> {tf.aliasing_output = 1 : i32} loc("opt_state[0].count"), %trace: tensor<4x4xf32> {tf.aliasing_output = 2 : i32} loc("opt_state[0].trace['w']"), %x: tensor<8x4xf32> loc("x"))
      -> (tensor<4x4xf32> {jax.result_info = "result[0]['w']"}, tensor<i32> {jax.result_info = "result[1][0].count"}, tensor<4x4xf32> {jax.result_info = "result[1][0].trace['w']"}, tensor<f32> {jax.result_info = "result[2]['loss']"}, tensor<f32> {jax.result_info = "result[2]['norm']"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    // CHECK: %[[DOT:.*]] = pp.dot_general %[[X]], %[[W]] {{.*}}{pp.origin = [[AT:.*]] : i64}
    %dot = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("jit(step)/jvp(h.0)/dot_general")
    // CHECK-NEXT: %[[Y:.*]] = pp.tanh %[[DOT]]
    %y = stablehlo.tanh %dot : tensor<8x4xf32> loc("jit(step)/jvp(h.0)/tanh")
    // CHECK-NOT: pp.kind
    // CHECK: %[[LOSS:.*]] = pp.reduce sum %[[Y]] dims [0, 1] {pp.origin
    %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32> loc("jit(step)/jvp()/reduce_sum")
    // CHECK-NOT: pp.tanh
    %again = stablehlo.tanh %dot : tensor<8x4xf32> loc("jit(step)/transpose(jvp(h.0))/rematted_computation/tanh")
    // CHECK: %[[SQUARE:.*]] = pp.mul %[[Y]], %[[Y]] {pp.kind = #pp.kind<input_gradient>
    %square = stablehlo.multiply %again, %again : tensor<8x4xf32> loc("jit(step)/transpose(jvp(h.0))/mul")
    %one = stablehlo.constant dense<1.0> : tensor<8x4xf32>
    // CHECK: %[[D:.*]] = pp.sub %{{.*}}, %[[SQUARE]] {pp.kind = #pp.kind<input_gradient>
    %d = stablehlo.subtract %one, %square : tensor<8x4xf32> loc("jit(step)/transpose(jvp(h.0))/sub")
    // CHECK: %[[G:.*]] = pp.dot_general %[[X]], %[[D]] {{.*}}{pp.kind = #pp.kind<weight_gradient>, pp.origin = [[AT]] : i64}
    %g = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32> loc("jit(step)/transpose(jvp(h.0))/dot_general")
    // CHECK-NEXT: pp.mul %[[G]], %[[G]] {pp.kind = #pp.kind<update>, pp.parameter = "w"}
    %squares = stablehlo.multiply %g, %g : tensor<4x4xf32> loc("jit(step)/square")
    // CHECK-NEXT: %[[SUM:.*]] = pp.reduce sum {{.*}}{pp.kind = #pp.kind<update>, pp.parameter = "w"}
    %sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32> loc("jit(step)/reduce_sum")
    // CHECK-NEXT: %[[NEW:.*]] = pp.add %[[TRACE]], %[[G]] {pp.kind = #pp.kind<update>, pp.parameter = "w"}
    %new = stablehlo.add %trace, %g : tensor<4x4xf32> loc("jit(step)/add")
    // CHECK-NEXT: %[[NEXT:.*]] = pp.sub %[[W]], %[[NEW]] {pp.kind = #pp.kind<update>, pp.parameter = "w"}
    %next = stablehlo.subtract %w, %new : tensor<4x4xf32> loc("jit(step)/sub")
    %n = stablehlo.constant dense<1> : tensor<i32>
    // CHECK: %[[COUNTED:.*]] = pp.add %[[COUNT]], %{{.*}} {pp.kind = #pp.kind<update>}
    %counted = stablehlo.add %count, %n : tensor<i32> loc("jit(step)/add")
    // CHECK-NEXT: return %[[LOSS]], %[[SUM]], %[[NEXT]], %[[COUNTED]], %[[NEW]]
    return %next, %counted, %new, %loss, %sum : tensor<4x4xf32>, tensor<i32>, tensor<4x4xf32>, tensor<f32>, tensor<f32>
  }
}
