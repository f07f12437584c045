//===- Residuals.cpp - what forward keeps for backward --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In a cut each node has an entry and an exit. The exit lies behind the cut if
// backward has the value, the entry if it computes the value; a kept value is
// an edge from entry to exit that is cut. An entry behind the cut costs its
// work.
//
// To fit a budget, two choices that are optimal for one price of a byte, one of
// which keeps too much, are mixed: where they differ, each connected part of
// the graph may follow either. For a model of equal layers these are the
// layers. What is left is decided by branch and bound.
//
//===----------------------------------------------------------------------===//
#include "pp/Planner/Residuals.h"
#include "MinCut.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <queue>

using namespace pp;

static constexpr int64_t kNever = ResidualNode::kNever;

//===----------------------------------------------------------------------===//
// One price
//===----------------------------------------------------------------------===//

namespace {
/// Sums over all nodes, above 0.
struct Totals {
  double bytes = 1, work = 1;

  explicit Totals(const std::vector<ResidualNode> &nodes) {
    for (const ResidualNode &node : nodes) {
      bytes += node.bytes == kNever ? 0.0 : static_cast<double>(node.bytes);
      work += static_cast<double>(node.work.value_or(0));
    }
  }
};
} // namespace

ResidualChoice pp::chooseResiduals(const std::vector<ResidualNode> &nodes,
                                   double bytePrice) {
  // Costs become integers, as large as a cut can have; a power of two keeps
  // equal sums equal.
  const Totals totals(nodes);
  const double unit = std::exp2(
      std::floor(std::log2(1e17 / (totals.work + bytePrice * totals.bytes))));
  MinCut cut;
  auto entry = [](unsigned node) { return 2 * node; };
  auto exit = [](unsigned node) { return 2 * node + 1; };
  cut.addVertices(2 * nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    const ResidualNode &node = nodes[number];
    cut.connect(
        entry(number), exit(number),
        node.bytes == kNever
            ? MinCut::kInfinite
            : std::llround(unit * bytePrice * static_cast<double>(node.bytes)));
    cut.connectSource(entry(number),
                      node.work
                          ? std::llround(unit * static_cast<double>(*node.work))
                          : MinCut::kInfinite);
    for (unsigned operand : node.operands)
      cut.connect(exit(operand), entry(number), MinCut::kInfinite);
    if (node.isNeeded)
      cut.connectSink(exit(number));
  }
  const std::vector<bool> behind = cut.solve();
  ResidualChoice choice(nodes.size());
  for (unsigned number = 0; number < nodes.size(); ++number) {
    const ResidualNode &node = nodes[number];
    if (behind[entry(number)]) {
      choice.recomputed[number] = true;
      choice.work += node.work.value_or(0);
    } else if (behind[exit(number)]) {
      choice.kept[number] = true;
      choice.bytes += node.bytes;
    }
  }
  return choice;
}

//===----------------------------------------------------------------------===//
// A budget
//===----------------------------------------------------------------------===//

namespace {

/// Choices between which the budget lies, optimal for one price.
struct Bracket {
  ResidualChoice tooLarge, fitting;
  double bound = 0; ///< no choice that fits has less work
};

class Fitter {
public:
  Fitter(const std::vector<ResidualNode> &nodes, int64_t budget)
      : nodes(nodes), budget(budget) {}

  std::optional<FittingResiduals> run(unsigned steps);

private:
  /// What has been settled: whether a value is kept, unless it is not used.
  struct Branch {
    std::vector<std::pair<unsigned, bool>> settled;
    double bound = 0;
    unsigned next = 0; ///< the value to settle
  };

  std::vector<ResidualNode> settle(const Branch &branch) const;
  std::optional<Bracket>
  findBracket(const std::vector<ResidualNode> &settled) const;
  void mix(const Bracket &bracket);
  /// The choice that keeps those of `kept` that are used.
  std::optional<ResidualChoice> evaluate(const std::vector<bool> &kept) const;
  void consider(const std::optional<ResidualChoice> &choice);
  /// Finds a branch's bound, a choice, and what to settle next; false if no
  /// better choice is left in it.
  bool explore(Branch &branch);

  const std::vector<ResidualNode> &nodes;
  const int64_t budget;
  std::optional<ResidualChoice> best;
};

} // namespace

std::vector<ResidualNode> Fitter::settle(const Branch &branch) const {
  std::vector<ResidualNode> all(nodes);
  for (auto [number, isKept] : branch.settled)
    if (isKept)
      all[number].work.reset();
    else
      all[number].bytes = kNever;
  return all;
}

std::optional<Bracket>
Fitter::findBracket(const std::vector<ResidualNode> &settled) const {
  const Totals totals(settled);
  Bracket bracket{chooseResiduals(settled, 0.5 / totals.bytes),
                  chooseResiduals(settled, 2 * totals.work), 0};
  auto &[large, small, bound] = bracket;
  bound = static_cast<double>(large.work);
  if (small.bytes > budget)
    return std::nullopt;
  if (large.bytes <= budget) {
    small = large;
    return bracket;
  }
  for (;;) {
    const double price = static_cast<double>(small.work - large.work) /
                         static_cast<double>(large.bytes - small.bytes);
    auto costOf = [&](const ResidualChoice &choice) {
      return static_cast<double>(choice.work) +
             price * static_cast<double>(choice.bytes);
    };
    ResidualChoice between = chooseResiduals(settled, price);
    bound = std::max(bound, std::min(costOf(between), costOf(large)) -
                                price * static_cast<double>(budget));
    if (costOf(between) >= costOf(large) * (1 - 1e-12))
      return bracket;
    (between.bytes <= budget ? small : large) = std::move(between);
  }
}

std::optional<ResidualChoice>
Fitter::evaluate(const std::vector<bool> &kept) const {
  ResidualChoice choice(nodes.size());
  std::vector<bool> isUsed(nodes.size());
  // Readers have larger numbers than what they read.
  for (unsigned number = nodes.size(); number-- > 0;) {
    const ResidualNode &node = nodes[number];
    if (!node.isNeeded && !isUsed[number])
      continue;
    if (kept[number]) {
      choice.kept[number] = true;
      choice.bytes += node.bytes;
      continue;
    }
    if (!node.work)
      return std::nullopt;
    choice.recomputed[number] = true;
    choice.work += *node.work;
    for (unsigned operand : node.operands)
      isUsed[operand] = true;
  }
  return choice;
}

void Fitter::consider(const std::optional<ResidualChoice> &choice) {
  if (choice && choice->bytes <= budget &&
      (!best || choice->work < best->work ||
       (choice->work == best->work && choice->bytes < best->bytes)))
    best = choice;
}

/// Follows `fitting` in as few parts as the budget needs.
void Fitter::mix(const Bracket &bracket) {
  const ResidualChoice &large = bracket.tooLarge, &small = bracket.fitting;
  auto differs = [&](unsigned number) {
    return large.kept[number] != small.kept[number] ||
           large.recomputed[number] != small.recomputed[number];
  };
  // A disjoint-set forest: of each value, one of the same part.
  std::vector<unsigned> parts(nodes.size());
  std::iota(parts.begin(), parts.end(), 0);
  auto leaderOf = [&](unsigned number) {
    while (parts[number] != number)
      number = parts[number] = parts[parts[number]];
    return number;
  };
  for (unsigned number = 0; number < nodes.size(); ++number) {
    if (!differs(number))
      continue;
    for (unsigned operand : nodes[number].operands)
      if (differs(operand))
        parts[leaderOf(operand)] = leaderOf(number);
  }
  struct Part {
    std::vector<unsigned> members;
    int64_t bytes = 0, work = 0; ///< less and more with `fitting`
  };
  std::map<unsigned, Part> found;
  for (unsigned number = 0; number < nodes.size(); ++number) {
    if (!differs(number))
      continue;
    Part &part = found[leaderOf(number)];
    const int64_t bytes = nodes[number].bytes,
                  work = nodes[number].work.value_or(0);
    part.members.push_back(number);
    part.bytes += bytes * (int(large.kept[number]) - int(small.kept[number]));
    part.work +=
        work * (int(small.recomputed[number]) - int(large.recomputed[number]));
  }
  std::vector<const Part *> order;
  for (auto &[leader, part] : found)
    if (part.bytes > 0)
      order.push_back(&part);
  std::stable_sort(
      order.begin(), order.end(), [](const Part *a, const Part *b) {
        return static_cast<double>(a->work) * static_cast<double>(b->bytes) <
               static_cast<double>(b->work) * static_cast<double>(a->bytes);
      });
  std::vector<bool> kept = large.kept;
  auto follow = [&](const Part &part, const ResidualChoice &choice) {
    for (unsigned member : part.members)
      kept[member] = choice.kept[member];
  };
  int64_t excess = large.bytes - budget;
  std::vector<const Part *> followed;
  for (const Part *part : order) {
    if (excess <= 0)
      break;
    follow(*part, small);
    followed.push_back(part);
    excess -= part->bytes;
  }
  // The last part may have made others superfluous.
  std::stable_sort(
      followed.begin(), followed.end(),
      [](const Part *a, const Part *b) { return a->work > b->work; });
  for (const Part *part : followed)
    if (excess + part->bytes <= 0) {
      follow(*part, large);
      excess += part->bytes;
    }
  consider(evaluate(kept));
}

bool Fitter::explore(Branch &branch) {
  const std::vector<ResidualNode> settled = settle(branch);
  const std::optional<Bracket> bracket = findBracket(settled);
  if (!bracket)
    return false;
  branch.bound = std::ceil(bracket->bound - 1e-6);
  consider(evaluate(bracket->fitting.kept));
  mix(*bracket);
  if (bracket->tooLarge.bytes <= budget)
    return false; // the least work of all
  auto rank = [&](unsigned number) {
    const auto &[large, small, bound] = *bracket;
    const int difference =
        large.kept[number] != small.kept[number]               ? 2
        : large.recomputed[number] != small.recomputed[number] ? 1
                                                               : 0;
    return std::pair(difference, nodes[number].bytes);
  };
  std::optional<unsigned> next;
  for (unsigned number = 0; number < nodes.size(); ++number) {
    const bool isSettled =
        std::any_of(branch.settled.begin(), branch.settled.end(),
                    [&](const auto &entry) { return entry.first == number; });
    if (nodes[number].work && !isSettled &&
        (!next || rank(number) > rank(*next)))
      next = number;
  }
  branch.next = next.value_or(0);
  return next.has_value();
}

std::optional<FittingResiduals> Fitter::run(unsigned steps) {
  auto isWorse = [](const Branch &a, const Branch &b) {
    return a.bound > b.bound;
  };
  std::priority_queue<Branch, std::vector<Branch>, decltype(isWorse)> open(
      isWorse);
  auto add = [&](Branch branch) {
    if (explore(branch))
      open.push(std::move(branch));
  };
  add({});
  auto isOver = [&] {
    return open.empty() ||
           (best && open.top().bound >= static_cast<double>(best->work));
  };
  for (; steps > 0 && !isOver(); --steps) {
    const Branch branch = open.top();
    open.pop();
    for (bool isKept : {true, false}) {
      Branch half = branch;
      half.settled.push_back({branch.next, isKept});
      add(std::move(half));
    }
  }
  if (!best)
    return std::nullopt;
  const int64_t bound =
      isOver() ? best->work : static_cast<int64_t>(open.top().bound);
  return FittingResiduals{*best, bound};
}

std::optional<FittingResiduals>
pp::fitResiduals(const std::vector<ResidualNode> &nodes, int64_t budget,
                 unsigned steps) {
  return Fitter(nodes, budget).run(steps);
}
