// A module of another compiler, with a plan of seeds alone: over "tp" the first
// product is split by columns and the second by rows, over "dp" the batch.
//   my-opt seeds.mlir --pass-pipeline="builtin.module(pp-annotate-shardings,
//     pp-propagate-shardings,pp-pad-dimensions,pp-partition,pp-optimize-collectives)"
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2, "tp"=2]>,
    seeds = [#pp.seed<"x", [{"dp"}, {}], 0>, #pp.seed<"up", [{?}, {"tp"}], 1>], threads = 1>} {
  func.func @main(%x: tensor<8x16xf32> {pp.name = "x", pp.role = #pp.role<input>},
                  %up: tensor<16x64xf32> {pp.name = "up", pp.role = #pp.role<param>},
                  %down: tensor<64x16xf32> {pp.name = "down", pp.role = #pp.role<param>})
      -> tensor<8x16xf32> {
    %0 = pp.dot_general %x, %up batch [] x [] contract [1] x [0] : tensor<8x16xf32>, tensor<16x64xf32> -> tensor<8x64xf32>
    %1 = pp.tanh %0 : tensor<8x64xf32>
    %2 = pp.dot_general %1, %down batch [] x [] contract [1] x [0] : tensor<8x64xf32>, tensor<64x16xf32> -> tensor<8x16xf32>
    return %2 : tensor<8x16xf32>
  }
}
