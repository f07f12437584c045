//===- FormContractions.cpp - dots become library contractions ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a block of graph ops. Out: its float dots as launches. A contraction
// takes along the views its operands are read through, and what is done to its
// result as long as nothing else reads it: a constant factor, views, added
// biases and residuals. It tries to take everything, then less, until
// matchContraction() knows the kernel; a dot whose operands lie too unevenly
// gets them transposed first.
//
//===----------------------------------------------------------------------===//
#include "FormContractions.h"
#include "MicroBatchSums.h"
#include "mlir/IR/IRMapping.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/StridedView.h"
#include "pprt/Contraction.h"

using namespace mlir;
using namespace pp;

namespace {

/// What a contraction takes along.
struct Absorption {
  size_t lhsViews, rhsViews, resultOps;
};

class ContractionFormer {
public:
  ContractionFormer(DotGeneralOp dot, KernelTable &table, unsigned threads)
      : dot(dot), table(table), threads(threads), builder(dot) {}

  void run();

private:
  void collect();
  bool tryAll();
  bool tryToForm(Absorption absorption);
  Value cloneViews(ArrayRef<Operation *> views, Block *body, IRMapping mapping);
  void cloneResultOps(ArrayRef<Operation *> ops, Block *body, Value product);
  void replace(func::FuncOp kernel, size_t numResultOps);
  void transposeOperand(OpOperand &operand, ArrayRef<int64_t> order);

  DotGeneralOp dot;
  KernelTable &table;
  unsigned threads;
  OpBuilder builder;
  SmallVector<Operation *> lhsViews, rhsViews; ///< from the dot back
  SmallVector<Operation *> resultOps;          ///< from the dot on
  SmallVector<Value> inputs;                   ///< of the kernel that is tried
  Value output;                                ///< what it takes the place of
};

/// The view ops that `value` comes through, the last first.
SmallVector<Operation *> viewsBehind(Value value) {
  SmallVector<Operation *> views;
  for (Operation *op = value.getDefiningOp(); isViewOp(op);
       op = op->getOperand(0).getDefiningOp())
    views.push_back(op);
  return views;
}

void ContractionFormer::collect() {
  lhsViews = viewsBehind(dot.getLhs());
  rhsViews = viewsBehind(dot.getRhs());
  resultOps.clear();
  Value value = dot.getResult();
  while (value.hasOneUse()) {
    Operation *op = *value.user_begin();
    if (!isTakenAlong(op, value))
      break;
    resultOps.push_back(op);
    value = op->getResult(0);
  }
}

/// Clones views, given from the last back, onto a new argument of `body`.
Value ContractionFormer::cloneViews(ArrayRef<Operation *> views, Block *body,
                                    IRMapping mapping) {
  Value base = views.back()->getOperand(0), value;
  inputs.push_back(base);
  mapping.map(base, body->addArgument(base.getType(), base.getLoc()));
  for (Operation *op : llvm::reverse(views)) {
    Operation *clone = builder.clone(*op, mapping);
    clone->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    value = clone->getResult(0);
  }
  return value;
}

/// Clones what is done to the product; addends become arguments, constants
/// are cloned.
void ContractionFormer::cloneResultOps(ArrayRef<Operation *> ops, Block *body,
                                       Value product) {
  IRMapping mapping;
  Value inner = dot.getResult();
  mapping.map(inner, product);
  auto argumentFor = [&](Value value) -> Value {
    inputs.push_back(value);
    return body->addArgument(value.getType(), value.getLoc());
  };
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      if (operand == inner)
        continue;
      SmallVector<Operation *> views = viewsBehind(operand);
      Value base = views.empty() ? operand : views.back()->getOperand(0);
      if (auto constant = base.getDefiningOp<ConstantOp>()) {
        mapping.map(base, builder.clone(*constant)->getResult(0));
        for (Operation *view : llvm::reverse(views))
          builder.clone(*view, mapping);
      } else {
        mapping.map(operand, views.empty() ? argumentFor(operand)
                                           : cloneViews(views, body, mapping));
      }
    }
    Operation *clone = builder.clone(*op, mapping);
    clone->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    inner = op->getResult(0);
  }
  output = inner;
  func::ReturnOp::create(builder, dot.getLoc(), mapping.lookup(inner));
}

/// Whether a later micro-batch may add to what an earlier one left of `value`.
static bool mayBeAddedTo(Value value) {
  if (!value.hasOneUse())
    return false;
  OpOperand &use = *value.use_begin();
  auto fragment = dyn_cast<FragmentOp>(use.getOwner()->getParentOp());
  if (!fragment || !isa<YieldOp>(use.getOwner()))
    return false;
  OpResult result = fragment->getResult(use.getOperandNumber());
  return !result.use_empty() && MicroBatchSums::mayGoToSlot(result);
}

bool ContractionFormer::tryToForm(Absorption absorption) {
  OpBuilder::InsertionGuard guard(builder);
  MLIRContext *context = dot.getContext();
  inputs.clear();
  auto kernel = func::FuncOp::create(dot.getLoc(), "kernel",
                                     FunctionType::get(context, {}, {}));
  kernel.setPrivate();
  kernel->setAttr(attrs::kKernel,
                  KernelKindAttr::get(context, KernelKind::Contraction));
  Block *body = &kernel.getBody().emplaceBlock();
  builder.setInsertionPointToStart(body);

  auto cloneOperand = [&](Value value, ArrayRef<Operation *> views) -> Value {
    if (!views.empty())
      return cloneViews(views, body, IRMapping());
    inputs.push_back(value);
    return body->addArgument(value.getType(), value.getLoc());
  };
  Value lhs = cloneOperand(dot.getLhs(),
                           ArrayRef(lhsViews).take_front(absorption.lhsViews));
  Value rhs = cloneOperand(dot.getRhs(),
                           ArrayRef(rhsViews).take_front(absorption.rhsViews));
  auto product = DotGeneralOp::create(
      builder, dot.getLoc(), dot.getType(), lhs, rhs, dot.getLhsBatch(),
      dot.getRhsBatch(), dot.getLhsContract(), dot.getRhsContract());
  cloneResultOps(ArrayRef(resultOps).take_front(absorption.resultOps), body,
                 product);
  kernel.setFunctionType(
      FunctionType::get(context, body->getArgumentTypes(), output.getType()));

  auto contraction = matchContraction(kernel);
  if (failed(contraction)) {
    kernel->erase();
    return false;
  }
  pprt::cpu::planContraction(*contraction, threads);
  uint64_t bytes = contraction->workspace_bytes;
  if (mayBeAddedTo(output)) {
    contraction->accumulate = true;
    pprt::cpu::planContraction(*contraction, threads);
    bytes = std::max(bytes, contraction->workspace_bytes);
  }
  if (bytes)
    kernel->setAttr(attrs::kWorkspace, builder.getI64IntegerAttr(bytes));
  replace(table.insert(kernel), absorption.resultOps);
  return true;
}

/// Puts the launch where the last absorbed op is: all it reads is there.
void ContractionFormer::replace(func::FuncOp kernel, size_t numResultOps) {
  builder.setInsertionPoint(output.getDefiningOp());
  auto launch =
      LaunchOp::create(builder, dot.getLoc(), output.getType(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs);
  setKind(launch, getKind(dot));
  output.replaceAllUsesWith(launch.getResult(0));
  for (Operation *op :
       llvm::reverse(ArrayRef(resultOps).take_front(numResultOps)))
    op->erase();
  dot.erase();
}

bool ContractionFormer::tryAll() {
  collect();
  for (size_t result = resultOps.size() + 1; result-- > 0;)
    for (size_t lhs = lhsViews.size() + 1; lhs-- > 0;)
      for (size_t rhs = rhsViews.size() + 1; rhs-- > 0;)
        if (tryToForm({lhs, rhs, result}))
          return true;
  return false;
}

void ContractionFormer::transposeOperand(OpOperand &operand,
                                         ArrayRef<int64_t> order) {
  auto type = cast<RankedTensorType>(operand.get().getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  operand.set(TransposeOp::create(builder, dot.getLoc(), type.clone(shape),
                                  operand.get(), order));
}

void ContractionFormer::run() {
  if (tryAll())
    return;
  auto join = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                 ArrayRef<int64_t> c) {
    return llvm::to_vector(llvm::concat<const int64_t>(a, b, c));
  };
  SmallVector<int64_t> lhs =
      join(dot.getLhsBatch(), dot.getLhsFree(), dot.getLhsContract());
  SmallVector<int64_t> rhs =
      join(dot.getRhsBatch(), dot.getRhsContract(), dot.getRhsFree());
  int64_t numBatch = dot.getLhsBatch().size(),
          numContract = dot.getLhsContract().size();
  auto from = [](int64_t first, int64_t count) {
    return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
  };
  transposeOperand(dot.getLhsMutable(), lhs);
  transposeOperand(dot.getRhsMutable(), rhs);
  dot.setLhsBatch(from(0, numBatch));
  dot.setRhsBatch(from(0, numBatch));
  dot.setLhsContract(from(lhs.size() - numContract, numContract));
  dot.setRhsContract(from(numBatch, numContract));
  // What is still none (a tensor without elements) stays a dot, hence loops.
  tryAll();
}

} // namespace

static bool isLibraryElement(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return type.isF32() || type.isF64() || type.isBF16();
}

void pp::formContractions(Block &block, KernelTable &table, unsigned threads) {
  SmallVector<DotGeneralOp> dots;
  for (auto dot : block.getOps<DotGeneralOp>())
    if (isLibraryElement(dot.getLhs()) && isLibraryElement(dot.getResult()))
      dots.push_back(dot);
  for (DotGeneralOp dot : dots)
    ContractionFormer(dot, table, threads).run();
}
