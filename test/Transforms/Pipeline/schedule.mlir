// The plan's schedule lands on the function, in the field's spelling.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 -o %t.mlir
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s --check-prefix=ONE
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=gpipe optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s --check-prefix=GPIPE
// ONE: #pp.schedule<"1f1b", ["0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1B1"]>
// GPIPE: #pp.schedule<"gpipe", ["0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1"]>
