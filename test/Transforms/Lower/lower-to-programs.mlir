// Two stages become two instruction lists, in the order of the schedule.
// RUN: pp-model mlp --layers=4 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 schedule=1f1b optimizer=sgd lr=0.1" | FileCheck %s
// CHECK-LABEL: pp.program @stage0 ranks [0, 1, 2, 3]
// CHECK: pp.routine "0F" {
// CHECK: pp.send to 1 {{.*}} forward 0{{$}}
// CHECK: pp.routine "receive 1B" {
// CHECK-NEXT: pp.recv from 1 {{.*}} backward 1{{$}}
// CHECK: body {
// CHECK-NEXT: pp.call "0F" for 0
// CHECK-NEXT: pp.call "0F" for 1
// CHECK-NEXT: pp.call "receive 1B" for 0
// CHECK: pp.call "receive 1B" for 1
// CHECK: pp.collective all_reduce sum over ["dp"]
// CHECK: pp.step
// CHECK-LABEL: pp.program @stage1 ranks [4, 5, 6, 7]
// CHECK: pp.emit output 0

// A gradient is one where it is made, too, and not only once it is reduced.
// RUN: pp-model mlp --layers=2 --input=48 --hidden=64 --classes=16 --batch=32 \
// RUN:   | pp-opt --pp-parallelize="dp=2 optimizer=sgd lr=0.1" | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: pp.slot "matmul_{{.*}}" gradient at {{.*}} : tensor<64x16xf32>
// GRADIENTS: pp.slot "matmul_{{.*}}" gradient at {{.*}} : tensor<48x64xf32>
