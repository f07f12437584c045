//===- WorkCosts.cpp - estimated costs of kernels -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "WorkCosts.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;

WorkCosts::WorkCosts(func::FuncOp main, const schedule::Topology &topology,
                     int64_t microBatches)
    : topology(topology), microBatches(microBatches),
      batchDependent(getBatchDependent(main)) {
  findKept(main.getBody().front());
}

void WorkCosts::findKept(Block &body) {
  auto isForward = [](Operation *op) { return getKind(op) == Kind::Forward; };
  kept.insert_range(body.getArguments());
  for (Operation &op : llvm::reverse(body)) {
    const bool isProduct = isContraction(&op);
    if (isProduct)
      kept.insert_range(op.getResults());
    // Ops that only state a layout do not exist when the value is read.
    const bool isName =
        isa<NameOp, ShardingConstraintOp>(op) && kept.contains(op.getResult(0));
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (isProduct || isName || getKind(&op) == Kind::Update ||
          (producer && isForward(producer) != isForward(&op)))
        kept.insert(operand);
    }
  }
}

/// Bytes on one device and for one micro-batch. A parameter counts for each
/// micro-batch, and its gradient is added up there.
double WorkCosts::bytesOf(Value value, double share) const {
  const double bytes = share * double(getTensorBytes(value.getType()));
  Operation *op = value.getDefiningOp();
  if (op && getKind(op) == Kind::WeightGradient)
    return microBatches > 1 ? 2 * bytes : bytes;
  return isOfBatch(value) ? bytes / double(microBatches) : bytes;
}

FailureOr<double>
WorkCosts::secondsOf(Operation &op, double share,
                     function_ref<double(Value)> shareOf) const {
  auto cost = dyn_cast<CostOpInterface>(&op);
  if (!cost)
    return op.emitError("expects an op that knows its cost, got ")
           << op.getName();
  double bytes = 0;
  for (ValueRange values :
       {ValueRange(op.getOperands()), ValueRange(op.getResults())})
    for (Value value : values)
      if (kept.contains(value))
        bytes += bytesOf(value, shareOf(value));
  share /= double(microBatches);
  if (isContraction(&op))
    return topology.kernelSeconds(share * cost.getFlops(), bytes);
  // Reading a large table here and there is cheaper than all of it.
  const double moved = std::min(share * cost.getBytes(), bytes);
  return std::max(share * cost.getFlops() / topology.flopsPerSecond,
                  moved / topology.bytesPerSecond);
}
