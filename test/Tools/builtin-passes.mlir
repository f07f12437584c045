// Passes of MLIR are there too, and work on our ops: a model written in
// functions becomes one, which the pipeline takes.

// RUN: pp-opt %s --inline --symbol-dce --sccp --loop-invariant-code-motion --strip-debuginfo -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// CHECK-NOT: @scaled
// CHECK: func.func @main
// CHECK: pp.mul
// CHECK-NOT: call
// CHECK: pp.reduce
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2" --print-op-stats -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATS
// STATS: pp.program , 1

// What programs speak of is not dead.
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2" --symbol-dce -o %t.programs.mlir
// RUN: pp-run %t.programs.mlir --quiet

// RUN: pp-opt --version | FileCheck %s --check-prefix=VERSION
// RUN: pp-model --version | FileCheck %s --check-prefix=VERSION
// RUN: pp-run --version | FileCheck %s --check-prefix=VERSION
// VERSION: {{^}}pp {{[0-9]+\.[0-9]+\.[0-9]+}} (LLVM 22.{{[0-9.]+}}){{$}}

func.func private @scaled(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %y = pp.mul %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func @main(%x: tensor<4xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %y = func.call @scaled(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %l = pp.reduce sum %y dims [0] : tensor<4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
