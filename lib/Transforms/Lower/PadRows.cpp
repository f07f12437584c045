//===- PadRows.cpp - pads rows for libraries ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Looks at two kinds of values: results of a product after its epilogues, and
// elementwise results that an operand of a product is a view of. A value is
// followed through fragments; if one reader is neither a kernel nor a fragment,
// or would have to move data for the padding, the value keeps its layout.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "pp/Analysis/Contraction.h"
#include "pp/Analysis/ElementTypes.h"
#include "pp/Analysis/StridedView.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PaddedRows.h"
#include "pp/IR/Values.h"

using namespace mlir;
using namespace pp;

namespace {

/// The last value of `dot`'s kernel if it includes all possible epilogues.
Value followResult(Value value) {
  while (true) {
    if (auto activation = matchActivation(value))
      value = activation->ops.back()->getResult(0);
    else if (value.hasOneUse() && isTakenAlong(*value.user_begin(), value))
      value = (*value.user_begin())->getResult(0);
    else
      return value;
  }
}

/// The source of the view `value`, in the fragment that computes it.
Value findSource(Value value) {
  while (true) {
    if (Operation *op = value.getDefiningOp(); isViewOp(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(value);
    auto fragment =
        argument ? dyn_cast<FragmentOp>(argument.getOwner()->getParentOp())
                 : FragmentOp();
    auto given = fragment ? dyn_cast<OpResult>(
                                fragment.getOperands()[argument.getArgNumber()])
                          : OpResult();
    auto giver = given ? dyn_cast<FragmentOp>(given.getOwner()) : FragmentOp();
    if (!giver)
      return value;
    value = giver.getBody().front().getTerminator()->getOperand(
        given.getResultNumber());
  }
}

class RowPadder {
public:
  explicit RowPadder(const pprt::Target &target) : target(target) {}

  void tryToPad(Value value);

private:
  bool mayPad(Value value, const StridedView &view);
  bool isMadeSo(Value value, StridedView view) const;
  void readThroughSlice(Value padded, ArrayRef<OpOperand *> uses);
  void hand(OpOperand &yielded, Value padded);

  const pprt::Target &target;
  RankedTensorType type, paddedType;
  /// Uses of the current value, by their block.
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
};

/// Whether all readers of `value`, in the layout `view`, may read it so;
/// records them.
bool RowPadder::mayPad(Value value, const StridedView &view) {
  auto [entry, isNew] = uses.try_emplace(value);
  if (!isNew)
    return true;
  SmallVector<OpOperand *> all;
  for (OpOperand &use : value.getUses())
    all.push_back(&use);
  entry->second = all;
  // Views move no data; otherwise their readers would get a copy.
  std::function<bool(Operation *, const StridedView &)> isView =
      [&](Operation *op, const StridedView &operand) {
        if (!isViewOp(op))
          return true;
        auto result = viewThrough(op, operand);
        return result && llvm::all_of(op->getUsers(), [&](Operation *user) {
                 return isView(user, *result);
               });
      };
  for (OpOperand *use : all) {
    Operation *user = use->getOwner();
    if (isKernelOp(user)) {
      if (!isView(user, view))
        return false;
      continue;
    }
    auto giver = dyn_cast<FragmentOp>(user->getParentOp());
    if (!giver || !isa<YieldOp>(user))
      return false;
    for (OpOperand &given :
         giver->getResult(use->getOperandNumber()).getUses()) {
      auto taker = dyn_cast<FragmentOp>(given.getOwner());
      // Updated values have the parameter's layout.
      if (!taker || taker.getPhase() == Phase::Update ||
          !mayPad(taker.getBody().getArgument(given.getOperandNumber()), view))
        return false;
    }
  }
  return true;
}

/// Whether its maker can store it so: a product through the views behind it,
/// or elements, each by itself.
bool RowPadder::isMadeSo(Value value, StridedView view) const {
  for (Operation *op = value.getDefiningOp();;
       op = op->getOperand(0).getDefiningOp()) {
    if (!op)
      return false;
    if (isa<DotGeneralOp>(op))
      return true;
    if (op->hasTrait<IsView>()) {
      auto before = viewBefore(op, view);
      if (!before)
        return false;
      view = std::move(*before);
    } else {
      return op->hasTrait<OpTrait::Elementwise>() || isa<GatherOp>(op);
    }
  }
}

void RowPadder::readThroughSlice(Value padded, ArrayRef<OpOperand *> all) {
  OpBuilder builder(padded.getContext());
  builder.setInsertionPointAfterValue(padded);
  const SmallVector<int64_t> starts(type.getRank(), 0),
      strides(type.getRank(), 1);
  Operation *slice = nullptr;
  for (OpOperand *use : all) {
    if (isa<YieldOp>(use->getOwner())) {
      hand(*use, padded);
      continue;
    }
    if (!slice) {
      slice = SliceOp::create(builder, padded.getLoc(), type, padded, starts,
                              type.getShape(), strides);
      setKind(slice, getKind(use->getOwner()));
      markPadded(slice);
    }
    use->set(slice->getResult(0));
  }
}

/// To the fragments that take it.
void RowPadder::hand(OpOperand &yielded, Value padded) {
  auto giver = cast<FragmentOp>(yielded.getOwner()->getParentOp());
  yielded.set(padded);
  OpResult result = giver->getResult(yielded.getOperandNumber());
  result.setType(paddedType);
  for (OpOperand &given : result.getUses()) {
    auto taker = cast<FragmentOp>(given.getOwner());
    BlockArgument argument =
        taker.getBody().getArgument(given.getOperandNumber());
    if (argument.getType() == paddedType)
      continue;
    argument.setType(paddedType);
    readThroughSlice(argument, uses.lookup(argument));
  }
}

void RowPadder::tryToPad(Value value) {
  type = cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!op || !isa<FloatType>(type.getElementType()) || type.getRank() < 2 ||
      isRowPadding(op) || isRowSlice(op) || !isKernelOp(op))
    return;
  const int64_t size = type.getShape().back();
  if (size == 0 || type.getNumElements() == size)
    return;
  const int64_t pitch =
      target.rowPitch(*toElementType(type.getElementType()), size);
  if (pitch == size)
    return;
  SmallVector<int64_t> shape(type.getShape()), high(type.getRank(), 0);
  shape.back() = pitch;
  high.back() = pitch - size;
  paddedType = type.clone(shape);
  StridedView view = denseView(paddedType);
  view.dims.back().size = size;
  uses.clear();
  if (!isMadeSo(value, view) || !mayPad(value, view))
    return;

  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = ConstantOp::create(
      builder, value.getLoc(), scalar,
      DenseElementsAttr::get(scalar,
                             builder.getZeroAttr(type.getElementType())));
  const SmallVector<int64_t> none(type.getRank(), 0);
  Operation *padded = PadOp::create(builder, value.getLoc(), paddedType, value,
                                    zero, none, high, none);
  setKind(padded, getKind(op));
  markPadded(padded);
  readThroughSlice(padded->getResult(0), uses.lookup(value));
}

} // namespace

void pp::padRows(ModuleOp module, const pprt::Target &target) {
  SmallVector<DotGeneralOp> products;
  module.walk([&](func::FuncOp function) {
    if (!function->hasAttr(attrs::kKernel))
      function.walk([&](DotGeneralOp dot) { products.push_back(dot); });
  });
  RowPadder padder(target);
  for (DotGeneralOp dot : products) {
    padder.tryToPad(followResult(dot.getResult()));
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      // Copies are stored in the form in which they are multiplied.
      Value source = findSource(operand);
      padder.tryToPad(source.getDefiningOp<GatherOp>() ? operand : source);
    }
  }
}
