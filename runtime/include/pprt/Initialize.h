//===- Initialize.h - initial values of parameters --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Values come from a counter-based generator: element i depends on the seed,
// the initializer and i alone, never on how the tensor is split.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_INITIALIZE_H
#define PPRT_INITIALIZE_H

#include "pprt/Ppx.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

/// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2,
/// 3" (2011).
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                               std::array<uint32_t, 2> key);

/// Returns element `index` (row-major in the unpadded global tensor), before
/// rounding to the tensor's type. A normal value comes from Box-Muller, whose
/// two results are elements 2j and 2j + 1.
double initialValue(const ppx::InitializerT &initializer, uint64_t seed,
                    uint64_t index);

/// Address of elements [first, first + count) of a tensor.
struct ElementRun {
  uint64_t first, count;
  std::byte *values;
};

/// Computes the elements of all runs, on all processors.
void initialize(const ppx::InitializerT &initializer, uint64_t seed,
                ppx::ElementType element, const std::vector<ElementRun> &runs);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_INITIALIZE_H
