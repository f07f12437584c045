//===- Data.h - what collectives do to bytes, naively -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Collectives over whole tensors in plain loops. Reductions add the members in
// member order; bf16 accumulates in f32 and is rounded once.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_REFERENCE_DATA_H
#define PPRT_BACKENDS_REFERENCE_DATA_H

#include "pprt/Ppx.h"

#include <cstdint>
#include <vector>

namespace pprt::reference {

using Bytes = std::vector<uint8_t>;

/// Returns the outputs of all members for the collective's input `operand`, in
/// member order. `instruction` is any member's; `input` is the slot of the
/// inputs, which all have its element type and shape. In a permute, member i of
/// the inputs is member receivers[i] of the outputs.
std::vector<Bytes> runCollective(const ppx::InstructionT &instruction,
                                 size_t operand, const ppx::SlotT &input,
                                 const std::vector<Bytes> &inputs,
                                 const std::vector<size_t> &receivers = {});

/// Whether every element is finite; integers always are.
bool isFinite(ppx::ElementType element, const uint8_t *bytes, uint64_t size);

} // namespace pprt::reference

#endif // PPRT_BACKENDS_REFERENCE_DATA_H
