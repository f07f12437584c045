//===- UnfusedEpilogues.cpp - epilogues as a kernel -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a contraction kernel. Out: its epilogues without the product, applied to
// the library's output. That has the layout of the result, so views between
// epilogues and the result are applied to the other operands of these
// epilogues.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "KernelClusters.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/InPlace.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include "pprt/Program.h"

using namespace mlir;
using namespace pp;

namespace {

class EpilogueFormer {
public:
  /// Changes `kernel`.
  EpilogueFormer(func::FuncOp kernel, const pprt::KernelTuning &tuning)
      : kernel(kernel), tuning(tuning), builder(kernel.getContext()),
        body(kernel.getBody().front()), end(body.getTerminator()) {}

  /// False if there is no such kernel.
  bool run();

private:
  void followProduct();
  bool computeFromGiven();
  void padGiven(Operation *padding);
  Value applied(Operation *view, Value value);
  Value undone(Operation *view, Value value);
  void eraseUnused();
  bool divide();

  func::FuncOp kernel;
  const pprt::KernelTuning &tuning;
  OpBuilder builder;
  Block &body;
  Operation *end;
  Value given;            ///< what the library leaves without epilogues
  bool isInPlace = false; ///< whether the last argument stands for that
};

bool isView(Operation *op) { return op->hasTrait<IsView>(); }

/// Views and a constant factor are no epilogues.
void EpilogueFormer::followProduct() {
  given = llvm::find_if(body, [](Operation &op) {
            return isContraction(&op);
          })->getResult(0);
  while (given != end->getOperand(0) && given.hasOneUse() &&
         !matchActivation(given)) {
    Operation *user = *given.user_begin();
    if (!isView(user) && !getConstantFactor(user, given))
      return;
    given = user->getResult(0);
  }
}

Value EpilogueFormer::applied(Operation *view, Value value) {
  auto type = ranked(view->getResult(0)).clone(ranked(value).getElementType());
  if (auto constant = value.getDefiningOp<ConstantOp>())
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      return ConstantOp::create(builder, view->getLoc(), type,
                                splat.resizeSplat(type));
  IRMapping mapping;
  mapping.map(view->getOperand(0), value);
  return builder.clone(*view, mapping)->getResult(0);
}

Value EpilogueFormer::undone(Operation *view, Value value) {
  Type type = view->getOperand(0).getType();
  if (auto transpose = dyn_cast<TransposeOp>(view))
    return TransposeOp::create(
        builder, view->getLoc(), type, value,
        invertPermutationVector(transpose.getPermutation()));
  return ReshapeOp::create(builder, cast<ReshapeOp>(view).getLoc(), type,
                           value);
}

/// Rebuilds everything computed from the product, from an argument with the
/// result's layout; false if an op is not elementwise.
bool EpilogueFormer::computeFromGiven() {
  llvm::SetVector<Value> made;
  made.insert(given);
  SmallVector<Operation *> views;
  for (Operation &op : body.without_terminator()) {
    if (isRowPadding(&op) ||
        llvm::none_of(op.getOperands(),
                      [&](Value operand) { return made.contains(operand); }))
      continue;
    if (isView(&op))
      views.push_back(&op);
    else if (!op.hasTrait<OpTrait::Elementwise>())
      return false;
    made.insert(op.getResult(0));
  }
  RankedTensorType type = ranked(end->getOperand(0));
  IRMapping mapping;
  mapping.map(given, body.addArgument(type, given.getLoc()));
  ArrayRef<Operation *> ahead = views;
  DenseMap<Value, ArrayRef<Operation *>> aheadOf{{given, ahead}};
  for (Value value : made.getArrayRef().drop_front()) {
    Operation *op = value.getDefiningOp();
    if (isView(op)) {
      mapping.map(value, mapping.lookup(op->getOperand(0)));
      ahead = ahead.drop_front();
    } else {
      builder.setInsertionPoint(op);
      Operation *clone = op->clone();
      for (OpOperand &operand : clone->getOpOperands()) {
        Value read = operand.get();
        if (made.contains(read)) {
          operand.set(mapping.lookup(read));
          continue;
        }
        for (Operation *view : ahead)
          read = applied(view, read);
        operand.set(read);
      }
      clone->getResult(0).setType(type.clone(ranked(value).getElementType()));
      builder.insert(clone);
      mapping.map(value, clone->getResult(0));
    }
    aheadOf[value] = ahead;
  }
  builder.setInsertionPoint(end);
  for (OpOperand &result : end->getOpOperands())
    if (made.contains(result.get())) {
      Value value = mapping.lookup(result.get());
      for (Operation *view : llvm::reverse(aheadOf.lookup(result.get())))
        value = undone(view, value);
      result.set(value);
    }
  isInPlace = true;
  return true;
}

void EpilogueFormer::eraseUnused() {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (unsigned index = body.getNumArguments(); index-- > 0;)
    if (body.getArgument(index).use_empty())
      body.eraseArgument(index);
}

/// Into rows, as any other kernel's ops.
bool EpilogueFormer::divide() {
  KernelClusters clusters(body, tuning);
  clusters.clusterOps();
  clusters.joinBeside();
  clusters.recomputeCheapOps();
  clusters.finish();
  const KernelCluster *its = nullptr;
  for (const auto &cluster : clusters.getClusters()) {
    if (cluster->live.empty())
      continue;
    if (its)
      return false;
    its = cluster.get();
  }
  if (!its)
    return false;
  const RowOption &option = its->options.front();
  KernelRows rows{option.rows, {}};
  SmallVector<DenseI64ArrayAttr> layouts;
  for (Value result : end->getOperands()) {
    auto found = option.layouts.find(result);
    // Or it is an argument, of which each row has the part that it overwrites.
    if (found == option.layouts.end() &&
        result.getType() == end->getOperand(0).getType())
      found = option.layouts.find(end->getOperand(0));
    if (found == option.layouts.end())
      return false;
    rows.results.push_back(found->second);
    layouts.push_back(encodeRowLayout(kernel.getContext(), found->second));
  }
  kernel->setAttr(attrs::kRows,
                  RowsAttr::get(kernel.getContext(), rows.rows, layouts));
  if (!isInPlace)
    return true;
  const int64_t last = int64_t(body.getNumArguments()) - 1;
  kernel->setAttr(attrs::kInplace, builder.getDenseI64ArrayAttr({0, last}));
  return tuning.keepsRows || !findLateReader(kernel, rows, 0, last);
}

/// The result had `padding`, and so has its replacement.
void EpilogueFormer::padGiven(Operation *padding) {
  padding->moveBefore(end);
  padding->setOperand(0, end->getOperand(0));
  end->setOperand(0, padding->getResult(0));
  if (!isInPlace)
    return;
  BlockArgument argument = body.getArguments().back();
  RankedTensorType type = ranked(argument);
  argument.setType(padding->getResult(0).getType());
  builder.setInsertionPointToStart(&body);
  const SmallVector<int64_t> starts(type.getRank(), 0),
      strides(type.getRank(), 1);
  auto slice = SliceOp::create(builder, padding->getLoc(), type, argument,
                               starts, type.getShape(), strides);
  markPadded(slice);
  argument.replaceAllUsesExcept(slice, slice);
}

bool EpilogueFormer::run() {
  Operation *padding = end->getOperand(0).getDefiningOp();
  if (isRowPadding(padding))
    end->setOperand(0, padding->getOperand(0));
  else
    padding = nullptr;
  followProduct();
  if (given == end->getOperand(0))
    end->eraseOperand(0); // sums alone
  else if (!computeFromGiven())
    return false;
  else if (padding)
    padGiven(padding);
  eraseUnused();
  kernel.setFunctionType(
      builder.getFunctionType(body.getArgumentTypes(), end->getOperandTypes()));
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(kernel.getContext(), KernelKind::Loops));
  return divide();
}

} // namespace

func::FuncOp
pp::formUnfusedEpilogues(func::FuncOp kernel,
                         const pprt::ppx::ContractionT &contraction,
                         const pprt::KernelTuning &tuning) {
  auto unfused = cast<func::FuncOp>(kernel->clone());
  unfused->setAttr(attrs::kEpilogue,
                   StringAttr::get(kernel.getContext(),
                                   pprt::epilogueSignature(contraction)));
  if (EpilogueFormer(unfused, tuning).run())
    return unfused;
  unfused->erase();
  return nullptr;
}
