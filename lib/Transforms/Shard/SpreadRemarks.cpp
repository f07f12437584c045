//===- SpreadRemarks.cpp - conflicts and requests not met -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "SpreadRemarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pp;

/// The dimension that has `axis`.
static int findDim(const Layout &layout, int axis) {
  return llvm::find_if(layout,
                       [&](const AxisList &axes) {
                         return llvm::is_contained(axes, axis);
                       }) -
         layout.begin();
}

SourcesOf pp::findSources(const ShardingSpread &graph, ArrayRef<int> values,
                          int number) {
  SourcesOf result{number, {}};
  for (int value : values) {
    const ShardingSpread::Value &state = graph.getValues()[value];
    ValueSources &sources = result.values.emplace_back();
    for (const ShardingSpread::Source &from : state.sources) {
      Source &source = sources.emplace_back();
      source.axis = from.axis;
      source.dim = findDim(state.layout, from.axis);
      source.root = from.root;
      source.length = from.length;
      if (from.node < 0)
        continue;
      const ShardingSpread::Node &node = graph.getNodes()[from.node];
      source.op = node.op         ? from.node
                  : node.isUpdate ? Source::kUpdate
                                  : Source::kResult;
      source.tensor = node.op ? from.giver : node.result;
    }
    llvm::sort(sources, [](const Source &a, const Source &b) {
      return a.axis < b.axis;
    });
  }
  return result;
}

void pp::remarkConflict(const ShardingSpread &graph,
                        const ShardingSpread::Node &node, const MeshView &mesh,
                        FoldedRemarks &remarks) {
  if (!node.stopped.empty())
    return;
  SmallVector<const Layout *> layouts;
  for (int value : node.values)
    layouts.push_back(&graph.getValues()[value].layout);
  ArrayRef<const Layout *> all = layouts;
  size_t numResults = node.rule->results.size();
  AxisChoice choice;
  chooseFactorAxes(*node.rule, all.take_front(numResults),
                   all.drop_front(numResults), mesh, &choice);
  if (choice.loser < static_cast<int>(numResults))
    return;
  auto rootOf = [&](int tensor, int axis) {
    const ShardingSpread::Source *source =
        graph.getValues()[node.values[tensor]].findSource(axis);
    return source ? source->root.str() : "unknown";
  };
  SmallVector<FoldedRemarks::Metric> metrics = {
      {"op", node.op->getName().getStringRef().str()},
      {"lost", mesh.name(choice.lost).str()},
      {"lost_by", rootOf(choice.loser, choice.lost)}};
  if (choice.kept >= 0) {
    metrics.push_back({"kept", mesh.name(choice.kept).str()});
    metrics.push_back(
        {"kept_by", rootOf(choice.givers[choice.kept], choice.kept)});
  }
  remarks.add(node.op->getLoc(), "conflict", metrics,
              {"resharded_operand", std::to_string(choice.loser - numResults)});
}

std::string pp::spellRivals(const ShardingSpread::Value &value,
                            const Layout &wanted, const Layout &got) {
  llvm::SmallSetVector<StringAttr, 2> rivals;
  for (const ShardingSpread::Source &source : value.sources)
    for (auto [wants, has] : llvm::zip_equal(wanted, got))
      if (llvm::is_contained(has, source.axis) &&
          !llvm::is_contained(wants, source.axis))
        rivals.insert(source.root);
  return llvm::join(
      llvm::map_range(rivals, [](StringAttr root) { return root.getValue(); }),
      ", ");
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

std::string pp::spellSplittable(const ShardingRule &rule,
                                const TensorFactors &tensor, int64_t shards) {
  SmallVector<std::string> dims;
  for (auto [dim, factors] : llvm::enumerate(tensor))
    if (!factors.empty() && rule.factors[factors.front()].mayBeSplit() &&
        rule.factors[factors.front()].size >= shards)
      dims.push_back(std::to_string(dim));
  return llvm::join(dims, " or ");
}

LogicalResult pp::checkNeighbours(const ShardingSpread &graph,
                                  const ShardingSpread::Node &node,
                                  const MeshView &mesh,
                                  FoldedRemarks &remarks) {
  auto needs = [&](int64_t factor) {
    return node.rule->factors[factor].kind == FactorKind::Neighbours;
  };
  const size_t numResults = node.rule->results.size();
  for (auto [index, number] : llvm::enumerate(node.values)) {
    const bool isResult = index < numResults;
    const TensorFactors &tensor = isResult
                                      ? node.rule->results[index]
                                      : node.rule->operands[index - numResults];
    const ShardingSpread::Value &value = graph.getValues()[number];
    for (const ShardingSpread::Source &source : value.sources) {
      const int dim = findDim(value.layout, source.axis);
      if (mesh.size(source.axis) == 1 || llvm::none_of(tensor[dim], needs))
        continue;
      const std::string axis = mesh.name(source.axis).str();
      const std::string which =
          isResult ? "result " + std::to_string(index)
                   : "operand " + std::to_string(index - numResults);
      const std::string others =
          spellSplittable(*node.rule, tensor, mesh.size(source.axis));
      const bool isAsked =
          source.length == 0 ||
          (source.length == 1 && !graph.getNodes()[source.node].op);
      if (isAsked)
        return node.op->emitError()
               << "expects " << which << " of " << node.op->getName()
               << " whole along dimension " << dim
               << ", where each element is computed with its neighbours, got "
                  "it "
                  "split over \""
               << axis << "\" by " << source.root.getValue() << ": "
               << (others.empty()
                       ? std::string("none of its dimensions can be")
                       : "split its dimension " + others + " instead");
      remarks.add(node.op->getLoc(), "neighbours",
                  {{"op", node.op->getName().getStringRef().str()},
                   {"of", which},
                   {"dimension", std::to_string(dim)},
                   {"axis", axis},
                   {"by", source.root.str()},
                   {"splittable", others}});
    }
  }
  return success();
}
