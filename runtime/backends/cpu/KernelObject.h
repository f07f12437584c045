//===- KernelObject.h - the compiled kernels inside an artifact -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the object of an artifact whose checksum is right; its code is trusted.
// Out: its functions. Nothing is written to a file system.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CPU_KERNELOBJECT_H
#define PPRT_BACKENDS_CPU_KERNELOBJECT_H

#include "pprt/Execution.h"
#include "pprt/Status.h"

#include <vector>

namespace pprt {

/// Loads an ELF shared object from memory. It stays loaded as long as a copy of
/// the resolver lives. Fails (badArtifact) if the system's loader refuses it.
Expected<KernelResolver> loadKernelObject(const std::vector<uint8_t> &object);

} // namespace pprt

#endif // PPRT_BACKENDS_CPU_KERNELOBJECT_H
