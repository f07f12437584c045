//===- FormContractions.cpp - dots become library contractions ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a block of graph ops. Out: its float dots and convolutions, products for
// short, as launches. A contraction includes the views of its operands, and the
// ops on its result as long as nothing else reads it: a constant factor, views,
// added biases and residuals, an activation, whose operand may be read and is a
// second result then. It also includes the sum of an operand over the
// contracted dimensions, as for a bias's gradient. It tries to include
// everything, then less, until the target takes the kernel, and, if its library
// may refuse on the device, until the same can be done unfused; if the operands
// of a product, or windows of a result, have too uneven strides they are
// transposed first.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "MicroBatchSums.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/IRMapping.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

/// Ops around a product that a contraction includes.
struct Absorption {
  size_t lhsViews, rhsViews, resultSteps;
  bool withSum;
};

/// One step on a result: the last op makes the value for the next step.
struct ResultStep {
  SmallVector<Operation *> ops;
  /// Whether the value that it is done to may be a result, too.
  bool mayKeepOperand = false;

  Value result() const { return ops.back()->getResult(0); }
};

class ContractionFormer {
public:
  ContractionFormer(Operation *product, KernelTable &table,
                    const pprt::Target &target, unsigned threads,
                    bool epilogues)
      : product(product), table(table), target(target), threads(threads),
        epilogues(epilogues), builder(product) {}

  void run();

private:
  void collect(bool withActivations);
  bool tryAll();
  bool tryCollected(size_t fewest);
  bool tryToForm(Absorption absorption);
  Value cloneViews(ArrayRef<Operation *> views, Block *body, IRMapping mapping);
  void cloneResultOps(ArrayRef<ResultStep> steps, Block *body,
                      IRMapping &mapping);
  bool isTaken(const pprt::ppx::ContractionT &contraction) const;
  bool findOutputs(ArrayRef<ResultStep> steps, bool withSum);
  Operation *findPlace();
  void replace(func::FuncOp kernel, Operation *place);
  Value transposed(Value value, ArrayRef<int64_t> order);
  void straighten(DotGeneralOp dot);
  void straighten(ConvolutionOp convolution);

  Operation *product; ///< a dot_general or a convolution
  KernelTable &table;
  const pprt::Target &target;
  unsigned threads;
  bool epilogues;
  OpBuilder builder;
  SmallVector<Operation *> lhsViews, rhsViews; ///< from the product back
  SmallVector<ResultStep> resultSteps;         ///< from the product on
  Operation *sum = nullptr;                    ///< of an operand
  // The candidate kernel:
  SmallVector<Value> inputs;
  SmallVector<Value> outputs; ///< what it takes the place of, the product first
  llvm::SetVector<Operation *>
      replaced; ///< that nothing needs then, last first
};

/// The view ops that `value` comes through, the last first.
SmallVector<Operation *> viewsBehind(Value value) {
  SmallVector<Operation *> views;
  for (Operation *op = value.getDefiningOp(); isViewOp(op);
       op = op->getOperand(0).getDefiningOp())
    views.push_back(op);
  return views;
}

/// True for a transpose that leaves no elements side by side. A convolution
/// reads an operand once for each place of the window, so a copy is faster.
bool movesNeighbours(Operation *op) {
  auto transpose = dyn_cast<TransposeOp>(op);
  return transpose && transpose.getPermutation().back() !=
                          int64_t(transpose.getPermutation().size()) - 1;
}

/// The literal that `value` repeats, rounded or not, and what leads from there
/// to it, the last op first; nothing if there is none.
SmallVector<Operation *> literalBehind(Value value) {
  SmallVector<Operation *> ops;
  for (Operation *op = value.getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    ops.push_back(op);
    if (isa<ConstantOp>(op))
      return ops;
    if (!isViewOp(op) && !(isa<ConvertOp>(op) && getSplat(value)))
      break;
  }
  return {};
}

/// A sum of operand `index` of `product`, also behind converts of `operand`.
Operation *findSum(Value operand, Operation *product, unsigned index) {
  Type element = ranked(product->getOperand(index)).getElementType();
  Operation *sum = nullptr;
  for (Operation *user : operand.getUsers()) {
    if (user->getBlock() != product->getBlock())
      continue;
    if (isSumOfOperand(user, product, index))
      sum = user;
    else if (keepsFloats(user, element))
      if (Operation *behind = findSum(user->getResult(0), product, index))
        sum = behind;
  }
  return sum;
}

void ContractionFormer::collect(bool withActivations) {
  lhsViews = viewsBehind(product->getOperand(0));
  rhsViews = viewsBehind(product->getOperand(1));
  if (isa<ConvolutionOp>(product))
    for (auto *views : {&lhsViews, &rhsViews})
      views->erase(llvm::find_if(*views, movesNeighbours), views->end());
  resultSteps.clear();
  Value value = product->getResult(0);
  while (true) {
    if (auto activation =
            withActivations ? matchActivation(value) : std::nullopt)
      resultSteps.push_back({activation->ops, !activation->input});
    else if (value.hasOneUse() && isTakenAlong(*value.user_begin(), value))
      resultSteps.push_back({{*value.user_begin()}});
    else
      break;
    value = resultSteps.back().result();
  }
  sum = nullptr;
  for (unsigned index : {0, 1})
    if (Operation *found = findSum(product->getOperand(index), product, index))
      sum = found;
}

/// Clones views, given from the last back, onto a new argument of `body`.
Value ContractionFormer::cloneViews(ArrayRef<Operation *> views, Block *body,
                                    IRMapping mapping) {
  Value base = views.back()->getOperand(0), value;
  inputs.push_back(base);
  mapping.map(base, body->addArgument(base.getType(), base.getLoc()));
  for (Operation *op : llvm::reverse(views)) {
    Operation *clone = builder.clone(*op, mapping);
    dropOtherMarks(clone);
    value = clone->getResult(0);
  }
  return value;
}

/// Clones the ops on the product; their other operands become arguments,
/// constants are cloned.
void ContractionFormer::cloneResultOps(ArrayRef<ResultStep> steps, Block *body,
                                       IRMapping &mapping) {
  auto argumentFor = [&](Value addend) -> Value {
    inputs.push_back(addend);
    return body->addArgument(addend.getType(), addend.getLoc());
  };
  // Without the marks of earlier levels, so that equal kernels are one.
  auto cloneBare = [&](Operation *op) {
    Operation *clone = builder.clone(*op, mapping);
    dropOtherMarks(clone);
  };
  auto cloneOp = [&](Operation *op) {
    for (Value operand : op->getOperands()) {
      if (mapping.contains(operand))
        continue;
      SmallVector<Operation *> views = viewsBehind(operand);
      for (Operation *literal : llvm::reverse(literalBehind(operand)))
        cloneBare(literal);
      if (!mapping.contains(operand))
        mapping.map(operand, views.empty() ? argumentFor(operand)
                                           : cloneViews(views, body, mapping));
    }
    cloneBare(op);
  };
  for (const ResultStep &step : steps)
    llvm::for_each(step.ops, cloneOp);
}

/// Finds the outputs of the kernel and the values that are not needed outside;
/// false if a needed value is no output.
bool ContractionFormer::findOutputs(ArrayRef<ResultStep> steps, bool withSum) {
  outputs.assign(
      {steps.empty() ? product->getResult(0) : steps.back().result()});
  replaced.clear();
  auto isNeeded = [&](Value value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return !replaced.contains(user);
    });
  };
  // Whether the value becomes an output, or has no reader left.
  auto settle = [&](Value value, bool mayBeOutput) {
    if (value != outputs.front() && isNeeded(value)) {
      if (!mayBeOutput)
        return false;
      outputs.push_back(value);
    }
    replaced.insert(value.getDefiningOp());
    return true;
  };
  bool mayBeOutput = false;
  for (const ResultStep &step : llvm::reverse(steps)) {
    if (!settle(step.result(), mayBeOutput))
      return false;
    // Others that read parts of an activation compute them from its operand.
    for (Operation *op : llvm::reverse(ArrayRef(step.ops).drop_back()))
      if (!isNeeded(op->getResult(0)))
        replaced.insert(op);
    mayBeOutput = step.mayKeepOperand;
  }
  if (!settle(product->getResult(0), mayBeOutput))
    return false;
  if (withSum) {
    outputs.push_back(sum->getResult(0));
    replaced.insert(sum);
  }
  return true;
}

/// The op before which the launch goes: behind its operands, and before all
/// readers of its results. Null if there is no such place.
Operation *ContractionFormer::findPlace() {
  Operation *place = outputs.front().getDefiningOp();
  Block *block = place->getBlock();
  for (Value output : outputs)
    for (Operation *user : output.getUsers()) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      if (!replaced.contains(user) && ancestor->isBeforeInBlock(place))
        place = ancestor;
    }
  for (Value input : inputs) {
    Operation *producer = input.getDefiningOp();
    if (producer && producer->getBlock() == block &&
        !producer->isBeforeInBlock(place))
      return nullptr;
  }
  return place;
}

/// Whether a later micro-batch may add to the `value` of an earlier one.
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

bool ContractionFormer::isTaken(
    const pprt::ppx::ContractionT &contraction) const {
  return (epilogues || contraction.epilogues.empty()) &&
         target.verify(contraction).ok();
}

bool ContractionFormer::tryToForm(Absorption absorption) {
  auto steps = ArrayRef(resultSteps).take_front(absorption.resultSteps);
  if (!findOutputs(steps, absorption.withSum))
    return false;
  OpBuilder::InsertionGuard guard(builder);
  MLIRContext *context = product->getContext();
  inputs.clear();
  auto kernel = func::FuncOp::create(product->getLoc(), "kernel",
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
  Value lhs = cloneOperand(product->getOperand(0),
                           ArrayRef(lhsViews).take_front(absorption.lhsViews));
  Value rhs = cloneOperand(product->getOperand(1),
                           ArrayRef(rhsViews).take_front(absorption.rhsViews));
  Operation *clone = builder.clone(*product);
  clone->setOperands({lhs, rhs});
  dropOtherMarks(clone);
  IRMapping mapping;
  mapping.map(product->getResult(0), clone->getResult(0));
  cloneResultOps(steps, body, mapping);
  SmallVector<Value> results;
  for (Value output : ArrayRef(outputs).drop_back(absorption.withSum))
    results.push_back(mapping.lookup(output));
  if (absorption.withSum) {
    Value operand = isSumOfOperand(sum, product, 0) ? lhs : rhs;
    if (Type type = sum->getOperand(0).getType(); operand.getType() != type)
      operand = ConvertOp::create(builder, sum->getLoc(), type, operand);
    Operation *added = builder.clone(*sum);
    added->setOperand(0, operand);
    dropOtherMarks(added);
    results.push_back(added->getResult(0));
  }
  func::ReturnOp::create(builder, product->getLoc(), results);
  kernel.setFunctionType(FunctionType::get(context, body->getArgumentTypes(),
                                           ValueRange(results).getTypes()));

  Operation *place = findPlace();
  auto contraction = matchContraction(kernel);
  if (!place || failed(contraction) || !isTaken(*contraction)) {
    kernel->erase();
    return false;
  }
  target.plan(*contraction, threads);
  uint64_t bytes = contraction->workspace_bytes;
  if (mayBeAddedTo(outputs.front())) {
    contraction->accumulate = true;
    if (!isTaken(*contraction)) {
      kernel->erase();
      return false;
    }
    target.plan(*contraction, threads);
    bytes = std::max(bytes, contraction->workspace_bytes);
  }
  if (target.mayRefuseEpilogues() && !contraction->epilogues.empty()) {
    func::FuncOp unfused =
        formUnfusedEpilogues(kernel, *contraction, target.kernelTuning());
    if (!unfused) {
      kernel->erase();
      return false;
    }
    kernel->setAttr(
        attrs::kUnfused,
        FlatSymbolRefAttr::get(table.insert(unfused).getSymNameAttr()));
  }
  if (bytes)
    kernel->setAttr(attrs::kWorkspace, builder.getI64IntegerAttr(bytes));
  replace(table.insert(kernel), place);
  return true;
}

void ContractionFormer::replace(func::FuncOp kernel, Operation *place) {
  builder.setInsertionPoint(place);
  auto launch =
      LaunchOp::create(builder, product->getLoc(), kernel.getResultTypes(),
                       FlatSymbolRefAttr::get(kernel.getSymNameAttr()), inputs);
  setKind(launch, getKind(product));
  for (auto [output, result] : llvm::zip_equal(outputs, launch.getResults()))
    output.replaceAllUsesWith(result);
  for (Operation *op : replaced)
    op->erase();
}

/// Takes as many steps of the result as it can, no fewer than `fewest`.
bool ContractionFormer::tryCollected(size_t fewest) {
  for (size_t result = resultSteps.size() + 1; result-- > fewest;)
    for (size_t lhs = lhsViews.size() + 1; lhs-- > 0;)
      for (size_t rhs = rhsViews.size() + 1; rhs-- > 0;)
        for (const bool withSum : {true, false})
          if ((sum || !withSum) && tryToForm({lhs, rhs, result, withSum}))
            return true;
  return false;
}

bool ContractionFormer::tryAll() {
  collect(/*withActivations=*/true);
  auto isActivation = [](const ResultStep &s) { return s.ops.size() > 1; };
  if (const auto *first = llvm::find_if(resultSteps, isActivation);
      first != resultSteps.end() &&
      tryCollected(first - resultSteps.begin() + 1))
    return true;
  // It may take some of an activation's ops along.
  collect(/*withActivations=*/false);
  return tryCollected(0);
}

Value ContractionFormer::transposed(Value value, ArrayRef<int64_t> order) {
  if (llvm::is_sorted(order))
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(type.getDimSize(dim));
  return TransposeOp::create(builder, product->getLoc(), type.clone(shape),
                             value, order);
}

SmallVector<int64_t> join(ArrayRef<ArrayRef<int64_t>> lists) {
  SmallVector<int64_t> all;
  for (ArrayRef<int64_t> list : lists)
    llvm::append_range(all, list);
  return all;
}
SmallVector<int64_t> from(int64_t first, int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
}

void ContractionFormer::straighten(DotGeneralOp dot) {
  SmallVector<int64_t> lhs =
      join({dot.getLhsBatch(), dot.getLhsFree(), dot.getLhsContract()});
  SmallVector<int64_t> rhs =
      join({dot.getRhsBatch(), dot.getRhsContract(), dot.getRhsFree()});
  int64_t numBatch = dot.getLhsBatch().size(),
          numContract = dot.getLhsContract().size();
  dot.getLhsMutable().set(transposed(dot.getLhs(), lhs));
  dot.getRhsMutable().set(transposed(dot.getRhs(), rhs));
  dot.setLhsBatch(from(0, numBatch));
  dot.setRhsBatch(from(0, numBatch));
  dot.setLhsContract(from(lhs.size() - numContract, numContract));
  dot.setRhsContract(from(numBatch, numContract));
}

/// lhs as [batch, free, window, contracting], rhs as [batch, window,
/// contracting, free], the result as [batch, free of lhs, window, free of rhs].
void ContractionFormer::straighten(ConvolutionOp old) {
  SmallVector<int64_t> lhsFree = old.getLhsFree(), rhsFree = old.getRhsFree(),
                       plain = old.getResultPlain();
  int64_t numBatch = old.getLhsBatch().size(),
          numContract = old.getLhsContract().size(),
          numWindow = old.getLhsWindow().size(),
          beforeWindow = numBatch + lhsFree.size();
  SmallVector<int64_t> order =
      join({ArrayRef(plain).take_front(beforeWindow), old.getResultWindow(),
            ArrayRef(plain).drop_front(beforeWindow)});
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(old.getType().getDimSize(dim));
  Value lhs = transposed(old.getLhs(),
                         join({old.getLhsBatch(), lhsFree, old.getLhsWindow(),
                               old.getLhsContract()}));
  Value rhs =
      transposed(old.getRhs(), join({old.getRhsBatch(), old.getRhsWindow(),
                                     old.getRhsContract(), rhsFree}));
  auto straight = ConvolutionOp::create(
      builder, old.getLoc(), old.getType().clone(shape), lhs, rhs,
      from(0, numBatch), from(0, numBatch),
      from(beforeWindow + numWindow, numContract),
      from(numBatch + numWindow, numContract), from(beforeWindow, numWindow),
      from(numBatch, numWindow), from(beforeWindow, numWindow),
      old.getStrides(), old.getLow(), old.getHigh(), old.getLhsDilation(),
      old.getRhsDilation(), old.getReverse());
  setKind(straight, getKind(old));
  Value result = transposed(straight, invertPermutationVector(order));
  if (Operation *back = result.getDefiningOp(); back != straight)
    setKind(back, getKind(old));
  old.getResult().replaceAllUsesWith(result);
  old.erase();
  product = straight;
}

void ContractionFormer::run() {
  if (tryAll())
    return;
  if (auto dot = dyn_cast<DotGeneralOp>(product))
    straighten(dot);
  else
    straighten(cast<ConvolutionOp>(product));
  // Remaining products (of tensors without elements) become loops.
  tryAll();
}

} // namespace

static bool isLibraryElement(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

void pp::formContractions(Block &block, KernelTable &table,
                          const pprt::Target &target, unsigned threads,
                          bool epilogues) {
  SmallVector<Operation *> products;
  for (Operation &op : block)
    if (isContraction(&op) && isLibraryElement(op.getOperand(0)) &&
        isLibraryElement(op.getResult(0)))
      products.push_back(&op);
  for (Operation *product : products)
    ContractionFormer(product, table, target, threads, epilogues).run();
}
