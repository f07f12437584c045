// What --verify also keeps, gradients, which have their parameters' names, pads
// nothing but itself: the update's layout, over dp, is the update's alone.
// RUN: pp-run %s --parallelize="plan=%S/pad-stored-gradients.plan" --steps=2 --verify --quiet
// RUN: sed 's/zero = 1/zero = 2/' %S/pad-stored-gradients.plan > %t.plan
// RUN: pp-run %s --parallelize="plan=%t.plan" --steps=2 --verify --quiet

func.func @main(%x: tensor<6x4xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<4x6xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>},
                %c: tensor<3xf64> {pp.name = "c", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.5>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %h = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<6x4xf64>, tensor<4x6xf64> -> tensor<6x6xf64>
  %r = pp.reshape %h : tensor<6x6xf64> -> tensor<6x2x3xf64>
  %cb = pp.broadcast %c dims [2] : tensor<3xf64> -> tensor<6x2x3xf64>
  %s = pp.mul %r, %cb : tensor<6x2x3xf64>
  %q = pp.tanh %s : tensor<6x2x3xf64>
  %loss = pp.reduce sum %q dims [0, 1, 2] : tensor<6x2x3xf64> -> tensor<f64>
  return %loss : tensor<f64>
}
