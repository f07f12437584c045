//===- ProgramBuilder.h - artifacts for tests, in few lines -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Builds artifacts by hand. Slots are rows of f32 at given offsets or one after
// another; arguments and shapes are derived from them. With `automaticWaits`,
// every instruction gets the waits that order it after all earlier conflicting
// accesses of its list, as a compiler would add them.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_RUNTIME_PROGRAMBUILDER_H
#define PP_TEST_RUNTIME_PROGRAMBUILDER_H

#include "pprt/Program.h"

#include <map>
#include <string>
#include <vector>

namespace pprt::test {

class ArtifactBuilder;

using WrittenList = std::vector<std::unique_ptr<ppx::InstructionT>>;

/// The instructions of a section that makes one call at most. If it makes none,
/// adds one of an empty routine.
WrittenList &writtenOf(ppx::ProgramT &program, Section section);
inline WrittenList &bodyOf(ppx::ProgramT &program) {
  return writtenOf(program, Section::body);
}
/// Writes what each section calls as one routine, with slots instead of copies.
void flatten(ppx::ProgramT &program);

/// The action in an instruction's name.
struct Action {
  ppx::Phase phase = ppx::Phase_prologue;
  int32_t microBatch = -1;
};

class ProgramBuilder {
public:
  ProgramBuilder(ArtifactBuilder &owner, ppx::ProgramT &program, uint32_t stage)
      : owner(owner), program(program), stage(stage) {}

  bool automaticWaits = true;

  uint32_t queue(const std::string &name,
                 ppx::QueueKind kind = ppx::QueueKind_compute);
  /// Adds `elements` f32 behind all other slots, or at `offset`.
  uint32_t slot(const std::string &name, uint64_t elements);
  uint32_t slotAt(uint64_t offset, const std::string &name, uint64_t elements);

  /// Appends the next instructions to this section, under the current action.
  void begin(Section section);
  void set(Action action) { current = action; }

  // Each appends an instruction and returns it.
  ppx::InstructionT &run(uint32_t queue, const std::vector<uint32_t> &reads,
                         const std::vector<uint32_t> &writes,
                         const std::vector<uint32_t> &updates = {});
  ppx::InstructionT &gate(uint32_t queue, const std::vector<uint32_t> &reads,
                          const std::vector<uint32_t> &updates, uint32_t flag);
  ppx::InstructionT &send(uint32_t queue, uint32_t stage, uint32_t slot);
  /// `sender` is the stage whose computation the message carries.
  ppx::InstructionT &recv(uint32_t queue, uint32_t stage, uint32_t slot);
  ppx::InstructionT &collective(uint32_t queue, ppx::CollectiveKind kind,
                                uint32_t group,
                                const std::vector<uint32_t> &inputs,
                                const std::vector<uint32_t> &outputs);
  ppx::InstructionT &copy(uint32_t queue, uint32_t from, uint32_t to);
  ppx::InstructionT &load(uint32_t queue, uint32_t argument, uint32_t slot);
  ppx::InstructionT &emit(uint32_t queue, uint32_t output, uint32_t slot);
  ppx::InstructionT &flag(uint32_t queue, const std::vector<uint32_t> &reads,
                          uint32_t flag);
  ppx::InstructionT &step(uint32_t queue);

  /// Returns a wait for all instructions of `queue` in this section so far.
  ppx::Wait after(uint32_t queue) const;
  ppx::ProgramT &get() { return program; }

private:
  struct Access {
    uint32_t queue, count;
    uint64_t begin, end;
    bool writes;
  };
  ppx::InstructionT &add(ppx::Opcode opcode, uint32_t queue,
                         std::vector<uint32_t> arguments,
                         const std::vector<uint32_t> &reads,
                         const std::vector<uint32_t> &writes);
  void addWaits(ppx::InstructionT &instruction, uint32_t slot, bool writes);

  ArtifactBuilder &owner;
  ppx::ProgramT &program;
  const uint32_t stage;
  Section section = Section::setup;
  Action current;
  std::vector<uint32_t> queueLengths; ///< in this section
  std::vector<Access> accesses;       ///< of this section
};

class ArtifactBuilder {
public:
  ArtifactBuilder();

  uint32_t axis(const std::string &name, uint32_t size,
                ppx::AxisKind kind = ppx::AxisKind_space);
  uint32_t group(std::vector<uint32_t> axes, std::vector<uint32_t> stages = {});
  /// Adds a kernel with parameters of this access and these bytes, once.
  uint32_t kernel(const std::vector<std::pair<ppx::Access, uint64_t>> &);
  ProgramBuilder program(std::vector<uint32_t> ranks, uint32_t stage = 0);
  /// Adds an argument of `elements` f32, and an output. hold() sets the
  /// argument's slots; programs set the stages that emit the output.
  uint32_t argument(const std::string &name, ppx::Role role, uint64_t elements);
  uint32_t output(const std::string &name, uint64_t elements,
                  ppx::OutputRole role = ppx::OutputRole_metric);
  /// `slot` of the last program holds `argument`.
  void hold(uint32_t argument, uint32_t slot);
  /// The ranks of `stage` emit `output`.
  void emits(uint32_t output, uint32_t stage);

  ppx::ArtifactT take();

private:
  ppx::ArtifactT artifact;
  std::map<std::vector<std::pair<ppx::Access, uint64_t>>, uint32_t> kernels;
};

} // namespace pprt::test

#endif // PP_TEST_RUNTIME_PROGRAMBUILDER_H
