// A window with one position and one tap, which lies in the padding: its sum
// is 0, whatever stands in memory before lhs.
// RUN: pp-run %s --parallelize="optimizer=sgd lr=0.1" --steps=3 --verify --quiet

module {
  func.func @main(
      %x: tensor<14x12x1xf64> {pp.name = "x", pp.role = #pp.role<input>},
      %w: tensor<14x1xf64> {pp.init = #pp.init<zeros>, pp.name = "w", pp.role = #pp.role<param>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %0 = pp.convolution %x, %x batch [0] x [0] contract [1] x [1] window [2] x [2] -> [1] strides [2] low [2] high [-1] dilation [1] x [1] reverse : tensor<14x12x1xf64>, tensor<14x12x1xf64> -> tensor<14x1xf64>
    %1 = pp.add %0, %w : tensor<14x1xf64>
    %2 = pp.sin %1 : tensor<14x1xf64>
    %3 = pp.reduce sum %2 dims [0, 1] : tensor<14x1xf64> -> tensor<f64>
    return %3 : tensor<f64>
  }
}
