// Attention whose 16 heads are two dimensions of its parameters, 4 groups of 4, and
// share 4 keys and values.
module {
  func.func @main(
      %x: tensor<2x8x24xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
      %wq: tensor<24x4x4x5xf64> {pp.name = "wq", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %wk: tensor<24x4x5xf64> {pp.name = "wk", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %wv: tensor<24x4x5xf64> {pp.name = "wv", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %wo: tensor<4x4x5x24xf64> {pp.name = "wo", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %v1 = pp.dot_general %x, %wq batch [] x [] contract [2] x [0] : tensor<2x8x24xf64>, tensor<24x4x4x5xf64> -> tensor<2x8x4x4x5xf64>
    %v2 = pp.dot_general %x, %wk batch [] x [] contract [2] x [0] : tensor<2x8x24xf64>, tensor<24x4x5xf64> -> tensor<2x8x4x5xf64>
    %v3 = pp.dot_general %x, %wv batch [] x [] contract [2] x [0] : tensor<2x8x24xf64>, tensor<24x4x5xf64> -> tensor<2x8x4x5xf64>
    %v4 = pp.dot_general %v1, %v2 batch [0, 2] x [0, 2] contract [4] x [3] : tensor<2x8x4x4x5xf64>, tensor<2x8x4x5xf64> -> tensor<2x4x8x4x8xf64>
    %v5 = pp.reduce max %v4 dims [4] : tensor<2x4x8x4x8xf64> -> tensor<2x4x8x4xf64>
    %v6 = pp.stop_gradient %v5 : tensor<2x4x8x4xf64>
    %v7 = pp.broadcast %v6 dims [0, 1, 2, 3] : tensor<2x4x8x4xf64> -> tensor<2x4x8x4x8xf64>
    %v8 = pp.sub %v4, %v7 : tensor<2x4x8x4x8xf64>
    %v9 = pp.exp %v8 : tensor<2x4x8x4x8xf64>
    %v10 = pp.reduce sum %v9 dims [4] : tensor<2x4x8x4x8xf64> -> tensor<2x4x8x4xf64>
    %v11 = pp.broadcast %v10 dims [0, 1, 2, 3] : tensor<2x4x8x4xf64> -> tensor<2x4x8x4x8xf64>
    %v12 = pp.div %v9, %v11 : tensor<2x4x8x4x8xf64>
    %v13 = pp.dot_general %v12, %v3 batch [0, 1] x [0, 2] contract [4] x [1] : tensor<2x4x8x4x8xf64>, tensor<2x8x4x5xf64> -> tensor<2x4x8x4x5xf64>
    %v14 = pp.transpose %v13 perm [0, 2, 1, 3, 4] : tensor<2x4x8x4x5xf64> -> tensor<2x8x4x4x5xf64>
    %v15 = pp.dot_general %v14, %wo batch [] x [] contract [2, 3, 4] x [0, 1, 2] : tensor<2x8x4x4x5xf64>, tensor<4x4x5x24xf64> -> tensor<2x8x24xf64>
    %v16 = pp.add %x, %v15 : tensor<2x8x24xf64>
    %v17 = pp.mul %v16, %v16 : tensor<2x8x24xf64>
    %v18 = pp.reduce sum %v17 dims [0, 1, 2] : tensor<2x8x24xf64> -> tensor<f64>
    %v19 = pp.constant dense<0.002604166667> : tensor<f64>
    %v20 = pp.mul %v18, %v19 : tensor<f64>
    return %v20 : tensor<f64>
  }
}
