// Padding in the middle of an argument that is split there is refused: no file
// could fill it.
// RUN: pp-opt %s --split-input-file --verify-diagnostics --pp-propagate-shardings --pp-pad-dimensions

module attributes {pp.plan = #pp.plan<mesh = <["dp"=4, "tp"=3]>, threads = 1>} {
  pp.mesh @mesh = <["dp"=4, "tp"=3]>
  // expected-error @below {{argument "x" of type 'tensor<32xf32>' expects dimension 0 to be padded at its end, got a minor factor of 8 padded to 9: split the dimension in the argument's type}}
  func.func @main(%x: tensor<32xf32> {pp.name = "x"}) -> tensor<4x8xf32> {
    %0 = pp.reshape %x : tensor<32xf32> -> tensor<4x8xf32>
    %1 = pp.sharding_constraint %0 to <@mesh, [{"dp"}, {"tp"}]> : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
