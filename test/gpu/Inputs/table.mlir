// A table of words under a norm, and a softmax: no products of matrices. A
// device that computes loops alone trains it.
module {
  func.func @main(%words: tensor<6x5xi32> {pp.name = "words", pp.role = #pp.role<input>, pp.bound = 12 : i64},
                  %labels: tensor<6x5xi32> {pp.name = "labels", pp.role = #pp.role<label>, pp.bound = 7 : i64},
                  %table: tensor<12x7xf64> {pp.name = "table", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                  %scale: tensor<7xf64> {pp.name = "scale", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 1.0, 0.1>})
      -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
    %x = pp.gather %table[%words] batch 0 : tensor<12x7xf64>, tensor<6x5xi32> -> tensor<6x5x7xf64>

    // Divided by the root of the mean square.
    %squares = pp.mul %x, %x : tensor<6x5x7xf64>
    %sum = pp.reduce sum %squares dims [2] : tensor<6x5x7xf64> -> tensor<6x5xf64>
    %part = pp.constant dense<0.14285714285714285> : tensor<6x5xf64>
    %small = pp.constant dense<1.0e-5> : tensor<6x5xf64>
    %mean = pp.mul %sum, %part : tensor<6x5xf64>
    %above = pp.add %mean, %small : tensor<6x5xf64>
    %inverse = pp.rsqrt %above : tensor<6x5xf64>
    %spread = pp.broadcast %inverse dims [0, 1] : tensor<6x5xf64> -> tensor<6x5x7xf64>
    %normal = pp.mul %x, %spread : tensor<6x5x7xf64>
    %scales = pp.broadcast %scale dims [2] : tensor<7xf64> -> tensor<6x5x7xf64>
    %logits = pp.mul %normal, %scales : tensor<6x5x7xf64>

    %most = pp.reduce max %logits dims [2] : tensor<6x5x7xf64> -> tensor<6x5xf64>
    %fixed = pp.stop_gradient %most : tensor<6x5xf64>
    %fixedAll = pp.broadcast %fixed dims [0, 1] : tensor<6x5xf64> -> tensor<6x5x7xf64>
    %shifted = pp.sub %logits, %fixedAll : tensor<6x5x7xf64>
    %powers = pp.exp %shifted : tensor<6x5x7xf64>
    %total = pp.reduce sum %powers dims [2] : tensor<6x5x7xf64> -> tensor<6x5xf64>
    %log = pp.log %total : tensor<6x5xf64>
    %right = pp.gather %shifted[%labels] batch 2 : tensor<6x5x7xf64>, tensor<6x5xi32> -> tensor<6x5xf64>
    %losses = pp.sub %log, %right : tensor<6x5xf64>
    %all = pp.reduce sum %losses dims [0, 1] : tensor<6x5xf64> -> tensor<f64>
    %share = pp.constant dense<0.03333333333333333> : tensor<f64>
    %loss = pp.mul %all, %share : tensor<f64>
    return %loss : tensor<f64>
  }
}
