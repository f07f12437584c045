//===- Shuffle.cpp - a random order that needs no memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Shuffle.h"

#include <utility>

using namespace pprt::host;

uint64_t pprt::host::mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
  value = (value ^ value >> 27) * 0x94d049bb133111eb;
  return value ^ value >> 31;
}

Shuffle::Shuffle(uint64_t count, uint64_t seed, uint64_t epoch) : count(count) {
  const unsigned bits = count > 1 ? 64 - __builtin_clzll(count - 1) : 0;
  low = bits / 2;
  high = bits - low;
  uint64_t key = mix(mix(seed) + epoch);
  for (uint64_t &round : keys)
    round = key = mix(key);
}

/// Rounds come in pairs, after which the halves are as wide as before.
uint64_t Shuffle::encrypt(uint64_t block) const {
  unsigned lowBits = low, highBits = high;
  for (uint64_t key : keys) {
    const uint64_t lowHalf = block & ((uint64_t(1) << lowBits) - 1),
                   highHalf = block >> lowBits;
    const uint64_t changed =
        highHalf ^ (mix(key + lowHalf) & ((uint64_t(1) << highBits) - 1));
    // The half that was read becomes the high one.
    block = lowHalf << highBits | changed;
    std::swap(lowBits, highBits);
  }
  return block;
}

uint64_t Shuffle::operator[](uint64_t place) const {
  if (count == 1)
    return 0;
  do
    place = encrypt(place);
  while (place >= count);
  return place;
}
