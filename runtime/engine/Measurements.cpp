//===- Measurements.cpp - what was measured of one rank -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Measurements.h"

#include <cstring>
#include <type_traits>

using namespace pprt;

static_assert(std::is_trivially_copyable_v<InstructionTime>);

template <typename T>
static void append(std::vector<std::byte> &bytes, const T *values,
                   size_t count) {
  const auto *first = reinterpret_cast<const std::byte *>(values);
  bytes.insert(bytes.end(), first, first + count * sizeof(T));
}

template <typename T>
static const std::byte *take(const std::byte *bytes, T *values, size_t count) {
  if (count != 0)
    std::memcpy(values, bytes, count * sizeof(T));
  return bytes + count * sizeof(T);
}

void Measurements::pack(std::vector<std::byte> &bytes) const {
  for (const std::vector<InstructionTime> &section : times)
    append(bytes, section.data(), section.size());
  append(bytes, &peakBytes, 1);
  append(bytes, &allocationCount, 1);
}

const std::byte *Measurements::unpack(const ppx::ProgramT &program,
                                      const std::byte *bytes) {
  for (Section section : kSections) {
    std::vector<InstructionTime> &its = times[size_t(section)];
    its.resize(instructionsOf(program, section).size());
    bytes = take(bytes, its.data(), its.size());
  }
  bytes = take(bytes, &peakBytes, 1);
  return take(bytes, &allocationCount, 1);
}
