//===- LinalgLowering.cpp - graph ops as linalg ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The lowering aspect of every graph op. Each op becomes one linalg.generic
// where it can, so that upstream fusion may merge it with its neighbours; the
// rest become slices, or loops around slices. Shapes are those of one row of a
// kernel as a rule (RowLoop.cpp), but any shape is right.
//
//===----------------------------------------------------------------------===//
#include "LinalgLowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "pp/IR/Aspects.h"

using namespace mlir;
using namespace pp;

//===----------------------------------------------------------------------===//
// LinalgBuilder
//===----------------------------------------------------------------------===//

Value LinalgBuilder::empty(RankedTensorType type) {
  return tensor::EmptyOp::create(builder, loc, type.getShape(),
                                 type.getElementType());
}

Value LinalgBuilder::fill(RankedTensorType type, TypedAttr value) {
  Value scalar = arith::ConstantOp::create(builder, loc, value);
  return linalg::FillOp::create(builder, loc, scalar, empty(type)).getResult(0);
}

Value LinalgBuilder::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value LinalgBuilder::iteration(int64_t dim) {
  return linalg::IndexOp::create(builder, loc, dim);
}

Value LinalgBuilder::clampedIndex(Value scalar, int64_t limit) {
  Value value =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), scalar);
  value = arith::MaxSIOp::create(builder, loc, value, index(0));
  return arith::MinSIOp::create(builder, loc, value, index(limit));
}

AffineMap LinalgBuilder::projection(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : dims)
    exprs.push_back(builder.getAffineDimExpr(dim));
  return AffineMap::get(rank, 0, exprs, builder.getContext());
}

Value LinalgBuilder::map(RankedTensorType type, ValueRange operands,
                         ArrayRef<AffineMap> maps, Body body) {
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, type, operands, empty(type), allMaps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value result = body(LinalgBuilder{nested, loc}, scalars.drop_back());
        linalg::YieldOp::create(nested, loc, result);
      });
  return generic.getResult(0);
}

Value LinalgBuilder::convert(Value value, RankedTensorType type) {
  if (value.getType() == type)
    return value;
  return map(type, value, builder.getMultiDimIdentityMap(type.getRank()),
             [&](LinalgBuilder inner, ValueRange scalars) {
               return emitConvert(inner.builder, inner.loc, scalars[0],
                                  type.getElementType());
             });
}

Value LinalgBuilder::sumProducts(RankedTensorType type, ValueRange operands,
                                 ArrayRef<AffineMap> maps, int64_t loops) {
  Type compute = getComputeType(type.getElementType());
  const int64_t rank = type.getRank();
  auto sumType = RankedTensorType::get(type.getShape(), compute);
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(
      projection(loops, llvm::to_vector(llvm::seq<int64_t>(rank))));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.resize(loops, utils::IteratorType::reduction);
  auto generic = linalg::GenericOp::create(
      builder, loc, sumType, operands,
      fill(sumType, getIdentity(Reduction::Sum, compute)), allMaps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value left = emitConvert(nested, loc, scalars[0], compute);
        Value right = emitConvert(nested, loc, scalars[1], compute);
        Value product = emitCombine(nested, loc, Reduction::Prod, left, right);
        linalg::YieldOp::create(
            nested, loc,
            emitCombine(nested, loc, Reduction::Sum, scalars[2], product));
      });
  return convert(generic.getResult(0), type);
}

Value LinalgBuilder::carryThrough(
    ArrayRef<int64_t> sizes, Value carried,
    function_ref<Value(LinalgBuilder, ValueRange, Value)> body) {
  SmallVector<Value> lower(sizes.size(), index(0)),
      step(sizes.size(), index(1)), upper;
  for (int64_t size : sizes)
    upper.push_back(index(size));
  if (sizes.empty())
    return body(*this, {}, carried);
  auto nest =
      scf::buildLoopNest(builder, loc, lower, upper, step, carried,
                         [&](OpBuilder &nested, Location loc, ValueRange ivs,
                             ValueRange iterArgs) {
                           return scf::ValueVector{body(
                               LinalgBuilder{nested, loc}, ivs, iterArgs[0])};
                         });
  return nest.results[0];
}

//===----------------------------------------------------------------------===//
// Elementwise, sources, reductions, contractions
//===----------------------------------------------------------------------===//

namespace {

Value lowerElementwise(ScalarOpInterface op, LinalgBuilder b,
                       ValueRange operands) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineMap> maps(operands.size(),
                              b.builder.getMultiDimIdentityMap(type.getRank()));
  return b.map(type, operands, maps,
               [&](LinalgBuilder inner, ValueRange scalars) {
                 return op.emitScalar(inner.builder, scalars);
               });
}

Value lower(ConstantOp op, LinalgBuilder b, ValueRange) {
  return arith::ConstantOp::create(b.builder, b.loc, op.getType(),
                                   cast<TypedAttr>(op.getValue()));
}

Value lower(IotaOp op, LinalgBuilder b, ValueRange) {
  Type element = op.getType().getElementType();
  return b.map(op.getType(), {}, {}, [&](LinalgBuilder inner, ValueRange) {
    Value position = arith::IndexCastOp::create(
        inner.builder, inner.loc, inner.builder.getI64Type(),
        inner.iteration(op.getDimension()));
    return emitConvert(inner.builder, inner.loc, position, element);
  });
}

/// Narrow floats are summed in f32 and rounded once.
Value lower(ReduceOp op, LinalgBuilder b, ValueRange operands) {
  Type element = op.getType().getElementType(),
       compute = getComputeType(element);
  auto sumType = RankedTensorType::get(op.getType().getShape(), compute);
  int64_t rank = ranked(operands[0]).getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (llvm::is_contained(op.getDimensions(), dim))
      iterators[dim] = utils::IteratorType::reduction;
    else
      kept.push_back(dim);
  }
  SmallVector<AffineMap> maps{b.builder.getMultiDimIdentityMap(rank),
                              b.projection(rank, kept)};
  Value start = b.fill(sumType, getIdentity(op.getReduction(), compute));
  auto sum = linalg::GenericOp::create(
      b.builder, b.loc, sumType, operands[0], start, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value wide = emitConvert(nested, loc, scalars[0], compute);
        Value next =
            emitCombine(nested, loc, op.getReduction(), scalars[1], wide);
        linalg::YieldOp::create(nested, loc, next);
      });
  return b.convert(sum.getResult(0), op.getType());
}

/// Keeps the largest element and its index; only a strictly larger one replaces
/// it, so the first wins.
Value lower(ArgmaxOp op, LinalgBuilder b, ValueRange operands) {
  auto from = ranked(operands[0]);
  Type element = getComputeType(from.getElementType()),
       index = op.getType().getElementType();
  int64_t rank = from.getRank();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[op.getDimension()] = utils::IteratorType::reduction;
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != static_cast<int64_t>(op.getDimension()))
      kept.push_back(dim);
  AffineMap keptMap = b.projection(rank, kept);
  auto bestType = RankedTensorType::get(op.getType().getShape(), element);
  Value best = b.fill(bestType, getIdentity(Reduction::Max, element));
  Value where = b.fill(op.getType(), b.builder.getIntegerAttr(index, 0));
  auto generic = linalg::GenericOp::create(
      b.builder, b.loc, TypeRange{bestType, op.getType()}, operands[0],
      ValueRange{best, where},
      {b.builder.getMultiDimIdentityMap(rank), keptMap, keptMap}, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange scalars) {
        Value position =
            linalg::IndexOp::create(nested, loc, op.getDimension());
        position = arith::IndexCastOp::create(nested, loc, index, position);
        Value next = emitConvert(nested, loc, scalars[0], element),
              best = scalars[1];
        Value isLarger = emitIsLarger(nested, loc, next, best);
        Value value =
            arith::SelectOp::create(nested, loc, isLarger, next, best);
        Value place = arith::SelectOp::create(nested, loc, isLarger, position,
                                              scalars[2]);
        linalg::YieldOp::create(nested, loc, ValueRange{value, place});
      });
  return generic.getResult(1);
}

/// Plain loops: floating contractions of any size go to a library
/// (FormContractions.cpp); integers and odd layouts come here.
Value lower(DotGeneralOp op, LinalgBuilder b, ValueRange operands) {
  int64_t lhsRank = ranked(operands[0]).getRank(),
          rhsRank = ranked(operands[1]).getRank();
  int64_t resultRank = op.getType().getRank();
  int64_t loops = resultRank + op.getLhsContract().size();
  SmallVector<int64_t> lhs(lhsRank), rhs(rhsRank);
  int64_t next = 0;
  for (auto [left, right] : llvm::zip_equal(op.getLhsBatch(), op.getRhsBatch()))
    lhs[left] = rhs[right] = next++;
  for (int64_t dim : op.getLhsFree())
    lhs[dim] = next++;
  for (int64_t dim : op.getRhsFree())
    rhs[dim] = next++;
  for (auto [left, right] :
       llvm::zip_equal(op.getLhsContract(), op.getRhsContract()))
    lhs[left] = rhs[right] = next++;
  return b.sumProducts(op.getType(), operands,
                       {b.projection(loops, lhs), b.projection(loops, rhs)},
                       loops);
}

} // namespace

FailureOr<Value> pp::lowerToLinalg(Operation *op, OpBuilder &builder,
                                   ValueRange operands) {
  LinalgBuilder b{builder, op->getLoc()};
  // A tensor without elements needs no computation, and valid views of it have
  // no spelling.
  auto type = ranked(op->getResult(0));
  if (type.getNumElements() == 0)
    return b.empty(type);
  if (auto scalar = dyn_cast<ScalarOpInterface>(op))
    return lowerElementwise(scalar, b, operands);
  if (auto lowering = dyn_cast<LinalgOpInterface>(op))
    return lowering.lowerToLinalg(builder, operands);
  return op->emitError("expects an op that can be lowered to loops, got ")
         << op->getName();
}

void pp::registerLinalgModels(DialectRegistry &registry) {
  registry
      .insert<linalg::LinalgDialect, scf::SCFDialect, tensor::TensorDialect>();
  registerScalarModels(registry);
  registerShardingModels(registry);
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    attachLowering<ConstantOp, lower>(context);
    attachLowering<IotaOp, lower>(context);
    attachLowering<ReduceOp, lower>(context);
    attachLowering<ArgmaxOp, lower>(context);
    attachLowering<DotGeneralOp, lower>(context);
    attachShapeLowerings(context);
    attachIndexingLowerings(context);
    attachScatterLowerings(context);
    attachWindowLowerings(context);
  });
}

void pp::registerForCompilation(DialectRegistry &registry) {
  registry.insert<PPDialect, func::FuncDialect>();
  registerCostModels(registry);
  registerGradientModels(registry);
  registerLinalgModels(registry);
}
