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
  const bool isLoad = instruction && instruction->opcode == ppx::Opcode_load;
  std::fill_n(loads.begin() + ptrdiff_t(s.offset), s.bytes,
              isLoad ? instruction : nullptr);
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
    if (const ppx::InstructionT *load = loads[byte];
        load && instruction && !areOfOnePart(*load, *instruction))
      return "reads byte " + std::to_string(byte) + " of '" + s.name +
             "' in micro-batch " + std::to_string(instruction->micro_batch) +
             ", loaded for " + std::to_string(load->micro_batch);
  }
  return {};
}
