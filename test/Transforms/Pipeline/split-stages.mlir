// A step becomes a forward, a backward and an update per stage, and what crosses is sent.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment forward stage 0
// CHECK: pp.transfer {{.*}} from 0 to 1
// CHECK: pp.fragment forward stage 1
// CHECK: pp.fragment backward stage 1
// CHECK: pp.transfer {{.*}} from 1 to 0
// CHECK: pp.fragment backward stage 0
// CHECK: pp.accumulate {{.*}} over "mb"
// CHECK: pp.fragment update position 0
// CHECK: pp.fragment update position 1
