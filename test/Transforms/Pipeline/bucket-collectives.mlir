// The gradient reductions of an update become one call of several operands.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment update stage 0
// CHECK: {{%[0-9]+}}:{{[0-9]+}} = pp.all_reduce sum {{.*}}, {{.*}} over @mesh ["dp"]
// CHECK-NOT: pp.all_reduce
// CHECK: pp.yield

// What would be larger than a bucket together stays apart: 6144 and 128 bytes,
// 8192 and 256.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pass-pipeline="builtin.module(pp-make-plan{dp=2 tp=2 pp=2 microbatches=2 optimizer=sgd},pp-differentiate,pp-add-optimizer,pp-cut-stages,pp-annotate-shardings,pp-propagate-shardings,pp-pad-dimensions,pp-partition,pp-optimize-collectives,pp-split-stages,pp-schedule,pp-bucket-collectives{bucket-bytes=9000})" \
// RUN:   | FileCheck %s --check-prefix=SMALL
// SMALL: pp.fragment update stage 0
// SMALL: pp.all_reduce sum {{.*}} : (tensor<48x32xf32>, tensor<32xf32>) ->
// SMALL: pp.all_reduce sum {{.*}} : (tensor<32x64xf32>, tensor<64xf32>) ->
// SMALL-NOT: pp.all_reduce
// SMALL: pp.yield
