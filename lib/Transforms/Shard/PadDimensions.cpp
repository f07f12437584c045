//===- PadDimensions.cpp - pads dimensions --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: level 1 with a sharding on every value. Out: the same function on padded
// tensors, in which every sharded dimension divides by its shards. The padding
// is decided once per class of dimensions that share a factor. The values of
// padded elements matter in three places only: a reduction gets them masked by
// `select` to its identity (never by multiplication: 0 x NaN), an op that needs
// a dimension whole gets it without padding, and an updated parameter or state
// is masked to zero, the padding of arguments. Indices count as if there were
// no padding. The floating-point operations that padding adds to an op are a
// remark, and a finding if they matter. If reshapes split one dimension in ways
// that do not refine each other, or into factors with too few elements for its
// axes, padding cannot agree: they get it without padding, too. A dimension is
// padded to the next multiple of its axes, unless an op merges it with a padded
// one and it is cheaper to pad both alike than to gather one of them there: a
// remark gives the choice and the reason.
//
//===----------------------------------------------------------------------===//
#include "PaddedSizes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "pp/Analysis/Factors.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Transforms/Findings.h"
#include "pp/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace pp;

namespace pp {
#define GEN_PASS_DEF_PADDIMENSIONS
#include "pp/Transforms/Passes.h.inc"
} // namespace pp

/// Less padding than this of the step's operations is not worth a finding.
static constexpr double kShare = 0.01;

namespace {

class Padding {
public:
  Padding(func::FuncOp main, MeshView mesh)
      : main(main), mesh(mesh), builder(main.getContext()),
        masks(builder, mesh), sizes(main, mesh) {}

  LogicalResult run();

private:
  void padArguments();
  void padOp(const PaddedOp &padded);
  SmallVector<DimPadding> presentPadding(Value value);
  Value repad(Value value, ArrayRef<DimPadding> wanted);
  void padSides(Operation *change);
  void padResults();
  void reportShared();
  void reportWork(const llvm::MapVector<Operation *, double> &unpadded);
  ShardingAttr cutResult(unsigned index, const llvm::SmallBitVector &whole);

  /// Padded dimensions of an op's operand that it reduces, by how.
  std::map<Reduction, llvm::SmallBitVector>
  reducedDims(Operation *op, const ShardingRule &rule, unsigned operand);
  func::FuncOp main;
  MeshView mesh;
  OpBuilder builder;
  MaskBuilder masks;
  PaddedSizes sizes;
};

} // namespace

//===----------------------------------------------------------------------===//
// The rewriting
//===----------------------------------------------------------------------===//

/// Padding in the middle of an argument, which no file could fill, it gets
/// where it is used: there it is whole.
void Padding::padArguments() {
  SmallVector<Attribute> unpadded(main.getNumArguments());
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    SmallVector<DimPadding> paddings = sizes.paddingOf(argument);
    SmallVector<int64_t> shape;
    for (DimPadding &padding : paddings) {
      if (!padding.isAtEnd())
        padding.padded = padding.sizes;
      shape.push_back(padding.paddedSize());
    }
    if (ranked(argument).getShape() == ArrayRef(shape))
      continue;
    unpadded[index] = builder.getDenseI64ArrayAttr(ranked(argument).getShape());
    masks.notePadding(argument, paddings);
    masks.noteZero(argument);
    argument.setType(ranked(argument).clone(shape));
  }
  setArgAttrs(main, attrs::kUnpaddedShape, unpadded);
}

std::map<Reduction, llvm::SmallBitVector>
Padding::reducedDims(Operation *op, const ShardingRule &rule,
                     unsigned operand) {
  std::map<Reduction, llvm::SmallBitVector> dims;
  const auto *padding = masks.paddingOf(op->getOperand(operand));
  if (!padding || llvm::is_contained(rule.selected, operand))
    return dims;
  const TensorFactors &tensor = rule.operands[operand];
  for (auto [dim, factors] : llvm::enumerate(tensor))
    for (int64_t factor : factors)
      if (rule.factors[factor].kind == FactorKind::Reduction &&
          (*padding)[dim].isPadded())
        dims.try_emplace(rule.factors[factor].reduction, tensor.size())
            .first->second.set(dim);
  return dims;
}

/// Dimensions of an op's tensor that it has without `padding`.
static llvm::SmallBitVector wholeDims(const PaddedOp &padded,
                                      const TensorFactors &tensor,
                                      ArrayRef<DimPadding> padding) {
  llvm::SmallBitVector dims(tensor.size());
  auto isWhole = [&](int64_t factor) { return padded.unpadded.test(factor); };
  // A reshape gives dimensions of one element no factor.
  for (auto [dim, ofDim] : llvm::enumerate(padding))
    dims[dim] = ofDim.isPadded() &&
                (tensor[dim].empty() || llvm::any_of(tensor[dim], isWhole));
  return dims;
}

void Padding::padOp(const PaddedOp &padded) {
  Operation *op = padded.op;
  const ShardingRule &rule = padded.rule;
  builder.setInsertionPoint(op);
  masks.enter(op);
  SmallVector<SmallVector<DimPadding>> paddings;
  for (Value result : op->getResults())
    paddings.push_back(sizes.paddingOf(result));
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    const TensorFactors &tensor = rule.operands[index];
    if (isa<BlockArgument>(operand.get())) {
      operand.set(repad(operand.get(), sizes.paddingOf(operand.get())));
      masks.noteZero(operand.get());
    }
    llvm::SmallBitVector whole;
    if (const auto *padding = masks.paddingOf(operand.get()))
      whole = wholeDims(padded, tensor, *padding);
    if (whole.any())
      operand.set(masks.cutBack(operand.get(), whole));
    for (const auto &[reduction, dims] : reducedDims(op, rule, index))
      operand.set(masks.mask(operand.get(), dims, reduction));
  }
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    RankedTensorType type = sizes.paddedType(result), original = ranked(result);
    if (type == original)
      continue;
    llvm::SmallBitVector whole =
        wholeDims(padded, rule.results[index], paddings[index]);
    SmallVector<int64_t> shape(type.getShape());
    for (unsigned dim : whole.set_bits())
      shape[dim] = original.getDimSize(dim);
    result.setType(original.clone(shape));
    Value value = result;
    if (whole.any())
      value = masks.extend(cast<OpResult>(result), paddings[index], whole);
    masks.notePadding(value, paddings[index]);
  }
  masks.resize(op, rule);
}

/// The present padding of a value.
SmallVector<DimPadding> Padding::presentPadding(Value value) {
  if (const auto *padding = masks.paddingOf(value))
    return *padding;
  SmallVector<DimPadding> none;
  for (int64_t size : ranked(value).getShape())
    none.push_back({{size}, {size}});
  return none;
}

/// `value` with its padding replaced by `wanted`, in dimensions that are whole.
Value Padding::repad(Value value, ArrayRef<DimPadding> wanted) {
  const SmallVector<DimPadding> now = presentPadding(value);
  llvm::SmallBitVector cut(now.size()), padded(now.size());
  for (unsigned dim = 0; dim < now.size(); ++dim) {
    const bool areBothWhole = !now[dim].isPadded() && !wanted[dim].isPadded();
    if (areBothWhole || now[dim] == wanted[dim])
      continue;
    cut[dim] = now[dim].isPadded();
    padded[dim] = wanted[dim].isPadded();
  }
  if (cut.any())
    value = masks.cutBack(value, cut);
  if (padded.any())
    value = masks.pad(value, wanted, getLayout(value, mesh), padded);
  masks.notePadding(value, wanted);
  return value;
}

/// If the two sides of a change of layout have different padding, one of them
/// is whole: there the padding changes.
void Padding::padSides(Operation *change) {
  Value operand = change->getOperand(0), result = change->getResult(0);
  SmallVector<DimPadding> between = presentPadding(operand),
                          after = sizes.paddingOf(result);
  Layout from = getLayout(operand, mesh);
  for (unsigned dim = 0; dim < between.size(); ++dim)
    if (from[dim].empty())
      between[dim] = after[dim];
  masks.enter(change);
  builder.setInsertionPoint(change);
  change->setOperand(0, repad(operand, between));
  result.setType(cast<RankedTensorType>(change->getOperand(0).getType()));
  masks.notePadding(result, between);
  builder.setInsertionPointAfter(change);
  masks.replaceUses(result, repad(result, after));
}

/// A result's sharding without the axes of `whole` dimensions: cut back to the
/// model's shape, they need not divide.
ShardingAttr Padding::cutResult(unsigned index,
                                const llvm::SmallBitVector &whole) {
  Layout layout = sizes.layoutOfResult(index);
  const Layout wanted = layout;
  for (unsigned dim : whole.set_bits())
    layout[dim].clear();
  if (layout != wanted)
    remark::missed(
        main.getLoc(),
        remark::RemarkOpts::name("unfulfilled").category("pp-pad-dimensions"))
        << remark::metric(
               "of", ("result \"" + getResultName(main, index) + "\"").str())
        << remark::metric("wanted", mesh.spell(wanted))
        << remark::metric("got", mesh.spell(layout));
  return mesh.toSharding(layout);
}

/// Padding stays at the end of results only, and zero where it comes back as an
/// argument.
void Padding::padResults() {
  Operation *terminator = main.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Attribute> unpadded(main.getNumResults()), shardings;
  const SmallVector<BlockArgument> updated = getUpdatedArguments(main);
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    shardings.push_back(main.getResultAttr(index, attrs::kSharding));
    const SmallVector<DimPadding> *padding = masks.paddingOf(operand.get());
    if (!padding)
      continue;
    SmallVector<int64_t> shape;
    llvm::SmallBitVector dims(padding->size()), between(padding->size());
    for (auto [dim, ofDim] : llvm::enumerate(*padding)) {
      shape.push_back(ofDim.size());
      dims[dim] = ofDim.isPadded() && ofDim.isAtEnd();
      between[dim] = !ofDim.isAtEnd();
    }
    masks.enter(operand.get().getDefiningOp());
    if (between.any()) {
      operand.set(masks.cutBack(operand.get(), between));
      shardings.back() = cutResult(index, between);
    }
    if (dims.none())
      continue;
    unpadded[index] = builder.getDenseI64ArrayAttr(shape);
    if (updated[index])
      operand.set(masks.mask(operand.get(), dims, Reduction::Sum));
  }
  setResultAttrs(main, attrs::kSharding, shardings);
  setResultAttrs(main, attrs::kUnpaddedShape, unpadded);
}

static std::string printShare(double share) {
  return llvm::formatv("{0:F1} %", 100 * share).str();
}

/// Reports which dimensions share padding, or do not, and the cost of the
/// alternative.
void Padding::reportShared() {
  const auto seconds = [](double number) {
    return llvm::formatv("{0:E2}", number).str();
  };
  for (const SharedPadding &one : sizes.getShared()) {
    auto argument = dyn_cast<BlockArgument>(one.value);
    const std::string of =
        argument ? "\"" + getArgName(main, argument.getArgNumber()).str() + "\""
                 : one.value.getDefiningOp()->getName().getStringRef().str();
    remark::analysis(
        one.value.getLoc(),
        remark::RemarkOpts::name(one.isParted() ? "apart" : "shared")
            .category("pp-pad-dimensions"))
        << remark::metric("of",
                          "dimension " + std::to_string(one.dim) + " of " + of)
        << remark::metric("size", std::to_string(one.size))
        << remark::metric("padded_apart", std::to_string(one.alone))
        << remark::metric("padded_shared", std::to_string(one.shared))
        << remark::metric("seconds_of_gathering", seconds(one.secondsAlone))
        << remark::metric("seconds_of_padding", seconds(one.secondsShared));
  }
}

static double getFlops(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  return cost ? cost.getFlops() : 0;
}

void Padding::reportWork(const llvm::MapVector<Operation *, double> &unpadded) {
  double all = 0, added = 0;
  for (Operation &op : main.getBody().front())
    all += getFlops(&op);
  Subjects subjects;
  for (auto [op, before] : unpadded) {
    const double after = getFlops(op);
    if (after <= before)
      continue;
    added += after - before;
    subjects.add(op, after - before);
    remark::analysis(op->getLoc(), remark::RemarkOpts::name("padded").category(
                                       "pp-pad-dimensions"))
        << remark::metric("op", op->getName().getStringRef())
        << remark::metric("operations", std::to_string(int64_t(after)))
        << remark::metric("padding", printShare((after - before) / after));
  }
  if (added > kShare * all)
    setFindings(main, {{"",
                        printShare(added / all) +
                            " of the floating-point operations are padding: " +
                            subjects.print(),
                        "sizes that the axes divide"}});
}

LogicalResult Padding::run() {
  if (sizes.everythingDivides())
    return success();
  llvm::MapVector<Operation *, double> unpadded;
  for (Operation &op : main.getBody().front())
    unpadded[&op] = getFlops(&op);
  if (failed(sizes.decide()))
    return failure();
  reportShared();
  padArguments();
  for (const PaddedOp &op : sizes.getOps())
    if (isLayoutChange(op.op))
      padSides(op.op);
    else
      padOp(op);
  padResults();
  reportWork(unpadded);
  Block &body = main.getBody().front();
  main.setFunctionType(builder.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  return success();
}

namespace {

struct PadDimensionsPass : pp::impl::PadDimensionsBase<PadDimensionsPass> {
  void runOnModule() override {
    FailureOr<ShardedMain> sharded = ShardedMain::of(getOperation());
    if (failed(sharded) || failed(Padding(sharded->main, sharded->mesh).run()))
      signalPassFailure();
  }
};

} // namespace
