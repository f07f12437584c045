// What a step needs is told from the instruction lists on standard output, as
// pp-run does. The module is written where -o says, and nowhere else.
// RUN: pp-opt %s --pp-parallelize="pp=2 dp=2 microbatches=2 optimizer=sgd lr=0.1" --pp-predict > %t.told
// RUN: FileCheck %s --input-file=%t.told --enable-var-scope --implicit-check-not=pp.program
// RUN: pp-run %s --parallelize="pp=2 dp=2 microbatches=2 optimizer=sgd lr=0.1 threads=1" --dry-run --memory-limit=1G > %t.dry
// RUN: grep -v "^checked: " %t.dry | diff %t.told -
// RUN: grep "^checked: no races, .*no deadlock in any order of events; fits in 1.00 GiB$" %t.dry
// RUN: pp-opt %s --pp-parallelize="pp=2 dp=2" --pp-predict -o %t.module | FileCheck %s --check-prefix=BOTH
// RUN: FileCheck %s --input-file=%t.module --check-prefix=MODULE
// RUN: sed 's/"x"/"cuts = [7]"/' %s | pp-opt --pp-parallelize="pp=2" --pp-predict | FileCheck %s --check-prefix=NAME
// RUN: pp-opt %s --pp-parallelize="dp=2 threads=3" --pp-predict | FileCheck %s --check-prefix=THREADS
// RUN: pp-opt %s --pp-parallelize="dp=2 rates=2e11:4e10:0 links=5e9:0" --pp-predict | FileCheck %s --check-prefix=RATES
// RUN: not pp-opt %s --pp-predict 2>&1 | FileCheck %s --check-prefix=LEVEL
// RUN: pp-opt %s --pp-parallelize="dp=2" --pp-verify-programs="memory-limit=1G" -o %t
// RUN: not pp-opt %s --pp-parallelize="dp=2" --pp-verify-programs="memory-limit=0.1KB" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LIMIT
// RUN: not pp-opt %s --pp-parallelize="dp=2" --pp-verify-programs="memory-limit=1X" 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SYNTAX

// Of other devices.
// RATES: with devices of 200 GFLOP/s and 40 GB/s, links of 5 GB/s and 0 us

// Names of arguments, which a plan holds too, are not taken for decisions.
// NAME: 2 ranks of 1 thread; cuts=[{{[1-3]\]$}}

// THREADS: mesh dp=2: 2 ranks of 3 threads{{$}}

// BOTH: with devices of 100 GFLOP/s
// MODULE: pp.program @stage0
// LEVEL: --pp-predict expects a module of level program, as --pp-parallelize makes without stop-after, got one without programs
// SYNTAX: expects a memory-limit that is a number of bytes, as 4096, 512M or 1.5GiB, got '1X'
// LIMIT: within the memory limit of 100 bytes

// CHECK: mesh mb=2 (time) pp=2 (stage) dp=2: 4 ranks of 1 thread; cuts=[{{[0-9]+}}]
// CHECK: memory
// CHECK: ranks 0-1
// CHECK: ranks 2-3
// CHECK: communication a step
// CHECK: send{{ +}}pp{{ +}}2{{ +}}64 B{{ +}}64 B
// CHECK: stage0{{ +}}ranks 0-1{{ +}}a
// CHECK: stage1{{ +}}ranks 2-3
// CHECK: stage 0 |
// CHECK: stage 1 |
// CHECK: time{{ +}}bubble{{ +}}exposed messages{{ +}}sets in flight
// CHECK-NEXT: ranks 0-1{{ +[0-9.]+%.* }}2{{$}}
// CHECK-NEXT: ranks 2-3{{ +[0-9.]+%.* }}1{{$}}
// CHECK: step {{.*}}, bubble {{[0-9.]+}}%, communication {{.*}} exposed and {{.*}} hidden{{$}}
// CHECK-NEXT: critical path: F {{.*}}s, B {{.*}}s, {{.*}}transfers {{.*}}s{{.*}}; stage 1 takes {{.*}}s{{$}}
// CHECK-NEXT: with devices of 100 GFLOP/s
func.func @main(%x: tensor<8x4xf32> {pp.role = #pp.role<input>, pp.name = "x"},
                %a: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "a", pp.init = #pp.init<zeros>},
                %b: tensor<4x4xf32> {pp.role = #pp.role<param>, pp.name = "b", pp.init = #pp.init<zeros>})
    -> (tensor<f32> {pp.role = #pp.role<loss>, pp.name = "loss"}) {
  %y = pp.dot_general %x, %a batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %z = pp.dot_general %y, %b batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %t = pp.tanh %z : tensor<8x4xf32>
  %l = pp.reduce sum %t dims [0, 1] : tensor<8x4xf32> -> tensor<f32>
  return %l : tensor<f32>
}
