// While a model trains, its dropout is there; what only evaluation reads, and names that nobody reads, are gone.
// RUN: pp-opt %s --pp-take-training | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4xf32>
func.func @main(%x: tensor<4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %mean: tensor<4xf32> {pp.role = #pp.role<state>, pp.name = "mean", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  // CHECK-NEXT: %[[D:.*]] = pp.tanh %[[X]]
  %dropped = pp.tanh %x : tensor<4xf32>
  %scaled = pp.neg %mean : tensor<4xf32>
  %other = pp.exp %scaled : tensor<4xf32>
  %y = pp.if_training %dropped else %other : tensor<4xf32>
  %again = pp.if_training %y else %scaled : tensor<4xf32>
  // CHECK-NEXT: %[[K:.*]] = pp.name %[[D]] "kept"
  %kept = pp.name %again "kept" : tensor<4xf32>
  %named = pp.name %again "predicted" : tensor<4xf32>
  // CHECK-NEXT: %[[L:.*]] = pp.reduce sum %[[K]]
  %loss = pp.reduce sum %kept dims [0] : tensor<4xf32> -> tensor<f32>
  // CHECK-NEXT: return %[[L]]
  return %loss : tensor<f32>
}
