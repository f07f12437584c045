// Cuts by the names of ops are those by their numbers; the plan then has the
// numbers.
// RUN: pp-model gpt --layers=4 --hidden=16 --heads=2 --seq=8 --batch=4 --vocab=24 -o %t.mlir
// RUN: pp-opt %t.mlir --pp-parallelize="pp=3 microbatches=2 cuts=h.1,h.3 stop-after=pipeline" --emit=plan -o %t.plan
// RUN: FileCheck %s --input-file=%t.plan
// CHECK-NOT: cuts = "
// CHECK: cuts = [{{[0-9]+}}, {{[0-9]+}}]
// RUN: pp-opt %t.mlir --pp-parallelize="pp=3 microbatches=2 cuts=h.1,h.3" -o %t.names.mlir
// RUN: pp-opt %t.mlir --pp-parallelize="plan=%t.plan" | diff - %t.names.mlir
// A file may have names, too.
// RUN: sed 's/cuts = .*/cuts = "h.1, h.3",/' %t.plan > %t.names.plan
// RUN: pp-opt %t.mlir --pp-parallelize="plan=%t.names.plan" | diff - %t.names.mlir
// As a dry run tells them, numbers are a key, too.
// RUN: pp-run %t.mlir --parallelize="pp=3 microbatches=2 cuts=h.1,h.3" --dry-run | grep -o 'cuts=.*' > %t.cuts
// RUN: pp-opt %t.mlir --pp-parallelize="pp=3 microbatches=2 $(cat %t.cuts)" | diff - %t.names.mlir
// RUN: not pp-opt %t.mlir --pp-parallelize="pp=2 cuts=[9999]" 2>&1 | FileCheck %s --check-prefix=FAR
// FAR: error: expects stage 1 to begin
// RUN: not pp-opt %t.mlir --pp-parallelize="pp=2 cuts=[h.2]" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: cuts="[h.2]" expects numbers of forward ops, got 'h.2'
// RUN: not pp-opt %t.mlir --pp-parallelize="pp=2 cuts=h.9" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: cuts="h.9" names no forward op; names are those of ops' locations, such as h.4
// RUN: not pp-opt %t.mlir --pp-parallelize="pp=3 cuts=h.2" 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: expects 2 cuts for 3 stages, got 1
