//===- Arena.cpp - the memory of one rank ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Arena.h"
#include "Team.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/mman.h>

using namespace pprt::cpu;

/// A NaN when read as a float of any type.
static constexpr uint64_t kPoison = 0x7ff57ff57ff57ff5;

static constexpr uint64_t kHugePage = 1 << 21;

static uint64_t roundUp(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void Arena::Free::operator()(std::byte *memory) const { std::free(memory); }

bool Arena::allocate(uint64_t size) {
  // A size that cannot be rounded up cannot be allocated.
  if (size > std::numeric_limits<uint64_t>::max() - kHugePage)
    return false;
  bytes = std::max(roundUp(size, kAlignment), kAlignment);
  // Huge pages speed up strided kernels by 5 %, and are optional.
  const bool huge = bytes >= kHugePage;
  const uint64_t alignment = huge ? kHugePage : kAlignment;
  memory.reset(static_cast<std::byte *>(
      std::aligned_alloc(alignment, roundUp(bytes, alignment))));
  if (memory && huge)
    madvise(memory.get(), bytes, MADV_HUGEPAGE);
  return memory != nullptr;
}

void Arena::poison(Team &team) {
  auto *words = reinterpret_cast<uint64_t *>(memory.get());
  const uint64_t pages = roundUp(bytes, kHugePage) / kHugePage;
  team.run([&](unsigned index) {
    // Whole pages: the system clears a page for its first writer.
    const auto end = [&](unsigned part) {
      return std::min(bytes, pages * part / team.size() * kHugePage) /
             sizeof(uint64_t);
    };
    std::fill(words + end(index), words + end(index + 1), kPoison);
  });
}

uint64_t Arena::writtenBytes() const {
  uint64_t end = bytes;
  for (; end > 0; end -= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, memory.get() + end - sizeof(word), sizeof(word));
    if (word != kPoison)
      break;
  }
  return roundUp(end, kAlignment);
}
