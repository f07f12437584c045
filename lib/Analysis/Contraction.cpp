//===- Contraction.cpp - kernels as library contractions ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Walks from the arguments to the product (dot_general or convolution), and
// from there to the result. All views are expressed in the dimensions of the
// product's result: batch, rows (free dimensions of lhs, and positions of
// windows), columns (free dimensions of rhs). Rows and columns of the result
// must each have one stride, and so must those of a dot's operands and the
// contracted dimensions; batch dimensions may have several.
//
//===----------------------------------------------------------------------===//
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"
#include "pp/IR/Windows.h"

using namespace mlir;
using namespace pp;
using namespace pprt;

namespace {

/// Libraries multiply floats.
std::optional<ppx::ElementType> elementOf(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  return isa<FloatType>(type) ? toElementType(type) : std::nullopt;
}

/// A view and the argument that it reads.
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

constexpr int64_t kAbsent = -1;

/// A loop of a product and the dimensions that it goes through. Through lhs it
/// goes by `step`, or moves by that along a window.
struct ProductLoop {
  int64_t size, lhs = kAbsent, rhs = kAbsent, result = kAbsent;
  int64_t window = kAbsent, step = 1;
};

/// A window of lhs. Coordinates begin at `offset`.
struct ProductWindow {
  int64_t lhs, size, offset, divisor;
};

/// A dot_general or a convolution as loops, each list major to minor.
struct Product {
  Value lhs, rhs, result;
  SmallVector<ProductLoop> batch, rows, columns, steps;
  SmallVector<ProductWindow> windows;
  /// Dimensions of lhs that begin elsewhere than at their first element.
  SmallVector<std::pair<int64_t, int64_t>> offsets;

  explicit Product(DotGeneralOp dot);
  explicit Product(ConvolutionOp convolution);

private:
  template <typename OpTy> void addPlain(OpTy op, ArrayRef<int64_t> resultDims);
};

int64_t sizeOf(Value value, int64_t dim) {
  return ranked(value).getDimSize(dim);
}

template <typename OpTy>
void Product::addPlain(OpTy op, ArrayRef<int64_t> resultDims) {
  lhs = op.getLhs();
  rhs = op.getRhs();
  result = op.getResult();
  const int64_t *next = resultDims.begin();
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    batch.push_back({sizeOf(lhs, left), left, right, *next++});
  for (int64_t dim : op.getLhsFree())
    rows.push_back({sizeOf(lhs, dim), dim, kAbsent, *next++});
  for (int64_t dim : op.getRhsFree())
    columns.push_back({sizeOf(rhs, dim), kAbsent, dim, *next++});
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    steps.push_back({sizeOf(lhs, left), left, right});
}

Product::Product(DotGeneralOp dot) {
  addPlain(dot, llvm::to_vector(llvm::seq<int64_t>(dot.getType().getRank())));
}

/// Rows in the order of the result, steps in that of rhs.
Product::Product(ConvolutionOp op) {
  addPlain(op, op.getResultPlain());
  for (unsigned index = 0; index < op.getLhsWindow().size(); ++index) {
    Window window = getWindow(op, index);
    // Along rhs from its first tap on, whatever the direction of the window.
    int64_t step = op.getReverse() ? -window.dilation : window.dilation;
    int64_t offset = op.getReverse()
                         ? (window.taps - 1) * window.dilation - window.low
                         : -window.low;
    int64_t positionsDim = op.getResultWindow()[index];
    int64_t positions = sizeOf(result, positionsDim);
    int64_t lhsDim = op.getLhsWindow()[index];
    ProductLoop position{positions, kAbsent, kAbsent, positionsDim};
    ProductLoop tap{window.taps, kAbsent, op.getRhsWindow()[index]};
    position.step = window.stride;
    tap.step = step;
    // A window that never leaves lhs, and finds an element everywhere, is no
    // more than two dimensions of it.
    const int64_t last = offset + (positions - 1) * window.stride +
                         (window.taps - 1) * window.dilation;
    if (window.baseDilation == 1 && offset >= 0 && last < window.size &&
        (window.taps == 1 || !op.getReverse())) {
      position.lhs = tap.lhs = lhsDim;
      offsets.push_back({lhsDim, offset});
    } else {
      position.window = tap.window = windows.size();
      windows.push_back({lhsDim, window.size, offset, window.baseDilation});
    }
    rows.push_back(position);
    steps.push_back(tap);
  }
  llvm::stable_sort(rows, [](const ProductLoop &a, const ProductLoop &b) {
    return a.result < b.result;
  });
  llvm::stable_sort(steps, [](const ProductLoop &a, const ProductLoop &b) {
    return a.rhs < b.rhs;
  });
}

/// The loops of rows or columns of a factor as the record has them.
using ViewLoops = std::vector<std::unique_ptr<ppx::ViewLoopT>>;

ViewLoops buildLoops(ArrayRef<ProductLoop> loops, const StridedView &view,
                     int64_t ProductLoop::*dim) {
  ViewLoops result;
  for (const ProductLoop &loop : loops) {
    const bool isLhs = dim == &ProductLoop::lhs;
    const bool slides = isLhs && loop.window != kAbsent;
    // The only element of a window may lie outside of lhs.
    if (loop.size == 1 && !slides)
      continue;
    const uint64_t stride =
        slides ? 0 : view.dims[loop.*dim].stride * (isLhs ? loop.step : 1);
    // A loop that continues another without a gap joins it.
    if (!slides && !result.empty() && result.back()->window == kAbsent &&
        result.back()->stride == stride * loop.size) {
      result.back()->extent *= loop.size;
      result.back()->stride = stride;
      continue;
    }
    auto entry = std::make_unique<ppx::ViewLoopT>();
    entry->extent = loop.size;
    entry->stride = stride;
    if (slides) {
      entry->window = loop.window;
      entry->step = loop.step;
    }
    result.push_back(std::move(entry));
  }
  if (result.empty()) {
    result.push_back(std::make_unique<ppx::ViewLoopT>());
    result.back()->extent = result.back()->stride = 1;
  }
  return result;
}

/// Whether one stride describes these loops.
bool arePlain(const ViewLoops &loops) {
  return loops.size() == 1 && loops.front()->window == kAbsent;
}

class ContractionMatcher {
public:
  explicit ContractionMatcher(func::FuncOp kernel) : kernel(kernel) {}
  FailureOr<ppx::ContractionT> match();

private:
  bool findProduct();
  std::unique_ptr<ppx::MatrixViewT> factor(Value operand,
                                           ArrayRef<ProductLoop> rows,
                                           ArrayRef<ProductLoop> columns,
                                           int64_t ProductLoop::*dim);
  bool followResult();
  bool addEpilogue(Operation *op, Value value);
  bool addActivation(const Activation &activation, Value value);
  bool addSums(Operation *op, unsigned result);
  /// A view of the result's current form as one of the product's result.
  std::optional<StridedView> viewOfProduct(StridedView view) const;
  std::unique_ptr<ppx::MatrixViewT> matrixOfProduct(const StridedView &view);

  func::FuncOp kernel;
  Operation *op = nullptr;
  std::optional<Product> product;
  ppx::ContractionT contraction;
  SmallVector<Operation *> resultViews; ///< from the product on
};

bool ContractionMatcher::findProduct() {
  for (Operation &inner : kernel.getBody().front()) {
    if (!isContraction(&inner))
      continue;
    if (op)
      return false;
    op = &inner;
  }
  if (auto dot = dyn_cast_or_null<DotGeneralOp>(op))
    product.emplace(dot);
  else if (auto convolution = dyn_cast_or_null<ConvolutionOp>(op))
    product.emplace(convolution);
  return product && elementOf(product->lhs) && elementOf(product->result);
}

std::unique_ptr<ppx::MatrixViewT>
ContractionMatcher::factor(Value operand, ArrayRef<ProductLoop> rows,
                           ArrayRef<ProductLoop> columns,
                           int64_t ProductLoop::*dim) {
  auto view = viewOfArgument(operand);
  unsigned parameter = operand == product->lhs ? 0 : 1;
  if (!view || view->argument.getArgNumber() != parameter)
    return nullptr;
  auto result = std::make_unique<ppx::MatrixViewT>();
  result->offset = view->view.offset;
  if (parameter == 0)
    for (auto [lhs, offset] : product->offsets)
      result->offset += offset * view->view.dims[lhs].stride;
  for (const ProductLoop &loop : product->batch)
    result->batch.push_back(view->view.dims[loop.*dim].stride);
  ViewLoops rowLoops = buildLoops(rows, view->view, dim),
            columnLoops = buildLoops(columns, view->view, dim);
  if (arePlain(rowLoops) && arePlain(columnLoops)) {
    result->row_stride = rowLoops.front()->stride;
    result->column_stride = columnLoops.front()->stride;
    return result;
  }
  // A dot gets its operands transposed instead.
  if (isa<DotGeneralOp>(op))
    return nullptr;
  result->rows = std::move(rowLoops);
  result->columns = std::move(columnLoops);
  if (dim == &ProductLoop::lhs)
    for (const ProductWindow &window : product->windows) {
      auto entry = std::make_unique<ppx::WindowT>();
      entry->size = window.size;
      entry->stride = view->view.dims[window.lhs].stride;
      entry->offset = window.offset;
      entry->divisor = window.divisor;
      result->windows.push_back(std::move(entry));
    }
  return result;
}

std::optional<StridedView>
ContractionMatcher::viewOfProduct(StridedView view) const {
  for (Operation *op : llvm::reverse(resultViews)) {
    auto before = viewBefore(op, view);
    if (!before)
      return std::nullopt;
    view = std::move(*before);
  }
  return view;
}

std::unique_ptr<ppx::MatrixViewT>
ContractionMatcher::matrixOfProduct(const StridedView &view) {
  auto inProduct = viewOfProduct(view);
  if (!inProduct)
    return nullptr;
  auto dimsOf = [](ArrayRef<ProductLoop> loops) {
    return llvm::map_to_vector(loops,
                               [](const ProductLoop &l) { return l.result; });
  };
  auto row = mergeDims(pick(*inProduct, dimsOf(product->rows))),
       column = mergeDims(pick(*inProduct, dimsOf(product->columns)));
  if (!row || !column)
    return nullptr;
  auto result = std::make_unique<ppx::MatrixViewT>();
  result->offset = inProduct->offset;
  for (StridedDim dim : pick(*inProduct, dimsOf(product->batch)))
    result->batch.push_back(dim.stride);
  result->row_stride = row->stride;
  result->column_stride = column->stride;
  return result;
}

/// `op` acts on `value`, the contraction so far.
bool ContractionMatcher::addEpilogue(Operation *op, Value value) {
  if (op->hasTrait<IsView>() || isRowPadding(op)) {
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
  epilogue->view = matrixOfProduct(addend->view);
  if (!epilogue->view)
    return false;
  contraction.epilogues.push_back(std::move(epilogue));
  return true;
}

/// The input of GELU may be a result, too; its gradient reads it.
bool ContractionMatcher::addActivation(const Activation &activation,
                                       Value value) {
  auto epilogue = std::make_unique<ppx::EpilogueT>();
  epilogue->kind = activation.kind;
  if (activation.input) {
    auto source = viewOfArgument(activation.input);
    if (!source)
      return false;
    epilogue->parameter = source->argument.getArgNumber();
    epilogue->view = matrixOfProduct(source->view);
    if (!epilogue->view)
      return false;
  }
  for (OpOperand &use : value.getUses())
    if (isa<func::ReturnOp>(use.getOwner())) {
      if (epilogue->view)
        return false;
      epilogue->parameter = kernel.getNumArguments() + use.getOperandNumber();
      epilogue->view = matrixOfProduct(denseView(ranked(value)));
      if (!epilogue->view)
        return false;
    }
  contraction.epilogues.push_back(std::move(epilogue));
  return true;
}

/// `sum` is result number `result` of the kernel, of the product's type: a
/// library rounds it to that.
bool ContractionMatcher::addSums(Operation *sum, unsigned result) {
  if (getElementTypeOrSelf(sum->getResult(0)) !=
      getElementTypeOrSelf(product->result))
    return false;
  for (const unsigned operand : {0, 1}) {
    if (!isSumOfOperand(sum, op, operand))
      continue;
    auto dim = mergeDims(denseView(ranked(sum->getResult(0))).dims);
    if (!dim)
      return false;
    auto epilogue = std::make_unique<ppx::EpilogueT>();
    epilogue->kind =
        operand == 0 ? ppx::EpilogueKind_sum_lhs : ppx::EpilogueKind_sum_rhs;
    epilogue->parameter = kernel.getNumArguments() + result;
    epilogue->view = std::make_unique<ppx::MatrixViewT>();
    (operand == 0 ? epilogue->view->row_stride
                  : epilogue->view->column_stride) = dim->stride;
    contraction.epilogues.push_back(std::move(epilogue));
    return true;
  }
  return false;
}

bool ContractionMatcher::followResult() {
  Operation *end = kernel.getBody().front().getTerminator();
  Value value = product->result;
  while (value != end->getOperand(0)) {
    if (auto activation = matchActivation(value)) {
      if (!addActivation(*activation, value))
        return false;
      value = activation->ops.back()->getResult(0);
      continue;
    }
    if (!value.hasOneUse() || !addEpilogue(*value.user_begin(), value))
      return false;
    value = (*value.user_begin())->getResult(0);
  }
  contraction.out = matrixOfProduct(denseView(ranked(value)));
  if (!value.hasOneUse() || !contraction.out)
    return false;
  for (unsigned index = 1; index < end->getNumOperands(); ++index) {
    const bool isThere =
        llvm::any_of(contraction.epilogues, [&](const auto &epilogue) {
          return epilogue->parameter == kernel.getNumArguments() + index;
        });
    Operation *sum = end->getOperand(index).getDefiningOp();
    if (!isThere && (!sum || !addSums(sum, index)))
      return false;
  }
  return true;
}

FailureOr<ppx::ContractionT> ContractionMatcher::match() {
  if (kernel.isExternal() || !findProduct())
    return failure();
  for (const SmallVector<ProductLoop> &loops :
       {product->batch, product->rows, product->columns, product->steps})
    for (const ProductLoop &loop : loops)
      if (loop.size == 0)
        return failure();
  contraction.lhs =
      factor(product->lhs, product->rows, product->steps, &ProductLoop::lhs);
  contraction.rhs =
      factor(product->rhs, product->steps, product->columns, &ProductLoop::rhs);
  if (!contraction.lhs || !contraction.rhs || !followResult())
    return failure();
  auto count = [](ArrayRef<ProductLoop> loops) {
    uint64_t product = 1;
    for (const ProductLoop &loop : loops)
      product *= loop.size;
    return product;
  };
  for (const ProductLoop &loop : product->batch)
    contraction.batch.push_back(loop.size);
  contraction.m = count(product->rows);
  contraction.n = count(product->columns);
  contraction.k = count(product->steps);
  contraction.element = *elementOf(product->lhs);
  contraction.out_element = *elementOf(product->result);
  contraction.out_parameter = kernel.getNumArguments();
  return std::move(contraction);
}

} // namespace

bool pp::isContraction(Operation *op) {
  return isa_and_present<DotGeneralOp, ConvolutionOp>(op);
}

bool pp::isSumOfOperand(Operation *op, Operation *product, unsigned index) {
  auto sum = dyn_cast<ReduceOp>(op);
  auto dot = dyn_cast<DotGeneralOp>(product);
  if (!sum || !dot || sum.getReduction() != Reduction::Sum ||
      !dot.getLhsBatch().empty())
    return false;
  Value operand = dot->getOperand(index), added = sum.getOperand();
  while (added != operand &&
         keepsFloats(added.getDefiningOp(), ranked(operand).getElementType()))
    added = added.getDefiningOp()->getOperand(0);
  if (added != operand)
    return false;
  SmallVector<int64_t> dims(sum.getDimensions()),
      contracted(index == 0 ? dot.getLhsContract() : dot.getRhsContract());
  llvm::sort(dims);
  llvm::sort(contracted);
  return dims == contracted;
}

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
  return op->hasTrait<IsView>() || isa<AddOp>(op) || isRowPadding(op) ||
         getConstantFactor(op, value);
}
