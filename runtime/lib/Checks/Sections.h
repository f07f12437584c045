//===- Sections.h - one section of one program, by queue --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the checks. Lists are flat; order and waits are per queue. This
// is the section seen that way, and the memory that an instruction touches.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_SECTIONS_H
#define PPRT_LIB_CHECKS_SECTIONS_H

#include "pprt/Program.h"

#include <algorithm>

namespace pprt::checks {

/// The instructions of a section by queue.
struct QueueOrder {
  /// Per queue, the indices of its instructions in list order.
  std::vector<std::vector<uint32_t>> instructions;
  /// Per instruction, its position in its queue.
  std::vector<uint32_t> position;

  QueueOrder(const InstructionList &list, size_t queueCount)
      : instructions(queueCount), position(list.size()) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      std::vector<uint32_t> &queue = instructions[list[i]->queue];
      position[i] = uint32_t(queue.size());
      queue.push_back(i);
    }
  }
};

/// Calls `visit(index)` for each instruction of the section that must complete
/// before instruction `index` of the same rank starts: the one before it in
/// its queue, and the last that each wait counts. A `step` waits for the last
/// instruction of every queue. Other orders follow from these.
template <typename Visitor>
void forEachPredecessor(const InstructionList &list, const QueueOrder &order,
                        uint32_t index, Visitor visit) {
  const ppx::InstructionT &instruction = *list[index];
  if (order.position[index] > 0)
    visit(order.instructions[instruction.queue][order.position[index] - 1]);
  for (const ppx::Wait &wait : instruction.waits)
    visit(order.instructions[wait.queue()][wait.count() - 1]);
  if (instruction.opcode != ppx::Opcode_step)
    return;
  for (const std::vector<uint32_t> &queue : order.instructions)
    if (!queue.empty() && queue.back() != index)
      visit(queue.back());
}

/// Calls `visit(index)` for each instruction once all its predecessors have
/// been visited, and returns the steps taken. Those on a cycle of waits, and
/// those behind one, are not visited. Each round visits an instruction at
/// least, so that looking at every queue adds a factor of their number.
template <typename Visitor>
uint64_t visitInOrder(const InstructionList &list, const QueueOrder &order,
                      Visitor visit) {
  uint64_t steps = 0;
  std::vector<uint32_t> completed(order.instructions.size());
  auto isReady = [&](const ppx::InstructionT &instruction) {
    steps += 1 + instruction.waits.size();
    return std::all_of(instruction.waits.begin(), instruction.waits.end(),
                       [&](const ppx::Wait &wait) {
                         return completed[wait.queue()] >= wait.count();
                       });
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t queue = 0; queue < completed.size(); ++queue) {
      const std::vector<uint32_t> &mine = order.instructions[queue];
      while (completed[queue] < mine.size() &&
             isReady(*list[mine[completed[queue]]])) {
        visit(mine[completed[queue]++]);
        progress = true;
      }
    }
  }
  return steps;
}

/// One slot that an instruction touches.
struct SlotAccess {
  uint32_t slot;
  bool reads, writes;
};

/// The slots that an instruction touches, in the order of its arguments.
std::vector<SlotAccess> accessesOf(const ppx::ArtifactT &artifact,
                                   const ppx::InstructionT &instruction);

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_SECTIONS_H
