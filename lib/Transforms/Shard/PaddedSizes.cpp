//===- PaddedSizes.cpp - sizes of padded dimensions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "PaddedSizes.h"
#include "pp/IR/Model.h"
#include "pp/IR/Values.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace pp;

Layout PaddedSizes::layoutOfResult(unsigned index) {
  return mesh.toLayout(
      main.getResultAttrOfType<ShardingAttr>(index, attrs::kSharding));
}

bool PaddedSizes::everythingDivides() {
  auto dividesBy = [&](Value value, const Layout &layout) {
    return llvm::all_of(
        llvm::zip_equal(ranked(value).getShape(), layout), [&](auto pair) {
          return std::get<0>(pair) % mesh.size(std::get<1>(pair)) == 0;
        });
  };
  auto divides = [&](Value value) {
    return dividesBy(value, getLayout(value, mesh));
  };
  Block &body = main.getBody().front();
  for (OpOperand &result : body.getTerminator()->getOpOperands())
    if (!dividesBy(result.get(), layoutOfResult(result.getOperandNumber())))
      return false;
  return llvm::all_of(body.getArguments(), divides) &&
         llvm::all_of(body.without_terminator(), [&](Operation &op) {
           return llvm::all_of(op.getResults(), divides);
         });
}

SmallVector<int64_t>
PaddedSizes::paddedSizes(ArrayRef<FactorClasses::Class> parts) const {
  return llvm::map_to_vector(
      parts, [&](FactorClasses::Class part) { return padded[part]; });
}

/// Pads classes until `value` divides under `layout`; true if one grew.
bool PaddedSizes::require(Value value, const Layout &layout) {
  bool grew = false;
  for (auto [dim, axes] : llvm::enumerate(layout)) {
    SmallVector<FactorClasses::Class, 2> parts = classes.classesOf(value, dim);
    const SmallVector<int64_t> sizes = paddedSizes(parts);
    if (llvm::product_of(sizes) % mesh.size(axes) == 0)
      continue;
    auto pad = [&](FactorClasses::Class part, const AxisList &ofPart) {
      int64_t before = padded[part];
      multiples[part] = std::lcm(multiples[part], mesh.size(ofPart));
      padded[part] = llvm::alignTo(classes.size(part), multiples[part]);
      grew |= padded[part] != before;
    };
    size_t dealt = 0;
    for (auto [part, ofPart] :
         llvm::zip_equal(parts, splitAxes(axes, sizes, mesh))) {
      pad(part, ofPart);
      dealt += ofPart.size();
    }
    // Factors too small for their axes: where it costs no more than padding
    // the dimension would, the major one is made large enough.
    const int64_t major =
        llvm::alignTo(classes.size(parts.front()),
                      std::lcm(multiples[parts.front()], mesh.size(axes)));
    const int64_t others = llvm::product_of(llvm::drop_begin(sizes));
    if (dealt != axes.size() &&
        major * others <= int64_t(llvm::alignTo(ranked(value).getDimSize(dim),
                                                mesh.size(axes))))
      pad(parts.front(), axes);
  }
  return grew;
}

/// The dimensions that `rule` merges.
static SmallVector<Merge, 1> findMerges(const ShardingRule &rule) {
  SmallVector<Merge, 1> merges;
  for (const TensorFactors &tensor :
       llvm::concat<const TensorFactors>(rule.operands, rule.results))
    for (const DimFactors &factors : tensor) {
      if (factors.size() < 2)
        continue;
      Merge merge{llvm::SmallBitVector(rule.factors.size())};
      for (int64_t factor : factors)
        merge.factors.set(factor);
      llvm::erase_if(merges, [&](const Merge &other) {
        const bool meets = merge.factors.anyCommon(other.factors);
        if (meets)
          merge.factors |= other.factors;
        return meets;
      });
      merges.push_back(std::move(merge));
    }
  return merges;
}

FactorClasses PaddedSizes::makeClasses(bool partsAll) {
  FactorClasses made;
  for (const PaddedOp &entry : ops) {
    if (isLayoutChange(entry.op)) {
      tieSides(entry.op, made);
      continue;
    }
    ShardingRule rule = entry.rule;
    for (TensorFactors &tensor :
         llvm::concat<TensorFactors>(rule.operands, rule.results))
      for (DimFactors &factors : tensor)
        if (factors.size() > 1 &&
            llvm::any_of(entry.merges, [&](const Merge &merge) {
              return (partsAll || merge.isParted) &&
                     merge.factors.test(factors.front());
            }))
          factors.clear();
    made.addOp(entry.op, rule);
  }
  for (BlockArgument argument : main.getArguments())
    made.addValue(argument);
  for (auto [value, updated] :
       llvm::zip_equal(main.getBody().front().getTerminator()->getOperands(),
                       getUpdatedArguments(main)))
    if (updated && updated.getType() == value.getType())
      made.tie(updated, value);
  return made;
}

void PaddedSizes::decideClasses() {
  classes = makeClasses(/*partsAll=*/false);
  multiples.assign(classes.numClasses(), 1);
  padded.clear();
  for (FactorClasses::Class number = 0; number < classes.numClasses(); ++number)
    padded.push_back(classes.size(number));
  while (requireAll())
    ;
}

/// Separates merges of a dimension that does not divide from factors with too
/// few elements for its axes (padding these would multiply the dimension), and
/// merges of an argument that would be padded in a minor factor. True if there
/// was one.
bool PaddedSizes::partSmall() {
  llvm::SmallBitVector tooSmall(classes.numClasses());
  forEachLayout([&](Value value, const Layout &layout) {
    for (auto [dim, axes] : llvm::enumerate(layout)) {
      SmallVector<FactorClasses::Class, 2> parts =
          classes.classesOf(value, dim);
      const SmallVector<int64_t> sizes = paddedSizes(parts);
      size_t dealt = 0;
      for (const AxisList &ofPart : splitAxes(axes, sizes, mesh))
        dealt += ofPart.size();
      // No file could fill padding in the middle of an argument.
      const bool isInside = isa<BlockArgument>(value) && !axes.empty() &&
                            !paddingOf(parts).isAtEnd();
      if ((llvm::product_of(sizes) % mesh.size(axes) && dealt != axes.size()) ||
          isInside)
        for (FactorClasses::Class part : parts)
          tooSmall.set(part);
    }
  });
  if (tooSmall.none())
    return false;
  bool parted = false;
  for (PaddedOp &entry : ops)
    for (Merge &merge : entry.merges) {
      if (merge.isParted)
        continue;
      const auto touches = [&](Value value, const TensorFactors &tensor) {
        return llvm::any_of(llvm::enumerate(tensor), [&](const auto &dim) {
          return dim.value().size() > 1 &&
                 merge.factors.test(dim.value().front()) &&
                 llvm::any_of(classes.classesOf(value, dim.index()),
                              [&](int part) { return tooSmall.test(part); });
        });
      };
      const auto touchesOne = [&](const auto &pair) {
        return touches(std::get<0>(pair), std::get<1>(pair));
      };
      merge.isParted = llvm::any_of(llvm::zip_equal(entry.op->getOperands(),
                                                    entry.rule.operands),
                                    touchesOne) ||
                       llvm::any_of(llvm::zip_equal(entry.op->getResults(),
                                                    entry.rule.results),
                                    touchesOne);
      parted |= merge.isParted;
    }
  return parted;
}

LogicalResult PaddedSizes::decide() {
  for (Operation &op : main.getBody().front().without_terminator()) {
    auto shardable = dyn_cast<ShardingOpInterface>(op);
    if (!shardable)
      return op.emitError("expects an op with a sharding rule, got ")
             << op.getName();
    ShardingRule rule = shardable.getShardingRule();
    SmallVector<Merge, 1> merges = findMerges(rule);
    ops.push_back({&op, std::move(rule), {}, std::move(merges)});
  }
  // A padded factor may take axes that it was too small for.
  do {
    decideClasses();
  } while (partSmall() || partCostly());
  for (PaddedOp &op : ops)
    if (!isLayoutChange(op.op)) {
      findDivergent(op);
      findUnpadded(op);
    }
  return success();
}

/// A dimension that one side has whole and the other splits is padded on the
/// latter alone.
void PaddedSizes::tieSides(Operation *change, FactorClasses &made) {
  Value operand = change->getOperand(0), result = change->getResult(0);
  made.addValue(operand);
  made.addValue(result);
  Layout from = getLayout(operand, mesh), to = getLayout(result, mesh);
  for (unsigned dim = 0; dim < from.size(); ++dim)
    if (from[dim].empty() == to[dim].empty())
      made.tie(operand, result, dim);
}

/// Adds the factors that share a dimension of a tensor with one of `factors`.
static void addThoseBeside(const ShardingRule &rule,
                           llvm::SmallBitVector &factors) {
  auto isOne = [&](int64_t factor) { return factors.test(factor); };
  auto addOfTensors = [&](ArrayRef<TensorFactors> tensors) {
    bool grew = false;
    for (const TensorFactors &tensor : tensors)
      for (const DimFactors &ofDim : tensor) {
        if (llvm::none_of(ofDim, isOne) || llvm::all_of(ofDim, isOne))
          continue;
        grew = true;
        for (int64_t factor : ofDim)
          factors.set(factor);
      }
    return grew;
  };
  while (addOfTensors(rule.operands) || addOfTensors(rule.results))
    ;
}

/// A dimension diverges if its classes are not those of its factors.
void PaddedSizes::findDivergent(PaddedOp &padded) {
  Operation *op = padded.op;
  padded.unpadded.resize(padded.rule.factors.size());
  auto visit = [&](Value value, const TensorFactors &tensor) {
    for (auto [dim, factors] : llvm::enumerate(tensor)) {
      SmallVector<FactorClasses::Class> ofFactors;
      for (int64_t factor : factors)
        llvm::append_range(ofFactors, classes.classesOf(op, factor));
      if (!factors.empty() &&
          ArrayRef(classes.classesOf(value, dim)) != ArrayRef(ofFactors))
        for (int64_t factor : factors)
          padded.unpadded.set(factor);
    }
  };
  for (auto [value, tensor] :
       llvm::zip_equal(op->getOperands(), padded.rule.operands))
    visit(value, tensor);
  for (auto [value, tensor] :
       llvm::zip_equal(op->getResults(), padded.rule.results))
    visit(value, tensor);
}

/// Adds the factors that cannot be padded as decided.
void PaddedSizes::findUnpadded(PaddedOp &padded) {
  for (auto [number, factor] : llvm::enumerate(padded.rule.factors)) {
    const DimPadding padding = paddingOf(classes.classesOf(padded.op, number));
    if ((!factor.mayBeSplit() && padding.isPadded()) ||
        (factor.needsLocalize && !padding.isAtEnd()))
      padded.unpadded.set(number);
  }
  addThoseBeside(padded.rule, padded.unpadded);
}

void PaddedSizes::forEachLayout(
    function_ref<void(Value, const Layout &)> visit) {
  for (BlockArgument argument : main.getArguments())
    visit(argument, getLayout(argument, mesh));
  for (const PaddedOp &entry : ops)
    for (Value result : entry.op->getResults())
      visit(result, getLayout(result, mesh));
  for (OpOperand &result :
       main.getBody().front().getTerminator()->getOpOperands())
    visit(result.get(), layoutOfResult(result.getOperandNumber()));
}

bool PaddedSizes::requireAll() {
  bool grew = false;
  forEachLayout([&](Value value, const Layout &layout) {
    grew |= require(value, layout);
  });
  return grew;
}

DimPadding PaddedSizes::paddingOf(ArrayRef<FactorClasses::Class> parts) const {
  DimPadding padding;
  for (FactorClasses::Class part : parts) {
    padding.sizes.push_back(classes.size(part));
    padding.padded.push_back(padded[part]);
  }
  return padding;
}

SmallVector<DimPadding> PaddedSizes::paddingOf(Value value) const {
  SmallVector<DimPadding> result;
  for (int64_t dim = 0; dim < ranked(value).getRank(); ++dim)
    result.push_back(paddingOf(classes.classesOf(value, dim)));
  return result;
}

RankedTensorType PaddedSizes::paddedType(Value value) const {
  SmallVector<int64_t> shape;
  for (const DimPadding &padding : paddingOf(value))
    shape.push_back(padding.paddedSize());
  return ranked(value).clone(shape);
}
