//===- WriterShadow.h - the last writer of each byte ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Watches the arena of one rank as it runs: every byte has a shadow, the slot
// through which it was last written, and the instruction that wrote it, if any.
// A read through another slot, or for another micro-batch than it was written
// for, gets bytes that were not meant for it. Nothing is concluded from the
// program's text.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H
#define PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace pprt::reference {

class WriterShadow {
public:
  WriterShadow(const ppx::ArtifactT &artifact, const ppx::ProgramT &program)
      : artifact(&artifact), program(&program),
        writers(program.arena_bytes, kNobody), makers(program.arena_bytes),
        isHeld(program.slots.size()), summands(program.slots.size()) {
    for (size_t i = 0; i < artifact.arguments.size(); ++i)
      if (program.argument_slots[i] >= 0)
        isHeld[size_t(program.argument_slots[i])] = true;
  }

  /// `instruction` is null for the host. A running sum is read and written.
  void write(uint32_t slot, const ppx::InstructionT *instruction,
             bool isRead = false);
  /// Returns a description of an error in reading `slot` now, or nothing.
  std::string read(uint32_t slot, const ppx::InstructionT *instruction) const;
  /// The same of a sum that lacks a micro-batch.
  std::string readSum(uint32_t slot,
                      const ppx::InstructionT &instruction) const;

private:
  bool areOfOnePart(const ppx::InstructionT &load,
                    const ppx::InstructionT &reader) const;
  bool isFor(const ppx::InstructionT &maker, const ppx::InstructionT &reader,
             uint32_t slot) const;

  static constexpr uint32_t kNobody = ~uint32_t(0);
  const ppx::ArtifactT *artifact;
  const ppx::ProgramT *program;
  std::vector<uint32_t> writers;                 ///< per byte, a slot
  std::vector<const ppx::InstructionT *> makers; ///< per byte, or null
  std::vector<bool> isHeld; ///< per slot: a parameter's or state's
  /// Per slot to which different micro-batches have added: these.
  std::vector<std::set<int32_t>> summands;
};

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_WRITERSHADOW_H
