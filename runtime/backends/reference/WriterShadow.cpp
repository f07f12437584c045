//===- WriterShadow.cpp - the last writer of each byte --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "WriterShadow.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

void WriterShadow::write(uint32_t slot, const ppx::InstructionT *instruction) {
  const ppx::SlotT &s = *program->slots[slot];
  std::fill_n(writers.begin() + ptrdiff_t(s.offset), s.bytes, slot);
  std::fill_n(makers.begin() + ptrdiff_t(s.offset), s.bytes, instruction);
}

/// Whether both are for the same shard over time of the loaded argument.
bool WriterShadow::areOfOnePart(const ppx::InstructionT &load,
                                const ppx::InstructionT &reader) const {
  int64_t loaded = load.micro_batch, read = reader.micro_batch;
  // Row-major over the time axes, some of which split it.
  for (size_t i = artifact->axes.size(); i-- > 0;) {
    const ppx::AxisT &axis = *artifact->axes[i];
    if (axis.kind != ppx::AxisKind_time || axis.size == 1)
      continue;
    bool isSplit = false;
    for (const auto &dimension : artifact->arguments[load.binding]->sharding)
      isSplit |= std::count(dimension->axes.begin(), dimension->axes.end(), i);
    if (isSplit && (read < 0 || loaded % axis.size != read % axis.size))
      return false;
    loaded /= axis.size;
    read = read < 0 ? read : read / axis.size;
  }
  return true;
}

/// Whether what `maker` wrote is meant for `reader`.
bool WriterShadow::isFor(const ppx::InstructionT &maker,
                         const ppx::InstructionT &reader, uint32_t slot) const {
  if (maker.opcode == ppx::Opcode_load)
    return areOfOnePart(maker, reader);
  return isHeld[slot] || maker.micro_batch < 0 || reader.micro_batch < 0 ||
         maker.micro_batch == reader.micro_batch;
}

std::string WriterShadow::read(uint32_t slot,
                               const ppx::InstructionT *instruction) const {
  const ppx::SlotT &s = *program->slots[slot];
  for (uint64_t byte = s.offset; byte < s.offset + s.bytes; ++byte) {
    const uint32_t writer = writers[byte];
    if (writer == kNobody)
      return "reads byte " + std::to_string(byte) + ", never written";
    if (writer != slot && ownerOf(writer) != ownerOf(slot))
      return "reads byte " + std::to_string(byte) + " of '" + s.name +
             "', last written through '" + program->slots[writer]->name + "'";
    if (const ppx::InstructionT *maker = makers[byte];
        maker && instruction && !isFor(*maker, *instruction, slot))
      return "reads byte " + std::to_string(byte) + " of '" + s.name +
             "' in micro-batch " + std::to_string(instruction->micro_batch) +
             ", written for " + std::to_string(maker->micro_batch);
  }
  return {};
}
