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

/// The size of the contraction's scratchpad on `threads` threads: its slot's
/// bytes, and Contraction.workspace_bytes. Its last byte is written. Assumes
/// verifyContraction() succeeded.
uint64_t workspaceBytes(const ppx::ContractionT &contraction, unsigned threads);

} // namespace pprt::cpu

#endif // PPRT_CONTRACTION_H
