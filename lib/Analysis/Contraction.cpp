//===- Contraction.cpp - kernels as library contractions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks from the arguments to the dot_general and from there to the result. All
// views are expressed in the dimensions of the dot_general's result: batch,
// then rows (free dimensions of lhs), then columns (those of rhs). Rows,
// columns and contracted dimensions must each have one stride; of batch
// dimensions there may be several.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/Values.h"
#include "pprt/Contraction.h"

using namespace mlir;
using namespace pp;
using namespace pprt;

namespace {

std::optional<ppx::ElementType> elementOf(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (type.isF32())
    return ppx::ElementType_f32;
  if (type.isF64())
    return ppx::ElementType_f64;
  if (type.isBF16())
    return ppx::ElementType_bf16;
  return std::nullopt;
}

/// A view and the argument it lies in.
struct ArgumentView {
  BlockArgument argument;
  StridedView view;
};

std::optional<ArgumentView> viewOfArgument(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ArgumentView{argument,
                        denseView(cast<RankedTensorType>(value.getType()))};
  Operation *op = value.getDefiningOp();
  if (!isViewOp(op))
    return std::nullopt;
  auto source = viewOfArgument(op->getOperand(0));
  if (!source)
    return std::nullopt;
  auto view = viewThrough(op, source->view);
  if (!view)
    return std::nullopt;
  return ArgumentView{source->argument, std::move(*view)};
}

SmallVector<StridedDim> pick(const StridedView &view, ArrayRef<int64_t> dims) {
  SmallVector<StridedDim> picked;
  for (int64_t dim : dims)
    picked.push_back(view.dims[dim]);
  return picked;
}

class ContractionMatcher {
public:
  explicit ContractionMatcher(func::FuncOp kernel) : kernel(kernel) {}
  FailureOr<ppx::ContractionT> match();

private:
  bool findDot();
  bool addOperand(Value operand, ArrayRef<int64_t> batch,
                  ArrayRef<int64_t> rows, ArrayRef<int64_t> columns,
                  std::unique_ptr<ppx::MatrixViewT> &result);
  bool followResult();
  bool addEpilogue(Operation *op, Value value);
  /// A view of the result's current form as one of the dot's result.
  std::optional<StridedView> viewOfDot(StridedView view) const;
  std::unique_ptr<ppx::MatrixViewT> matrixOfDot(const StridedView &view);
  static std::unique_ptr<ppx::MatrixViewT> matrix(const StridedView &view,
                                                  ArrayRef<int64_t> batch,
                                                  ArrayRef<int64_t> rows,
                                                  ArrayRef<int64_t> columns);

  func::FuncOp kernel;
  DotGeneralOp dot;
  ppx::ContractionT contraction;
  SmallVector<Operation *> resultViews; ///< from the dot on
};

bool ContractionMatcher::findDot() {
  for (auto op : kernel.getBody().front().getOps<DotGeneralOp>()) {
    if (dot)
      return false;
    dot = op;
  }
  return dot && elementOf(dot.getLhs()) && elementOf(dot.getResult());
}

std::unique_ptr<ppx::MatrixViewT>
ContractionMatcher::matrix(const StridedView &view, ArrayRef<int64_t> batch,
                           ArrayRef<int64_t> rows, ArrayRef<int64_t> columns) {
  auto row = mergeDims(pick(view, rows)),
       column = mergeDims(pick(view, columns));
  if (!row || !column)
    return nullptr;
  auto result = std::make_unique<ppx::MatrixViewT>();
  result->offset = view.offset;
  for (StridedDim dim : pick(view, batch))
    result->batch.push_back(dim.stride);
  result->row_stride = row->stride;
  result->column_stride = column->stride;
  return result;
}

bool ContractionMatcher::addOperand(Value operand, ArrayRef<int64_t> batch,
                                    ArrayRef<int64_t> rows,
                                    ArrayRef<int64_t> columns,
                                    std::unique_ptr<ppx::MatrixViewT> &result) {
  auto view = viewOfArgument(operand);
  unsigned parameter = operand == dot.getLhs() ? 0 : 1;
  if (!view || view->argument.getArgNumber() != parameter)
    return false;
  result = matrix(view->view, batch, rows, columns);
  return result != nullptr;
}

std::optional<StridedView>
ContractionMatcher::viewOfDot(StridedView view) const {
  for (Operation *op : llvm::reverse(resultViews)) {
    auto before = viewBefore(op, view);
    if (!before)
      return std::nullopt;
    view = std::move(*before);
  }
  return view;
}

std::unique_ptr<ppx::MatrixViewT>
ContractionMatcher::matrixOfDot(const StridedView &view) {
  auto inDot = viewOfDot(view);
  if (!inDot)
    return nullptr;
  int64_t numBatch = dot.getLhsBatch().size(),
          numRows = dot.getLhsFree().size();
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, inDot->dims.size()));
  ArrayRef<int64_t> all(dims);
  return matrix(*inDot, all.take_front(numBatch), all.slice(numBatch, numRows),
                all.drop_front(numBatch + numRows));
}

/// `op` is what is done to `value`, the contraction so far.
bool ContractionMatcher::addEpilogue(Operation *op, Value value) {
  if (isa<TransposeOp, ReshapeOp>(op)) {
    resultViews.push_back(op);
    return true;
  }
  if (auto factor = getConstantFactor(op, value)) {
    contraction.alpha *= *factor;
    return contraction.epilogues.empty();
  }
  auto add = dyn_cast<AddOp>(op);
  if (!add || add.getLhs() == add.getRhs())
    return false;
  auto addend =
      viewOfArgument(add.getLhs() == value ? add.getRhs() : add.getLhs());
  if (!addend)
    return false;
  auto epilogue = std::make_unique<ppx::EpilogueT>();
  epilogue->kind = ppx::EpilogueKind_add;
  epilogue->parameter = addend->argument.getArgNumber();
  epilogue->view = matrixOfDot(addend->view);
  if (!epilogue->view)
    return false;
  contraction.epilogues.push_back(std::move(epilogue));
  return true;
}

bool ContractionMatcher::followResult() {
  Value value = dot.getResult();
  while (value.hasOneUse() && !isa<func::ReturnOp>(*value.user_begin())) {
    Operation *op = *value.user_begin();
    if (!addEpilogue(op, value))
      return false;
    value = op->getResult(0);
  }
  if (!value.hasOneUse() || kernel.getNumResults() != 1)
    return false;
  contraction.out =
      matrixOfDot(denseView(cast<RankedTensorType>(value.getType())));
  return contraction.out != nullptr;
}

FailureOr<ppx::ContractionT> ContractionMatcher::match() {
  if (kernel.isExternal() || !findDot())
    return failure();
  auto lhsFree = dot.getLhsFree(), rhsFree = dot.getRhsFree();
  if (!addOperand(dot.getLhs(), dot.getLhsBatch(), lhsFree,
                  dot.getLhsContract(), contraction.lhs) ||
      !addOperand(dot.getRhs(), dot.getRhsBatch(), dot.getRhsContract(),
                  rhsFree, contraction.rhs) ||
      !followResult())
    return failure();
  auto sizes = [](Value value, ArrayRef<int64_t> dims) {
    uint64_t product = 1;
    for (int64_t dim : dims)
      product *= cast<RankedTensorType>(value.getType()).getDimSize(dim);
    return product;
  };
  for (int64_t dim : dot.getLhsBatch())
    contraction.batch.push_back(sizes(dot.getLhs(), dim));
  contraction.m = sizes(dot.getLhs(), lhsFree);
  contraction.n = sizes(dot.getRhs(), rhsFree);
  contraction.k = sizes(dot.getLhs(), dot.getLhsContract());
  contraction.element = *elementOf(dot.getLhs());
  contraction.out_element = *elementOf(dot.getResult());
  contraction.out_parameter = kernel.getNumArguments();
  if (!cpu::verifyContraction(contraction).ok())
    return failure();
  return std::move(contraction);
}

} // namespace

std::optional<double> pp::getConstantFactor(Operation *op, Value value) {
  if (!isa<MulOp, DivOp>(op))
    return std::nullopt;
  bool isLeft = op->getOperand(0) == value;
  std::optional<double> factor = getSplat(op->getOperand(isLeft ? 1 : 0));
  if (!factor || !isa<FloatType>(ranked(value).getElementType()) ||
      (isa<DivOp>(op) && !isLeft))
    return std::nullopt;
  if (isa<MulOp>(op))
    return factor;
  return *factor == 0 ? std::nullopt : std::optional<double>(1 / *factor);
}

FailureOr<ppx::ContractionT> pp::matchContraction(func::FuncOp kernel) {
  return ContractionMatcher(kernel).match();
}

bool pp::isTakenAlong(Operation *op, Value value) {
  return isa<TransposeOp, ReshapeOp, AddOp>(op) || getConstantFactor(op, value);
}
