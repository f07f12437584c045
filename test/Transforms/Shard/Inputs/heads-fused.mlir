// The same with one projection for the queries, the key and the value of a group.
module {
  func.func @main(
      %x: tensor<2x8x24xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
      %wqkv: tensor<24x4x6x5xf64> {pp.name = "wqkv", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %wo: tensor<4x4x5x24xf64> {pp.name = "wo", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %v1 = pp.dot_general %x, %wqkv batch [] x [] contract [2] x [0] : tensor<2x8x24xf64>, tensor<24x4x6x5xf64> -> tensor<2x8x4x6x5xf64>
    %v2 = pp.slice %v1 [0, 0, 0, 0, 0], [2, 8, 4, 4, 5], [1, 1, 1, 1, 1] : tensor<2x8x4x6x5xf64> -> tensor<2x8x4x4x5xf64>
    %v3 = pp.slice %v1 [0, 0, 0, 4, 0], [2, 8, 4, 5, 5], [1, 1, 1, 1, 1] : tensor<2x8x4x6x5xf64> -> tensor<2x8x4x1x5xf64>
    %v4 = pp.reshape %v3 : tensor<2x8x4x1x5xf64> -> tensor<2x8x4x5xf64>
    %v5 = pp.slice %v1 [0, 0, 0, 5, 0], [2, 8, 4, 6, 5], [1, 1, 1, 1, 1] : tensor<2x8x4x6x5xf64> -> tensor<2x8x4x1x5xf64>
    %v6 = pp.reshape %v5 : tensor<2x8x4x1x5xf64> -> tensor<2x8x4x5xf64>
    %v7 = pp.dot_general %v2, %v4 batch [0, 2] x [0, 2] contract [4] x [3] : tensor<2x8x4x4x5xf64>, tensor<2x8x4x5xf64> -> tensor<2x4x8x4x8xf64>
    %v8 = pp.reduce max %v7 dims [4] : tensor<2x4x8x4x8xf64> -> tensor<2x4x8x4xf64>
    %v9 = pp.stop_gradient %v8 : tensor<2x4x8x4xf64>
    %v10 = pp.broadcast %v9 dims [0, 1, 2, 3] : tensor<2x4x8x4xf64> -> tensor<2x4x8x4x8xf64>
    %v11 = pp.sub %v7, %v10 : tensor<2x4x8x4x8xf64>
    %v12 = pp.exp %v11 : tensor<2x4x8x4x8xf64>
    %v13 = pp.reduce sum %v12 dims [4] : tensor<2x4x8x4x8xf64> -> tensor<2x4x8x4xf64>
    %v14 = pp.broadcast %v13 dims [0, 1, 2, 3] : tensor<2x4x8x4xf64> -> tensor<2x4x8x4x8xf64>
    %v15 = pp.div %v12, %v14 : tensor<2x4x8x4x8xf64>
    %v16 = pp.dot_general %v15, %v6 batch [0, 1] x [0, 2] contract [4] x [1] : tensor<2x4x8x4x8xf64>, tensor<2x8x4x5xf64> -> tensor<2x4x8x4x5xf64>
    %v17 = pp.transpose %v16 perm [0, 2, 1, 3, 4] : tensor<2x4x8x4x5xf64> -> tensor<2x8x4x4x5xf64>
    %v18 = pp.dot_general %v17, %wo batch [] x [] contract [2, 3, 4] x [0, 1, 2] : tensor<2x8x4x4x5xf64>, tensor<4x4x5x24xf64> -> tensor<2x8x24xf64>
    %v19 = pp.add %x, %v18 : tensor<2x8x24xf64>
    %v20 = pp.mul %v19, %v19 : tensor<2x8x24xf64>
    %v21 = pp.reduce sum %v20 dims [0, 1, 2] : tensor<2x8x24xf64> -> tensor<f64>
    %v22 = pp.constant dense<0.002604166667> : tensor<f64>
    %v23 = pp.mul %v21, %v22 : tensor<f64>
    return %v23 : tensor<f64>
  }
}
