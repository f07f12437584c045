// The gradient reductions of an update become one call of several operands.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment update position 0
// CHECK: {{%[0-9]+}}:{{[0-9]+}} = pp.all_reduce sum {{.*}}, {{.*}} over @mesh ["dp"]
// CHECK-NOT: pp.all_reduce
// CHECK: pp.yield

// What would be larger than a bucket together stays apart: 6144 and 128 bytes,
// 8192 and 256.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pass-pipeline="builtin.module(pp-make-plan{dp=2 tp=2 pp=2 microbatches=2 optimizer=sgd bucket=9000},pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-pad-dimensions,pp-partition,pp-optimize-collectives,pp-split-stages,pp-schedule,pp-bucket-collectives)" \
// RUN:   | FileCheck %s --check-prefix=SMALL
// SMALL: pp.fragment update position 0
// SMALL: pp.all_reduce sum {{.*}} : (tensor<48x32xf32>, tensor<32xf32>) ->
// SMALL: pp.all_reduce sum {{.*}} : (tensor<32x64xf32>, tensor<64xf32>) ->
// SMALL-NOT: pp.all_reduce
// SMALL: pp.yield

// What a micro-batch gathers and scatters is joined by layer, a product with a
// parameter and what follows it, and gradients that are held whole all together.
// RUN: pp-model gpt --layers=2 --hidden=16 --heads=4 --seq=8 --batch=8 --vocab=24 -o %t.gpt.mlir
// RUN: pp-opt %t.gpt.mlir --pp-parallelize="dp=2 microbatches=2 zero=3 stop-after=pipeline" | FileCheck %s --check-prefix=LAYERS
// LAYERS: pp.fragment forward stage 0
// LAYERS: pp.all_gather %{{[^,]*}} dims [0] over @mesh ["dp"] {{.*}}pp.parameter = "wte.weight"
// LAYERS: %{{[0-9]+}}:3 = pp.all_gather
// LAYERS: %{{[0-9]+}}:2 = pp.all_gather
// LAYERS: %{{[0-9]+}}:4 = pp.all_gather
// LAYERS: %{{[0-9]+}}:2 = pp.all_gather
// LAYERS: %{{[0-9]+}}:4 = pp.all_gather
// LAYERS: pp.fragment backward stage 0
// LAYERS-COUNT-9: %{{[0-9]+}}:{{[234]}} = pp.reduce_scatter
// LAYERS: pp.fragment update position 0
// LAYERS-NOT: pp.all_gather
// LAYERS-NOT: pp.reduce_scatter
// RUN: pp-opt %t.gpt.mlir --pp-parallelize="dp=2 zero=1 stop-after=pipeline" | FileCheck %s --check-prefix=ALL
// ALL: pp.fragment backward stage 0
// ALL: %{{[0-9]+}}:28 = pp.reduce_scatter
// ALL: pp.fragment update position 0
// ALL: %{{[0-9]+}}:28 = pp.all_gather
