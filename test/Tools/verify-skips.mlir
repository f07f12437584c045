// A step whose gradients overflow f16 at the first scale of the loss is skipped,
// by the program as by the one it is compared with: those behind it are compared.
// RUN: pp-run %s --parallelize="dp=2 precision=f16" --steps=12 --verify | FileCheck %s
// CHECK: verify: 3 steps against the reference interpreter in f64; {{[1-9]}} more overflowed and were skipped by both
// All of the steps that were asked for.
// RUN: not pp-run %s --parallelize="dp=2 precision=f16" --steps=2 --verify 2>&1 | FileCheck %s --check-prefix=ALL
// ALL: error: step 2: --verify expects finite values, got others in the gradient of 'w', as in the unpartitioned program
func.func @main(%x: tensor<8x16xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<16x4xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x4xf32> -> tensor<8x4xf32>
  %1 = pp.tanh %0 : tensor<8x4xf32>
  %2 = pp.reduce sum %1 dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  %3 = pp.constant dense<10.0> : tensor<f32>
  %loss = pp.mul %2, %3 : tensor<f32>
  return %loss : tensor<f32>
}
