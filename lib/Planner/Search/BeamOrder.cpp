//===- BeamOrder.cpp - the most promising of all orders -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// All orders grow by an action at a time, and only the best few go on: those
// with the lowest bounds, and among these those whose positions would end
// earliest.
//
//===----------------------------------------------------------------------===//
#include "BeamOrder.h"
#include "ExactBound.h"
#include <algorithm>
#include <unordered_map>

using namespace pp;

namespace {

/// A partial order of the layer before with one more action.
struct Child {
  PartialBound bound;
  size_t parent;
  Step step;
  Mode mode;
};

class Beam {
public:
  Beam(const OrderModel &model, size_t width)
      : model(model), width(width), layer{beginOrder(model)},
        times(model, layer.front().modes) {}

  std::optional<Order> run(double known);

private:
  /// How an order of a layer came about.
  struct Link {
    size_t parent;
    Step step;
  };

  void expand(const PartialOrder &partial, size_t parent);
  void select(double known);
  Order follow(size_t index, const std::vector<Mode> &modes) const;

  const OrderModel &model;
  const size_t width;
  std::vector<PartialOrder> layer;
  const HeadsAndTails times;
  std::vector<Child> children;
  std::vector<std::vector<Link>> links; ///< by layer
};

void Beam::expand(const PartialOrder &partial, size_t parent) {
  const Continuations next = findContinuations(model, partial);
  PartialOrder child = partial;
  for (const auto &[step, mode] : next.actions) {
    child = partial;
    placeNext(model, child, step, mode);
    children.push_back({boundOf(model, times, child), parent, step, mode});
  }
  if (!next.waits)
    return;
  child = partial;
  child.waits |= next.waits;
  expand(child, parent);
}

void Beam::select(double known) {
  std::stable_sort(children.begin(), children.end(),
                   [](const Child &a, const Child &b) {
                     return isLess(a.bound.seconds, b.bound.seconds) ||
                            (!isLess(b.bound.seconds, a.bound.seconds) &&
                             a.bound.mean < b.bound.mean);
                   });
  std::vector<PartialOrder> next;
  std::vector<Link> &link = links.emplace_back();
  std::unordered_map<std::string, std::vector<std::vector<double>>> seen;
  for (const Child &child : children) {
    if (next.size() == width || !isLess(child.bound.seconds, known))
      break;
    PartialOrder partial = layer[child.parent];
    placeNext(model, partial, child.step, child.mode);
    std::vector<double> own = timesOf(model, partial);
    auto &others = seen[actionsOf(model, partial)];
    if (std::any_of(others.begin(), others.end(),
                    [&](const auto &other) { return isNoLater(other, own); }))
      continue;
    others.push_back(std::move(own));
    next.push_back(std::move(partial));
    link.push_back({child.parent, child.step});
  }
  layer = std::move(next);
}

Order Beam::follow(size_t index, const std::vector<Mode> &modes) const {
  Order order{{}, std::vector<std::vector<Step>>(model.positions)};
  for (Mode mode : modes)
    order.isSplit.push_back(mode == Split);
  for (size_t i = links.size(); i-- > 0;) {
    const Link &link = links[i][index];
    order.steps[model.positionOf[link.step / 3]].push_back(link.step);
    index = link.parent;
  }
  for (std::vector<Step> &steps : order.steps)
    std::reverse(steps.begin(), steps.end());
  return order;
}

std::optional<Order> Beam::run(double known) {
  std::optional<Order> best;
  while (!layer.empty()) {
    for (size_t i = 0; i < layer.size(); ++i)
      if (isComplete(model, layer[i]) && isLess(layer[i].state.end(), known)) {
        known = layer[i].state.end();
        best = follow(i, layer[i].modes);
      }
    children.clear();
    for (size_t i = 0; i < layer.size(); ++i)
      expand(layer[i], i);
    select(known);
  }
  return best;
}

} // namespace

std::optional<Order> pp::findBeamOrder(const OrderModel &model, double known,
                                       size_t width) {
  return Beam(model, width).run(known);
}

/// A partial order has about three continuations; to bound one is as much as to
/// place some actions, and to copy it as much as some more.
uint64_t pp::workOfBeam(const OrderModel &model, size_t width) {
  const uint64_t actions = 3 * uint64_t(model.stages) * model.microBatches;
  return 3 * width * actions * (8 + actions / 64);
}
