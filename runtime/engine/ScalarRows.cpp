//===- ScalarRows.cpp - scalars of launches: place and time ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ScalarRows.h"
#include "pprt/Program.h"

#include <algorithm>
#include <cstring>

using namespace pprt;

/// Scalars in a cache line.
static constexpr size_t kLine = 64 / sizeof(int64_t);

ScalarRows::ScalarRows(const std::vector<uint32_t> &coordinates,
                       const ppx::ProgramT &program)
    : width((coordinates.size() + 2 + kLine - 1) / kLine * kLine),
      step(coordinates.size() + 1) {
  for (Section section : kSections)
    for (const Instruction instruction : InstructionList(program, section)) {
      const int32_t microBatch = instruction.microBatch();
      if (!rows.try_emplace(microBatch, values.size()).second)
        continue;
      values.insert(values.end(), coordinates.begin(), coordinates.end());
      values.push_back(microBatch);
      values.resize(rows.size() * width);
    }
}

Status ScalarRows::allocate(Device &device) {
  Expected<std::unique_ptr<Memory>> made = device.allocate(bytes());
  if (!made)
    return made.status();
  memory = std::move(*made);
  return {};
}

Status ScalarRows::setStep(Stream &stream, int64_t value,
                           std::byte *host) const {
  std::memcpy(host, values.data(), bytes());
  for (size_t row = 0; row < values.size(); row += width)
    std::memcpy(host + (row + step) * sizeof(int64_t), &value, sizeof(value));
  // One write, whatever the number of rows.
  return stream.write(memory->address(), host, bytes());
}
