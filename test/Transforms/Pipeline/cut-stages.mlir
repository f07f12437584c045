// A plan without cuts gets them; every stage has a matrix product of its own.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=spmd" | FileCheck %s
// A residual stream has three uses behind a cut. The sum of their gradients
// crosses it, not each of them.
// RUN: pp-model gpt --layers=2 --hidden=32 --heads=4 --seq=8 --batch=8 --vocab=16 \
// RUN:   | pp-opt --pp-parallelize="pp=2 microbatches=2 stop-after=pipeline" | FileCheck %s --check-prefix=SUM --implicit-check-not=pp.transfer
// SUM: pp.transfer %{{.*}} from 0 to 1 : tensor<4x8x32xf32>
// SUM: pp.transfer %{{.*}} from 1 to 0 : tensor<4x8x32xf32>

// CHECK: cuts = [{{[0-9]+}}]
// CHECK: pp.dot_general {{.*}}pp.stages = array<i64: 0>
// CHECK: pp.dot_general {{.*}}pp.stages = array<i64: 1>
