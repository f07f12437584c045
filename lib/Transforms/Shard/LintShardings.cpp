//===- LintShardings.cpp - reports weaknesses of a sharding ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1 with a sharding on every value, unchanged except for the
// location of @main, which gets the findings, one for each remedy, the
// costliest first. Four questions: which products and large values every device
// of an axis computes, holds or gathers whole; which operands are gathered for
// the neighbours of their elements; which axis splits less than half of the
// work; and which sizes divide so badly that much of the devices' memory is
// padding.
//
//===----------------------------------------------------------------------===//
#include "SeedAdvice.h"
#include "SpreadRemarks.h"
#include "mlir/IR/Remarks.h"
#include "pp/Analysis/Factors.h"
#include "pp/Analysis/Seeds.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Planner/ReshardQuestion.h"
#include "pp/Schedule/Topology.h"
#include "pp/Transforms/Findings.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_LINTSHARDINGS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

namespace {

/// Smaller values are not worth a word.
constexpr int64_t kLarge = 1 << 20;
/// An axis that splits less of the work is for the most part idle.
constexpr double kShare = 0.5;
/// More padding than this of a dimension is worth a word.
constexpr double kPadding = 0.125;

/// The remedies of a finding.
struct Ways {
  std::vector<std::string> changes;
  std::string words;
};

/// Ops that every device of an axis does whole, or whose results it holds so,
/// and which one thing would change.
struct Whole {
  Ways ways; ///< for the op that costs most
  double most = -1;
  double seconds = 0, flops = 0;
  int64_t bytes = 0;
  Subjects subjects;
  std::set<int> axes;
  llvm::DenseSet<Operation *> ops;
};

class ShardingLint {
public:
  ShardingLint(func::FuncOp main, MeshView mesh, PlanAttr plan)
      : main(main), mesh(mesh), plan(plan), topology(getTopology(plan)),
        seeds(main, mesh, plan), idle(mesh.numAxes()) {}

  std::vector<Finding> run();

private:
  bool isOfDevices(int axis) const {
    return mesh.attr().getAxes()[axis].getKind() == AxisKind::Space &&
           mesh.size(axis) > 1;
  }
  void judge(Operation *op);
  void judge(Operation *op, const ShardingRule &rule, bool isSplit, int axis,
             double moved, double flops);
  void judgeNeighbours(Operation *op);
  Ways advise(Operation *op, const ShardingRule &rule, int axis, bool isHeld);
  Ways advisePadding(BlockArgument argument, unsigned dim, int64_t size);
  void tellWholes();
  void findIdle();
  void findPadding();

  func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  std::vector<Finding> findings;
  llvm::DenseSet<Value> ofArguments;
  /// By axis (parts count as one) and by the first remedy.
  std::map<std::pair<std::string, std::string>, Whole> wholes;
  const schedule::Topology topology;
  SeedAdvice seeds;
  /// Floating-point operations that no axis, and that each axis does not split.
  double all = 0;
  SmallVector<double> idle;
};

} // namespace

/// A contraction: an op's tensors meet and are added up.
static bool isProduct(Operation *op, const ShardingRule &rule) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost && cost.getFlops() > 0 && rule.operands.size() > 1 &&
         llvm::any_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Reduction;
         });
}

/// Bytes on a device of the results that `axis` does not split.
static int64_t wholeBytes(Operation *op, const MeshView &mesh, int axis) {
  int64_t bytes = 0;
  for (Value result : op->getResults())
    if (const Layout layout = getLayout(result, mesh); !splits(layout, axis))
      bytes += getTensorBytes(
          mesh.localType(cast<RankedTensorType>(result.getType()), layout));
  return bytes;
}

/// The first operand that `axis` splits, or null.
static OpOperand *findSplit(Operation *op, const MeshView &mesh, int axis) {
  for (OpOperand &operand : op->getOpOperands())
    if (splits(getLayout(operand.get(), mesh), axis))
      return &operand;
  return nullptr;
}

static std::string spell(const Ways &ways) {
  return Finding{"", "", ways.words, ways.changes}.printWays();
}

/// The key of a plan that sets the size of an axis.
static std::string spellKey(StringRef axis) {
  for (const PlanKeyInfo &info : getPlanKeys())
    if (info.place == PlanKeyInfo::Place::Axis && info.axis == axis)
      return info.name.str();
  return axis.str();
}

/// The largest size of `axis`, a whole one, that is less and divides it.
static std::string spellFewer(const MeshView &mesh, StringRef axis) {
  const int64_t size = mesh.attr().sizeOf(axis);
  int64_t divisor = size - 1;
  while (divisor > 1 && size % divisor)
    --divisor;
  return spellKey(axis) + "=" + std::to_string(divisor);
}

/// The source of `axis` on `value`; empty if it is not recorded.
static StringRef findAsker(Value value, int axis) {
  const SourcesOf sources = findSources(value.getLoc());
  auto result = dyn_cast<OpResult>(value);
  const unsigned index = result ? result.getResultNumber() : 0;
  if (index < sources.values.size())
    for (const Source &source : sources.values[index])
      if (source.axis == axis)
        return source.root;
  return "";
}

/// Changes that let `axis` split an op, or, if the op only holds the result
/// whole, that result. A product of a gradient that is computed whole needs
/// more than the update's layout.
Ways ShardingLint::advise(Operation *op, const ShardingRule &rule, int axis,
                          bool isHeld) {
  const std::string name = mesh.name(axis).str();
  const Kind kind = getKind(op);
  const bool isSharedOut =
      kind == Kind::Update ||
      (kind == Kind::WeightGradient && (isHeld || !isProduct(op, rule)));
  if (isSharedOut && concerns(PlanKey::Zero, name) && plan &&
      plan.getInt(PlanKey::Zero) == 0)
    return {{getInfo(PlanKey::Zero).name.str() + "=1"}, ""};
  SmallVector<int64_t> factors;
  auto isOfResult = [&](int64_t number) {
    return llvm::any_of(rule.results, [&](const TensorFactors &tensor) {
      return llvm::any_of(tensor, [&](const DimFactors &dim) {
        return !dim.empty() && dim.front() == number;
      });
    });
  };
  for (int64_t number : llvm::seq<int64_t>(rule.factors.size()))
    if (const Factor &factor = rule.factors[number];
        factor.mayBeSplit() && factor.size >= mesh.size(axis) &&
        (!isHeld || isOfResult(number)))
      factors.push_back(number);
  // Summed factors would need a reduction.
  llvm::stable_sort(factors, [&](int64_t a, int64_t b) {
    return rule.factors[a].kind != FactorKind::Reduction &&
           rule.factors[b].kind == FactorKind::Reduction;
  });
  // Another part of the axis splits inside of the part that keys split.
  const StringRef all = MeshAxisAttr::getWhole(name);
  const bool isInside =
      llvm::any_of(chooseLocalAxes(op, rule, mesh), [&](const AxisList &axes) {
        return llvm::any_of(axes, [&](int other) {
          return other != axis &&
                 MeshAxisAttr::getWhole(mesh.name(other).getValue()) == all;
        });
      });
  if (std::vector<std::string> found = seeds.find(op, factors, axis, isInside);
      !found.empty())
    return {found, ""};
  const std::string dims =
      spellSplittable(rule, rule.results.front(), mesh.size(axis));
  // A plan cannot name a part of an axis.
  const std::string whole = MeshAxisAttr::getWhole(name).str();
  if (dims.empty() || whole != name)
    return {{spellFewer(mesh, whole)}, ""};
  return {{},
          "a name for it (pp.name), and a seed that splits its dimension " +
              dims + " over " + name};
}

/// Adds the op to the work of each axis, and records its whole dimensions.
void ShardingLint::judge(Operation *op) {
  auto shardable = dyn_cast<ShardingOpInterface>(op);
  if (!shardable)
    return;
  const ShardingRule rule = shardable.getShardingRule();
  const Layout factors = chooseLocalAxes(op, rule, mesh);
  auto cost = dyn_cast<CostOpInterface>(op);
  const double flops = cost ? cost.getFlops() : 0;
  all += flops;
  // Results of constants alone are whole wherever they are read.
  const bool isOfArguments =
      llvm::any_of(op->getOperands(), [&](Value operand) {
        return isa<BlockArgument>(operand) || ofArguments.contains(operand);
      });
  if (isOfArguments)
    ofArguments.insert_range(op->getResults());
  for (int axis = 0; axis < mesh.numAxes(); ++axis) {
    const bool isSplit = splits(factors, axis);
    if (!isSplit)
      idle[axis] += flops;
    if (isOfArguments && isOfDevices(axis))
      judge(op, rule, isSplit, axis, cost ? cost.getBytes() : 0, flops);
  }
}

void ShardingLint::judge(Operation *op, const ShardingRule &rule, bool isSplit,
                         int axis, double moved, double flops) {
  const int64_t bytes = wholeBytes(op, mesh, axis);
  OpOperand *feeding = findSplit(op, mesh, axis);
  StringRef name;
  if (isLayoutChange(op)) {
    // Gathers of parameters are the purpose of `zero`.
    if (isa<ReshardOp>(op) || !feeding || bytes < kLarge)
      return;
    name = "gathered";
  } else if (!isSplit) {
    if (bytes < kLarge && !isProduct(op, rule))
      return;
    name = "whole";
  } else {
    // A value that is only read in another layout is brought there at once.
    if (!feeding || bytes < kLarge ||
        (op->hasOneUse() && isLayoutChange(*op->user_begin())))
      return;
    name = "replicated";
    flops = moved = 0;
  }
  const Ways ways = advise(op, rule, axis, name != "whole");
  double devices = 1;
  for (const AxisList &axes : chooseLocalAxes(op, rule, mesh))
    devices *= double(mesh.size(axes));
  const double seconds = (1 - 1.0 / double(mesh.size(axis))) *
                         std::max(flops / devices / topology.flopsPerSecond,
                                  std::max(moved / devices, double(bytes)) /
                                      topology.bytesPerSecond);
  Whole &whole =
      wholes[{MeshAxisAttr::getWhole(mesh.name(axis).getValue()).str(),
              ways.changes.empty() ? ways.words : ways.changes.front()}];
  whole.axes.insert(axis);
  if (seconds > whole.most) {
    whole.most = seconds;
    whole.ways = ways;
  }
  whole.seconds += seconds;
  // An op that two parts of an axis leave whole is one.
  if (whole.ops.insert(op).second) {
    whole.flops += flops;
    whole.bytes += bytes;
    whole.subjects.add(op, seconds);
  }
  auto remark = remark::missed(
      dropSources(op->getLoc()),
      remark::RemarkOpts::name(name).category("pp-lint-shardings"));
  remark << remark::metric("op", op->getName().getStringRef())
         << remark::metric("bytes", std::to_string(bytes))
         << remark::metric("over", mesh.name(axis).getValue())
         << remark::metric("avoid", spell(ways));
  if (!feeding)
    return;
  remark << remark::metric("sharded_operand",
                           std::to_string(feeding->getOperandNumber()));
  if (StringRef asker = findAsker(feeding->get(), axis); !asker.empty())
    remark << remark::metric("split_by", asker);
}

/// One finding for everything that one change would avoid.
void ShardingLint::tellWholes() {
  for (auto &[key, whole] : wholes) {
    const int64_t ops = whole.subjects.count();
    SmallVector<StringRef> axes;
    for (int axis : whole.axes)
      axes.push_back(mesh.name(axis).getValue());
    std::string what = "every device of " + llvm::join(axes, " and ") +
                       " repeats " + std::to_string(ops) +
                       (ops == 1 ? " op" : " ops");
    // A program may have none.
    if (const auto share = llvm::divideNearest(
            uint64_t(all > 0 ? 1000 * whole.flops / all : 0), 10);
        share > 0)
      what +=
          ", " + std::to_string(share) + " % of the floating-point operations";
    what += ": " + whole.subjects.print();
    findings.push_back({"", what, whole.ways.words, whole.ways.changes,
                        whole.bytes, whole.seconds});
  }
}

/// Records operands that are gathered because an op computes elements with
/// their neighbours; propagation has refused requests on the op itself.
void ShardingLint::judgeNeighbours(Operation *op) {
  auto shardable = dyn_cast<ShardingOpInterface>(op);
  if (!shardable)
    return;
  const ShardingRule rule = shardable.getShardingRule();
  auto needs = [&](int64_t factor) {
    return rule.factors[factor].kind == FactorKind::Neighbours;
  };
  if (llvm::none_of(llvm::seq<int64_t>(rule.factors.size()), needs))
    return;
  for (OpOperand &operand : op->getOpOperands()) {
    const unsigned index = operand.getOperandNumber();
    const Layout layout = getLayout(operand.get(), mesh);
    for (auto [dim, factors] : llvm::enumerate(rule.operands[index]))
      for (int axis : layout[dim]) {
        if (!isOfDevices(axis) || llvm::none_of(factors, needs))
          continue;
        const std::string name = mesh.name(axis).str();
        const std::string asker = findAsker(operand.get(), axis).str();
        const std::string others =
            spellSplittable(rule, rule.operands[index], mesh.size(axis));
        findings.push_back(
            {describeLocation(op->getLoc()),
             "operand " + std::to_string(index) + " of " +
                 op->getName().getStringRef().str() + " is gathered: " + name +
                 " splits it along dimension " + std::to_string(dim) +
                 (asker.empty() ? "" : ", from " + asker) +
                 ", but each element is computed with its neighbours",
             others.empty() ? "a seed that leaves it whole over " + name
                            : "a seed that splits its dimension " + others +
                                  " over " + name + " instead",
             {},
             getTensorBytes(cast<RankedTensorType>(operand.get().getType()))});
        findings.back().seconds =
            double(findings.back().bytes) / topology.bytesPerSecond;
      }
  }
}

void ShardingLint::findIdle() {
  for (int axis = 0; axis < mesh.numAxes(); ++axis) {
    if (!isOfDevices(axis) || all == 0 || idle[axis] <= (1 - kShare) * all)
      continue;
    const std::string name = mesh.name(axis).str();
    const std::string share =
        std::to_string(llvm::divideNearest(
            static_cast<uint64_t>(1000 * (all - idle[axis]) / all), 10)) +
        " %";
    const Ways ways{{spellFewer(mesh, MeshAxisAttr::getWhole(name))},
                    "seeds that split more over it, or fewer devices"};
    findings.push_back({"",
                        name + " splits " + share +
                            " of the floating-point operations; all its "
                            "devices repeat the rest",
                        ways.words, ways.changes});
    remark::missed(main.getLoc(), remark::RemarkOpts::name("idle").category(
                                      "pp-lint-shardings"))
        << remark::metric("axis", name) << remark::metric("splits", share)
        << remark::metric("avoid", spell(ways));
  }
}

/// Changes that leave a dimension of `size` elements of an argument without
/// padding: a smaller size of one of its axes, or of all of them.
Ways ShardingLint::advisePadding(BlockArgument argument, unsigned dim,
                                 int64_t size) {
  const AxisList axes = getLayout(argument, mesh)[dim];
  const int64_t shards = mesh.size(axes);
  auto findMost = [](int64_t of, int64_t most) {
    while (most > 1 && of % most)
      --most;
    return most;
  };
  Ways ways;
  std::string ofAll;
  int64_t left = size;
  bool areWhole = true;
  for (int axis : axes) {
    const StringRef name = mesh.name(axis).getValue();
    areWhole &= MeshAxisAttr::getWhole(name) == name;
    const int64_t others = shards / mesh.size(axis);
    const int64_t alone = findMost(size / others, mesh.size(axis) - 1);
    if (areWhole && size % others == 0 && alone > 1)
      ways.changes.push_back(spellKey(name) + "=" + std::to_string(alone));
    const int64_t together = findMost(left, mesh.size(axis));
    left /= together;
    if (together != mesh.size(axis))
      ofAll += (ofAll.empty() ? "" : " ") + spellKey(name) + "=" +
               std::to_string(together);
  }
  if (ways.changes.empty() && areWhole && left < size && !ofAll.empty())
    ways.changes.push_back(ofAll);
  const unsigned index = argument.getArgNumber();
  // A whole input would make everything derived from it whole. A dimension that
  // divides is padded for a dimension that shares a factor with it.
  if (getArgRole(main, index) == Role::Param &&
      (ways.changes.empty() || size % shards == 0))
    ways.changes = {seeds.spellWhole(argument, dim)};
  if (ways.changes.empty())
    ways.words = "multiples of " + std::to_string(shards) + " for dimension " +
                 std::to_string(dim) + " of \"" +
                 getArgName(main, index).str() + "\"";
  return ways;
}

/// One finding for all parameters and inputs with an equally padded dimension,
/// and one for the work added by padding.
void ShardingLint::findPadding() {
  struct Padded {
    std::string first;
    Ways ways;
    int64_t count = 0;
  };
  std::map<std::tuple<int64_t, int64_t, std::string>, Padded> found;
  for (BlockArgument argument : main.getArguments()) {
    const unsigned index = argument.getArgNumber();
    auto unpadded =
        main.getArgAttrOfType<DenseI64ArrayAttr>(index, attrs::kUnpaddedShape);
    if (!unpadded || getArgRole(main, index) == Role::State)
      continue;
    const Layout layout = getLayout(argument, mesh);
    auto shape = cast<RankedTensorType>(argument.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(unpadded.asArrayRef())) {
      if (layout[dim].empty() || shape[dim] == size)
        continue;
      std::string axes;
      for (int axis : layout[dim])
        axes += (axes.empty() ? "" : " ") + mesh.name(axis).str() + "=" +
                std::to_string(mesh.size(axis));
      Padded &padded = found[{size, shape[dim], axes}];
      if (padded.count++ > 0)
        continue;
      padded.first = "dimension " + std::to_string(dim) + " of \"" +
                     generalize(getArgName(main, index)) + "\"";
      padded.ways = advisePadding(argument, dim, size);
    }
  }
  std::vector<std::string> changes;
  for (const auto &[key, padded] : found) {
    const auto &[size, withPadding, axes] = key;
    for (const std::string &change : padded.ways.changes)
      if (!llvm::is_contained(changes, change))
        changes.push_back(change);
    if (double(withPadding - size) <= kPadding * double(withPadding))
      continue;
    std::string what = std::to_string(size) + " over " + axes +
                       " are padded to " + std::to_string(withPadding) + ": " +
                       padded.first;
    if (padded.count > 1)
      what += " and " + std::to_string(padded.count - 1) + " more";
    findings.push_back({"", what, padded.ways.words, padded.ways.changes});
    remark::missed(main.getLoc(), remark::RemarkOpts::name("padded").category(
                                      "pp-lint-shardings"))
        << remark::metric("size", std::to_string(size))
        << remark::metric("padded", std::to_string(withPadding))
        << remark::metric("over", axes) << remark::metric("of", padded.first)
        << remark::metric("count", std::to_string(padded.count))
        << remark::metric("avoid", spell(padded.ways));
  }
  // How much work padding adds is known already.
  for (Finding &finding : getFindings(main)) {
    finding.changes = changes;
    findings.push_back(finding);
  }
}

std::vector<Finding> ShardingLint::run() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    judge(&op);
    judgeNeighbours(&op);
  }
  tellWholes();
  llvm::stable_sort(findings, [](const Finding &a, const Finding &b) {
    return a.seconds > b.seconds;
  });
  findIdle();
  findPadding();
  return std::move(findings);
}

namespace {

struct LintShardingsPass : pp::impl::LintShardingsBase<LintShardingsPass> {
  void runOnModule() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    auto plan = getOperation()->getAttrOfType<PlanAttr>(attrs::kPlan);
    setFindings(sharded->main,
                ShardingLint(sharded->main, sharded->mesh, plan).run());
    markAllAnalysesPreserved();
  }
};

} // namespace
