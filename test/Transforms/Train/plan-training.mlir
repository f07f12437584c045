// A program that evaluates has the seeds and cuts of the training step.

// RUN: pp-model gpt --layers=2 --hidden=16 --heads=2 --seq=8 --batch=8 --vocab=32 --dropout=0.1 -o %t.mlir
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2" --emit=plan -o %t.train.plan
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2" --evaluate --emit=plan -o %t.eval.plan
// RUN: diff %t.train.plan %t.eval.plan
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 tp=2 pp=2 microbatches=2 stop-after=pipeline" --evaluate --predict-values=logits -o %t.eval.mlir
// RUN: FileCheck %s < %t.eval.mlir
// RUN: pp-opt %t.eval.mlir --pp-parallelize | FileCheck %s --check-prefix=PROGRAM

// Stages run forward work alone.
// CHECK-NOT: pp.random_bits
// CHECK: #pp.schedule<"1f1b", ["0F0 0F1", "1F0 1F1"]>

// Each micro-batch emits what it predicts.
// PROGRAM: pp.emit output 1 {{.*}} as forward 1 0
// PROGRAM: pp.emit output 1 {{.*}} as forward 1 1
// PROGRAM: pp.emit output 0 {{.*}} as update

// Keys that concern gradients alone have no effect, and names of what backward needs are not looked for.

// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 zero=2 remat=full recompute=h.* bucket=100 ahead=0" --evaluate -o /dev/null
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 zero=3 precision=f16 clip=1.0" --evaluate -o /dev/null

// A step that is made already cannot be evaluated.

// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 stop-after=spmd" -o %t.spmd.mlir
// RUN: not pp-opt %t.spmd.mlir --pp-parallelize --evaluate 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: expects a model to evaluate, got a module of level spmd
// RUN: not pp-opt %t.mlir --pp-parallelize --predict-values=logits 2>&1 | FileCheck %s --check-prefix=NEEDS
// NEEDS: --predict-values needs --evaluate

// A forward pass alone would be cut elsewhere.
// RUN: pp-model gpt --layers=4 --hidden=16 --heads=2 --seq=8 --batch=8 --vocab=512 -o %t.deep.mlir
// RUN: pp-opt %t.deep.mlir --pp-parallelize="pp=2" --emit=plan -o %t.train.plan
// RUN: pp-opt %t.deep.mlir --pp-parallelize="pp=2" --evaluate --emit=plan -o %t.eval.plan
// RUN: diff %t.train.plan %t.eval.plan

// Ops that both have are numbered alike: with dropout, and where a layer norm has equal constants.
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 stop-after=graph" -o %t.train.graph
// RUN: pp-opt %t.mlir --pp-parallelize="dp=2 stop-after=graph" --evaluate -o %t.eval.graph
// RUN: grep dot_general %t.train.graph | grep -v pp.kind | grep -o 'pp.origin = [0-9]*' > %t.train.numbers
// RUN: grep dot_general %t.eval.graph | grep -o 'pp.origin = [0-9]*' > %t.eval.numbers
// RUN: diff %t.train.numbers %t.eval.numbers
