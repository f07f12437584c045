// What is computed in a narrower type than it is stored in travels in that type:
// gradients are summed as the model computes them, each device its part, and
// converted in parts. The order of dimensions may change on the way.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=1 optimizer=sgd stop-after=spmd" | FileCheck %s --implicit-check-not=pp.all_reduce
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=2 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefixes=CHECK,EACH --implicit-check-not=pp.all_reduce
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=3 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefixes=CHECK,EACH --implicit-check-not=pp.all_reduce
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=GATHERS --implicit-check-not=pp.all_gather
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 zero.gather=step optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=ONCE --implicit-check-not=pp.all_gather
// With any stage, since nothing but the update reads what is wider.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=1 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=ONCE --implicit-check-not=pp.all_gather
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=2 microbatches=2 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=ONCE --implicit-check-not=pp.all_gather
// Of what is padded, too.
// RUN: pp-opt %s --pp-parallelize="dp=3 zero=3 optimizer=sgd stop-after=spmd" | FileCheck %s --check-prefix=PADDED --implicit-check-not=pp.all_gather
// RUN: pp-run %s --parallelize="dp=3 zero=3 optimizer=adamw" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=3 zero=3 zero.gather=step microbatches=2 optimizer=adamw" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=4 zero=2 microbatches=2 optimizer=adamw" --steps=2 --verify --quiet
// RUN: pp-run %s --parallelize="dp=2 zero=3 tp=2 optimizer=adamw clip=0.5" --steps=2 --verify --quiet
// Calls of one layer are joined behind converts, too.
// RUN: pp-opt %s --pp-parallelize="dp=2 microbatches=2 zero=3 optimizer=sgd stop-after=pipeline" | FileCheck %s --check-prefix=JOINED
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=1 optimizer=sgd stop-after=pipeline" | FileCheck %s --check-prefix=STEP
// Issued a layer ahead, with the kernels that convert.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 optimizer=sgd" | FileCheck %s --check-prefix=AHEAD
// What is gathered is named by the parameter that it is.
// RUN: pp-opt %s --pp-parallelize="dp=2 zero=3 optimizer=sgd" --pp-explain | FileCheck %s --check-prefix=EXPLAIN
// Dimensions of parameters are split as those of what they are converted to.
// RUN: pp-opt %s --pp-parallelize="dp=2 tp=2 optimizer=sgd" --emit=plan | FileCheck %s --check-prefix=SEEDS

// The loss alone is reduced whole.
// CHECK: pp.all_reduce sum {{.*}} : (tensor<f32>) -> tensor<f32>
// CHECK: pp.reduce_scatter sum %{{.*}} dims [{{.*}}] over @mesh ["dp"] {{.*}} : (tensor<8x32xbf16>) -> tensor<8x16xbf16>
// EACH: pp.accumulate %{{.*}} over "mb" {{.*}} : tensor<8x16xbf16>
// CHECK: pp.reduce_scatter sum %{{.*}} dims [0] over @mesh ["dp"] {{.*}} : (tensor<32xbf16>) -> tensor<16xbf16>
// CHECK: pp.reduce_scatter sum %{{.*}} dims [0] over @mesh ["dp"] {{.*}} : (tensor<16x32xbf16>) -> tensor<8x32xbf16>
// CHECK: pp.convert %{{.*}} : tensor<8x16xbf16> -> tensor<8x16xf32>
// CHECK: pp.transpose %{{.*}} : tensor<8x16xf32> -> tensor<16x8xf32>
// CHECK: pp.convert %{{.*}} : tensor<16xbf16> -> tensor<16xf32>
// CHECK: pp.convert %{{.*}} : tensor<8x32xbf16> -> tensor<8x32xf32>

// GATHERS: pp.all_gather {{.*}} : (tensor<8x32xbf16>) -> tensor<16x32xbf16>
// GATHERS: pp.all_gather {{.*}} : (tensor<16xbf16>) -> tensor<32xbf16>
// GATHERS: pp.all_gather {{.*}} : (tensor<8x16xbf16>) -> tensor<8x32xbf16>
// GATHERS: pp.all_gather {{.*}} : (tensor<8x16xbf16>) -> tensor<8x32xbf16>
// ONCE: pp.all_gather {{.*}} : (tensor<8x32xbf16>) -> tensor<16x32xbf16>
// ONCE: pp.all_gather {{.*}} : (tensor<16xbf16>) -> tensor<32xbf16>
// ONCE: pp.all_gather {{.*}} : (tensor<8x16xbf16>) -> tensor<8x32xbf16>
// PADDED: pp.all_gather {{.*}} : (tensor<16x11xbf16>) -> tensor<16x33xbf16>
// PADDED: pp.all_gather {{.*}} : (tensor<11xbf16>) -> tensor<33xbf16>
// PADDED: pp.all_gather {{.*}} : (tensor<8x11xbf16>) -> tensor<8x33xbf16>
// PADDED: pp.all_gather {{.*}} : (tensor<8x11xbf16>) -> tensor<8x33xbf16>

// JOINED: pp.fragment forward
// JOINED: %{{[0-9]+}}:2 = pp.all_gather %{{.*}} : (tensor<8x32xbf16>, tensor<16xbf16>) -> (tensor<16x32xbf16>, tensor<32xbf16>)
// JOINED: pp.fragment backward
// JOINED: pp.reduce_scatter
// JOINED: pp.yield
// STEP: pp.fragment backward
// STEP: %{{[0-9]+}}:2 = pp.reduce_scatter

// AHEAD: pp.slot "all_gather" gathered
// AHEAD: setup
// AHEAD: pp.collective all_gather
// AHEAD: pp.collective all_gather
// AHEAD: pp.run @matmul

// EXPLAIN: dp all_gather, forward: 1 call of 2 tensors
// EXPLAIN-NEXT: w, b
// EXPLAIN-NEXT: parameters: with zero = 3 each device stores a part, and the whole is read

// SEEDS: #pp.seed<"w", [{?}, {"tp"}], 1>
func.func @main(%x: tensor<8x16xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<16x32xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %b: tensor<32xf32> {pp.name = "b", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %v: tensor<32x8xf32> {pp.name = "v", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.convert %x : tensor<8x16xf32> -> tensor<8x16xbf16>
  %1 = pp.convert %w : tensor<16x32xf32> -> tensor<16x32xbf16>
  %2 = pp.convert %b : tensor<32xf32> -> tensor<32xbf16>
  %3 = pp.transpose %v perm [1, 0] : tensor<32x8xf32> -> tensor<8x32xf32>
  %4 = pp.convert %3 : tensor<8x32xf32> -> tensor<8x32xbf16>
  %5 = pp.dot_general %0, %1 batch [] x [] contract [1] x [0] : tensor<8x16xbf16>, tensor<16x32xbf16> -> tensor<8x32xbf16>
  %6 = pp.broadcast %2 dims [1] : tensor<32xbf16> -> tensor<8x32xbf16>
  %7 = pp.add %5, %6 : tensor<8x32xbf16>
  %8 = pp.tanh %7 : tensor<8x32xbf16>
  %9 = pp.dot_general %8, %4 batch [] x [] contract [1] x [1] : tensor<8x32xbf16>, tensor<8x32xbf16> -> tensor<8x8xbf16>
  %10 = pp.convert %9 : tensor<8x8xbf16> -> tensor<8x8xf32>
  %11 = pp.mul %10, %10 : tensor<8x8xf32>
  %loss = pp.reduce sum %11 dims [0, 1] : tensor<8x8xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
