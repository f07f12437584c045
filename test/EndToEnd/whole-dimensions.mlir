// Rows of a kernel may not divide a dimension along which an element of the
// result is made of others than its own: what is summed up to it, or moved.
// RUN: pp-run %s --parallelize="optimizer=sgd" --steps=2 --verify --quiet
// RUN: sed -e 's/pp.cumsum %0 dim 0 :/pp.cumsum %0 dim 0 reverse :/' %s > %t.mlir
// RUN: pp-run %t.mlir --parallelize="optimizer=sgd" --steps=2 --verify --quiet
func.func @main(%x: tensor<64x128xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<64x128xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.mul %x, %w : tensor<64x128xf32>
  %1 = pp.cumsum %0 dim 0 : tensor<64x128xf32>
  %2 = pp.tanh %1 : tensor<64x128xf32>
  %3 = pp.reduce sum %2 dims [1] : tensor<64x128xf32> -> tensor<64xf32>
  %4 = pp.reduce sum %3 dims [0] : tensor<64xf32> -> tensor<f32>
  return %4 : tensor<f32>
}
