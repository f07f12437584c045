// Three stages, of which the first and the last exchange values past the second
// in both directions: the last reads what the first computes, whose backward
// pass reads what the last computes forward. Every schedule runs to its end and
// computes what one device does.
// RUN: pp-run %s --parallelize="pp=3 optimizer=momentum schedule=gpipe microbatches=2" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="pp=3 optimizer=momentum schedule=gpipe microbatches=3" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="pp=3 optimizer=momentum schedule=1f1b microbatches=3" --steps=2 --verify --quiet
func.func @main(%x: tensor<6x4xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x4xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
                %b: tensor<4xf64> {pp.name = "b", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %bias = pp.broadcast %b dims [1] : tensor<4xf64> -> tensor<6x4xf64>
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<6x4xf64>, tensor<4x4xf64> -> tensor<6x4xf64>
  %1 = pp.tanh %0 : tensor<6x4xf64>
  %2 = pp.dot_general %1, %w batch [] x [] contract [1] x [0] : tensor<6x4xf64>, tensor<4x4xf64> -> tensor<6x4xf64>
  %3 = pp.add %2, %bias : tensor<6x4xf64>
  %4 = pp.sin %3 : tensor<6x4xf64>
  %5 = pp.dot_general %4, %w batch [] x [] contract [1] x [0] : tensor<6x4xf64>, tensor<4x4xf64> -> tensor<6x4xf64>
  %6 = pp.add %5, %1 : tensor<6x4xf64>
  %7 = pp.mul %6, %bias : tensor<6x4xf64>
  %8 = pp.add %7, %x : tensor<6x4xf64>
  %loss = pp.reduce sum %8 dims [0, 1] : tensor<6x4xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
