//===- PipelineOps.cpp - fragments, launches; text of programs ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Verifiers of level 3, each check named by its label in the description of the
// op, and the spellings of level 4 that the declarative format cannot express.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"

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

/// Programs without micro-batches have no routines, and do not say so.
static ParseResult parseRoutines(OpAsmParser &parser, Region &routines) {
  if (succeeded(parser.parseOptionalKeyword("routines")))
    return parseSection(parser, routines);
  routines.emplaceBlock();
  return success();
}

static void printRoutines(OpAsmPrinter &printer, Operation *,
                          Region &routines) {
  if (routines.front().empty())
    return;
  printer << "routines ";
  printer.printRegion(routines);
}

/// `4096`, `[0, 64]`, or before they are placed `-1` and `-1 copies 2`.
static ParseResult parsePlaces(OpAsmParser &parser, DenseI64ArrayAttr &offsets,
                               IntegerAttr &copies) {
  SmallVector<int64_t> places;
  int64_t count = 1;
  auto parseOne = [&] { return parser.parseInteger(places.emplace_back()); };
  if (succeeded(parser.parseOptionalLSquare())) {
    if (parser.parseCommaSeparatedList(parseOne) || parser.parseRSquare())
      return failure();
    count = places.size();
  } else if (parseOne()) {
    return failure();
  } else if (places.front() == -1) {
    places.clear();
    if (succeeded(parser.parseOptionalKeyword("copies")) &&
        parser.parseInteger(count))
      return failure();
  }
  offsets = parser.getBuilder().getDenseI64ArrayAttr(places);
  copies = parser.getBuilder().getI64IntegerAttr(count);
  return success();
}

static void printPlaces(OpAsmPrinter &printer, Operation *,
                        DenseI64ArrayAttr offsets, IntegerAttr copies) {
  if (offsets.empty()) {
    printer << -1;
    if (copies.getInt() != 1)
      printer << " copies " << copies.getInt();
  } else if (offsets.size() == 1) {
    printer << offsets[0];
  } else {
    printer << '[';
    llvm::interleaveComma(offsets.asArrayRef(), printer);
    printer << ']';
  }
}

/// ` as forward 1 3`: phase, stage, and micro-batch if there is one.
static ParseResult parseAction(OpAsmParser &parser, PhaseAttr &phase,
                               IntegerAttr &stage, IntegerAttr &microBatch) {
  int64_t stageNumber = 0, number = -1;
  phase = PhaseAttr::get(parser.getContext(), Phase::Prologue);
  if (succeeded(parser.parseOptionalKeyword("as"))) {
    if (parser.parseCustomAttributeWithFallback(phase) ||
        parser.parseInteger(stageNumber))
      return failure();
    if (OptionalParseResult parsed = parser.parseOptionalInteger(number);
        parsed.has_value() && failed(*parsed))
      return failure();
  }
  stage = parser.getBuilder().getI64IntegerAttr(stageNumber);
  microBatch = parser.getBuilder().getI64IntegerAttr(number);
  return success();
}

static void printAction(OpAsmPrinter &printer, Operation *, PhaseAttr phase,
                        IntegerAttr stage, IntegerAttr microBatch) {
  if (phase.getValue() == Phase::Prologue && stage.getInt() == 0 &&
      microBatch.getInt() == -1)
    return;
  printer << " as " << stringifyPhase(phase.getValue()) << ' '
          << stage.getInt();
  if (microBatch.getInt() != -1)
    printer << ' ' << microBatch.getInt();
}

/// Collectives that only move data have none.
static ParseResult parseOptionalReduction(OpAsmParser &parser,
                                          ReductionAttr &reduction) {
  for (uint32_t value = 0; value <= getMaxEnumValForReduction(); ++value)
    if (auto named = symbolizeReduction(value);
        named &&
        succeeded(parser.parseOptionalKeyword(stringifyReduction(*named))))
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

void FragmentOp::build(OpBuilder &builder, OperationState &state,
                       TypeRange outputs, Phase phase, int64_t stageOrPosition,
                       int64_t holder, ValueRange operands) {
  const bool isOfStage = !isOncePerStep(phase);
  const IntegerAttr number = builder.getI64IntegerAttr(holder);
  build(builder, state, outputs, phase,
        isOfStage ? builder.getI64IntegerAttr(stageOrPosition) : IntegerAttr(),
        isOfStage && stageOrPosition == holder ? IntegerAttr() : number,
        operands);
}

LogicalResult FragmentOp::verify() {
  const bool isOfStage = !isOncePerStep(getPhase());
  if (isOfStage != getStage().has_value() || (!isOfStage && !getPosition()))
    return emitOpError() << "expects a "
                         << (isOfStage ? "stage" : "position and no stage")
                         << " for phase " << stringifyPhase(getPhase())
                         << " (fragment_c2)";
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getOperandTypes())
    return emitOpError() << "expects block arguments of types "
                         << getOperandTypes() << ", got "
                         << body.getArgumentTypes() << " (fragment_c1)";
  auto yield = dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError() << "expects a yield at its end, got "
                         << body.back().getName() << " (fragment_c1)";
  if (yield.getOperandTypes() != getResultTypes())
    return emitOpError() << "expects a yield of types " << getResultTypes()
                         << ", got " << yield.getOperandTypes()
                         << " (fragment_c1)";
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(*this, getCalleeAttr());
  if (!callee)
    return emitOpError() << "expects a function named " << getCalleeAttr()
                         << ", got none (launch_c1)";
  auto type =
      FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  if (callee.getFunctionType() != type)
    return emitOpError() << "expects a callee of type " << type << ", got "
                         << callee.getFunctionType() << " (launch_c1)";
  return success();
}
