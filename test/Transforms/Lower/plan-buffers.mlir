// Every slot has a place in the arena, parameters first.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1" | FileCheck %s --implicit-check-not="at -1"
// CHECK-LABEL: pp.program @stage0 {{.*}} arena {{[1-9][0-9]*}} slots
// CHECK-NEXT: pp.slot "layers.0.weight" parameter at 0 argument 2
// CHECK: pp.run {{.*}} after [{{[0-9]+, [0-9]+}}]
