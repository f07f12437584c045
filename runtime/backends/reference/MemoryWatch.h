//===- MemoryWatch.h - what one rank does to its memory ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Watches one rank as it runs. In: its instructions, as they start and
// complete; each is assumed to touch only its arguments. Out: races, reads of
// bytes meant for another slot, and writes to bytes that the same instruction
// touches through another argument.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_MEMORYWATCH_H
#define PPRT_BACKENDS_REFERENCE_MEMORYWATCH_H

#include "RaceDetector.h"
#include "WriterShadow.h"

namespace pprt::reference {

class MemoryWatch {
public:
  /// Sentences without a subject.
  struct Findings {
    std::vector<std::string> races, clobbers;
  };

  MemoryWatch(const ppx::ArtifactT &artifact, const ppx::ProgramT &program)
      : artifact(&artifact), program(&program),
        detector(program.arena_bytes, program.queues.size()),
        writers(artifact, program) {}

  /// The host fills the slot of a parameter or state.
  void fill(uint32_t slot);
  /// Everything before has completed.
  void startSection() { detector.startSection(); }
  /// The next instruction of its queue starts; its waits hold.
  void start(const ppx::InstructionT &instruction) {
    detector.start(instruction.queue, instruction.waits);
  }
  /// The instruction has touched its arguments.
  Findings complete(const ppx::InstructionT &instruction);
  /// Between sections the host may read all slots it has filled. Clobbers only.
  std::vector<std::string> readAll() const;

private:
  bool isRead(const ppx::InstructionT &instruction, size_t argument) const;
  bool isWritten(const ppx::InstructionT &instruction, size_t argument) const;
  void compareOperands(const ppx::InstructionT &instruction,
                       Findings &findings) const;

  const ppx::ArtifactT *artifact;
  const ppx::ProgramT *program;
  RaceDetector detector;
  WriterShadow writers;
  std::vector<uint32_t> held; ///< slots that the host has filled
};

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_MEMORYWATCH_H
