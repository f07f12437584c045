//===- Program.h - reading the parts of a rank program ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary that everything over programs shares: the three sections, the
// sizes of elements, and the names under which instructions appear in errors,
// timelines and traces.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PROGRAM_H
#define PPRT_PROGRAM_H

#include "pprt/Ppx.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

enum class Section : uint8_t { setup, body, teardown };
constexpr std::array<Section, 3> kSections = {Section::setup, Section::body,
                                              Section::teardown};

using InstructionList = std::vector<std::unique_ptr<ppx::InstructionT>>;

const char *sectionName(Section section);
const InstructionList &instructionsOf(const ppx::ProgramT &program,
                                      Section section);
InstructionList &instructionsOf(ppx::ProgramT &program, Section section);

/// Bytes of one element in memory; i1 takes a whole byte.
uint64_t elementSize(ppx::ElementType element);

/// The bytes of a dense tensor; nothing from 2^63 on.
std::optional<uint64_t> denseBytes(const std::vector<uint64_t> &shape,
                                   uint64_t elementBytes);

/// Whether an epilogue of a contraction has a parameter that it reads, or one
/// that it writes.
bool readsMore(const ppx::EpilogueT &epilogue);
bool writesMore(const ppx::EpilogueT &epilogue);
/// The parameter behind all that a contraction writes: its scratchpad, if any.
uint32_t workspaceParameter(const ppx::ContractionT &contraction);

/// Whether it changes out, and does not add up an operand beside it.
bool changesResult(const ppx::EpilogueT &epilogue);
/// The contraction's parameters that its unfused epilogues are given, in order,
/// and where among these out is, if it is.
struct UnfusedParameters {
  std::vector<uint32_t> of;
  std::optional<size_t> out;
};
UnfusedParameters unfusedParameters(const ppx::ContractionT &contraction);
/// What the epilogues of a contraction do, whatever is multiplied, as eight
/// hexadecimal digits: a checksum of their kinds and of all that says where
/// they read and write.
std::string epilogueSignature(const ppx::ContractionT &contraction);

/// How a compiled kernel is called, as eight hexadecimal digits: a checksum of
/// its rows and of the access and bytes of its parameters.
std::string kernelSignature(const ppx::KernelT &kernel);
/// How a symbol of unfused epilogues ends: what they do, and how `kernel`, a
/// contraction that has them, has them called.
std::string unfusedSignature(const ppx::KernelT &kernel);

/// The spelling of schedules: `0F3` is stage 0, forward, micro-batch 3; the
/// phases are P(rologue), F(orward), B(ackward), W(eight gradient), U(pdate).
std::string actionName(const ppx::InstructionT &instruction);
/// The action and the opcode, as in `0F3 send`.
std::string instructionName(const ppx::InstructionT &instruction);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_PROGRAM_H
