//===- WriterShadow.cpp - the last writer of each byte --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "WriterShadow.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

void WriterShadow::write(uint32_t slot, const ppx::InstructionT *instruction,
                         bool isRead) {
  const ppx::SlotT &s = *program->slots[slot];
  if (s.bytes == 0)
    return;
  const ppx::InstructionT *before = makers[s.offset];
  const int32_t adds = instruction ? instruction->micro_batch : -1;
  std::set<int32_t> &its = summands[slot];
  const bool isGate = instruction && instruction->opcode == ppx::Opcode_gate;
  if (!isRead || isGate || adds < 0 || isHeld[slot])
    its.clear();
  else if (!its.empty())
    its.insert(adds);
  else if (!before || before->micro_batch != adds) {
    its = {adds};
    if (before && before->micro_batch >= 0)
      its.insert(before->micro_batch);
  }
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

std::string WriterShadow::readSum(uint32_t slot,
                                  const ppx::InstructionT &instruction) const {
  size_t all = 1;
  for (const auto &axis : artifact->axes)
    all *= axis->kind == ppx::AxisKind_time ? axis->size : 1;
  const ppx::SlotT &s = *program->slots[slot];
  const ppx::InstructionT *maker = s.bytes ? makers[s.offset] : nullptr;
  if (!maker || maker->micro_batch < 0 || maker->opcode == ppx::Opcode_load ||
      isHeld[slot] || instruction.micro_batch >= 0)
    return {};
  std::set<int32_t> its = summands[slot];
  its.insert(maker->micro_batch);
  if (its.size() == all)
    return {};
  return "reads '" + program->slots[slot]->name + "', which has parts of " +
         std::to_string(its.size()) + " of " + std::to_string(all) +
         " micro-batches";
}

std::string WriterShadow::read(uint32_t slot,
                               const ppx::InstructionT *instruction) const {
  const ppx::SlotT &s = *program->slots[slot];
  for (uint64_t byte = s.offset; byte < s.offset + s.bytes; ++byte) {
    const uint32_t writer = writers[byte];
    if (writer == kNobody)
      return "reads byte " + std::to_string(byte) + ", never written";
    if (writer != slot)
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
