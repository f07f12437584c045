//===- Contraction.h - contractions on the CPU ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the compiler must know about the CPU's contractions: whether one can be
// run as described, and how much scratch memory it needs.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_CONTRACTION_H
#define PPRT_CONTRACTION_H

#include "pprt/Status.h"
#include "pprt/ppx_generated.h"

namespace pprt::cpu {

/// Fails (badArtifact) if the backend cannot compute the contraction.
Status verifyContraction(const ppx::ContractionT &contraction);

/// Chooses for a team of `threads`: who multiplies, and how large a scratchpad
/// it needs, the last byte of which is written. A rule of
/// shape, layout and this processor's kind, so the same every time. Assumes
/// verifyContraction() succeeded.
void planContraction(ppx::ContractionT &contraction, unsigned threads);

} // namespace pprt::cpu

#endif // PPRT_CONTRACTION_H
