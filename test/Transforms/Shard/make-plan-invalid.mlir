// Options that make no sense are refused with what was expected.
// RUN: not pp-opt %s --pp-make-plan="dp=0" 2>&1 | FileCheck %s --check-prefix=DEGREE
// RUN: not pp-opt %s --pp-make-plan="schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not pp-opt %s --pp-make-plan="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not pp-opt %s --pp-make-plan="optimizer=adam betas=0.9" 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not pp-opt %s --pp-make-plan="optimizer=adam betas=0.9,1.5" 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not pp-opt %s --pp-make-plan="optimizer=sgd decay=cosine" 2>&1 | FileCheck %s --check-prefix=COSINE
// RUN: not pp-opt %s --pp-make-plan="optimizer=adam lr=inf" 2>&1 | FileCheck %s --check-prefix=FINITE
// RUN: not pp-opt %s --pp-make-plan="threads=1025" 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not pp-opt %s --pp-make-plan="dp=65536 tp=65536" 2>&1 | FileCheck %s --check-prefix=MESH
// What the others leave without use is a mistake, too.
// RUN: not pp-opt %s --pp-make-plan="lr=0.1" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not pp-opt %s --pp-make-plan="optimizer=sgd betas=0.9,0.9" 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not pp-opt %s --pp-make-plan="tp=2 zero=1" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not pp-opt %s --pp-make-plan="zero=1" 2>&1 | FileCheck %s --check-prefix=AXIS

// DEGREE: error: 'dp' expects a number from 1 to 16777216, got '0'
// SCHEDULE: error: 'schedule' expects gpipe, 1f1b, interleaved-1f1b, zb-h1, zb-h2, zb-v, auto or FILE.csv, got 'zigzag'
// OPTIMIZER: error: 'optimizer' expects sgd, momentum, adam or adamw, got 'lion'
// BETAS: error: 'betas' expects two numbers below 1, as 0.9,0.999, got '0.9'
// BETA: error: 'betas' expects two numbers below 1, as 0.9,0.999, got '0.9,1.5'
// COSINE: error: 'decay' expects steps above warmup, got 0 and 0
// FINITE: error: 'lr' expects a finite number from 0 on, got 'inf'
// THREADS: error: 'threads' expects a number from 1 to 1024, got '1025'
// MESH: error: expects a mesh of at most 2147483648 positions, got more with axis "tp" of size 65536
// NONE: error: 'lr' has an effect with optimizer only, got none: choose that, or leave lr out
// UNUSED: error: 'betas' has an effect with optimizer=adam or adamw only, got optimizer=sgd: choose that, or leave {{betas|momentum}} out
// AXIS: error: 'zero' has an effect with dp, ep or sp above 1 only, got none: choose that, or leave zero out
module {}
