// Kernels whose rows keep more than the stack holds ask for a workspace.
// RUN: pp-opt %s --pp-form-kernels --pp-reserve-scratch --split-input-file | FileCheck %s

// The differences are read by two reductions; a row of them lies in a part of
// the workspace, beside three sums. Each of two threads has a part.
// CHECK: func.func private @fused_0(%{{.*}}: tensor<4x200000xf32>)
// CHECK-SAME: pp.workspace = 1600384 : i64
module attributes {pp.plan = #pp.plan<mesh = <[]>, threads = 2>} {
  func.func @main(%x: tensor<4x200000xf32>) -> tensor<4xf32> {
    %m = pp.reduce max %x dims [1] : tensor<4x200000xf32> -> tensor<4xf32>
    %b = pp.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x200000xf32>
    %s = pp.sub %x, %b : tensor<4x200000xf32>
    %e = pp.exp %s : tensor<4x200000xf32>
    %d = pp.reduce sum %e dims [1] : tensor<4x200000xf32> -> tensor<4xf32>
    %t = pp.reduce sum %s dims [1] : tensor<4x200000xf32> -> tensor<4xf32>
    %y = pp.add %d, %t : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// The same with fewer columns stays on the stack.
// CHECK: func.func private @fused_0(%{{.*}}: tensor<4x100000xf32>)
// CHECK-NOT: pp.workspace
func.func @main(%x: tensor<4x100000xf32>) -> tensor<4xf32> {
  %m = pp.reduce max %x dims [1] : tensor<4x100000xf32> -> tensor<4xf32>
  %b = pp.broadcast %m dims [0] : tensor<4xf32> -> tensor<4x100000xf32>
  %s = pp.sub %x, %b : tensor<4x100000xf32>
  %e = pp.exp %s : tensor<4x100000xf32>
  %d = pp.reduce sum %e dims [1] : tensor<4x100000xf32> -> tensor<4xf32>
  %t = pp.reduce sum %s dims [1] : tensor<4x100000xf32> -> tensor<4xf32>
  %y = pp.add %d, %t : tensor<4xf32>
  return %y : tensor<4xf32>
}
