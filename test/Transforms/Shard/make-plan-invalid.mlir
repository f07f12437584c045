// Options that make no sense are refused with what was expected.
// RUN: not pp-opt %s --pp-make-plan="dp=0" 2>&1 | FileCheck %s --check-prefix=DEGREE
// RUN: not pp-opt %s --pp-make-plan="schedule=zigzag" 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not pp-opt %s --pp-make-plan="optimizer=lion" 2>&1 | FileCheck %s --check-prefix=OPTIMIZER
// RUN: not pp-opt %s --pp-make-plan="optimizer=adam betas=0.9" 2>&1 | FileCheck %s --check-prefix=BETAS
// RUN: not pp-opt %s --pp-make-plan="optimizer=adam betas=0.9,1.5" 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not pp-opt %s --pp-make-plan="optimizer=sgd decay=cosine" 2>&1 | FileCheck %s --check-prefix=COSINE

// DEGREE: error: expects dp of at least 1, got 0
// SCHEDULE: error: expects schedule=gpipe or 1f1b, got zigzag
// OPTIMIZER: error: expects optimizer=sgd, momentum, adam or adamw, got lion
// BETAS: error: expects two betas, got 1
// BETA: error: expects betas below 1, got 1.5
// COSINE: error: expects steps above warmup for decay=cosine, got 0 and 0
module {}
