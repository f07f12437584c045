// Two groups of 3 heads of 8, in weights of two dimensions, over 6 devices: each has
// a head. 12 devices have more than divide them, and what remains is padded at the
// end of the weights.
// RUN: pp-run %s --parallelize="tp=6" --steps=1 --verify --quiet
// RUN: pp-run %s --parallelize="tp=12 microbatches=2" --steps=1 --verify --quiet
// RUN: pp-run %s --parallelize="tp=3 dp=2 zero=3" --steps=1 --verify --quiet
module {
  func.func @main(
      %a0: tensor<8x12x48xf32> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
      %a1: tensor<48x48xf32> {pp.name = "a.wq", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
      %a2: tensor<48x16xf32> {pp.name = "a.wk", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
      %a3: tensor<48x16xf32> {pp.name = "a.wv", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>},
      %a4: tensor<48x48xf32> {pp.name = "a.wo", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.3>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %v0 = pp.dot_general %a0, %a1 batch [] x [] contract [2] x [0] : tensor<8x12x48xf32>, tensor<48x48xf32> -> tensor<8x12x48xf32>
    %v1 = pp.reshape %v0 : tensor<8x12x48xf32> -> tensor<8x12x2x3x8xf32>
    %v2 = pp.dot_general %a0, %a2 batch [] x [] contract [2] x [0] : tensor<8x12x48xf32>, tensor<48x16xf32> -> tensor<8x12x16xf32>
    %v3 = pp.reshape %v2 : tensor<8x12x16xf32> -> tensor<8x12x2x8xf32>
    %v4 = pp.dot_general %a0, %a3 batch [] x [] contract [2] x [0] : tensor<8x12x48xf32>, tensor<48x16xf32> -> tensor<8x12x16xf32>
    %v5 = pp.reshape %v4 : tensor<8x12x16xf32> -> tensor<8x12x2x8xf32>
    %v6 = pp.dot_general %v1, %v3 batch [0, 2] x [0, 2] contract [4] x [3] : tensor<8x12x2x3x8xf32>, tensor<8x12x2x8xf32> -> tensor<8x2x12x3x12xf32>
    %v7 = pp.constant dense<0.3535533905932738> : tensor<f32>
    %v8 = pp.broadcast %v7 dims [] : tensor<f32> -> tensor<8x2x12x3x12xf32>
    %v9 = pp.mul %v6, %v8 : tensor<8x2x12x3x12xf32>
    %v10 = pp.reduce max %v9 dims [4] : tensor<8x2x12x3x12xf32> -> tensor<8x2x12x3xf32>
    %v11 = pp.stop_gradient %v10 : tensor<8x2x12x3xf32>
    %v12 = pp.broadcast %v11 dims [0, 1, 2, 3] : tensor<8x2x12x3xf32> -> tensor<8x2x12x3x12xf32>
    %v13 = pp.sub %v9, %v12 : tensor<8x2x12x3x12xf32>
    %v14 = pp.exp %v13 : tensor<8x2x12x3x12xf32>
    %v15 = pp.reduce sum %v14 dims [4] : tensor<8x2x12x3x12xf32> -> tensor<8x2x12x3xf32>
    %v16 = pp.broadcast %v15 dims [0, 1, 2, 3] : tensor<8x2x12x3xf32> -> tensor<8x2x12x3x12xf32>
    %v17 = pp.div %v14, %v16 : tensor<8x2x12x3x12xf32>
    %v18 = pp.dot_general %v17, %v5 batch [0, 1] x [0, 2] contract [4] x [1] : tensor<8x2x12x3x12xf32>, tensor<8x12x2x8xf32> -> tensor<8x2x12x3x8xf32>
    %v19 = pp.transpose %v18 perm [0, 2, 1, 3, 4] : tensor<8x2x12x3x8xf32> -> tensor<8x12x2x3x8xf32>
    %v20 = pp.reshape %v19 : tensor<8x12x2x3x8xf32> -> tensor<8x12x48xf32>
    %v21 = pp.dot_general %v20, %a4 batch [] x [] contract [2] x [0] : tensor<8x12x48xf32>, tensor<48x48xf32> -> tensor<8x12x48xf32>
    %v22 = pp.mul %v21, %v21 : tensor<8x12x48xf32>
    %v23 = pp.reduce sum %v22 dims [0, 1, 2] : tensor<8x12x48xf32> -> tensor<f32>
    %v24 = pp.constant dense<1.0e-05> : tensor<f32>
    %v25 = pp.mul %v23, %v24 : tensor<f32>
    return %v25 : tensor<f32>
  }
}
