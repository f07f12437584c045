// Options become the plan and the mesh; axes of size 1 are left out.
// RUN: pp-opt %s --pp-make-plan="dp=2 tp=3 pp=2 microbatches=4 optimizer=adamw lr=1e-3 betas=0.9,0.75 clip=1 threads=2" | FileCheck %s
// RUN: pp-opt %s --pp-make-plan="microbatches=2 tp=4 schedule=gpipe" | FileCheck %s --check-prefix=TP

// CHECK: #pp.plan<mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=3]>, schedule = "1f1b", threads = 2, numerics = "f32", precision = "f32", remat = "cheap", epilogues = "library", links = "1e10:1e-5", rates = "1e11:1e10:1e-6", zero = 0, sequence = "false", vocab = "auto", bucket = 26214400, ahead = 1, optimizer = #pp.optimizer<adamw, lr = 1.000000e-03, beta2 = 7.500000e-01, clip = 1.000000e+00>>
// CHECK: pp.mesh @mesh = <["mb"=4 : time, "pp"=2 : stage, "dp"=2, "tp"=3]>

// TP: #pp.plan<mesh = <["mb"=2 : time, "tp"=4]>, schedule = "gpipe", threads = 1, numerics = "f32", precision = "f32", remat = "cheap", epilogues = "library", links = "1e10:1e-5", rates = "1e11:1e10:1e-6", sequence = "false", vocab = "auto", bucket = 26214400, ahead = 1>
// TP: pp.mesh @mesh = <["mb"=2 : time, "tp"=4]>
module {}
