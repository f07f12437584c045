//===- RuleCoverage.cpp - which parts of sharding rules were met ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "RuleCoverage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/Analysis/FactorClasses.h"
#include "pp/IR/Model.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;

/// Ops of which random programs have too few to meet every part, and one of
/// which no program that is partitioned has any.
static constexpr StringRef kRare[] = {"pp.convolution", "pp.if_training",
                                      "pp.reduce_window",
                                      "pp.select_and_scatter"};

static constexpr const char *kColumns[] = {"divides", "padded",
                                           "merged, divides", "merged, padded"};

static const char *spellKind(const Factor &factor) {
  if (factor.needsLocalize)
    return "localized";
  switch (factor.kind) {
  case FactorKind::Parallel:
    return "parallel";
  case FactorKind::Reduction:
    return "reduction";
  case FactorKind::Replicated:
    return "replicated";
  case FactorKind::Neighbours:
    return "neighbours";
  }
  llvm_unreachable("every kind is listed");
}

static ShardingAttr shardingOf(Value value, func::FuncOp main) {
  if (auto result = dyn_cast<OpResult>(value))
    return cast<ShardingAttr>(result.getOwner()->getAttrOfType<ArrayAttr>(
        attrs::kShardings)[result.getResultNumber()]);
  return main.getArgAttrOfType<ShardingAttr>(
      cast<BlockArgument>(value).getArgNumber(), attrs::kSharding);
}

void RuleCoverage::add(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  MeshAttr mesh = lookupMesh(module).getMesh();
  FactorClasses classes;
  std::vector<std::pair<Operation *, ShardingRule>> ops;
  for (Operation &op : main.getBody().front().without_terminator()) {
    ops.push_back({&op, cast<ShardingOpInterface>(op).getShardingRule()});
    classes.addOp(&op, ops.back().second);
  }
  for (auto &entry : ops) {
    Operation *op = entry.first;
    const ShardingRule &rule = entry.second;
    auto visit = [&](Value value, const TensorFactors &tensor) {
      auto type = cast<RankedTensorType>(value.getType());
      ShardingAttr sharding = shardingOf(value, main);
      for (auto [dim, factors] : llvm::enumerate(tensor)) {
        const int64_t shards = mesh.sizeOf(sharding.getDims()[dim].getAxes());
        const bool isMerged = classes.classesOf(value, dim).size() > 1;
        const bool isPadded = type.getDimSize(dim) % shards != 0;
        for (int64_t factor : factors) {
          Counts &counts = rows.try_emplace({op->getName().getStringRef().str(),
                                             spellKind(rule.factors[factor])},
                                            Counts())
                               .first->second;
          if (shards > 1)
            ++counts[2 * isMerged + isPadded];
        }
      }
    };
    for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
      visit(value, tensor);
    for (auto [value, tensor] :
         llvm::zip_equal(op->getOperands(), rule.operands))
      visit(value, tensor);
  }
}

void RuleCoverage::print(llvm::raw_ostream &os) const {
  os << llvm::format("%-24s %-10s", "op", "factor");
  for (const char *column : kColumns)
    os << llvm::format(" %15s", column);
  os << "\n";
  for (const auto &[row, counts] : rows) {
    os << llvm::format("%-24s %-10s", row.first.c_str(), row.second.c_str());
    for (int64_t count : counts)
      os << llvm::format(" %15lld", static_cast<long long>(count));
    os << "\n";
  }
}

std::vector<std::string> RuleCoverage::findMissing(MLIRContext &context) const {
  std::vector<std::string> missing;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (!name.hasInterface<ShardingOpInterface>() ||
        llvm::is_contained(kRare, name.getStringRef()))
      continue;
    const std::string text = name.getStringRef().str();
    if (llvm::none_of(rows, [&](auto &row) { return row.first.first == text; }))
      missing.push_back(text + ": test/Random draws programs");
  }
  for (const auto &[row, counts] : rows)
    for (auto [column, count] : llvm::zip_equal(kColumns, counts))
      if (count == 0 && !llvm::is_contained(kRare, row.first))
        missing.push_back(row.first + ", " + row.second + ": " + column);
  return missing;
}
