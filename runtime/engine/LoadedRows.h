//===- LoadedRows.h - which part of a batch ranks load ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A batch is divided by its rows, the first dimension, so that a process needs
// a range of them at most. A tensor without dimensions is one row.
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
