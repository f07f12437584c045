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
#include "pprt/Target.h"

namespace pp {

/// Replaces every dot_general of floats in `block` that the target can run,
/// with as much around it as it takes, by a launch; without `epilogues` that is
/// what lies before it alone. `threads`: how many run a kernel.
void formContractions(mlir::Block &block, KernelTable &table,
                      const pprt::Target &target, unsigned threads,
                      bool epilogues);

} // namespace pp

#endif // PP_LIB_TRANSFORMS_LOWER_FORMCONTRACTIONS_H
