// What is made of a parameter is simplified away, its gradient is not: that is
// computed on the stage that uses the parameter, wherever the cuts would have put
// the op (random plan 3105).
// RUN: pp-run %s --parallelize="pp=3" --verify --quiet
func.func @main(
    %x: tensor<12x4x4xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "", ""]},
    %w: tensor<4xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.sin %w : tensor<4xf64>
  %1 = pp.reduce prod %0 dims [] : tensor<4xf64> -> tensor<4xf64>
  %2 = pp.logistic %x : tensor<12x4x4xf64>
  %3 = pp.dot_general %2, %1 batch [] x [] contract [1] x [0] : tensor<12x4x4xf64>, tensor<4xf64> -> tensor<12x4xf64>
  %4 = pp.sin %3 : tensor<12x4xf64>
  %5 = pp.reduce sum %4 dims [0, 1] : tensor<12x4xf64> -> tensor<f64>
  return %5 : tensor<f64>
}
