//===- Measurements.cpp - what was measured of ranks and devices ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Measurements.h"

#include <cstring>
#include <type_traits>

using namespace pprt;

static_assert(std::is_trivially_copyable_v<InstructionTime>);
static_assert(std::is_trivially_copyable_v<DeviceMeasurements>);

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

void pprt::pack(const std::vector<DeviceMeasurements> &devices,
                std::vector<std::byte> &bytes) {
  const uint64_t count = devices.size();
  append(bytes, &count, 1);
  append(bytes, devices.data(), devices.size());
}

const std::byte *pprt::unpack(const std::byte *bytes,
                              std::vector<DeviceMeasurements> &devices) {
  uint64_t count = 0;
  bytes = take(bytes, &count, 1);
  devices.resize(count);
  return take(bytes, devices.data(), count);
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
    its.resize(InstructionList(program, section).size());
    bytes = take(bytes, its.data(), its.size());
  }
  bytes = take(bytes, &peakBytes, 1);
  return take(bytes, &allocationCount, 1);
}
