// A plan without cuts gets them; every stage has a matrix product of its own.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=spmd" | FileCheck %s
// CHECK: cuts = [{{[0-9]+}}]
// CHECK: pp.dot_general {{.*}}pp.stages = array<i64: 0>
// CHECK: pp.dot_general {{.*}}pp.stages = array<i64: 1>
