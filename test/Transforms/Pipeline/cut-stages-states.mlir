// States live with the parameter that pp.parameter names, whatever their own
// name ends in; without it where their new value is.
// RUN: pp-opt %s --split-input-file --pp-differentiate --pp-add-optimizer --pp-cut-stages | FileCheck %s

// The name of the second parameter's state ends in the first one's.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "w", {{[^}]*}}pp.stages = array<i64: 0>
// CHECK-SAME: pp.name = "a.w", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK-SAME: pp.name = "momentum_buffer.w", pp.parameter = "w", {{[^}]*}}pp.stages = array<i64: 0>
// CHECK-SAME: pp.name = "momentum_buffer.a.w", pp.parameter = "a.w", {{[^}]*}}pp.stages = array<i64: 1>
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", cuts = [2], optimizer = #pp.optimizer<momentum, lr = 0.1>, threads = 1>} {
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %v: tensor<4x4xf32> {pp.name = "a.w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %t = pp.tanh %h : tensor<8x4xf32>
  %y = pp.dot_general %t, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %q = pp.mul %y, %y : tensor<8x4xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
}

// -----

// `previous` takes the value of a parameter of stage 1, `seen` is computed
// there; `before` takes that of a state that stage 0 uses.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "previous", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK-SAME: pp.name = "seen", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK-SAME: pp.name = "used", {{[^}]*}}pp.stages = array<i64: 0>
// CHECK-SAME: pp.name = "before", {{[^}]*}}pp.stages = array<i64: 0>
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", cuts = [3], optimizer = #pp.optimizer<momentum, lr = 0.1>, threads = 1>} {
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %v: tensor<4x4xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %p: tensor<4x4xf32> {pp.name = "previous", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>},
                %s: tensor<4xf32> {pp.name = "seen", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>},
                %u: tensor<8x4xf32> {pp.name = "used", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>},
                %b: tensor<8x4xf32> {pp.name = "before", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<4x4xf32> {pp.name = "previous", pp.role = #pp.role<state>},
        tensor<4xf32> {pp.name = "seen", pp.role = #pp.role<state>},
        tensor<8x4xf32> {pp.name = "before", pp.role = #pp.role<state>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %a = pp.add %h, %u : tensor<8x4xf32>
  %t = pp.tanh %a : tensor<8x4xf32>
  %y = pp.dot_general %t, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %n = pp.reduce sum %y dims [0] : tensor<8x4xf32> -> tensor<4xf32>
  %q = pp.mul %y, %y : tensor<8x4xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l, %v, %n, %u : tensor<f32>, tensor<4x4xf32>, tensor<4xf32>, tensor<8x4xf32>
}
}

// -----

// `a` and `c` go with the parameter that the new value of `a` is made of, as
// `b` does, and so does what is computed from them alone.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "a", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK-SAME: pp.name = "b", {{[^}]*}}pp.stages = array<i64: 0>
// CHECK-SAME: pp.name = "c", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK: pp.mul %{{.*}} {pp.origin = {{[0-9]+}} : i64, pp.stages = array<i64: 1>} : tensor<4x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", cuts = [2], optimizer = #pp.optimizer<sgd, lr = 0.1>, threads = 1>} {
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %v: tensor<4x4xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %a: tensor<4x4xf32> {pp.name = "a", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>},
                %b: tensor<4x4xf32> {pp.name = "b", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>},
                %c: tensor<4x4xf32> {pp.name = "c", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<4x4xf32> {pp.name = "a", pp.role = #pp.role<state>},
        tensor<4x4xf32> {pp.name = "b", pp.role = #pp.role<state>},
        tensor<4x4xf32> {pp.name = "c", pp.role = #pp.role<state>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %t = pp.tanh %h : tensor<8x4xf32>
  %y = pp.dot_general %t, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %q = pp.mul %y, %y : tensor<8x4xf32>
  %ac = pp.mul %a, %c : tensor<4x4xf32>
  %newA = pp.add %v, %ac : tensor<4x4xf32>
  %newC = pp.tanh %ac : tensor<4x4xf32>
  %newB = pp.sub %w, %b : tensor<4x4xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l, %newA, %newB, %newC : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
}

// -----

// The scale of the loss, which stage 1 uses and the updates of both stages read.
// CHECK-LABEL: func.func @main
// CHECK-SAME: pp.name = "w", {{[^}]*}}pp.stages = array<i64: 0>
// CHECK-SAME: pp.name = "v", {{[^}]*}}pp.stages = array<i64: 1>
// CHECK-SAME: pp.name = "optimizer.loss_scale", {{[^}]*}}pp.stages = array<i64: 0, 1>
module attributes {pp.plan = #pp.plan<mesh = <["pp"=2 : stage]>, schedule = "1f1b", cuts = [2], precision = "f16", optimizer = #pp.optimizer<momentum, lr = 0.1>, threads = 1>} {
func.func @main(%x: tensor<8x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %v: tensor<4x4xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>},
                %s: tensor<f32> {pp.name = "optimizer.loss_scale", pp.role = #pp.role<state>, pp.init = #pp.init<constant, 65536.0>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %t = pp.tanh %h : tensor<8x4xf32>
  %y = pp.dot_general %t, %v batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %q = pp.mul %y, %y : tensor<8x4xf32>
  %l = pp.reduce sum %q dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
}
