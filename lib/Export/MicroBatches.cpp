//===- MicroBatches.cpp - where a step repeats ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ops are placed in order, and requested from the results backwards, so that
// nothing is written that nobody reads.
//
//===----------------------------------------------------------------------===//
#include "MicroBatches.h"
#include "pp/IR/Model.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// Whether time splits an argument of `main`.
static bool isSplitInTime(func::FuncOp main, unsigned index,
                          const Device &device) {
  auto sharding = main.getArgAttrOfType<ShardingAttr>(index, attrs::kSharding);
  return sharding && llvm::any_of(sharding.getDims(), [&](DimShardingAttr dim) {
           return llvm::any_of(dim.getAxes(), [&](StringAttr axis) {
             return device.namesTime(ArrayAttr::get(axis.getContext(), axis));
           });
         });
}

MicroBatches::MicroBatches(func::FuncOp main, const Device &device) {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments())
    places[argument].isPerMicroBatch =
        isSplitInTime(main, argument.getArgNumber(), device);
  for (Operation &op : body.without_terminator())
    place(&op, device);

  unsigned last = 0;
  for (auto &entry : places)
    last = std::max(last, entry.second.round);
  loops.resize(last + 1);
  for (Value result : body.getTerminator()->getOperands()) {
    if (!isPerMicroBatch(result)) {
      requestOutside(result);
    } else if (result.getDefiningOp()) {
      MicroBatchLoop &loop = loops[places.lookup(result).round];
      loop.collected.insert(result);
      request(result, loop);
    }
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!outside.contains(&op))
      continue;
    auto sum = dyn_cast<AccumulateOp>(op);
    if (!sum) {
      for (Value operand : op.getOperands())
        requestOutside(operand);
      continue;
    }
    MicroBatchLoop &loop = loops[getRound(&op) - 1];
    loop.sums.push_back(sum);
    request(sum.getOperand(), loop);
  }
}

void MicroBatches::place(Operation *op, const Device &device) {
  Place place;
  for (Value operand : op->getOperands()) {
    Place of = places.lookup(operand);
    place.isPerMicroBatch |= of.isPerMicroBatch;
    place.round = std::max(place.round, of.round);
  }
  if (auto axes = op->getAttrOfType<ArrayAttr>("axes"))
    place.isPerMicroBatch |= device.namesTime(axes);
  if (isa<AccumulateOp>(op))
    place = {false, place.round + 1};
  for (Value result : op->getResults())
    places[result] = place;
}

void MicroBatches::requestOutside(Value value) {
  if (Operation *op = value.getDefiningOp())
    outside.insert(op);
}

void MicroBatches::request(Value value, MicroBatchLoop &loop) {
  SmallVector<Value> requested = {value};
  while (!requested.empty()) {
    Value next = requested.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !(isPerMicroBatch(next) || op->hasTrait<MadeByReaders>())) {
      loop.captures.insert(next);
      requestOutside(next);
    } else if (loop.ops.insert(op).second) {
      llvm::append_range(requested, op->getOperands());
    }
  }
}
