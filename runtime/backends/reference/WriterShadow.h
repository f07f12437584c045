//===- WriterShadow.h - who wrote each byte last ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Watches the arena of one rank as it runs: every byte has a shadow, the slot
// through which it was written last. A read through another slot sees what was
// not meant for it. Nothing is concluded from the program's text.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_REFERENCE_WRITERSHADOW_H
#define PPRT_REFERENCE_WRITERSHADOW_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pprt::reference {

class WriterShadow {
public:
  explicit WriterShadow(const ppx::ProgramT &program)
      : program(&program), writers(program.arena_bytes, kNobody) {}

  void write(uint32_t slot);
  /// What is wrong with reading `slot` now, or nothing.
  std::string read(uint32_t slot) const;

private:
  static constexpr uint32_t kNobody = ~uint32_t(0);
  /// The slot whose memory this is: of a part, that of the whole.
  uint32_t ownerOf(uint32_t slot) const {
    const int32_t whole = program->slots[slot]->part_of;
    return whole >= 0 ? uint32_t(whole) : slot;
  }

  const ppx::ProgramT *program;
  std::vector<uint32_t> writers; ///< per byte, a slot
};

} // namespace pprt::reference

#endif // PPRT_REFERENCE_WRITERSHADOW_H
