//===- Epilogue.h - what follows a contraction, element by element -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_EPILOGUE_H
#define PPRT_BACKENDS_CPU_EPILOGUE_H

#include "Elements.h"

namespace pprt::cpu {

/// Applies `kind` in place to a rows x columns matrix with unit column stride.
/// `operand` is read by add and multiply only.
template <typename Compute>
void applyEpilogue(ppx::EpilogueKind kind, const StridedInput &operand,
                   Compute *matrix, uint64_t leading, uint64_t rows,
                   uint64_t columns);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_EPILOGUE_H
