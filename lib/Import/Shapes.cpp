//===- Shapes.cpp - ops that make or move elements ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// broadcast_in_dim, which also repeats dimensions of size 1, becomes transpose,
// reshape and broadcast; pad with negative amounts a slice and a pad.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// Reads a literal that is kept beside the module. Null if its bytes are not
/// there.
static DenseElementsAttr readResource(DenseResourceElementsAttr resource) {
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  auto type = cast<RankedTensorType>(resource.getType());
  bool isSplat = false;
  if (!blob || type.getElementType().isInteger(1) ||
      !DenseElementsAttr::isValidRawBuffer(type, blob->getData(), isSplat))
    return {};
  return DenseElementsAttr::getFromRawBuffer(type, blob->getData());
}

static Value convertConstant(HloOp op, Conversion &graph) {
  Attribute found = op.get("value");
  auto value = dyn_cast_or_null<DenseElementsAttr>(found);
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(found);
      resource && isa<RankedTensorType>(resource.getType()))
    value = readResource(resource);
  if (!value || value.getType() != op.getResultType() ||
      isa<DenseStringElementsAttr>(value))
    return op->emitOpError("expects a literal of type ")
               << op.getResultType() << " whose elements are there",
           Value();
  // Integers without a sign have the same bits.
  Type element = graph.resultType(op).getElementType();
  return graph.constant(
      value.getElementType() == element ? value : value.bitcast(element));
}

static Value convertIota(HloOp op, Conversion &graph) {
  FailureOr<int64_t> dim = op.getInt("iota_dimension", 0);
  if (failed(dim))
    return {};
  return graph.make<IotaOp>(graph.resultType(op), *dim);
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

static Value convertBroadcast(HloOp op, Conversion &graph) {
  FailureOr<Ints> dims =
      op.getIntsPer("broadcast_dimensions", op.getOperandType(0).getRank(), -1);
  if (failed(dims))
    return {};
  return graph.broadcast(graph.operand(op, 0), *dims,
                         graph.resultType(op).getShape());
}

static Value convertReshape(HloOp op, Conversion &graph) {
  return graph.reshape(graph.operand(op, 0), graph.resultType(op).getShape());
}

static Value convertTranspose(HloOp op, Conversion &graph) {
  FailureOr<Ints> permutation =
      op.getIntsPer("permutation", op.getOperandType(0).getRank(), -1);
  if (failed(permutation))
    return {};
  return graph.transpose(graph.operand(op, 0), *permutation);
}

static Value convertReverse(HloOp op, Conversion &graph) {
  FailureOr<Ints> dims = op.getInts("dimensions");
  if (failed(dims))
    return {};
  llvm::sort(*dims);
  return graph.make<ReverseOp>(graph.resultType(op), graph.operand(op, 0),
                               *dims);
}

static Value convertSlice(HloOp op, Conversion &graph) {
  const size_t rank = op.getOperandType(0).getRank();
  FailureOr<Ints> starts = op.getIntsPer("start_indices", rank, 0);
  FailureOr<Ints> limits = op.getIntsPer("limit_indices", rank, -1);
  FailureOr<Ints> strides = op.getIntsPer("strides", rank, 1);
  if (failed(starts) || failed(limits) || failed(strides))
    return {};
  return graph.make<SliceOp>(graph.resultType(op), graph.operand(op, 0),
                             *starts, *limits, *strides);
}

static Value convertConcatenate(HloOp op, Conversion &graph) {
  FailureOr<int64_t> dim = op.getInt("dimension", 0);
  if (failed(dim))
    return {};
  return graph.make<ConcatenateOp>(graph.resultType(op), graph.operands(op),
                                   *dim);
}

/// Negative amounts cut off, which comes first: with no interior padding that
/// is the same.
static Value convertPad(HloOp op, Conversion &graph) {
  const size_t rank = op.getOperandType(0).getRank();
  FailureOr<Ints> low = op.getIntsPer("edge_padding_low", rank, 0);
  FailureOr<Ints> high = op.getIntsPer("edge_padding_high", rank, 0);
  FailureOr<Ints> interior = op.getIntsPer("interior_padding", rank, 0);
  if (failed(low) || failed(high) || failed(interior))
    return {};
  Value x = graph.operand(op, 0);
  Ints starts, limits;
  for (size_t dim = 0; dim < rank; ++dim) {
    const int64_t size = graph.shapeOf(x)[dim];
    if ((*low)[dim] < -size || (*high)[dim] < -size)
      return op->emitError("expects a padding that cuts off no more than there "
                           "is, got low ")
                 << printInts(*low) << ", high " << printInts(*high),
             Value();
    if (((*low)[dim] < 0 || (*high)[dim] < 0) && (*interior)[dim] != 0)
      return op->emitError("cannot import a padding that is negative and "
                           "interior at once, got low ")
                 << printInts(*low) << ", high " << printInts(*high)
                 << ", interior " << printInts(*interior),
             Value();
    starts.push_back(std::max<int64_t>(-(*low)[dim], 0));
    limits.push_back(size - std::max<int64_t>(-(*high)[dim], 0));
    (*low)[dim] = std::max<int64_t>((*low)[dim], 0);
    (*high)[dim] = std::max<int64_t>((*high)[dim], 0);
  }
  x = graph.slice(x, starts, limits);
  auto isZero = [](int64_t amount) { return amount == 0; };
  if (llvm::all_of(*low, isZero) && llvm::all_of(*high, isZero) &&
      llvm::all_of(*interior, isZero))
    return x;
  return graph.make<PadOp>(graph.resultType(op), x, graph.operand(op, 1), *low,
                           *high, *interior);
}

void pp::hlo::addShapes(Handlers &handlers) {
  handlers["constant"] = {convertConstant, nullptr, 0};
  handlers["chlo.constant"] = {convertConstant, nullptr, 0};
  handlers["iota"] = {convertIota, nullptr, 0};
  handlers["broadcast_in_dim"] = {convertBroadcast, nullptr, 1};
  handlers["reshape"] = {convertReshape, nullptr, 1};
  handlers["transpose"] = {convertTranspose, nullptr, 1};
  handlers["reverse"] = {convertReverse, nullptr, 1};
  handlers["slice"] = {convertSlice, nullptr, 1};
  handlers["concatenate"] = {convertConcatenate, nullptr, -1};
  handlers["pad"] = {convertPad, nullptr, 2};
}
