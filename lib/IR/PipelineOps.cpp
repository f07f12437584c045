//===- PipelineOps.cpp - fragments and programs: text and verifiers -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/PP.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pp;

/// A section of a program may be empty, yet it has its block: of `{}` alone the
/// parser makes a region without one.
static ParseResult parseSection(OpAsmParser &parser, Region &section) {
  if (parser.parseRegion(section))
    return failure();
  if (section.empty())
    section.emplaceBlock();
  return success();
}

static void printSection(OpAsmPrinter &printer, Operation *, Region &section) {
  printer.printRegion(section);
}

/// Collectives that only move data have none.
static ParseResult parseOptionalReduction(OpAsmParser &parser,
                                          ReductionAttr &reduction) {
  for (uint32_t value = 0; value <= getMaxEnumValForReduction(); ++value)
    if (auto named = symbolizeReduction(value);
        named && succeeded(parser.parseOptionalKeyword(stringifyReduction(*named))))
      reduction = ReductionAttr::get(parser.getContext(), *named);
  return success();
}

static void printOptionalReduction(OpAsmPrinter &printer, Operation *,
                                   ReductionAttr reduction) {
  if (reduction)
    printer << ' ' << stringifyReduction(reduction.getValue());
}

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
