// Attention whose 16 heads share 4 keys and values, and a layer of 20, which 8
// devices do not divide.
module {
  func.func @main(
      %x: tensor<4x8x24xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
      %q: tensor<24x16x5xf64> {pp.name = "q", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %k: tensor<24x4x5xf64> {pp.name = "k", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %v: tensor<24x4x5xf64> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %o: tensor<16x5x24xf64> {pp.name = "o", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %up: tensor<24x20xf64> {pp.name = "up", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %down: tensor<20x24xf64> {pp.name = "down", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %queries = pp.dot_general %x, %q batch [] x [] contract [2] x [0] : tensor<4x8x24xf64>, tensor<24x16x5xf64> -> tensor<4x8x16x5xf64>
    %keys = pp.dot_general %x, %k batch [] x [] contract [2] x [0] : tensor<4x8x24xf64>, tensor<24x4x5xf64> -> tensor<4x8x4x5xf64>
    %values = pp.dot_general %x, %v batch [] x [] contract [2] x [0] : tensor<4x8x24xf64>, tensor<24x4x5xf64> -> tensor<4x8x4x5xf64>
    %groups = pp.reshape %queries : tensor<4x8x16x5xf64> -> tensor<4x8x4x4x5xf64>
    %scores = pp.dot_general %groups, %keys batch [0, 2] x [0, 2] contract [4] x [3] : tensor<4x8x4x4x5xf64>, tensor<4x8x4x5xf64> -> tensor<4x4x8x4x8xf64>
    %most = pp.reduce max %scores dims [4] : tensor<4x4x8x4x8xf64> -> tensor<4x4x8x4xf64>
    %ofAll = pp.broadcast %most dims [0, 1, 2, 3] : tensor<4x4x8x4xf64> -> tensor<4x4x8x4x8xf64>
    %less = pp.sub %scores, %ofAll : tensor<4x4x8x4x8xf64>
    %powers = pp.exp %less : tensor<4x4x8x4x8xf64>
    %sum = pp.reduce sum %powers dims [4] : tensor<4x4x8x4x8xf64> -> tensor<4x4x8x4xf64>
    %sums = pp.broadcast %sum dims [0, 1, 2, 3] : tensor<4x4x8x4xf64> -> tensor<4x4x8x4x8xf64>
    %weights = pp.div %powers, %sums : tensor<4x4x8x4x8xf64>
    %mixed = pp.dot_general %weights, %values batch [0, 1] x [0, 2] contract [4] x [1] : tensor<4x4x8x4x8xf64>, tensor<4x8x4x5xf64> -> tensor<4x4x8x4x5xf64>
    %turned = pp.transpose %mixed perm [0, 2, 1, 3, 4] : tensor<4x4x8x4x5xf64> -> tensor<4x8x4x4x5xf64>
    %heads = pp.reshape %turned : tensor<4x8x4x4x5xf64> -> tensor<4x8x16x5xf64>
    %attended = pp.dot_general %heads, %o batch [] x [] contract [2, 3] x [0, 1] : tensor<4x8x16x5xf64>, tensor<16x5x24xf64> -> tensor<4x8x24xf64>
    %y = pp.add %x, %attended : tensor<4x8x24xf64>
    %wide = pp.dot_general %y, %up batch [] x [] contract [2] x [0] : tensor<4x8x24xf64>, tensor<24x20xf64> -> tensor<4x8x20xf64>
    %bent = pp.tanh %wide : tensor<4x8x20xf64>
    %z = pp.dot_general %bent, %down batch [] x [] contract [2] x [0] : tensor<4x8x20xf64>, tensor<20x24xf64> -> tensor<4x8x24xf64>
    %squares = pp.mul %z, %z : tensor<4x8x24xf64>
    %loss = pp.reduce sum %squares dims [0, 1, 2] : tensor<4x8x24xf64> -> tensor<f64>
    return %loss : tensor<f64>
  }
}
