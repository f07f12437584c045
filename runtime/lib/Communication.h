//===- Communication.h - what a program sends in one step -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_COMMUNICATION_H
#define PPRT_LIB_COMMUNICATION_H

#include "pprt/Execution.h"
#include "pprt/Mesh.h"

#include <array>

namespace pprt {

/// The communication of one body of `program`, by CommunicationKind.
std::array<Communication, kCommunicationKinds>
communicationOf(const ppx::ArtifactT &artifact, const Mesh &mesh,
                const ppx::ProgramT &program);

} // namespace pprt

#endif // PPRT_LIB_COMMUNICATION_H
