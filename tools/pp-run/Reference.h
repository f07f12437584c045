//===- Reference.h - a program beside the model it came from ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For --verify with --reference, where partition and model were not made by the
// same call. No values are looked at before the two are known to fit.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_REFERENCE_H
#define PP_RUN_REFERENCE_H

#include "pprt/Status.h"
#include "pprt/host/Compare.h"
#include "pprt/Ppx.h"

namespace pp::run {

/// Whether two programs, however partitioned, compute a step of the same: equal
/// names, roles, element types and shapes of arguments, equal metrics. Fails
/// (usage) with the first that differs.
pprt::Status matchReference(const pprt::ppx::ArtifactT &program,
                            const pprt::ppx::ArtifactT &reference);

/// The gradients of a step of Adam, as its first average tells them: after the
/// step it is beta1 times what it was `before`, and the rest the gradient's.
pprt::host::Values gradientsOf(const pprt::host::Values &states,
                               const pprt::host::Values &before, double beta1);

/// Without the tensors that `other` lacks.
pprt::host::Values keepCommon(pprt::host::Values values,
                              const pprt::host::Values &other);

} // namespace pp::run

#endif // PP_RUN_REFERENCE_H
