//===- MoveActions.cpp - small changes of an order ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A step is as long as its critical path: a chain of actions, each of which
// starts when the one before has ended, on the same position or by a message.
// Where it stays on a position without a pause only another order of these
// actions can make it shorter, so that is all that is tried.
//
//===----------------------------------------------------------------------===//
#include "OrderSearch.h"
#include <algorithm>

using namespace pp;

namespace {

/// Consecutive actions of a position on the critical path.
struct Block {
  unsigned position;
  size_t first, last;
};

/// Where each action of an order is.
class Places {
public:
  Places(const OrderModel &model, const Order &order)
      : m(model.microBatches), indexOf(3 * size_t(model.stages) * m) {
    std::vector<unsigned> count(3 * size_t(model.stages));
    microBatches.resize(order.steps.size());
    for (size_t position = 0; position < order.steps.size(); ++position)
      for (size_t i = 0; i < order.steps[position].size(); ++i) {
        const Step step = order.steps[position][i];
        microBatches[position].push_back(count[step]);
        indexOf[step * m + count[step]++] = i;
      }
  }
  unsigned microBatch(unsigned position, size_t index) const {
    return microBatches[position][index];
  }
  size_t index(Step step, unsigned microBatch) const {
    return indexOf[step * m + microBatch];
  }

private:
  const size_t m;
  std::vector<size_t> indexOf;
  std::vector<std::vector<unsigned>> microBatches;
};

} // namespace

/// From the end of the step to its start.
static std::vector<Block> findCriticalPath(const OrderModel &model,
                                           const Order &order,
                                           const OrderTimes &times) {
  const Places places(model, order);
  auto endOf = [&](unsigned position, size_t index) {
    const Step step = order.steps[position][index];
    return times.starts[position][index] +
           model.seconds(step, order.isSplit[step / 3]);
  };
  unsigned position = 0;
  for (unsigned other = 0; other < model.positions; ++other)
    if (endOf(other, order.steps[other].size() - 1) >
        endOf(position, order.steps[position].size() - 1))
      position = other;
  size_t index = order.steps[position].size() - 1;
  std::vector<Block> blocks;
  for (;;) {
    const size_t last = index;
    while (index > 0 &&
           endOf(position, index - 1) >= times.starts[position][index])
      --index;
    blocks.push_back({position, index, last});
    const Step step = order.steps[position][index];
    const unsigned stage = step / 3, kind = step % 3;
    if ((kind == kForward && stage == 0) ||
        times.starts[position][index] <= 0 || kind == kWeight ||
        (kind == kBackward && stage + 1 == model.stages))
      return blocks;
    const Step before = kind == kForward ? step - 3 : step + 3;
    const unsigned microBatch = places.microBatch(position, index);
    position = model.positionOf[before / 3];
    index = places.index(before, microBatch);
  }
}

bool OrderSearch::moveOnce() {
  const std::vector<Block> blocks =
      findCriticalPath(model, bestOrder, bestTimes);
  for (const Block &block : blocks) {
    const std::vector<Step> steps = bestOrder.steps[block.position];
    auto tryMove = [&](size_t from, size_t to) {
      Order order = bestOrder;
      std::vector<Step> &moved = order.steps[block.position];
      const auto begin = moved.begin();
      if (from < to)
        std::rotate(begin + from, begin + from + 1, begin + to + 1);
      else
        std::rotate(begin + to, begin + from, begin + from + 1);
      if (moved == steps)
        return false;
      const double before = bestSeconds;
      consider(order);
      return isLess(bestSeconds, before);
    };
    for (size_t i = block.first; i <= block.last; ++i) {
      if (isDone())
        return false;
      if (i < block.last && tryMove(i, block.last))
        return true;
      if (i > block.first && tryMove(i, block.first))
        return true;
      if (i < block.last && steps[i] != steps[i + 1] && tryMove(i, i + 1))
        return true;
    }
  }
  return false;
}

void OrderSearch::moveActions() {
  while (!isDone() && moveOnce())
    ;
}
