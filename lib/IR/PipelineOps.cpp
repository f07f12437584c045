//===- PipelineOps.cpp - verifiers of fragments ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PP.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pp;

#define GET_OP_CLASSES
#include "pp/IR/PPOps.cpp.inc"

LogicalResult FragmentOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "expects block arguments of the operands' types (fragment_c1)";
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield || yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "expects a yield of the results' types (fragment_c1)";
  return success();
}
