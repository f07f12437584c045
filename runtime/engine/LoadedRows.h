//===- LoadedRows.h - which part of a batch ranks load ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A batch is divided by its rows, so that a process needs some of them at most.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ENGINE_LOADEDROWS_H
#define PPRT_ENGINE_LOADEDROWS_H

#include "pprt/Ranks.h"
#include "pprt/Rows.h"

namespace pprt {

/// By argument, the rows that some of the ranks load.
std::vector<Rows> rowsLoaded(const ppx::ArtifactT &artifact, const Mesh &mesh,
                             RankRange ranks);

} // namespace pprt

#endif // PPRT_ENGINE_LOADEDROWS_H
