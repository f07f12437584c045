//===- Fuzzing.h - any bytes as a .ppx file ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the fuzz target, which looks for inputs by coverage, and by its
// short test of inputs drawn from a seed.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_FUZZING_H
#define PP_TEST_RUNTIME_FUZZING_H

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace pprt::test {

/// The result of an input.
struct FuzzVerdict {
  enum Fate { unreadable, refused, large, finished } fate = unreadable;
  /// The fault found: an accepted program that does not end, or has a race, or
  /// an artifact that cannot be read back. Empty if there is none.
  std::string fault;
};

/// Processes the content of a .ppx, whatever its checksums, completely: it is
/// read, checked, packed and read again, and if it passes and is small, run by
/// the reference executor; its contractions are computed on this processor.
FuzzVerdict tryContent(const uint8_t *bytes, size_t size);

/// Overwrites a number, a length or an offset: aligned bytes, so that much of
/// the rest keeps its meaning.
void damage(uint8_t *bytes, size_t size, std::mt19937_64 &random);

/// The same for several neighbouring numbers: with one value, or each with its
/// own.
void damageTogether(uint8_t *bytes, size_t size, std::mt19937_64 &random);

/// Content of a small artifact, another one for each seed, with contractions of
/// matrices and of images.
std::vector<uint8_t> smallContent(uint64_t seed);

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_FUZZING_H
