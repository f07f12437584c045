//===- Places.h - where the copies of slots lie -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the checks. Slots share memory at different times, and
// micro-batches take copies in turn: a long program has many copies and far
// fewer places. What is costly is found once for each place.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_PLACES_H
#define PPRT_LIB_CHECKS_PLACES_H

#include "pprt/InstructionList.h"

#include <random>
#include <unordered_map>

namespace pprt::checks {

/// Half open, in bytes of the arena.
struct Place {
  uint64_t begin, end;

  bool operator==(const Place &other) const {
    return begin == other.begin && end == other.end;
  }
};

class Places {
public:
  const SlotCopies copies;

  explicit Places(const ppx::ProgramT &program) : copies(program) {
    std::unordered_map<Place, uint32_t, Hash> known;
    ofCopies.reserve(copies.size());
    for (uint32_t copy = 0; copy < copies.size(); ++copy) {
      const uint64_t begin = copies.offset(copy);
      const Place place = {begin, begin + copies[copy].bytes};
      const auto [entry, isNew] =
          known.try_emplace(place, uint32_t(all.size()));
      if (isNew)
        all.push_back(place);
      ofCopies.push_back(entry->second);
    }
  }

  /// The different ones.
  size_t size() const { return all.size(); }
  const Place &operator[](uint32_t number) const { return all[number]; }
  /// Number of the place of a copy.
  uint32_t of(uint32_t copy) const { return ofCopies[copy]; }

private:
  /// No file can have places that meet in a table: nobody knows the seed.
  struct Hash {
    uint64_t seed = (uint64_t(std::random_device()()) << 32) |
                    uint64_t(std::random_device()());

    size_t operator()(const Place &place) const {
      constexpr uint64_t odd = 0x9E3779B97F4A7C15; // 2^64 / golden ratio
      uint64_t mixed = (place.begin ^ seed) * odd;
      mixed = ((mixed ^ (mixed >> 32)) + place.end) * odd;
      return size_t(mixed ^ (mixed >> 29));
    }
  };

  std::vector<Place> all;
  std::vector<uint32_t> ofCopies;
};

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_PLACES_H
