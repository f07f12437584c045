// A sum over layers does not keep all that it adds up until the last is there.
// RUN: pp-opt %s --pp-form-kernels | FileCheck %s

pp.mesh @mesh = <["tp"=2]>

// Of 128 MiB each, which would wait for the next collective.
// CHECK-LABEL: func.func @large
// CHECK-COUNT-2: pp.all_reduce
// CHECK: %[[SUM:.*]] = pp.launch @[[ADD:[a-z0-9_]+]](
// CHECK: %[[NEXT:.*]] = pp.all_reduce
// CHECK: pp.launch @[[ADD]](%[[SUM]], %[[NEXT]])
func.func @large(%x: tensor<4096x8192xf32>) -> tensor<4096x8192xf32> {
  %a = pp.all_reduce sum %x over @mesh ["tp"] : (tensor<4096x8192xf32>) -> tensor<4096x8192xf32>
  %b = pp.all_reduce sum %a over @mesh ["tp"] : (tensor<4096x8192xf32>) -> tensor<4096x8192xf32>
  %ab = pp.add %a, %b : tensor<4096x8192xf32>
  %c = pp.all_reduce sum %b over @mesh ["tp"] : (tensor<4096x8192xf32>) -> tensor<4096x8192xf32>
  %abc = pp.add %ab, %c : tensor<4096x8192xf32>
  return %abc : tensor<4096x8192xf32>
}

// What is small may wait, and is read once.
// CHECK-LABEL: func.func @small
// CHECK-COUNT-3: pp.all_reduce
// CHECK-NEXT: pp.launch
// CHECK-NEXT: return
func.func @small(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = pp.all_reduce sum %x over @mesh ["tp"] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = pp.all_reduce sum %a over @mesh ["tp"] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %ab = pp.add %a, %b : tensor<8x8xf32>
  %c = pp.all_reduce sum %b over @mesh ["tp"] : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %abc = pp.add %ab, %c : tensor<8x8xf32>
  return %abc : tensor<8x8xf32>
}
