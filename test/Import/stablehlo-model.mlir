// A loss as JAX prints it becomes a model: names from locations, roles from options, calls inlined, what indices out of range would do left out.
// RUN: pp-opt %s --inputs=tokens:batch:sequence --labels=5 --states=stats --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: pp-opt %s --import=stablehlo --inputs=tokens,labels --states=stats --pp-parallelize=dp=2 --pp-predict | FileCheck %s --check-prefix=PIPELINE

// PIPELINE: mesh dp=2: 2 ranks

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W0:arg0]]: tensor<8x8xf32> {pp.init = #pp.init<normal, {{.*}}>, pp.name = "h.0.w", pp.role = #pp.role<param>}
// CHECK-SAME: %[[W1:arg1]]: tensor<8x8xf32> {{.*}}pp.name = "h.1.w"
// CHECK-SAME: %[[B0:arg2]]: tensor<8xf32> {pp.init = #pp.init<zeros>, pp.name = "h.0.b"
// CHECK-SAME: %[[B1:arg3]]: tensor<8xf32> {{.*}}pp.name = "h.1.b"
// CHECK-SAME: %[[TABLE:arg4]]: tensor<16x8xf32> {{.*}}pp.name = "table"
// CHECK-SAME: pp.name = "mean", pp.role = #pp.role<state>
// CHECK-SAME: %[[TOKENS:arg6]]: tensor<4x3xi32> {pp.bound = 16 : i64, pp.dims = ["batch", "sequence"], pp.name = "tokens", pp.role = #pp.role<input>}
// CHECK-SAME: %[[LABELS:arg7]]: tensor<4x3xi32> {pp.bound = 8 : i64, pp.name = "labels", pp.role = #pp.role<label>}
// CHECK-SAME: -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<f32> {pp.name = "mean", pp.role = #pp.role<state>})
module @jit_loss attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%w: tensor<2x8x8xf32> loc("params['h']['w']"), %b: tensor<2x8xf32> loc("params['h']['b']"), %table: tensor<16x8xf32> loc("params['table']"), %mean: tensor<f32> loc("stats['mean']"), %tokens: tensor<4x3xi32> loc("tokens"), %labels: tensor<4x3xi32> loc("labels")) -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]['stats']['mean']"}) {
    // CHECK-NEXT: %[[X:.*]] = pp.gather %[[TABLE]][%[[TOKENS]]] batch 0
    %x = call @take(%table, %tokens) : (tensor<16x8xf32>, tensor<4x3xi32>) -> tensor<4x3x8xf32>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %loop:4 = stablehlo.while(%n = %zero, %y = %x, %ws = %w, %bs = %b) : tensor<i64>, tensor<4x3x8xf32>, tensor<2x8x8xf32>, tensor<2x8xf32>
    cond {
      %two = stablehlo.constant dense<2> : tensor<i64>
      %less = stablehlo.compare LT, %n, %two, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i64>
      %next = stablehlo.add %n, %one : tensor<i64>
      %none = stablehlo.constant dense<0> : tensor<i64>
      %row = stablehlo.dynamic_slice %ws, %n, %none, %none, sizes = [1, 8, 8] : (tensor<2x8x8xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<1x8x8xf32>
      %matrix = stablehlo.reshape %row : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
      %part = stablehlo.dynamic_slice %bs, %n, %none, sizes = [1, 8] : (tensor<2x8xf32>, tensor<i64>, tensor<i64>) -> tensor<1x8xf32>
      // CHECK: %[[DOT:.*]] = pp.dot_general %[[X]], %[[W0]] batch [] x [] contract [2] x [0] {{.*}} loc("h.0.attn"
      // CHECK-NEXT: %[[BIAS:.*]] = pp.broadcast %[[B0]] dims [2]
      // CHECK-NEXT: %[[Y:.*]] = pp.add %[[DOT]], %[[BIAS]]
      // CHECK: pp.dot_general %[[Y]], %[[W1]] {{.*}} loc("h.1.attn"
      %dot = stablehlo.dot_general %y, %matrix, contracting_dims = [2] x [0] : (tensor<4x3x8xf32>, tensor<8x8xf32>) -> tensor<4x3x8xf32> loc("jit(loss)/h/while/body/checkpoint/attn/dot_general")
      %bias = stablehlo.broadcast_in_dim %part, dims = [1, 2] : (tensor<1x8xf32>) -> tensor<4x3x8xf32>
      %sum = stablehlo.add %dot, %bias : tensor<4x3x8xf32>
      stablehlo.return %next, %sum, %ws, %bs : tensor<i64>, tensor<4x3x8xf32>, tensor<2x8x8xf32>, tensor<2x8xf32>
    }
    // CHECK: pp.gather %{{.*}}[%[[LABELS]]] batch 2
    %chosen = call @pick(%loop#1, %labels) : (tensor<4x3x8xf32>, tensor<4x3xi32>) -> tensor<4x3xf32>
    // CHECK-NEXT: %[[LOSS:.*]] = pp.reduce sum %{{.*}} dims [0, 1]
    // CHECK-NEXT: return %[[LOSS]], %[[LOSS]]
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %loss = stablehlo.reduce(%chosen init: %init) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<f32>
    return %loss, %loss : tensor<f32>, tensor<f32>
  }
  // The index wrap of JAX, and NaN outside.
  func.func private @take(%table: tensor<16x8xf32>, %i: tensor<4x3xi32>) -> tensor<4x3x8xf32> {
    %zero = stablehlo.constant dense<0> : tensor<4x3xi32>
    %less = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
    %size = stablehlo.constant dense<16> : tensor<4x3xi32>
    %wrapped = stablehlo.add %i, %size : tensor<4x3xi32>
    %index = stablehlo.select %less, %wrapped, %i : tensor<4x3xi1>, tensor<4x3xi32>
    %indices = stablehlo.reshape %index : (tensor<4x3xi32>) -> tensor<4x3x1xi32>
    %last = stablehlo.constant dense<15> : tensor<4x3x1xi32>
    %inside = stablehlo.compare LE, %indices, %last, SIGNED : (tensor<4x3x1xi32>, tensor<4x3x1xi32>) -> tensor<4x3x1xi1>
    %rows = "stablehlo.gather"(%table, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<4x3x1xi32>) -> tensor<4x3x8xf32>
    %mask = stablehlo.broadcast_in_dim %inside, dims = [0, 1, 2] : (tensor<4x3x1xi1>) -> tensor<4x3x8xi1>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<4x3x8xf32>
    %result = stablehlo.select %mask, %rows, %nan : tensor<4x3x8xi1>, tensor<4x3x8xf32>
    return %result : tensor<4x3x8xf32>
  }
  func.func private @pick(%x: tensor<4x3x8xf32>, %i: tensor<4x3xi32>) -> tensor<4x3xf32> {
    %indices = stablehlo.reshape %i : (tensor<4x3xi32>) -> tensor<4x3x1x1xi32>
    %picked = "stablehlo.gather"(%x, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x3x8xf32>, tensor<4x3x1x1xi32>) -> tensor<4x3x1xf32>
    %result = stablehlo.reshape %picked : (tensor<4x3x1xf32>) -> tensor<4x3xf32>
    return %result : tensor<4x3xf32>
  }
}
