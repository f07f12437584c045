// The gradient reductions of an update become one call of several operands.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1 stop-after=pipeline" | FileCheck %s
// CHECK: pp.fragment update stage 0
// CHECK: {{%[0-9]+}}:{{[0-9]+}} = pp.all_reduce sum {{.*}}, {{.*}} over @mesh ["dp"]
// CHECK-NOT: pp.all_reduce
// CHECK: pp.yield
