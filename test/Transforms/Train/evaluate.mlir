// A program that evaluates reads running values, returns no new ones, predicts what is named, and numbers ops as the
// training step does: the cut of a plan is the same place.
// RUN: pp-opt %s --pp-evaluate=predict=logits | FileCheck %s
// RUN: pp-opt %s --pp-take-training --cse --pp-differentiate | FileCheck %s --check-prefix=TRAINS

// CHECK-LABEL: module attributes
// CHECK-SAME: pp.level = #pp.level<graph>
module attributes {pp.plan = #pp.plan<mesh = <[]>>} {
  // CHECK: func.func @main(%[[X:[^:]*]]: tensor<4xbf16>
  // CHECK-SAME: %[[M:[^:]*]]: tensor<4xbf16>
  // CHECK-SAME: -> (tensor<f32> {{.*}}, tensor<f32> {{{.*}}"told"{{.*}}#pp.role<metric>}, tensor<4xf32> {{{.*}}"logits"{{.*}}#pp.role<prediction>}) {
  func.func @main(%x: tensor<4xbf16> {pp.role = #pp.role<input>, pp.name = "x"},
                  %mean: tensor<4xbf16> {pp.role = #pp.role<state>, pp.name = "mean", pp.init = #pp.init<zeros>})
      -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"},
          tensor<4xbf16> {pp.role = #pp.role<state>, pp.name = "mean"},
          tensor<f32> {pp.role = #pp.role<metric>, pp.name = "told"}) {
    // TRAINS: pp.tanh {{.*}}{pp.origin = 0 : i64}
    %new = pp.tanh %x : tensor<4xbf16>
    // Training has no such op: it takes the number of the one before.
    // CHECK-NEXT: %[[A:.*]] = pp.abs %[[M]] {pp.origin = 0 : i64}
    // TRAINS-NOT: pp.abs
    %old = pp.abs %mean : tensor<4xbf16>
    %used = pp.if_training %new else %old : tensor<4xbf16>
    // CHECK-NEXT: %[[Y:.*]] = pp.sub %[[X]], %[[A]] {pp.origin = 1 : i64}
    // TRAINS: pp.sub {{.*}}{pp.origin = 1 : i64}
    %y = pp.sub %x, %used : tensor<4xbf16>
    %logits = pp.name %y "logits" : tensor<4xbf16>
    %unread = pp.name %y "unread" : tensor<4xbf16>
    // CHECK-NEXT: %[[W:.*]] = pp.convert %[[Y]] {pp.origin = 2 : i64}
    // TRAINS: pp.convert {{.*}}{pp.origin = 2 : i64}
    %wide = pp.convert %y : tensor<4xbf16> -> tensor<4xf32>
    // CHECK-NEXT: %[[L:.*]] = pp.reduce sum %[[W]] dims [0] {pp.origin = 3 : i64}
    // TRAINS: pp.reduce sum {{.*}}{pp.origin = 3 : i64}
    %loss = pp.reduce sum %wide dims [0] : tensor<4xf32> -> tensor<f32>
    // CHECK-NEXT: %[[T:.*]] = pp.neg %[[L]] {pp.origin = 4 : i64}
    %told = pp.neg %loss : tensor<f32>
    // The model has the same in f32 already.
    // CHECK-NEXT: return %[[L]], %[[T]], %[[W]]
    return %loss, %new, %told : tensor<f32>, tensor<4xbf16>, tensor<f32>
  }
}
