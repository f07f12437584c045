//===- ExactOrder.cpp - the best order of a small step --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whether a stage is split is chosen with its first backward action. A partial
// order is left when its bound is no better than the best order so far, or when
// one of the same actions had everything at least as early.
//
//===----------------------------------------------------------------------===//
#include "ExactOrder.h"
#include "ExactBound.h"
#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

using namespace pp;

namespace {

class Exact {
public:
  Exact(const OrderModel &model, double known, double least, uint64_t mostNodes)
      : model(model), least(least), mostNodes(mostNodes),
        first(beginOrder(model)), times(model, first.modes) {
    result.seconds = known;
  }

  ExactResult run();

private:
  using Times = std::vector<double>;
  struct Seen {
    Times times;
    uint64_t waits;
  };

  void visit(size_t depth);
  void branch(size_t depth);
  void place(size_t depth, Step step, Mode mode);
  bool isDone() const {
    return result.nodes >= mostNodes || !isLess(least, result.seconds);
  }
  void keep(const PartialOrder &node);
  bool wasSeen(const PartialOrder &node);

  const OrderModel &model;
  const double least;
  const uint64_t mostNodes;
  const PartialOrder first;
  const HeadsAndTails times;
  std::deque<PartialOrder> path; ///< by depth; a deque, for references stay
  std::vector<std::pair<unsigned, Step>> placed; ///< with their positions
  std::unordered_map<std::string, std::vector<Seen>> seen;
  ExactResult result;
};

/// Whether an order of the same actions had nothing later.
bool Exact::wasSeen(const PartialOrder &node) {
  Times times = timesOf(model, node);
  std::vector<Seen> &others = seen[actionsOf(model, node)];
  for (const Seen &other : others)
    if (!(other.waits & ~node.waits) && isNoLater(other.times, times))
      return true;
  others.erase(std::remove_if(others.begin(), others.end(),
                              [&](const Seen &other) {
                                return !(node.waits & ~other.waits) &&
                                       isNoLater(times, other.times);
                              }),
               others.end());
  others.push_back({std::move(times), node.waits});
  return false;
}

void Exact::keep(const PartialOrder &node) {
  result.seconds = node.state.end();
  Order order{std::vector<char>(model.stages),
              std::vector<std::vector<Step>>(model.positions)};
  for (unsigned stage = 0; stage < model.stages; ++stage)
    order.isSplit[stage] = node.modes[stage] == Split;
  for (const auto &[position, step] : placed)
    order.steps[position].push_back(step);
  result.order = std::move(order);
}

void Exact::place(size_t depth, Step step, Mode mode) {
  if (path.size() == depth + 1)
    path.push_back(path[depth]);
  PartialOrder &node = path[depth + 1] = path[depth];
  placeNext(model, node, step, mode);
  placed.push_back({model.positionOf[step / 3], step});
  if (isLess(boundOf(model, times, node).seconds, result.seconds) &&
      !wasSeen(node))
    visit(depth + 1);
  placed.pop_back();
}

void Exact::branch(size_t depth) {
  const Continuations next = findContinuations(model, path[depth]);
  for (const auto &[step, mode] : next.actions)
    place(depth, step, mode);
  if (!next.waits)
    return;
  if (path.size() == depth + 1)
    path.push_back(path[depth]);
  path[depth + 1] = path[depth];
  path[depth + 1].waits |= next.waits;
  visit(depth + 1);
}

void Exact::visit(size_t depth) {
  if (isDone())
    return;
  ++result.nodes;
  const PartialOrder &node = path[depth];
  if (!isComplete(model, node))
    return branch(depth);
  keep(node);
}

ExactResult Exact::run() {
  path.push_back(first);
  visit(0);
  result.isComplete =
      result.nodes < mostNodes || !isLess(least, result.seconds);
  return std::move(result);
}

} // namespace

ExactResult pp::findExactOrder(const OrderModel &model, double known,
                               double least, uint64_t mostNodes) {
  return Exact(model, known, least, mostNodes).run();
}
