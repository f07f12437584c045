// A parameter is gathered in both dimensions before the micro-batches, and made
// the new value of a state that another stage passes on: the sum over stages that
// brings it there is of what both gathers have made, for the update comes after
// them (random plan 200859).
// RUN: pp-run %s --parallelize="dp=2 tp=2 pp=2 ep=2 zero=3 zero.gather=step sequence=true" --verify --quiet
func.func @main(%x: tensor<14x4x2xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", "sequence", ""]},
                %w: tensor<4x2xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %e: tensor<2x4x2xf64> {pp.name = "e", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>, pp.dims = ["expert", "", ""]},
                %s: tensor<4x2xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %t: tensor<4x2xf64> {pp.name = "t", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<4x2xf64> {pp.name = "s", pp.role = #pp.role<state>},
        tensor<4x2xf64> {pp.name = "t", pp.role = #pp.role<state>}) {
  %0 = pp.sin %x : tensor<14x4x2xf64>
  %1 = pp.mul %0, %0 : tensor<14x4x2xf64>
  %2 = pp.dot_general %1, %w batch [] x [] contract [1] x [0] : tensor<14x4x2xf64>, tensor<4x2xf64> -> tensor<14x2x2xf64>
  %new = pp.add %w, %t : tensor<4x2xf64>
  %4 = pp.reduce sum %s dims [0, 1] : tensor<4x2xf64> -> tensor<f64>
  %5 = pp.reduce sum %2 dims [0, 1, 2] : tensor<14x2x2xf64> -> tensor<f64>
  %loss = pp.add %4, %5 : tensor<f64>
  return %loss, %t, %new : tensor<f64>, tensor<4x2xf64>, tensor<4x2xf64>
}
