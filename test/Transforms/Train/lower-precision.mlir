// Products and what lies between them have 16 bits; what sums or bends computes
// in f32; parameters, results and gradients stay f32.
// RUN: pp-opt %s --split-input-file --pp-lower-precision | FileCheck %s
// RUN: pp-opt %s --split-input-file --pp-lower-precision --pp-differentiate | FileCheck %s --check-prefix=GRADIENT

// A table's rows are rounded, biases are converted where they are stored, sums
// of low values are low, and the softmax rounds its result.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<8x4xf32>
// CHECK: %[[ROWS:.*]] = pp.gather %arg0[%arg3]
// CHECK: %[[X:.*]] = pp.convert %[[ROWS]] : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: %[[W:.*]] = pp.convert %arg1 : tensor<4x4xf32> -> tensor<4x4xbf16>
// CHECK: %[[DOT:.*]] = pp.dot_general %[[X]], %[[W]] {{.*}} -> tensor<2x4xbf16>
// CHECK: %[[B:.*]] = pp.convert %arg2 : tensor<4xf32> -> tensor<4xbf16>
// CHECK: %[[BIAS:.*]] = pp.broadcast %[[B]] dims [1] : tensor<4xbf16>
// CHECK: %[[Y:.*]] = pp.add %[[DOT]], %[[BIAS]] : tensor<2x4xbf16>
// CHECK: %[[SUM:.*]] = pp.add %[[X]], %[[Y]] : tensor<2x4xbf16>
// CHECK: %[[TWICE:.*]] = pp.mul %[[SUM]], %{{.*}} : tensor<2x4xbf16>
// CHECK: %[[WIDE:.*]] = pp.convert %[[TWICE]] : tensor<2x4xbf16> -> tensor<2x4xf32>
// CHECK: %[[E:.*]] = pp.exp %[[WIDE]] : tensor<2x4xf32>
// CHECK: pp.reduce sum %[[E]]
// CHECK: %[[P:.*]] = pp.div {{.*}} : tensor<2x4xf32>
// CHECK: %[[PLOW:.*]] = pp.convert %[[P]] : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: pp.dot_general %[[PLOW]], %[[W]] {{.*}} -> tensor<2x4xbf16>
// CHECK: pp.reduce sum {{.*}} : tensor<2x4xf32> -> tensor<f32>
// CHECK: return {{.*}} : tensor<f32>

// The softmax's gradient reads what the product reads; gradients of parameters
// are products and sums in f32, each in the place of the one that it is formed of.
// GRADIENT: %[[P:.*]] = pp.div
// GRADIENT: %[[PLOW:.*]] = pp.convert %[[P]]
// GRADIENT: %[[DW1:.*]] = pp.dot_general {{.*}} : tensor<{{.*}}bf16>, tensor<{{.*}}bf16> -> tensor<4x4xf32>
// GRADIENT: %[[PAGAIN:.*]] = pp.convert %[[PLOW]] {{.*}} -> tensor<2x4xf32>
// GRADIENT: pp.mul %{{.*}}, %[[PAGAIN]]
// GRADIENT: %[[DB:.*]] = pp.reduce sum %{{.*}} dims [0] {{.*}} : tensor<2x4xf32> -> tensor<4xf32>
// GRADIENT: %[[DW0:.*]] = pp.dot_general {{.*}} : tensor<{{.*}}bf16>, tensor<{{.*}}bf16> -> tensor<4x4xf32>
// GRADIENT: %[[DW:.*]] = pp.add %[[DW0]], %[[DW1]] {{.*}} : tensor<4x4xf32>
// GRADIENT: return %{{.*}}, %{{.*}}, %[[DW]], %[[DB]]
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
func.func @main(%table: tensor<8x4xf32> {pp.role = #pp.role<param>, pp.name = "table", pp.init = #pp.init<zeros>},
                %w: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %b: tensor<4xf32> {pp.role = #pp.role<param>, pp.name = "b", pp.init = #pp.init<zeros>},
                %x: tensor<2xi32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %rows = pp.gather %table[%x] batch 0 : tensor<8x4xf32>, tensor<2xi32> -> tensor<2x4xf32>
  %dot = pp.dot_general %rows, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %bias = pp.broadcast %b dims [1] : tensor<4xf32> -> tensor<2x4xf32>
  %y = pp.add %dot, %bias : tensor<2x4xf32>
  %sum = pp.add %rows, %y : tensor<2x4xf32>
  %two = pp.constant dense<2.0> : tensor<f32>
  %twos = pp.broadcast %two dims [] : tensor<f32> -> tensor<2x4xf32>
  %twice = pp.mul %sum, %twos : tensor<2x4xf32>
  %e = pp.exp %twice : tensor<2x4xf32>
  %s = pp.reduce sum %e dims [1] : tensor<2x4xf32> -> tensor<2xf32>
  %spread = pp.broadcast %s dims [0] : tensor<2xf32> -> tensor<2x4xf32>
  %p = pp.div %e, %spread : tensor<2x4xf32>
  %out = pp.dot_general %p, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %loss = pp.reduce sum %out dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// What a model computes in another type of its own stays; gradients are rounded
// first where the plan says so.
// CHECK-LABEL: func.func @main
// CHECK: pp.convert %arg1 : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: %[[OWN:.*]] = pp.convert %{{.*}} -> tensor<2x4xf64>
// CHECK: pp.exp %[[OWN]] : tensor<2x4xf64>
// GRADIENT: %[[DW:.*]] = pp.dot_general {{.*}} -> tensor<4x4xbf16>
// GRADIENT: %[[WIDE:.*]] = pp.convert %[[DW]]
// GRADIENT: return %{{.*}}, %[[WIDE]]
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16", precision.gradients = "low">} {
func.func @main(%w: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %dot = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %own = pp.convert %dot : tensor<2x4xf32> -> tensor<2x4xf64>
  %e = pp.exp %own : tensor<2x4xf64>
  %sum = pp.reduce sum %e dims [0, 1] : tensor<2x4xf64> -> tensor<f64>
  %loss = pp.convert %sum : tensor<f64> -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// Literals beyond f16 keep their op in f32; what the step returns is not
// rounded, though a product reads it, too.
// CHECK-LABEL: func.func @main
// CHECK: %[[DOT:.*]] = pp.dot_general {{.*}} -> tensor<2x4xf16>
// CHECK: %[[WIDE:.*]] = pp.convert %[[DOT]] : tensor<2x4xf16> -> tensor<2x4xf32>
// CHECK: pp.mul %[[WIDE]], %{{.*}} : tensor<2x4xf32>
// CHECK: %[[NEW:.*]] = pp.add %{{.*}} : tensor<2x4xf32>
// CHECK: %[[LOW:.*]] = pp.convert %[[NEW]] : tensor<2x4xf32> -> tensor<2x4xf16>
// CHECK: pp.dot_general %[[LOW]]
// CHECK: return %{{.*}}, %[[NEW]] : tensor<f32>, tensor<2x4xf32>
// GRADIENT: func.func @main
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "f16">} {
func.func @main(%w: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %s: tensor<2x4xf32> {pp.role = #pp.role<state>, pp.name = "s", pp.init = #pp.init<zeros>},
                %x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<2x4xf32> {pp.role = #pp.role<state>, pp.name = "s"}) {
  %dot = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %many = pp.constant dense<1.0e+05> : tensor<f32>
  %all = pp.broadcast %many dims [] : tensor<f32> -> tensor<2x4xf32>
  %large = pp.mul %dot, %all : tensor<2x4xf32>
  %new = pp.add %s, %large : tensor<2x4xf32>
  %out = pp.dot_general %new, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %loss = pp.reduce sum %out dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss, %new : tensor<f32>, tensor<2x4xf32>
}
}

// -----

// A product that the step returns sums, and writes, in f32, though another
// product reads it rounded.
// CHECK-LABEL: func.func @main
// CHECK: %[[DOT:.*]] = pp.dot_general {{.*}} -> tensor<2x4xf32>
// CHECK: %[[LOW:.*]] = pp.convert %[[DOT]] : tensor<2x4xf32> -> tensor<2x4xbf16>
// CHECK: pp.dot_general %[[LOW]]
// CHECK: return %{{.*}}, %[[DOT]]
// GRADIENT: func.func @main
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
func.func @main(%w: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %x: tensor<2x4xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}, tensor<2x4xf32> {pp.role = #pp.role<metric>, pp.name = "m"}) {
  %dot = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %out = pp.dot_general %dot, %w batch [] x [] contract [1] x [0] : tensor<2x4xf32>, tensor<4x4xf32> -> tensor<2x4xf32>
  %loss = pp.reduce sum %out dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
  return %loss, %dot : tensor<f32>, tensor<2x4xf32>
}
}

// -----

// Gradients of convolutions' weights are summed, and written, in f32.
// CHECK-LABEL: func.func @main
// GRADIENT: pp.convolution {{.*}} -> tensor<1x5x2x3xbf16>
// GRADIENT: pp.convolution {{.*}} -> tensor<2x2x3xf32>
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
func.func @main(%w: tensor<2x2x3xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %x: tensor<1x6x2x2xf32> {pp.role = #pp.role<input>, pp.name = "x"})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %y = pp.convolution %x, %w batch [] x [] contract [3] x [1] window [1] x [0] -> [1]
      strides [1] low [0] high [0] dilation [1] x [1] : tensor<1x6x2x2xf32>, tensor<2x2x3xf32> -> tensor<1x5x2x3xf32>
  %loss = pp.reduce sum %y dims [0, 1, 2, 3] : tensor<1x5x2x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}

// -----

// Rows of a tied embedding are looked up in the copy that the product reads;
// their gradients are summed in f32.
// CHECK-LABEL: func.func @main
// CHECK: %[[TABLE:.*]] = pp.convert %arg0 : tensor<8x4xf32> -> tensor<8x4xbf16>
// CHECK: pp.gather %[[TABLE]]
// CHECK: pp.dot_general %{{.*}}, %[[TABLE]]
// CHECK: pp.gather %[[TABLE]]
// GRADIENT-COUNT-2: pp.scatter_add {{.*}} : tensor<8x4xf32>, tensor<3xi32>, tensor<3x4xf32>
module attributes {pp.plan = #pp.plan<mesh = <[]>, precision = "bf16">} {
func.func @main(%w: tensor<8x4xf32> {pp.role = #pp.role<param>, pp.name = "w", pp.init = #pp.init<zeros>},
                %x: tensor<3xi32> {pp.role = #pp.role<input>, pp.name = "x", pp.bound = 8})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %rows = pp.gather %w[%x] batch 0 : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
  %y = pp.dot_general %rows, %w batch [] x [] contract [1] x [1] : tensor<3x4xf32>, tensor<8x4xf32> -> tensor<3x8xf32>
  %more = pp.gather %w[%x] batch 0 : tensor<8x4xf32>, tensor<3xi32> -> tensor<3x4xf32>
  %z = pp.dot_general %more, %y batch [] x [] contract [0] x [0] : tensor<3x4xf32>, tensor<3x8xf32> -> tensor<4x8xf32>
  %loss = pp.reduce sum %z dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
