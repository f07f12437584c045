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

// remat=auto computes no more again than the limit asks for.
// RUN: pp-opt %t.mlir --pp-parallelize="remat=auto memory-limit=1G" --remarks-filter=pp-choose-residuals -o %t.large.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: pp-model gpt --layers=4 --hidden=64 --heads=4 --seq=128 --batch=8 --vocab=64 -o %t.more.mlir
// RUN: pp-run %t.more.mlir --parallelize="remat=auto memory-limit=45M" --dry-run --target=sm_90 | FileCheck %s --check-prefix=SMALL
// RUN: pp-run %t.more.mlir --parallelize="remat=full" --dry-run --target=sm_90 | FileCheck %s --check-prefix=LEAST
// RUN: not pp-opt %t.mlir --pp-parallelize="remat=auto memory-limit=100K" 2>&1 | FileCheck %s --check-prefix=NEVER
// LARGE: flops_again=0, of_forward=0.0%
// SMALL: rank 0  4{{[3-5]}}.{{[0-9]}} MiB
// LEAST: rank 0  41.{{[0-9]}} MiB
// NEVER: error: memory-limit=100 KiB is met by no choice of what is kept: a rank of stage 0 needs at least {{[0-9]+}} bytes ({{[0-9.]+}} KiB); raise the limit

// Single values, by the names of their layers and ops.
// RUN: pp-opt %t.mlir --pp-parallelize="remat=full keep='h.0.attn exp, h.1' stop-after=pipeline" | FileCheck %s --check-prefix=KEEP
// RUN: pp-opt %t.mlir --pp-parallelize="remat=none recompute='h.*.mlp.c_fc tanh' stop-after=pipeline" | FileCheck %s --check-prefix=RECOMPUTE
// KEEP: pp.fragment forward
// KEEP: pp.yield {{.*}}tensor<2x4x8x8xf32>
// KEEP: pp.fragment backward
// KEEP-COUNT-1: pp.tanh
// KEEP-NOT: pp.tanh
// RECOMPUTE: pp.fragment backward
// RECOMPUTE-COUNT-2: pp.tanh

// RUN: not pp-opt %t.mlir --pp-parallelize="keep=h.7" 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: keep="h.7" names no value that backward needs; names are those of ops' locations, such as h.0.attn, and an op may follow: "h.*.attn exp"
// RUN: not pp-opt %t.mlir --pp-parallelize="keep=h.0 recompute=h.*.mlp" 2>&1 | FileCheck %s --check-prefix=BOTH
// BOTH: error: {{.*}} is marked keep and recompute, by the plan's keys or by pp.checkpoint; leave one of them out
// RUN: not pp-opt %t.mlir --pp-parallelize="tp=2 recompute=h.*.attn.c_proj" 2>&1 | FileCheck %s --check-prefix=REDUCES
// REDUCES: error: {{.*}}h.0.attn.c_proj{{.*}} reduces or exchanges values between devices, which is never repeated; leave it out of recompute
// RUN: not pp-opt %t.mlir --pp-parallelize="remat=auto" 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: 'remat=auto' expects memory-limit=BYTES of a rank beside it, got none
// RUN: not pp-opt %t.mlir --pp-parallelize="memory-limit=1G" 2>&1 | FileCheck %s --check-prefix=IDLE
// IDLE: 'memory-limit' has an effect with remat=auto only, got remat=cheap

// Marks in the model do the same.
// RUN: sed 's/\(pp.tanh %[0-9]*\) :/\1 {pp.checkpoint = #pp.checkpoint<keep>} :/' %t.mlir | pp-opt --pp-parallelize="remat=full stop-after=pipeline" | FileCheck %s --check-prefix=MARKED
// MARKED: pp.fragment backward
// MARKED-NOT: pp.tanh
// MARKED: pp.fragment update
