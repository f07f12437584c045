//===- WriterShadow.h - the last writer of each byte ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Watches the arena of one rank as it runs: every byte has a shadow, the slot
// through which it was last written, and the load that wrote it, if any. A read
// through another slot, or for another micro-batch than the loaded one, gets
// bytes that were not meant for it. Nothing is concluded from the program's
// text.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H
#define PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <string>
#include <vector>

namespace pprt::reference {

class WriterShadow {
public:
  WriterShadow(const ppx::ArtifactT &artifact, const ppx::ProgramT &program)
      : artifact(&artifact), program(&program),
        writers(program.arena_bytes, kNobody), loads(program.arena_bytes) {}

  /// `instruction` is null for the host.
  void write(uint32_t slot, const ppx::InstructionT *instruction);
  /// Returns a description of an error in reading `slot` now, or nothing.
  std::string read(uint32_t slot, const ppx::InstructionT *instruction) const;

private:
  bool areOfOnePart(const ppx::InstructionT &load,
                    const ppx::InstructionT &reader) const;

  static constexpr uint32_t kNobody = ~uint32_t(0);
  /// The slot that owns the memory: the whole of a part, else the slot.
  uint32_t ownerOf(uint32_t slot) const {
    const int32_t whole = program->slots[slot]->part_of;
    return whole >= 0 ? uint32_t(whole) : slot;
  }

  const ppx::ArtifactT *artifact;
  const ppx::ProgramT *program;
  std::vector<uint32_t> writers;                ///< per byte, a slot
  std::vector<const ppx::InstructionT *> loads; ///< per byte, or null
};

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H
