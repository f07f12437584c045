// A plan in a file takes the place of the options; what is no plan is refused.

// RUN: echo '#pp.plan<mesh = <["mb"=2 : time, "dp"=4]>, schedule = "gpipe", threads = 1>' > %t.plan
// RUN: pp-opt %s --pp-load-plan="file=%t.plan" | FileCheck %s
// CHECK: module attributes {pp.plan = #pp.plan<mesh = <["mb"=2 : time, "dp"=4]>, schedule = "gpipe"{{(, threads = 1)?}}>}
// CHECK: pp.mesh @mesh = <["mb"=2 : time, "dp"=4]>

// RUN: not pp-opt %s --pp-load-plan="file=%t.none" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expects a file with a plan: {{.*}}.none: cannot open: No such file or directory

// RUN: echo '42 : i64' > %t.number
// RUN: not pp-opt %s --pp-load-plan="file=%t.number" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: {{^.*}}.number:1:1: error: expects a #pp.plan with a mesh, got '42 : i64': a plan is what --emit=plan writes
// RUN: not pp-opt %s --pp-load-plan="file=%s" 2>&1 | FileCheck %s --check-prefix=MODEL
// MODEL: load-plan.mlir:{{[0-9]+}}:1: error: expects a #pp.plan with a mesh, got '{{.*}}': that is a model; a plan is what --emit=plan writes for one

// White space and comments are free.
// RUN: printf '\n // mine\n// and more\n#pp.plan<\n  // four\n  mesh = <["mb"=2 : time, "dp"=4]>, schedule = "gpipe"\n>\n// done\n' > %t.commented
// RUN: pp-opt %s --pp-load-plan="file=%t.commented" | FileCheck %s

// What cannot be read is told with its line in the file.
// RUN: printf '// mine\n\n#pp.plan<\n  mesh = <["dp"=4]>,\n  optimizer = #pp.optimizer<sgd, lr = 1>\n>\n' > %t.whole
// RUN: not pp-opt %s --pp-load-plan="file=%t.whole" 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: {{^.*}}.whole:5:39: error: unexpected decimal integer literal for a floating point value; add a trailing dot to make the literal a float; write 1 as 1.0
// Reals need no point beside an exponent.
// RUN: printf '#pp.plan<mesh = <["dp"=4]>, optimizer = #pp.optimizer<sgd, lr = 3e-4, clip = 1E+1>>' > %t.exponent
// RUN: pp-opt %s --pp-load-plan="file=%t.exponent" | FileCheck %s --check-prefix=EXPONENT
// EXPONENT: lr = 3.000000e-04, clip = 1.000000e+01

// So is a value that does not fit its key.
// RUN: printf '#pp.plan<\n  mesh = <["dp"=4]>,\n  zero = 5\n>\n' > %t.five
// RUN: not pp-opt %s --pp-load-plan="file=%t.five" 2>&1 | FileCheck %s --check-prefix=FIVE
// FIVE: {{^.*}}.five:3:10: error: 'zero' expects a number from 0 to 3, got 5

// A setting without effect beside the others is refused as a key is; what chose
// seeds is forgotten where these are given.
// RUN: echo '#pp.plan<mesh = <["dp"=2]>, zero = 2, zero.gather = "layer">' > %t.gather
// RUN: not pp-opt %s --pp-load-plan="file=%t.gather" 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: {{^.*}}.gather:1:5: error: 'zero.gather' has an effect with zero=3 only, got zero=2: choose that, or leave zero.gather out
// RUN: echo '#pp.plan<mesh = <["tp"=2]>, sequence.gather = "keep">' > %t.lone
// RUN: not pp-opt %s --pp-load-plan="file=%t.lone" 2>&1 | FileCheck %s --check-prefix=LONE
// LONE: 'sequence.gather' has an effect with sequence=true only, got sequence=false: choose that, or leave sequence.gather out
// RUN: echo '#pp.plan<mesh = <["tp"=2]>, sequence.gather = "keep", seeds = [#pp.seed<"x", [{"tp"}], 0>]>' > %t.seeded
// RUN: pp-opt %s --pp-load-plan="file=%t.seeded" | FileCheck %s --check-prefix=SEEDED
// SEEDED: sequence.gather = "keep", seeds

// Neither this nor options replace the plan that a module has.
// RUN: pp-opt %s --pp-make-plan="dp=2" -o %t.planned.mlir
// RUN: not pp-opt %t.planned.mlir --pp-load-plan="file=%t.plan" 2>&1 | FileCheck %s --check-prefix=PLANNED
// RUN: not pp-opt %t.planned.mlir --pp-make-plan="dp=4" 2>&1 | FileCheck %s --check-prefix=PLANNED
// PLANNED: expects a module without a plan, got #pp.plan<mesh = <["dp"=2]>

module {}
