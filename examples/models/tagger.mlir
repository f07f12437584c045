// A tagger: a class for each token of a sequence, by a gated layer on its
// embedding. The example of docs/YourModel.md.
// SPDX-License-Identifier: Apache-2.0
module {
  func.func @main(
      %tokens: tensor<8x16xi32> {pp.name = "tokens", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence"], pp.bound = 64},
      %labels: tensor<8x16xi32> {pp.name = "labels", pp.role = #pp.role<label>, pp.dims = ["batch", "sequence"], pp.bound = 8},
      %table: tensor<64x32xf32> {pp.name = "embed.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
      %up: tensor<32x2x48xf32> {pp.name = "ff.up.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>, pp.stored_shape = array<i64: 32, 96>},
      %down: tensor<48x32xf32> {pp.name = "ff.down.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %head: tensor<32x8xf32> {pp.name = "head.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %x = pp.gather %table[%tokens] batch 0 : tensor<64x32xf32>, tensor<8x16xi32> -> tensor<8x16x32xf32> loc("embed")

    // x + (silu(x gate) * (x value)) down, where gate and value are the two parts of `up`.
    %both = pp.dot_general %x, %up batch [] x [] contract [2] x [0] : tensor<8x16x32xf32>, tensor<32x2x48xf32> -> tensor<8x16x2x48xf32> loc("ff.up")
    %g = pp.slice %both [0, 0, 0, 0], [8, 16, 1, 48], [1, 1, 1, 1] : tensor<8x16x2x48xf32> -> tensor<8x16x1x48xf32> loc("ff.up")
    %gate = pp.reshape %g : tensor<8x16x1x48xf32> -> tensor<8x16x48xf32> loc("ff.up")
    %v = pp.slice %both [0, 0, 1, 0], [8, 16, 2, 48], [1, 1, 1, 1] : tensor<8x16x2x48xf32> -> tensor<8x16x1x48xf32> loc("ff.up")
    %value = pp.reshape %v : tensor<8x16x1x48xf32> -> tensor<8x16x48xf32> loc("ff.up")
    %open = pp.logistic %gate : tensor<8x16x48xf32> loc("ff.act")
    %silu = pp.mul %gate, %open : tensor<8x16x48xf32> loc("ff.act")
    %inner = pp.mul %silu, %value : tensor<8x16x48xf32> loc("ff.act")
    %outer = pp.dot_general %inner, %down batch [] x [] contract [2] x [0] : tensor<8x16x48xf32>, tensor<48x32xf32> -> tensor<8x16x32xf32> loc("ff.down")
    %y = pp.add %x, %outer : tensor<8x16x32xf32> loc("ff")

    // The mean cross entropy of all tokens.
    %plain = pp.dot_general %y, %head batch [] x [] contract [2] x [0] : tensor<8x16x32xf32>, tensor<32x8xf32> -> tensor<8x16x8xf32> loc("head")
    %logits = pp.name %plain "logits" : tensor<8x16x8xf32> loc("head")
    %max = pp.reduce max %logits dims [2] : tensor<8x16x8xf32> -> tensor<8x16xf32> loc("loss")
    %top = pp.stop_gradient %max : tensor<8x16xf32> loc("loss")
    %tops = pp.broadcast %top dims [0, 1] : tensor<8x16xf32> -> tensor<8x16x8xf32> loc("loss")
    %shifted = pp.sub %logits, %tops : tensor<8x16x8xf32> loc("loss")
    %e = pp.exp %shifted : tensor<8x16x8xf32> loc("loss")
    %z = pp.reduce sum %e dims [2] : tensor<8x16x8xf32> -> tensor<8x16xf32> loc("loss")
    %logz = pp.log %z : tensor<8x16xf32> loc("loss")
    %picked = pp.gather %shifted[%labels] batch 2 : tensor<8x16x8xf32>, tensor<8x16xi32> -> tensor<8x16xf32> loc("loss")
    %each = pp.sub %logz, %picked : tensor<8x16xf32> loc("loss")
    %total = pp.reduce sum %each dims [0, 1] : tensor<8x16xf32> -> tensor<f32> loc("loss")
    %share = pp.constant dense<0.0078125> : tensor<f32> loc("loss")
    %loss = pp.mul %total, %share : tensor<f32> loc("loss")
    return %loss : tensor<f32>
  }
}
