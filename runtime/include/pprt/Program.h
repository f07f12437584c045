//===- Program.h - reading the parts of a rank program ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The vocabulary of all code over programs: the three sections, the sizes of
// elements, and the names of instructions in errors, timelines and traces.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_PROGRAM_H
#define PPRT_PROGRAM_H

#include "pprt/InstructionList.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace pprt {

const char *sectionName(Section section);

/// Returns the bytes of one element in memory; i1 takes a whole byte.
uint64_t elementSize(ppx::ElementType element);
/// i8, i32 or i64.
bool isInteger(ppx::ElementType element);
bool isFloat(ppx::ElementType element);
/// A float of less than 32 bits, which is computed and summed in f32.
bool isNarrowFloat(ppx::ElementType element);

/// Returns the bytes of a dense tensor; nothing from 2^63 on.
std::optional<uint64_t> denseBytes(const std::vector<uint64_t> &shape,
                                   uint64_t elementBytes);

/// Return whether an epilogue of a contraction has a parameter that it reads,
/// or one that it writes.
bool readsMore(const ppx::EpilogueT &epilogue);
bool writesMore(const ppx::EpilogueT &epilogue);
/// Returns the parameter after all written ones: the scratchpad, if any.
uint32_t workspaceParameter(const ppx::ContractionT &contraction);

/// Returns whether the epilogue changes out instead of summing an operand.
bool changesResult(const ppx::EpilogueT &epilogue);
/// The contraction's parameters that its unfused epilogues get, in order, and
/// the index of out among these, if it is one.
struct UnfusedParameters {
  std::vector<uint32_t> of;
  std::optional<size_t> out;
};
UnfusedParameters unfusedParameters(const ppx::ContractionT &contraction);
/// Returns a checksum of the kinds of a contraction's epilogues and of all that
/// says where they read and write, as eight hexadecimal digits. It does not
/// depend on what is multiplied.
std::string epilogueSignature(const ppx::ContractionT &contraction);

/// Returns a checksum of a compiled kernel's rows and of the access and bytes
/// of its parameters, as eight hexadecimal digits.
std::string kernelSignature(const ppx::KernelT &kernel);
/// Returns the suffix of a symbol of unfused epilogues: what they do, and how
/// `kernel`, the contraction that has them, calls them.
std::string unfusedSignature(const ppx::KernelT &kernel);

/// Returns the letter of a phase in the names of actions.
char phaseLetter(ppx::Phase phase);
/// Spells an action as in schedules: `0F3` is stage 0, forward, micro-batch 3;
/// P(rologue), F(orward), B(ackward), W(eight gradient), U(pdate).
std::string actionName(const Instruction &instruction);
/// Returns the action and the opcode, as in `0F3 send`.
std::string instructionName(const Instruction &instruction);

} // namespace pprt
#pragma GCC visibility pop

#endif // PPRT_PROGRAM_H
