//===- Masks.cpp - ops around padded dimensions ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Masks.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "pp/Planner/InShards.h"

using namespace mlir;
using namespace pp;

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

int64_t DimPadding::size() const { return product(sizes); }
int64_t DimPadding::paddedSize() const { return product(padded); }
bool DimPadding::isAtEnd() const {
  return ArrayRef(sizes).drop_front(sizes.empty() ? 0 : 1) ==
         ArrayRef(padded).drop_front(padded.empty() ? 0 : 1);
}

void MaskBuilder::notePadding(Value value, ArrayRef<DimPadding> padding) {
  paddings[value] = SmallVector<DimPadding>(padding);
}

const SmallVector<DimPadding> *MaskBuilder::paddingOf(Value value) const {
  auto it = paddings.find(value);
  return it == paddings.end() ? nullptr : &it->second;
}

void MaskBuilder::finish(Operation *op, ArrayRef<Layout> layouts) {
  SmallVector<Attribute> shardings;
  for (const Layout &layout : layouts)
    shardings.push_back(mesh.toSharding(layout));
  op->setAttr(attrs::kShardings, builder.getArrayAttr(shardings));
  for (StringRef name : {attrs::kKind, attrs::kOrigin, attrs::kStages})
    if (Attribute mark = source->getAttr(name))
      op->setAttr(name, mark);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

Value MaskBuilder::splat(RankedTensorType type, const Layout &layout,
                         Attribute value) {
  return create<ConstantOp>(layout, type, DenseElementsAttr::get(type, value));
}

/// Which elements of a dimension are the model's: i1, one per padded element.
Value MaskBuilder::dimMask(const DimPadding &padding, const AxisList &axes) {
  Type i32 = builder.getI32Type(), i1 = builder.getI1Type();
  Layout layout = splitAxes(axes, padding.padded, mesh);
  auto counts = RankedTensorType::get(padding.padded, i32);
  auto bits = RankedTensorType::get(padding.padded, i1);
  Value mask;
  for (auto [factor, size] : llvm::enumerate(padding.sizes)) {
    if (size == padding.padded[factor])
      continue;
    Value count =
        create<IotaOp>(layout, counts, builder.getI64IntegerAttr(factor));
    Value bound = splat(counts, layout, builder.getI32IntegerAttr(size));
    Value inside = create<CompareOp>(layout, bits, Direction::LT, count, bound);
    mask = mask ? create<AndOp>(layout, bits, mask, inside) : inside;
  }
  if (padding.padded.size() == 1)
    return mask;
  return create<ReshapeOp>(
      Layout{axes}, RankedTensorType::get(padding.paddedSize(), i1), mask);
}

Value MaskBuilder::mask(Value value, const llvm::SmallBitVector &dims,
                        Reduction reduction) {
  RankedTensorType type = ranked(value);
  TypedAttr identity = getIdentity(reduction, type.getElementType());
  bool isZero = identity == builder.getZeroAttr(type.getElementType());
  if (isZero && zeros.contains(value))
    return value;
  Layout layout = getLayout(value, mesh);
  const SmallVector<DimPadding> &padding = paddings.find(value)->second;
  auto bits = RankedTensorType::get(type.getShape(), builder.getI1Type());
  Value mask;
  for (unsigned dim : dims.set_bits()) {
    Value ofDim = create<BroadcastOp>(
        layout, bits, dimMask(padding[dim], layout[dim]),
        builder.getDenseI64ArrayAttr(static_cast<int64_t>(dim)));
    mask = mask ? create<AndOp>(layout, bits, mask, ofDim) : ofDim;
  }
  Value masked = create<SelectOp>(layout, type, mask, value,
                                  splat(type, layout, identity));
  inheritSources(masked, value);
  notePadding(masked, SmallVector<DimPadding>(padding));
  return masked;
}

//===----------------------------------------------------------------------===//
// Shapes and indices
//===----------------------------------------------------------------------===//

namespace {

/// A tensor of which some dimensions lose or get their padding. If padding lies
/// between the elements, the dimension is split into its factors.
struct SplitShape {
  SmallVector<int64_t> model, padded;
  Layout layout; // of the padded tensor
  Layout whole;  // with these dimensions unsharded
};

} // namespace

static SplitShape splitShape(ArrayRef<int64_t> shape,
                             ArrayRef<DimPadding> padding, const Layout &layout,
                             const llvm::SmallBitVector &dims,
                             const MeshView &mesh) {
  SplitShape split;
  for (unsigned dim = 0; dim < shape.size(); ++dim) {
    if (!dims.test(dim)) {
      split.model.push_back(shape[dim]);
      split.padded.push_back(shape[dim]);
      split.layout.push_back(layout[dim]);
      split.whole.push_back(layout[dim]);
      continue;
    }
    if (padding[dim].isAtEnd()) {
      split.model.push_back(padding[dim].size());
      split.padded.push_back(padding[dim].paddedSize());
      split.layout.push_back(layout[dim]);
    } else {
      llvm::append_range(split.model, padding[dim].sizes);
      llvm::append_range(split.padded, padding[dim].padded);
      llvm::append_range(split.layout,
                         splitAxes(layout[dim], padding[dim].padded, mesh));
    }
    split.whole.resize(split.layout.size());
  }
  return split;
}

Value MaskBuilder::reshape(Value value, ArrayRef<int64_t> shape,
                           const Layout &layout) {
  RankedTensorType type = ranked(value);
  if (type.getShape() == shape)
    return value;
  return create<ReshapeOp>(layout, type.clone(shape), value);
}

Value MaskBuilder::cutBack(Value value, const llvm::SmallBitVector &dims) {
  RankedTensorType type = ranked(value);
  Layout layout = getLayout(value, mesh);
  SmallVector<DimPadding> padding = paddings.find(value)->second;
  SplitShape split = splitShape(type.getShape(), padding, layout, dims, mesh);
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim : dims.set_bits()) {
    layout[dim].clear();
    shape[dim] = padding[dim].size();
    padding[dim].padded = padding[dim].sizes;
  }
  size_t rank = split.model.size();
  SmallVector<int64_t> zero(rank, 0), one(rank, 1);
  Value cut = create<SliceOp>(split.whole, type.clone(split.model),
                              reshape(value, split.padded, split.layout), zero,
                              split.model, one);
  chooseShardSum(cast<ShardingOpInterface>(cut.getDefiningOp()));
  cut = reshape(cut, shape, layout);
  notePadding(cut, padding);
  return cut;
}

Value MaskBuilder::pad(Value value, ArrayRef<DimPadding> padding,
                       const Layout &layout, const llvm::SmallBitVector &dims) {
  RankedTensorType type = ranked(value);
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned dim : dims.set_bits())
    shape[dim] = padding[dim].paddedSize();
  SplitShape split = splitShape(shape, padding, layout, dims, mesh);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value zero = splat(scalar, {}, builder.getZeroAttr(type.getElementType()));
  SmallVector<int64_t> none(split.model.size(), 0), high;
  for (auto [from, to] : llvm::zip_equal(split.model, split.padded))
    high.push_back(to - from);
  Value model = reshape(value, split.model, split.whole);
  Value padded = create<PadOp>(split.layout, type.clone(split.padded), model,
                               zero, none, high, none);
  return reshape(padded, shape, layout);
}

Value MaskBuilder::extend(OpResult result, ArrayRef<DimPadding> padding,
                          const llvm::SmallBitVector &dims) {
  Operation *op = result.getOwner();
  Layout layout = getLayout(result, mesh), whole = layout;
  for (unsigned dim : dims.set_bits())
    whole[dim].clear();
  SmallVector<Attribute> shardings(
      op->getAttrOfType<ArrayAttr>(attrs::kShardings).getValue());
  shardings[result.getResultNumber()] = mesh.toSharding(whole);
  op->setAttr(attrs::kShardings, builder.getArrayAttr(shardings));

  builder.setInsertionPointAfter(op);
  Value padded = pad(result, padding, layout, dims);
  inheritSources(padded, result);
  replaceUses(result, padded);
  return padded;
}

void MaskBuilder::replaceUses(Value value, Value derived) {
  llvm::SmallPtrSet<Operation *, 4> built;
  for (Value step = derived; step != value;
       step = step.getDefiningOp()->getOperand(0))
    built.insert(step.getDefiningOp());
  value.replaceAllUsesExcept(derived, built);
}

namespace {

/// Gathers the ops that are built.
class Collector : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    built.push_back(op);
  }

  SmallVector<Operation *> built;
};

} // namespace

void MaskBuilder::resize(Operation *op, const ShardingRule &rule) {
  Collector collector;
  OpBuilder around(op, &collector);
  const SmallVector<Value> operands(op->getOperands());
  cast<ShardingOpInterface>(op).resize(around, rule);
  // The ops built for an operand take its place.
  SmallVector<Value> replaced;
  for (auto [before, after] : llvm::zip(operands, op->getOperands()))
    if (before != after)
      replaced.push_back(before);
  for (Operation *built : collector.built) {
    SmallVector<Layout> layouts;
    for (Value result : built->getResults()) {
      const Value *like = llvm::find_if(replaced, [&](Value operand) {
        return ranked(operand).getShape() == ranked(result).getShape();
      });
      layouts.push_back(like == replaced.end()
                            ? Layout(ranked(result).getRank())
                            : getLayout(*like, mesh));
    }
    built->setLoc(dropSources(built->getLoc()));
    finish(built, layouts);
  }
}
