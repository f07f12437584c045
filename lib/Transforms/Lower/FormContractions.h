//===- FormContractions.h - dots become library contractions ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The first half of pp-form-kernels: what a library computes.
//
//===----------------------------------------------------------------------===//
#ifndef PP_LIB_TRANSFORMS_LOWER_FORMCONTRACTIONS_H
#define PP_LIB_TRANSFORMS_LOWER_FORMCONTRACTIONS_H

#include "KernelTable.h"

namespace pp {

/// Replaces every dot_general of floats in `block` that the library can run,
/// with what it can absorb, by a launch. `threads`: how many run a kernel.
void formContractions(mlir::Block &block, KernelTable &table, unsigned threads);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_FORMCONTRACTIONS_H
