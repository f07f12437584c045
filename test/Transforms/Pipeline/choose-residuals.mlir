// What each technique keeps of a layer.
// RUN: pp-model gpt --layers=2 --hidden=32 --heads=4 --seq=8 --batch=2 --vocab=16 -o %t.mlir
// RUN: pp-opt %t.mlir --pp-parallelize="remat=none stop-after=pipeline" | FileCheck %s --check-prefix=NONE
// RUN: pp-opt %t.mlir --pp-parallelize="remat=selective stop-after=pipeline" | FileCheck %s --check-prefix=SELECTIVE
// RUN: pp-opt %t.mlir --pp-parallelize="remat=full stop-after=pipeline" | FileCheck %s --check-prefix=FULL

// Nothing runs again: backward has no tanh of its own.
// NONE: pp.fragment backward
// NONE-NOT: pp.tanh
// NONE: pp.fragment update

// Scores and probabilities run again, with the products of activations; queries,
// keys and values are kept, no tensor of the size of the scores is.
// SELECTIVE: pp.fragment forward
// SELECTIVE: pp.yield
// SELECTIVE-NOT: 2x4x8x8xf32
// SELECTIVE-SAME: tensor<2x8x4x8xf32>
// SELECTIVE: pp.fragment backward
// SELECTIVE: pp.dot_general {{.*}} -> tensor<2x4x8x8xf32>
// SELECTIVE: pp.exp
// SELECTIVE: pp.fragment update

// A layer's input is kept, and what the loss reads.
// FULL: pp.fragment forward
// FULL: pp.yield %{{.*}} : tensor<2x8xf32>, tensor<2x8x16xf32>, tensor<2x8x32xf32>, tensor<2x8xf32>, tensor<f32>, tensor<2x8x32xf32>, tensor<2x8x32xf32>{{$}}
// FULL: pp.fragment backward
// FULL: pp.dot_general {{.*}} -> tensor<2x8x3x4x8xf32>
// FULL: pp.fragment update

// With sequence=true backward gathers a layer's input once, to compute again and
// for the gradient.
// RUN: pp-opt %t.mlir --pp-parallelize="tp=2 sequence=true remat=cheap stop-after=pipeline" | FileCheck %s --check-prefix=GATHERS
// RUN: pp-opt %t.mlir --pp-parallelize="tp=2 sequence=true remat=full stop-after=pipeline" | FileCheck %s --check-prefix=GATHERS
// GATHERS: pp.fragment backward
// GATHERS-COUNT-8: pp.all_gather
// GATHERS-NOT: pp.all_gather
// GATHERS: pp.fragment update
