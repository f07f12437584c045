//===- ExactOrder.cpp - the best order of a small step --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A partial order grows where an action can end first (Giffler and Thompson,
// 1960): if none of the actions that can start there before that end came next,
// the one that ends first would fit in before what does, and nothing would be
// later. That is no reason where to come earlier costs others something:
// memory, or their place on an edge. There one more branch keeps them all
// waiting until the position has run something else.
//
// Whether a stage is split is chosen with its first backward action. A partial
// order is left when its bound is no better than the best order so far, or when
// one of the same actions had everything at least as early.
//
//===----------------------------------------------------------------------===//
#include "ExactOrder.h"
#include "ExactBound.h"
#include "OrderBound.h"
#include <algorithm>
#include <deque>
#include <string>
#include <unordered_map>

using namespace pp;

namespace {

/// An action that may be next.
struct Option {
  Step step;
  double start, end; ///< `end` in the longer of the forms it may have
};

class Exact {
public:
  Exact(const OrderModel &model, double known, double least, uint64_t mostNodes)
      : model(model), least(least), mostNodes(mostNodes),
        toEnd(secondsToEnd(model)) {
    result.seconds = known;
    for (unsigned stage = 0; stage < model.stages; ++stage)
      firstModes.push_back(model.bestMode(stage));
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
  bool isShiftable(const PartialOrder &node, Step step) const;
  double seconds(const PartialOrder &node, Step step) const;

  const OrderModel &model;
  const double least;
  const uint64_t mostNodes;
  const std::vector<double> toEnd;
  std::vector<Mode> firstModes;
  std::deque<PartialOrder> path; ///< by depth; a deque, for references stay
  std::vector<std::pair<unsigned, Step>> placed; ///< with their positions
  std::unordered_map<std::string, std::vector<Seen>> seen;
  ExactResult result;
};

double Exact::seconds(const PartialOrder &node, Step step) const {
  const Mode mode = node.modes[step / 3];
  return mode == Open
             ? std::max(model.seconds(step, true), model.seconds(step, false))
             : model.seconds(step, mode == Split);
}

/// Whether to come earlier on its position costs nothing else anything.
bool Exact::isShiftable(const PartialOrder &node, Step step) const {
  const unsigned stage = step / 3;
  if (step % 3 == kWeight)
    return true;
  if (model.limits[model.positionOf[stage]] != kUnlimited &&
      (step % 3 == kForward ||
       (node.modes[stage] != Merged && model.growth(stage) > 0)))
    return false;
  if (model.edgeOf[step] < 0 || model.sendSeconds(step) <= 0)
    return true;
  for (Step other = 0; other < model.edgeOf.size(); ++other)
    if (other != step && model.edgeOf[other] == model.edgeOf[step])
      return false;
  return true;
}

/// Whether an order of the same actions had nothing later.
bool Exact::wasSeen(const PartialOrder &node) {
  const OrderState &state = node.state;
  std::string key(node.modes.begin(), node.modes.end());
  Times times;
  for (Step step = 0; step < toEnd.size(); ++step) {
    key.push_back(char(state.count(step)));
    if (step % 3 == kWeight)
      continue;
    const double free = state.freeAt(model.positionOf[step / 3]);
    for (unsigned i = state.count(step); i < model.microBatches; ++i)
      if (const double arrival = state.arrivalOf(step, i); arrival != kNever)
        times.push_back(std::max(free, arrival));
  }
  for (unsigned position = 0; position < model.positions; ++position)
    times.push_back(state.freeAt(position));
  for (unsigned edge = 0; edge < model.edges; ++edge)
    times.push_back(state.edgeFreeAt(edge));
  auto isAtMost = [](const Times &a, const Times &b) {
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](double x, double y) { return x <= y; });
  };
  std::vector<Seen> &others = seen[key];
  for (const Seen &other : others)
    if (!(other.waits & ~node.waits) && isAtMost(other.times, times))
      return true;
  others.erase(std::remove_if(others.begin(), others.end(),
                              [&](const Seen &other) {
                                return !(node.waits & ~other.waits) &&
                                       isAtMost(times, other.times);
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
  const unsigned position = model.positionOf[step / 3];
  if (path.size() == depth + 1)
    path.push_back(path[depth]);
  PartialOrder &node = path[depth + 1] = path[depth];
  node.modes[step / 3] = mode;
  node.state.place(step, mode == Split);
  for (unsigned stage : model.stagesAt[position])
    node.waits &= ~(uint64_t(7) << 3 * stage);
  placed.push_back({position, step});
  if (isLess(leastSeconds(model, toEnd, node), result.seconds) &&
      !wasSeen(node))
    visit(depth + 1);
  placed.pop_back();
}

void Exact::branch(size_t depth) {
  const PartialOrder &node = path[depth];
  std::vector<Option> options;
  const Option *first = nullptr;
  for (Step step = 0; step < toEnd.size(); ++step) {
    const double start = node.state.startOf(step);
    if (start == kNever || node.waits >> step & 1 ||
        (step % 3 == kWeight && node.modes[step / 3] != Split) ||
        !node.state.fits(step, node.modes[step / 3] == Split))
      continue;
    options.push_back({step, start, start + seconds(node, step)});
  }
  for (const Option &option : options)
    if (!first || option.end < first->end ||
        (option.end == first->end && !isShiftable(node, first->step)))
      first = &option;
  if (!first)
    return; // every position that is not done waits
  const unsigned position = model.positionOf[first->step / 3];
  std::vector<Option> next;
  uint64_t waits = 0;
  for (const Option &option : options)
    if (model.positionOf[option.step / 3] == position &&
        (option.step == first->step || option.start < first->end)) {
      next.push_back(option);
      waits |= uint64_t(1) << option.step;
    }
  const bool mayWait = !isShiftable(node, first->step);
  std::sort(next.begin(), next.end(), [](const Option &a, const Option &b) {
    constexpr int kRank[] = {1, 0, 2};
    return std::make_pair(kRank[a.step % 3], a.start) <
           std::make_pair(kRank[b.step % 3], b.start);
  });
  for (const Option &option : next) {
    const Step step = option.step;
    const Mode mode = path[depth].modes[step / 3];
    if (step % 3 != kBackward || mode != Open) {
      place(depth, step, mode);
      continue;
    }
    if (path[depth].state.fits(step, true))
      place(depth, step, Split);
    place(depth, step, Merged);
  }
  if (!mayWait)
    return;
  if (path.size() == depth + 1)
    path.push_back(path[depth]);
  path[depth + 1] = path[depth];
  path[depth + 1].waits |= waits;
  visit(depth + 1);
}

void Exact::visit(size_t depth) {
  if (isDone())
    return;
  ++result.nodes;
  const PartialOrder &node = path[depth];
  for (unsigned stage = 0; stage < model.stages; ++stage)
    if (node.state.count(3 * stage + kBackward) < model.microBatches ||
        (node.modes[stage] == Split &&
         node.state.count(3 * stage + kWeight) < model.microBatches))
      return branch(depth);
  keep(node);
}

ExactResult Exact::run() {
  path.push_back({OrderState(model), firstModes, 0});
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
