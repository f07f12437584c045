//===- Finite.h - whether values are numbers --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Of bytes that the host reaches: a device without a kernel for it brings them.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_FINITE_H
#define PPRT_BACKENDS_CPU_FINITE_H

#include "../../engine/Device.h"

namespace pprt::cpu {

/// Whether no element is infinite or NaN; the host must reach them.
bool allFinite(const Values &values);

} // namespace pprt::cpu

#endif // PPRT_BACKENDS_CPU_FINITE_H
