// A plan in a file takes the place of the options; what is no plan is refused.

// RUN: echo '#pp.plan<mesh = <["dp"=4]>, schedule = "gpipe", threads = 1>' > %t.plan
// RUN: pp-opt %s --pp-load-plan="file=%t.plan" | FileCheck %s
// CHECK: module attributes {pp.plan = #pp.plan<mesh = <["dp"=4]>, schedule = "gpipe", threads = 1>}
// CHECK: pp.mesh @mesh = <["dp"=4]>

// RUN: not pp-opt %s --pp-load-plan="file=%t.none" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expects a file with a plan, got '{{.*}}.none': No such file or directory

// RUN: echo '42 : i64' > %t.number
// RUN: not pp-opt %s --pp-load-plan="file=%t.number" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: expects a #pp.plan with a mesh in '{{.*}}.number'

module {}
