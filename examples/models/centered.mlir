// A classifier that subtracts a running mean from its features: an example of a
// state, which the forward pass reads and updates, and of a metric.
// SPDX-License-Identifier: Apache-2.0
module {
  func.func @main(
      %x: tensor<32x16xf32> {pp.name = "x", pp.role = #pp.role<input>},
      %labels: tensor<32xi32> {pp.name = "labels", pp.role = #pp.role<label>, pp.bound = 4},
      %w1: tensor<16x24xf32> {pp.name = "hidden.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.25>},
      %w2: tensor<24x4xf32> {pp.name = "head.weight", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.2>},
      %mean: tensor<16xf32> {pp.name = "mean", pp.role = #pp.role<state>, pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>},
          tensor<16xf32> {pp.name = "mean", pp.role = #pp.role<state>},
          tensor<f32> {pp.name = "accuracy", pp.role = #pp.role<metric>}) {
    // What this step subtracts is the mean that earlier steps left.
    %old = pp.broadcast %mean dims [1] : tensor<16xf32> -> tensor<32x16xf32>
    %centered = pp.sub %x, %old : tensor<32x16xf32>
    %a = pp.dot_general %centered, %w1 batch [] x [] contract [1] x [0] : tensor<32x16xf32>, tensor<16x24xf32> -> tensor<32x24xf32>
    %h = pp.tanh %a : tensor<32x24xf32>
    %logits = pp.dot_general %h, %w2 batch [] x [] contract [1] x [0] : tensor<32x24xf32>, tensor<24x4xf32> -> tensor<32x4xf32>

    // The state's new value: 0.9 of the old one and 0.1 of the batch's mean.
    %sum = pp.reduce sum %x dims [0] : tensor<32x16xf32> -> tensor<16xf32>
    %share = pp.constant dense<0.003125> : tensor<16xf32>
    %keep = pp.constant dense<0.9> : tensor<16xf32>
    %fresh = pp.mul %sum, %share : tensor<16xf32>
    %kept = pp.mul %mean, %keep : tensor<16xf32>
    %next = pp.add %kept, %fresh : tensor<16xf32>

    // The loss: mean cross entropy.
    %max = pp.reduce max %logits dims [1] : tensor<32x4xf32> -> tensor<32xf32>
    %top = pp.stop_gradient %max : tensor<32xf32>
    %tops = pp.broadcast %top dims [0] : tensor<32xf32> -> tensor<32x4xf32>
    %shifted = pp.sub %logits, %tops : tensor<32x4xf32>
    %e = pp.exp %shifted : tensor<32x4xf32>
    %z = pp.reduce sum %e dims [1] : tensor<32x4xf32> -> tensor<32xf32>
    %logz = pp.log %z : tensor<32xf32>
    %picked = pp.gather %shifted[%labels] batch 1 : tensor<32x4xf32>, tensor<32xi32> -> tensor<32xf32>
    %each = pp.sub %logz, %picked : tensor<32xf32>
    %total = pp.reduce sum %each dims [0] : tensor<32xf32> -> tensor<f32>
    %per = pp.constant dense<0.03125> : tensor<f32>
    %loss = pp.mul %total, %per : tensor<f32>

    // The metric: the share of samples whose label has the largest logit.
    %guess = pp.argmax %logits dim 1 : tensor<32x4xf32> -> tensor<32xi32>
    %right = pp.compare eq %guess, %labels : tensor<32xi32> -> tensor<32xi1>
    %one = pp.convert %right : tensor<32xi1> -> tensor<32xf32>
    %hits = pp.reduce sum %one dims [0] : tensor<32xf32> -> tensor<f32>
    %accuracy = pp.mul %hits, %per : tensor<f32>
    return %loss, %next, %accuracy : tensor<f32>, tensor<16xf32>, tensor<f32>
  }
}
