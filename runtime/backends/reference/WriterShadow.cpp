//===- WriterShadow.cpp - who wrote each byte last ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "WriterShadow.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::reference;

void WriterShadow::write(uint32_t slot) {
  const ppx::SlotT &s = *program->slots[slot];
  std::fill_n(writers.begin() + ptrdiff_t(s.offset), s.bytes, slot);
}

std::string WriterShadow::read(uint32_t slot) const {
  const ppx::SlotT &s = *program->slots[slot];
  for (uint64_t byte = s.offset; byte < s.offset + s.bytes; ++byte) {
    const uint32_t writer = writers[byte];
    if (writer == kNobody)
      return "reads byte " + std::to_string(byte) + ", never written";
    if (writer != slot && ownerOf(writer) != ownerOf(slot))
      return "reads byte " + std::to_string(byte) + " of '" + s.name +
             "', last written through '" + program->slots[writer]->name + "'";
  }
  return {};
}
