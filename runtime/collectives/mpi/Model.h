//===- Model.h - what is known of MPI without it ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: which process each rank is in. Out: the bytes in which a member keeps
// messages, which follow from its lanes. Not part of the library that needs
// MPI.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_COLLECTIVES_MPI_MODEL_H
#define PPRT_COLLECTIVES_MPI_MODEL_H

#include "Lanes.h"

namespace pprt::mpi {

/// `processOf[rank]`, of the whole mesh.
TransportModel model(std::vector<uint32_t> processOf,
                     const Limits &limits = {});

} // namespace pprt::mpi

#endif // PPRT_COLLECTIVES_MPI_MODEL_H
