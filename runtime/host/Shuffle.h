//===- Shuffle.h - a random order that needs no memory ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a number of items, a seed and an epoch. Out: the item at any place of the
// order that these three determine, and nothing else. Every item has one place.
//
// The places are the plain texts, and the items the cipher texts, of a Feistel
// network on the fewest bits that can count them (Luby and Rackoff, 1988). An
// output that is no item is encrypted again until it is one ("cycle walking":
// Black and Rogaway, Ciphers with Arbitrary Finite Domains, 2002), twice on
// average at most. A permutation of what is left stays one.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_HOST_SHUFFLE_H
#define PPRT_HOST_SHUFFLE_H

#include <array>
#include <cstdint>

namespace pprt::host {

/// The output function of SplitMix64 (Steele et al., 2014): a bijection in
/// which every input bit changes about half of the output bits.
uint64_t mix(uint64_t value);

class Shuffle {
public:
  /// `count` is at least 1.
  Shuffle(uint64_t count, uint64_t seed, uint64_t epoch);

  /// The item at `place`, both below `count`.
  uint64_t operator[](uint64_t place) const;

private:
  uint64_t encrypt(uint64_t block) const;

  uint64_t count;
  unsigned low, high; ///< bits of the halves
  std::array<uint64_t, 8> keys;
};

} // namespace pprt::host

#endif // PPRT_HOST_SHUFFLE_H
