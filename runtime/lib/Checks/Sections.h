//===- Sections.h - one section of one program, by queue --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Private to the checks. Lists are flat; order and waits are per queue. This is
// a section by queue.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_LIB_CHECKS_SECTIONS_H
#define PPRT_LIB_CHECKS_SECTIONS_H

#include "pprt/Program.h"
#include "pprt/SlotAccesses.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>

namespace pprt::checks {

/// The instructions of a section by queue.
struct QueueOrder {
  /// Per queue, the indices of its instructions in list order.
  std::vector<std::vector<uint32_t>> instructions;
  /// Per instruction, its queue and its position there.
  std::vector<uint32_t> queueOf, position;

  QueueOrder(const InstructionList &list, size_t queueCount)
      : instructions(queueCount), queueOf(list.size()), position(list.size()) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      queueOf[i] = list[i]->queue;
      std::vector<uint32_t> &queue = instructions[queueOf[i]];
      position[i] = uint32_t(queue.size());
      queue.push_back(i);
    }
  }

  size_t usedQueues() const {
    return size_t(
        std::count_if(instructions.begin(), instructions.end(),
                      [](const auto &queue) { return !queue.empty(); }));
  }
};

/// Calls `visit(index)` for each instruction of the section that must complete
/// before instruction `index` of the same rank starts: the previous one in its
/// queue, and the last that each wait counts. A `step` waits for the last
/// instruction of every queue. Other orders follow from these.
template <typename Visitor>
void forEachPredecessor(const InstructionList &list, const QueueOrder &order,
                        uint32_t index, Visitor visit) {
  if (order.position[index] > 0)
    visit(order.instructions[order.queueOf[index]][order.position[index] - 1]);
  list.forEachWait(index, [&](uint32_t queue, uint32_t count) {
    visit(order.instructions[queue][count - 1]);
  });
  if (list[index]->opcode != ppx::Opcode_step)
    return;
  for (const std::vector<uint32_t> &queue : order.instructions)
    if (!queue.empty() && queue.back() != index)
      visit(queue.back());
}

/// Calls `visit(index)` for each instruction after all its predecessors, and
/// returns the steps taken. Does not visit instructions on a cycle of waits or
/// behind one.
template <typename Visitor>
uint64_t visitInOrder(const InstructionList &list, const QueueOrder &order,
                      Visitor visit) {
  const size_t queueCount = order.instructions.size();
  uint64_t steps = queueCount;
  std::vector<uint32_t> completed(queueCount);
  // For each queue's next instruction, its waits that may not hold yet.
  std::vector<std::vector<ppx::Wait>> pending(queueCount);
  // Queues to look at, and by queue those that wait for its instructions.
  std::vector<size_t> ready(queueCount);
  std::iota(ready.begin(), ready.end(), 0);
  using Waiting = std::pair<uint32_t, size_t>; // instruction; queue
  std::map<uint32_t,
           std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>>
      waiting;
  const auto mayStart = [&](size_t queue) {
    for (std::vector<ppx::Wait> &waits = pending[queue]; !waits.empty();
         waits.pop_back(), ++steps)
      if (const ppx::Wait &wait = waits.back();
          completed[wait.queue()] < wait.count()) {
        waiting[wait.queue()].emplace(wait.count(), queue);
        return false;
      }
    return true;
  };
  const auto begin = [&](size_t queue) {
    const std::vector<uint32_t> &mine = order.instructions[queue];
    if (completed[queue] < mine.size())
      list.forEachWait(mine[completed[queue]],
                       [&](uint32_t on, uint32_t count) {
                         pending[queue].emplace_back(on, count);
                       });
  };
  for (size_t queue = 0; queue < queueCount; ++queue)
    begin(queue);
  for (size_t next = 0; next < ready.size(); ++next) {
    const size_t queue = ready[next];
    const std::vector<uint32_t> &mine = order.instructions[queue];
    while (completed[queue] < mine.size() && mayStart(queue)) {
      ++steps;
      visit(mine[completed[queue]++]);
      begin(queue);
    }
    const auto others = waiting.find(uint32_t(queue));
    if (others == waiting.end())
      continue;
    while (!others->second.empty() &&
           others->second.top().first <= completed[queue]) {
      ready.push_back(others->second.top().second);
      others->second.pop();
    }
  }
  return steps;
}

} // namespace pprt::checks

#endif // PPRT_LIB_CHECKS_SECTIONS_H
