// What comes back as an argument has zeros as padding, whatever its update makes
// of zeros, and the padding of the argument, whatever it is computed from.
// RUN: pp-run %s --parallelize="plan=%S/padded-updates.plan" --steps=3 --verify --quiet
// RUN: pp-opt %s --pp-parallelize="plan=%S/padded-updates.plan stop-after=spmd" | FileCheck %s
// CHECK: func.func @main({{.*}}%arg3: tensor<6xf64> {{[^%]*}}pp.name = "t"

func.func @main(%x: tensor<12x7xf64> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<7xf64> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %s: tensor<7xf64> {pp.name = "s", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>},
                %t: tensor<7xf64> {pp.name = "t", pp.role = #pp.role<state>, pp.init = #pp.init<normal, 0.0, 1.0>})
    -> (tensor<f64> {pp.name = "loss", pp.role = #pp.role<loss>},
        tensor<7xf64> {pp.name = "s", pp.role = #pp.role<state>},
        tensor<7xf64> {pp.name = "t", pp.role = #pp.role<state>}) {
  %0 = pp.cos %s : tensor<7xf64>
  %1 = pp.reduce sum %s dims [0] : tensor<7xf64> -> tensor<f64>
  %2 = pp.broadcast %w dims [1] : tensor<7xf64> -> tensor<12x7xf64>
  %3 = pp.mul %x, %2 : tensor<12x7xf64>
  %4 = pp.broadcast %1 dims [] : tensor<f64> -> tensor<12x7xf64>
  %5 = pp.mul %3, %4 : tensor<12x7xf64>
  %6 = pp.name %t "turned" : tensor<7xf64>
  %7 = pp.reduce sum %6 dims [0] : tensor<7xf64> -> tensor<f64>
  %8 = pp.reduce sum %5 dims [0, 1] : tensor<12x7xf64> -> tensor<f64>
  %loss = pp.mul %7, %8 : tensor<f64>
  %9 = pp.iota dim 0 : tensor<7xi32>
  %10 = pp.convert %9 : tensor<7xi32> -> tensor<7xf64>
  return %loss, %0, %10 : tensor<f64>, tensor<7xf64>, tensor<7xf64>
}
