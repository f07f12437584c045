// What needs nothing of its fragment is issued at the first reader of the N-th
// before it; calls with one first reader count as one, and what is gathered
// twice moves with the gather that it reads. Everything else stays: what reads
// a computed value, and sums over stages, whose order other stages share.
// RUN: sed 's/AHEAD/0/' %s | pp-opt --pp-overlap-collectives | FileCheck %s --check-prefix=NONE
// RUN: sed 's/AHEAD/1/' %s | pp-opt --pp-overlap-collectives | FileCheck %s --check-prefix=ONE
// RUN: sed 's/AHEAD/2/' %s | pp-opt --pp-overlap-collectives | FileCheck %s --check-prefix=TWO
// RUN: sed 's/AHEAD/99/' %s | pp-opt --pp-overlap-collectives | FileCheck %s --check-prefix=ALL

// NONE:      pp.fragment forward stage 0
// NONE-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[P0:.*]]: tensor<2xf32>, %[[Q0:.*]]: tensor<2xf32>, %[[P1:.*]]: tensor<2xf32>, %[[P2:.*]]: tensor<1xf32>):
// NONE-NEXT: pp.all_gather %[[P0]]
// NONE-NEXT: pp.all_gather %[[Q0]]
// NONE-NEXT: pp.launch @first
// NONE-NEXT: pp.all_gather %[[P1]]
// NONE-NEXT: pp.launch @layer
// NONE-NEXT: pp.all_reduce {{.*}} over @mesh ["dp"]
// NONE-NEXT: %[[HALF:.*]] = pp.all_gather %[[P2]]
// NONE-NEXT: pp.all_gather %[[HALF]]
// NONE-NEXT: pp.launch @layer
// NONE-NEXT: pp.all_reduce {{.*}} over @mesh ["pp"]
// NONE-NEXT: pp.all_reduce sum %[[X]] over @mesh ["pp"]

// ONE:      pp.fragment forward stage 0
// ONE-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>, %[[P0:.*]]: tensor<2xf32>, %[[Q0:.*]]: tensor<2xf32>, %[[P1:.*]]: tensor<2xf32>, %[[P2:.*]]: tensor<1xf32>):
// ONE-NEXT: pp.all_gather %[[P0]]
// ONE-NEXT: pp.all_gather %[[Q0]]
// ONE-NEXT: pp.all_gather %[[P1]]
// ONE-NEXT: pp.launch @first
// ONE-NEXT: %[[HALF:.*]] = pp.all_gather %[[P2]]
// ONE-NEXT: pp.all_gather %[[HALF]]
// ONE-NEXT: pp.launch @layer
// ONE-NEXT: pp.all_reduce {{.*}} over @mesh ["dp"]
// ONE-NEXT: pp.launch @layer
// ONE-NEXT: pp.all_reduce {{.*}} over @mesh ["pp"]
// ONE-NEXT: pp.all_reduce sum %[[X]] over @mesh ["pp"]

// TWO:      pp.fragment forward stage 0
// TWO-COUNT-5: pp.all_gather
// TWO-NEXT: pp.launch @first

// ALL:      pp.fragment forward stage 0
// ALL-COUNT-5: pp.all_gather
// ALL-NEXT: pp.launch @first
module attributes {pp.level = #pp.level<pipeline>, pp.plan = #pp.plan<mesh = <["pp"=2 : stage, "dp"=2, "tp"=2]>, ahead = AHEAD>} {
  pp.mesh @mesh = <["pp"=2 : stage, "dp"=2, "tp"=2]>
  func.func private @first(%x: tensor<4xf32>, %w: tensor<4xf32>, %v: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.mul %x, %w : tensor<4xf32>
    %1 = pp.add %0, %v : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func private @layer(%x: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> attributes {pp.kernel = #pp.kernel<loops>} {
    %0 = pp.mul %x, %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @main(%x: tensor<4xf32>, %p0: tensor<2xf32>, %q0: tensor<2xf32>, %p1: tensor<2xf32>, %p2: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %0:2 = pp.fragment forward stage 0(%x, %p0, %q0, %p1, %p2) {
    ^bb0(%a: tensor<4xf32>, %b0: tensor<2xf32>, %c0: tensor<2xf32>, %b1: tensor<2xf32>, %b2: tensor<1xf32>):
      %1 = pp.all_gather %b0 dims [0] over @mesh ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
      %2 = pp.all_gather %c0 dims [0] over @mesh ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
      %3 = pp.launch @first(%a, %1, %2) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %4 = pp.all_gather %b1 dims [0] over @mesh ["dp"] : (tensor<2xf32>) -> tensor<4xf32>
      %5 = pp.launch @layer(%3, %4) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %6 = pp.all_reduce sum %5 over @mesh ["dp"] : (tensor<4xf32>) -> tensor<4xf32>
      %7 = pp.all_gather %b2 dims [0] over @mesh ["dp"] : (tensor<1xf32>) -> tensor<2xf32>
      %8 = pp.all_gather %7 dims [0] over @mesh ["tp"] : (tensor<2xf32>) -> tensor<4xf32>
      %9 = pp.launch @layer(%6, %8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %10 = pp.all_reduce sum %9 over @mesh ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
      %11 = pp.all_reduce sum %a over @mesh ["pp"] : (tensor<4xf32>) -> tensor<4xf32>
      pp.yield %10, %11 : tensor<4xf32>, tensor<4xf32>
    } : (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>
  }
}
