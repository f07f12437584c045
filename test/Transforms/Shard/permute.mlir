// Members that exchange whole values name the order of axes that they have and
// the one they get: program and artifact are no larger for 65,536 devices than
// for 8, but for the list of who runs it.
// RUN: pp-run %s --parallelize="plan=%S/permute-8.plan" --steps=2 --verify --quiet
// RUN: pp-opt %s --pp-parallelize="plan=%S/permute-8.plan stop-after=spmd" -o %t.8.mlir
// RUN: pp-opt %s --pp-parallelize="plan=%S/permute-65536.plan stop-after=spmd" -o %t.65536.mlir
// RUN: FileCheck %s --input-file=%t.8.mlir
// RUN: FileCheck %s --input-file=%t.65536.mlir
// CHECK: pp.permute %{{.*}} over @mesh ["a", "b"] to ["b", "a"] {
// RUN: grep -oE "[^0-9]+" %t.8.mlir > %t.8.words
// RUN: grep -oE "[^0-9]+" %t.65536.mlir > %t.65536.words
// RUN: cmp %t.8.words %t.65536.words
// RUN: pp-opt %t.8.mlir --pp-parallelize= --emit=ppx -o %t.8.ppx
// RUN: pp-opt %t.65536.mlir --pp-parallelize= --emit=ppx -o %t.65536.ppx
// RUN: python3 -c "import os; assert os.path.getsize('%t.65536.ppx') <= os.path.getsize('%t.8.ppx') + 4 * (65536 - 8)"

func.func @main(%x: tensor<131072x4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<131072x4xf32>, tensor<4x4xf32> -> tensor<131072x4xf32>
  %1 = pp.name %0 "turned" : tensor<131072x4xf32>
  %2 = pp.sin %1 : tensor<131072x4xf32>
  %loss = pp.reduce sum %2 dims [0, 1] : tensor<131072x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
