//===- LintShardings.cpp - what a sharding leaves undone ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1 with a sharding on every value, unchanged but for the
// location of @main, which keeps the findings. Four questions: which large
// values does every device of an axis hold whole although the axis splits what
// they are computed from; which operands are gathered for the neighbours of
// their elements; which axis splits less than half of the work; and which sizes
// divide so badly that much of what devices hold is padding.
//
//===----------------------------------------------------------------------===//
#include "SpreadReports.h"
#include "mlir/IR/Remarks.h"
#include "pp/Analysis/Factors.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/Planner/KeyDims.h"
#include "pp/Transforms/Findings.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

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

class ShardingLint {
public:
  ShardingLint(func::FuncOp main, MeshView mesh, PlanAttr plan)
      : main(main), mesh(mesh), plan(plan), idle(mesh.numAxes()) {}

  std::vector<Finding> run();

private:
  bool isSplit(const Layout &layout, int axis) const {
    return llvm::any_of(layout, [&](const AxisList &axes) {
      return llvm::is_contained(axes, axis);
    });
  }
  bool isOfDevices(int axis) const {
    return mesh.attr().getAxes()[axis].getKind() == AxisKind::Space &&
           mesh.size(axis) > 1;
  }
  void weigh(Operation *op);
  void judge(Operation *op);
  void judgeNeighbours(Operation *op);
  std::string advise(OpResult result, const Layout &layout, int axis);
  bool isOn(PlanKey key, int axis);
  void findIdle();
  void findPadding();

  func::FuncOp main;
  MeshView mesh;
  PlanAttr plan;
  std::vector<Finding> findings;
  /// Once there is something to advise.
  std::optional<KeyDims> keyDims;
  /// Answers of isOn(), for which all arguments are looked at.
  std::map<std::pair<PlanKey, int>, bool> areOn;
  /// Floating-point operations that no axis, and that each axis does not split.
  double all = 0;
  SmallVector<double> idle;
};

} // namespace

/// Adds the op to the work that each axis leaves whole.
void ShardingLint::weigh(Operation *op) {
  auto shardable = dyn_cast<ShardingOpInterface>(op);
  auto cost = dyn_cast<CostOpInterface>(op);
  if (!shardable || !cost || cost.getFlops() == 0)
    return;
  const Layout factors = chooseLocalAxes(op, shardable.getShardingRule(), mesh);
  all += cost.getFlops();
  for (int axis = 0; axis < mesh.numAxes(); ++axis)
    if (!isSplit(factors, axis))
      idle[axis] += cost.getFlops();
}

/// Who had `axis` split `value`; empty if that is not on record.
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

/// Whether a key has an effect on `axis`.
static bool concerns(PlanKey key, StringRef axis) {
  return llvm::any_of(getInfo(key).getNeeded(), [&](PlanKey needed) {
    return getInfo(needed).axis == axis;
  });
}

/// Whether the plan has a key on, or has chosen that its dimension lies over
/// `axis`.
bool ShardingLint::isOn(PlanKey key, int axis) {
  auto [answer, isNew] = areOn.try_emplace({key, axis}, false);
  if (!isNew)
    return answer->second;
  answer->second =
      (plan && plan.isOn(key)) ||
      llvm::any_of(main.getArguments(), [&](BlockArgument argument) {
        const Layout layout = getLayout(argument, mesh);
        return llvm::any_of(llvm::enumerate(layout), [&](const auto &entry) {
          auto [dim, axes] = entry;
          return llvm::is_contained(axes, axis) &&
                 keyDims->isOf(key, argument, dim);
        });
      });
  return answer->second;
}

/// What would have `axis` split a result that lies as `layout` says.
std::string ShardingLint::advise(OpResult result, const Layout &layout,
                                 int axis) {
  Operation *op = result.getOwner();
  const std::string name = mesh.name(axis).str();
  if (getKind(op) == Kind::WeightGradient && concerns(PlanKey::Zero, name) &&
      !(plan && plan.getInt(PlanKey::Zero) > 0))
    return "zero=1, which leaves each device a part of it";
  const ShardingRule rule = cast<ShardingOpInterface>(op).getShardingRule();
  const TensorFactors &tensor = rule.results[result.getResultNumber()];
  const std::string dims = spellSplittable(rule, tensor, mesh.size(axis));
  if (dims.empty())
    return "fewer devices in " + name + ": none of its dimensions can be split";
  if (!keyDims)
    keyDims.emplace(main);
  SmallVector<std::string> keys;
  for (PlanKey key : {PlanKey::Sequence, PlanKey::Vocab})
    if (concerns(key, name) && !isOn(key, axis) &&
        llvm::any_of(llvm::enumerate(tensor), [&](const auto &entry) {
          auto [dim, factors] = entry;
          return layout[dim].empty() && factors.size() == 1 &&
                 rule.factors[factors.front()].mayBeSplit() &&
                 keyDims->isOf(key, result, dim);
        }))
      keys.push_back(getInfo(key).name.str() + "=true");
  return "a seed that splits its dimension " + dims + " over " + name +
         (keys.empty() ? "" : " (" + llvm::join(keys, " or ") + ")");
}

/// Notes what is gathered because an op computes elements with their
/// neighbours: propagation has refused what was asked for of the op itself.
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
                 op->getName().getStringRef().str() + " is gathered, which " +
                 name + " splits along dimension " + std::to_string(dim) +
                 (asker.empty() ? "" : ", from " + asker) +
                 ", and of which each element is computed with its neighbours",
             others.empty() ? "a seed that leaves it whole over " + name
                            : "a seed that splits its dimension " + others +
                                  " over " + name + " instead",
             getTensorBytes(cast<RankedTensorType>(operand.get().getType()))});
      }
  }
}

/// Notes what large results every device of an axis holds whole.
void ShardingLint::judge(Operation *op) {
  // A layout that the plan asks for by name is no accident, and what goes
  // nowhere but into one is brought there at once.
  if (isLayoutChange(op) || getKind(op) == Kind::Update)
    return;
  for (Value result : op->getResults()) {
    if (result.hasOneUse() && isLayoutChange(*result.user_begin()))
      continue;
    const Layout layout = getLayout(result, mesh);
    auto type = cast<RankedTensorType>(result.getType());
    const int64_t bytes = getTensorBytes(mesh.localType(type, layout));
    if (bytes < kLarge)
      continue;
    for (int axis = 0; axis < mesh.numAxes(); ++axis) {
      if (!isOfDevices(axis) || isSplit(layout, axis))
        continue;
      OpOperand *feeding = nullptr;
      for (OpOperand &operand : op->getOpOperands())
        if (!feeding && isSplit(getLayout(operand.get(), mesh), axis))
          feeding = &operand;
      if (!feeding)
        continue;
      const std::string name = mesh.name(axis).str();
      const std::string avoid = advise(cast<OpResult>(result), layout, axis);
      const std::string operand = std::to_string(feeding->getOperandNumber());
      const std::string asker = findAsker(feeding->get(), axis).str();
      findings.push_back({describeLocation(op->getLoc()),
                          "every device of " + name + " holds all that " +
                              op->getName().getStringRef().str() +
                              " makes of operand " + operand + ", which " +
                              name + " splits" +
                              (asker.empty() ? "" : ", from " + asker),
                          avoid, bytes});
      auto remark = remark::missed(
          dropSources(op->getLoc()),
          remark::RemarkOpts::name("replicated").category("pp-lint-shardings"));
      remark << remark::metric("op", op->getName().getStringRef())
             << remark::metric("bytes", std::to_string(bytes))
             << remark::metric("over", name)
             << remark::metric("sharded_operand", operand)
             << remark::metric("avoid", avoid);
      if (!asker.empty())
        remark << remark::metric("split_by", asker);
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
    const std::string avoid =
        "fewer devices in " + name + ", or seeds that split more over it";
    findings.push_back({"",
                        name + " splits " + share +
                            " of the floating-point operations, its devices "
                            "all do the rest",
                        avoid});
    remark::missed(main.getLoc(), remark::RemarkOpts::name("idle").category(
                                      "pp-lint-shardings"))
        << remark::metric("axis", name) << remark::metric("splits", share)
        << remark::metric("avoid", avoid);
  }
}

/// One finding for all parameters and inputs with a dimension that is padded
/// alike.
void ShardingLint::findPadding() {
  struct Padded {
    std::string first;
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
      if (layout[dim].empty() ||
          double(shape[dim] - size) <= kPadding * double(shape[dim]))
        continue;
      std::string axes;
      for (int axis : layout[dim])
        axes += (axes.empty() ? "" : " ") + mesh.name(axis).str() + "=" +
                std::to_string(mesh.size(axis));
      Padded &padded = found[{size, shape[dim], axes}];
      if (padded.count++ == 0)
        padded.first = "dimension " + std::to_string(dim) + " of \"" +
                       getArgName(main, index).str() + "\"";
    }
  }
  for (const auto &[key, padded] : found) {
    const auto &[size, withPadding, axes] = key;
    std::string what = std::to_string(size) + " over " + axes +
                       " are padded to " + std::to_string(withPadding) + ": " +
                       padded.first;
    if (padded.count > 1)
      what += " and " + std::to_string(padded.count - 1) + " more";
    const std::string avoid =
        "a number of devices that divides " + std::to_string(size);
    findings.push_back({"", what, avoid});
    remark::missed(main.getLoc(), remark::RemarkOpts::name("padded").category(
                                      "pp-lint-shardings"))
        << remark::metric("size", std::to_string(size))
        << remark::metric("padded", std::to_string(withPadding))
        << remark::metric("over", axes) << remark::metric("of", padded.first)
        << remark::metric("count", std::to_string(padded.count))
        << remark::metric("avoid", avoid);
  }
}

std::vector<Finding> ShardingLint::run() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    weigh(&op);
    judge(&op);
    judgeNeighbours(&op);
  }
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
