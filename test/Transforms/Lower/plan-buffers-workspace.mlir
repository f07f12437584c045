// Where workspaces lie, cuBLAS's may: at multiples of 256 bytes. Kernels that
// run one after another have one place, and what follows does not move.
// RUN: pp-opt %s --pp-plan-buffers | FileCheck %s
// CHECK: arena 640 slots
// CHECK-NEXT: pp.slot "x" parameter at 0
// CHECK-NEXT: pp.slot "workspace" workspace at 256 {{.*}}100xi1
// CHECK-NEXT: pp.slot "y" activation at 512
// CHECK-NEXT: pp.slot "workspace" workspace at 256 {{.*}}30xi1
module attributes {pp.plan = #pp.plan<mesh = <["dp"=2]>>} {
  func.func private @main(tensor<16xf32>) -> tensor<16xf32>
  func.func private @large(%x: tensor<16xf32>) -> tensor<16xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.workspace = 100 : i64} {
    %0 = pp.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  func.func private @small(%x: tensor<16xf32>) -> tensor<16xf32> attributes {pp.kernel = #pp.kernel<loops>, pp.workspace = 30 : i64} {
    %0 = pp.neg %x : tensor<16xf32>
    return %0 : tensor<16xf32>
  }
  pp.program @stage0 ranks [0, 1] arena 0 slots {
    pp.slot "x" parameter at -1 argument 0 : tensor<16xf32>
    pp.slot "workspace" workspace at -1 : tensor<100xi1>
    pp.slot "y" activation at -1 : tensor<16xf32>
    pp.slot "workspace" workspace at -1 : tensor<30xi1>
    pp.slot "z" activation at -1 : tensor<16xf32>
  } queues {
    pp.queue "compute" compute
  } setup {
  } body {
    pp.run @large [0, 2, 1] on 0 after [] as forward 0 0
    pp.run @small [2, 4, 3] on 0 after [] as forward 0 0
    pp.emit output 0 [4] on 0 after [] as update 0
    pp.step [] on 0 after []
  } teardown {
  }
}
