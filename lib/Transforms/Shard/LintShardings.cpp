//===- LintShardings.cpp - what a sharding leaves undone ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In and out: level 1 with a sharding on every value, unchanged but for the
// location of @main, which keeps the findings. Two questions: which large
// values does every device of an axis hold whole although the axis splits what
// they are computed from; and which axis splits less than half of the work.
//
//===----------------------------------------------------------------------===//
#include "Factors.h"
#include "mlir/IR/Remarks.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"
#include "pp/Transforms/Findings.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Sources.h"

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

class ShardingLint {
public:
  ShardingLint(func::FuncOp main, MeshView mesh)
      : main(main), mesh(mesh), idle(mesh.numAxes()) {}

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
  void findIdle();

  func::FuncOp main;
  MeshView mesh;
  std::vector<Finding> findings;
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
  SmallVector<Layout> layouts;
  for (ValueRange values :
       {ValueRange(op->getResults()), ValueRange(op->getOperands())})
    for (Value value : values)
      layouts.push_back(getLayout(value, mesh));
  SmallVector<const Layout *> pointers;
  for (const Layout &layout : layouts)
    pointers.push_back(&layout);
  ArrayRef<const Layout *> views = pointers;
  const Layout factors = chooseFactorAxes(
      shardable.getShardingRule(), views.take_front(op->getNumResults()),
      views.drop_front(op->getNumResults()), mesh);
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
      const std::string avoid =
          getKind(op) == Kind::WeightGradient
              ? "zero=1, which leaves each device a part of it"
              : "a seed that splits a dimension of it over " + name +
                    " (sequence=true, vocab=true)";
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

std::vector<Finding> ShardingLint::run() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    weigh(&op);
    judge(&op);
  }
  findIdle();
  return std::move(findings);
}

namespace {

struct LintShardingsPass : pp::impl::LintShardingsBase<LintShardingsPass> {
  void runOnOperation() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded))
      return signalPassFailure();
    setFindings(sharded->main,
                ShardingLint(sharded->main, sharded->mesh).run());
    markAllAnalysesPreserved();
  }
};

} // namespace
