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

// In 16 bits the norms of the next layer convert it again.
// RUN: pp-opt %t.mlir --pp-parallelize="precision=bf16 remat=full stop-after=pipeline" | FileCheck %s --check-prefix=FULL16
// FULL16: pp.fragment forward
// FULL16: pp.yield
// FULL16-NOT: tensor<2x8x32xf32>, tensor<2x8x32xf32>
// FULL16-SAME: tensor<2x8x32xbf16>, tensor<2x8x32xbf16>
// FULL16: pp.fragment backward

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
// Without layers, remat=full helps nobody.
// RUN: pp-opt %s --pp-parallelize="remat=full" -o %t.layers.mlir 2>&1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: warning: remat=full expects ops whose names have the numbers of layers, such as h.0.attn, got none: all of the forward pass is one layer, and computed again at once
// A stage whose backward reads nothing of forward has one peak.
// RUN: not pp-opt %s --pp-parallelize="pp=2 cuts=head remat=auto memory-limit=20K" 2>&1 | FileCheck %s --check-prefix=NOCHOICE
// NOCHOICE: error: memory-limit=20480 bytes (20.0 KiB) is met by no choice of what is kept that was tried: a rank of position 1 needs {{[0-9]+}} bytes
// LARGE: at_least=0.0%, flops_again=0, of_forward=0.0%
// SMALL: rank 0  4{{[3-5]}}.{{[0-9]}} MiB
// LEAST: rank 0  41.{{[0-9]}} MiB

// Keeping least does not need least: peaks are searched for one that fits.
// RUN: pp-model gpt --layers=4 --hidden=64 --heads=4 --seq=64 --batch=8 --vocab=256 -o %t.peaks.mlir
// RUN: pp-run %t.peaks.mlir --parallelize="remat=auto memory-limit=15890000" --dry-run --target=sm_90 | FileCheck %s --check-prefix=PEAKS
// PEAKS: rank 0  15.{{[01]}} MiB
// An artifact's code is that of the target that it was chosen for.
// RUN: pp-opt %t.peaks.mlir --pp-parallelize="remat=auto memory-limit=16000000" --emit=ppx --targets=sm_90 -o %t.ppx
// RUN: pp-run %t.ppx --dry-run --target=sm_90 --memory-limit=16000000 | FileCheck %s --check-prefix=PEAKS
// RUN: not pp-opt %t.peaks.mlir --pp-parallelize="remat=auto memory-limit=16000000" --emit=ppx --targets=x86-64-v3,sm_90 -o %t.2.ppx 2>&1 | FileCheck %s --check-prefix=TARGETS
// TARGETS: error: remat=auto expects 16000000 bytes (15.3 MiB) of a rank for all of --targets, got {{[0-9]+}} bytes ({{.*}}) for sm_90, because it chooses for the first of them; make an artifact for each

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

// RUN: not pp-opt %t.mlir --pp-parallelize="keep='h.0,,h.1'" 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: keep="" names no value that backward needs
// RUN: not pp-opt %t.mlir --pp-parallelize="tp=2 recompute='h.*.attn.c_proj all_reduce'" 2>&1 | FileCheck %s --check-prefix=REDUCES
// REDUCES: error: recompute="h.*.attn.c_proj all_reduce" names no value that backward needs and may compute again; names are those of ops' locations, such as h.0.attn, and an op may follow: "h.*.attn exp"; what reduces or exchanges values between devices is never repeated
// A layer's name is that of its collectives, which stay.
// RUN: pp-opt %t.mlir --pp-parallelize="tp=2 remat=none recompute=h.*.attn stop-after=pipeline" | FileCheck %s --check-prefix=STAYS
// STAYS: pp.fragment backward
// STAYS-NOT: pp.all_reduce max
// STAYS: pp.exp
// RUN: not pp-opt %t.mlir --pp-parallelize="remat=auto" 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: 'remat=auto' expects memory-limit=BYTES of a rank beside it, got none
// RUN: not pp-opt %t.mlir --pp-parallelize="memory-limit=1G" 2>&1 | FileCheck %s --check-prefix=IDLE
// IDLE: 'memory-limit' has an effect with remat=auto or schedule=auto only, got remat=cheap

// Marks in the model do the same.
// RUN: sed 's/\(pp.tanh %[0-9]*\) :/\1 {pp.checkpoint = #pp.checkpoint<keep>} :/' %t.mlir | pp-opt --pp-parallelize="remat=full stop-after=pipeline" | FileCheck %s --check-prefix=MARKED
// MARKED: pp.fragment backward
// MARKED-NOT: pp.tanh
// MARKED: pp.fragment update

func.func @main(%x: tensor<4x8xf32> {pp.name = "x", pp.role = #pp.role<input>},
                %w: tensor<8x8xf32> {pp.name = "w", pp.role = #pp.role<param>, pp.init = #pp.init<normal, 0.0, 0.1>},
                %b: tensor<8x512xf32> {pp.name = "b", pp.role = #pp.role<param>, pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.name = "loss", pp.role = #pp.role<loss>}) {
  %0 = pp.dot_general %x, %w batch [] x [] contract [1] x [0] : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32> loc("body")
  %1 = pp.tanh %0 : tensor<4x8xf32> loc("body")
  %2 = pp.broadcast %1 dims [0, 1] : tensor<4x8xf32> -> tensor<4x8x512xf32> loc("head")
  %3 = pp.broadcast %b dims [1, 2] : tensor<8x512xf32> -> tensor<4x8x512xf32> loc("head")
  %4 = pp.add %2, %3 : tensor<4x8x512xf32> loc("head")
  %loss = pp.reduce sum %4 dims [0, 1, 2] : tensor<4x8x512xf32> -> tensor<f32> loc("head")
  return %loss : tensor<f32>
}
