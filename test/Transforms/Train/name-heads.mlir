// Values at both ends of attention get names and dimensions: found by where sequence meets sequence, whatever the order of dimensions.
// RUN: pp-opt %s --split-input-file --pp-name-heads --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// With them sp moves from the sequence to the heads.
// RUN: pp-opt %s --split-input-file --pp-parallelize="sp=2 stop-after=spmd" | FileCheck %s --check-prefix=SP

// SP-LABEL: module @plain
// SP-COUNT-3: pp.all_to_all
// SP-LABEL: module @grouped
// SP-COUNT-3: pp.all_to_all

// Heads before the sequence; values behind it. Softmax between the two products is only followed.
// CHECK-LABEL: module @plain
module @plain {
  func.func @main(%x: tensor<2x8x4x16xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", "", ""]},
                  %w: tensor<4x16x16xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}) -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %q = pp.transpose %x perm [0, 2, 1, 3] : tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    // CHECK: %[[Q:.*]] = pp.name %{{.*}} "h.0.query" dims ["batch", "head", "sequence", ""] : tensor<2x4x8x16xf32>
    // CHECK: %[[K:.*]] = pp.name %{{.*}} "h.0.key" dims ["batch", "sequence", "head", ""] : tensor<2x8x4x16xf32>
    // CHECK: pp.dot_general %[[Q]], %[[K]] batch [0, 1] x [0, 2]
    %s = pp.dot_general %q, %x batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x8xf32> loc("h.0")
    %e = pp.exp %s : tensor<2x4x8x8xf32>
    // CHECK: %[[V:.*]] = pp.name %{{.*}} "h.0.value" dims ["batch", "sequence", "head", ""]
    // CHECK: %[[M:.*]] = pp.dot_general %{{.*}}, %[[V]]
    // CHECK: %[[N:.*]] = pp.name %[[M]] "h.0.mixed" dims ["batch", "head", "sequence", ""]
    // CHECK: pp.dot_general %[[N]], %arg1
    %m = pp.dot_general %e, %x batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    %y = pp.dot_general %m, %w batch [] x [] contract [1, 3] x [0, 1] : tensor<2x4x8x16xf32>, tensor<4x16x16xf32> -> tensor<2x8x16xf32>
    %loss = pp.reduce sum %y dims [0, 1, 2] : tensor<2x8x16xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Groups share a key, which is repeated: heads are both, merged. The second attention of a part gets a number.
// CHECK-LABEL: module @grouped
module @grouped {
  func.func @main(%x: tensor<2x8x4x16xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", "", ""]},
                  %k: tensor<2x8x2x16xf32> {pp.name = "k", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", "", ""]},
                  %w: tensor<16xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}) -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %more = pp.broadcast %k dims [0, 1, 2, 4] : tensor<2x8x2x16xf32> -> tensor<2x8x2x2x16xf32>
    %keys = pp.reshape %more : tensor<2x8x2x2x16xf32> -> tensor<2x8x4x16xf32>
    // CHECK: pp.name %{{.*}} "attention.query" dims ["batch", "sequence", "head", ""]
    // CHECK: pp.name %{{.*}} "attention.mixed" dims ["batch", "head", "sequence", ""]
    %s = pp.dot_general %x, %keys batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x8xf32>
    %m = pp.dot_general %s, %keys batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    // CHECK: pp.name %{{.*}} "attention.query.1" dims ["batch", "head", "sequence", ""]
    %s2 = pp.dot_general %m, %keys batch [0, 1] x [0, 2] contract [3] x [3] : tensor<2x4x8x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x8xf32>
    %m2 = pp.dot_general %s2, %keys batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    %y = pp.dot_general %m2, %w batch [] x [] contract [3] x [0] : tensor<2x4x8x16xf32>, tensor<16xf32> -> tensor<2x4x8xf32>
    %loss = pp.reduce sum %y dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// A single head has no dimension for it; and a product that sums over the sequence of something else is no attention.
// CHECK-LABEL: module @single
// CHECK-NOT: pp.name %
module @single {
  func.func @main(%x: tensor<2x8x16xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
                  %w: tensor<16xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}) -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %s = pp.dot_general %x, %x batch [0] x [0] contract [2] x [2] : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<2x8x8xf32>
    %m = pp.dot_general %s, %x batch [0] x [0] contract [2] x [1] : tensor<2x8x8xf32>, tensor<2x8x16xf32> -> tensor<2x8x16xf32>
    %moments = pp.dot_general %m, %x batch [0] x [0] contract [1] x [1] : tensor<2x8x16xf32>, tensor<2x8x16xf32> -> tensor<2x16x16xf32>
    %y = pp.dot_general %moments, %w batch [] x [] contract [2] x [0] : tensor<2x16x16xf32>, tensor<16xf32> -> tensor<2x16xf32>
    %loss = pp.reduce sum %y dims [0, 1] : tensor<2x16xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// Names of the model's own stay alone.
// CHECK-LABEL: module @named
// CHECK: pp.name %{{.*}} "mine" dims ["", "sequence", "head", ""]
// CHECK-NOT: pp.name %
module @named {
  func.func @main(%x: tensor<2x8x4x16xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", "", ""]},
                  %w: tensor<16xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>}) -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %q = pp.name %x "mine" dims ["", "sequence", "head", ""] : tensor<2x8x4x16xf32>
    %s = pp.dot_general %q, %x batch [0, 2] x [0, 2] contract [3] x [3] : tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x8xf32>
    %m = pp.dot_general %s, %x batch [0, 1] x [0, 2] contract [3] x [1] : tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32> -> tensor<2x4x8x16xf32>
    %y = pp.dot_general %m, %w batch [] x [] contract [3] x [0] : tensor<2x4x8x16xf32>, tensor<16xf32> -> tensor<2x4x8xf32>
    %loss = pp.reduce sum %y dims [0, 1, 2] : tensor<2x4x8xf32> -> tensor<f32>
    return %loss : tensor<f32>
  }
}
