//===- ArgumentParts.h - what each rank gives of the arguments --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Replicas hold the same values, so each part is given once. Ranks share the
// parts by bytes: with data parallelism alone each gives its share of all.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_ARGUMENTPARTS_H
#define PPRT_ARGUMENTPARTS_H

#include "pprt/Mesh.h"

#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Part of a parameter or state: `size` indices from `first` on in each
/// dimension of its shape.
struct ArgumentPart {
  uint32_t argument = 0;
  uint32_t rank = 0; ///< the rank to read it from
  std::vector<uint64_t> first, size;
};

/// Returns parts that together are all parameters and states, each element
/// once, by argument. Of the ranks that hold a part, the one is named that has
/// the fewest bytes to give.
std::vector<ArgumentPart> argumentParts(const ppx::ArtifactT &artifact,
                                        const Mesh &mesh);

/// Returns the bytes of the parts by rank.
std::vector<uint64_t> givenBytes(const std::vector<ArgumentPart> &parts,
                                 const ppx::ArtifactT &artifact,
                                 const Mesh &mesh);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_ARGUMENTPARTS_H
