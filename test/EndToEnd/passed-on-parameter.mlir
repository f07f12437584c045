// A state takes the value of a parameter, which lies otherwise: that change of
// layout may begin with what the update has made of the parameter (random plan
// 3235).
// RUN: pp-run %s --verify --quiet
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>, zero = 3, bucket = 0, seeds = [#pp.seed<"x", [{"dp"}, {}], 0>, #pp.seed<"w", [{"tp"}, {}], 1>, #pp.seed<"s", [{?}, {"tp", ?}], 0>], optimizer = #pp.optimizer<adamw, lr = 1.0e-01>>} {
func.func @main(
    %x: tensor<8x4xf64> {pp.name = "x", pp.role = #pp.role<input>, pp.dims = ["batch", ""]},
    %w: tensor<4x4xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
    %s: tensor<4x4xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>}, tensor<4x4xf64> {pp.name = "s", pp.role = #pp.role<state>}) {
  %0 = pp.compare gt %s, %w : tensor<4x4xf64> -> tensor<4x4xi1>
  %1 = pp.select %0, %s, %w : tensor<4x4xi1>, tensor<4x4xf64>
  %2 = pp.sin %x : tensor<8x4xf64>
  %3 = pp.reduce sum %2 dims [0, 1] : tensor<8x4xf64> -> tensor<f64>
  %4 = pp.reduce sum %1 dims [0, 1] : tensor<4x4xf64> -> tensor<f64>
  %5 = pp.add %3, %4 : tensor<f64>
  return %5, %w : tensor<f64>, tensor<4x4xf64>
}
}
