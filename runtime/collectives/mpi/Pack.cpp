//===- Pack.cpp - strided regions as plain runs of elements ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Pack.h"

#include <algorithm>
#include <cstring>

using namespace pprt;
using namespace pprt::mpi;

Stretch Stretch::ofSource(const Region &region, uint64_t width, uint64_t begin,
                          uint64_t count) {
  return {
      region.middle, region.run, region.sourceOuter, region.sourceMiddle, begin,
      count,         width};
}

Stretch Stretch::ofTarget(const Region &region, uint64_t width, uint64_t begin,
                          uint64_t count) {
  return {
      region.middle, region.run, region.targetOuter, region.targetMiddle, begin,
      count,         width};
}

uint64_t mpi::elementCount(const Region &region) {
  return region.outer * region.middle * region.run;
}

static bool isDense(const Region &region, uint64_t outer, uint64_t middle) {
  return (region.middle == 1 || middle == region.run) &&
         (region.outer == 1 || outer == region.middle * region.run);
}

bool mpi::isDenseSource(const Region &region) {
  return isDense(region, region.sourceOuter, region.sourceMiddle);
}

bool mpi::isDenseTarget(const Region &region) {
  return isDense(region, region.targetOuter, region.targetMiddle);
}

/// Calls f(offset in the side's memory, packed offset, bytes) for the part of
/// every run that lies in the stretch.
template <typename Function>
static void forEachRun(const Stretch &stretch, Function f) {
  uint64_t done = 0;
  while (done < stretch.count) {
    const uint64_t element = stretch.begin + done;
    const uint64_t run = element / stretch.run, within = element % stretch.run;
    const uint64_t count = std::min(stretch.run - within, stretch.count - done);
    const uint64_t place = run / stretch.middle * stretch.outerStride +
                           run % stretch.middle * stretch.middleStride + within;
    f(place * stretch.width, done * stretch.width, count * stretch.width);
    done += count;
  }
}

void mpi::pack(const Stretch &stretch, const std::byte *base,
               std::byte *packed) {
  forEachRun(stretch, [&](uint64_t place, uint64_t offset, uint64_t bytes) {
    std::memcpy(packed + offset, base + place, bytes);
  });
}

void mpi::unpack(const Stretch &stretch, const std::byte *packed,
                 std::byte *base) {
  forEachRun(stretch, [&](uint64_t place, uint64_t offset, uint64_t bytes) {
    std::memcpy(base + place, packed + offset, bytes);
  });
}
