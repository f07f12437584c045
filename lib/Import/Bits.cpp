//===- Bits.cpp - ops on the bits of integers -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What random numbers of JAX are made of: exclusive or, shifts by constants,
// and floats from bits. pp has none of them; they become arithmetic that is
// exact.
//
//===----------------------------------------------------------------------===//
#include "Conversion.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

static int64_t countBits(Value value) {
  return Conversion::typeOf(value).getElementType().getIntOrFloatBitWidth();
}

/// Bits that are set in one operand alone.
static Value convertXor(HloOp op, Conversion &graph) {
  Value lhs = graph.operand(op, 0), rhs = graph.operand(op, 1);
  if (countBits(lhs) == 1)
    return graph.compare(Direction::NE, lhs, rhs);
  return graph.binary<SubOp>(graph.binary<OrOp>(lhs, rhs),
                             graph.binary<AndOp>(lhs, rhs));
}

/// The known number of places by which bits move, up to their number; reports
/// another.
static std::optional<int64_t> findShift(HloOp op, Conversion &graph) {
  std::optional<int64_t> places = graph.known(graph.operand(op, 1));
  const int64_t bits = countBits(graph.operand(op, 0));
  if (!places)
    op->emitError("cannot import ")
        << op->getName() << " by a number that is not constant";
  else if (*places < 0 || *places > bits)
    places = bits;
  return places;
}

static Value convertShiftLeft(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  std::optional<int64_t> places = findShift(op, graph);
  if (!places)
    return {};
  const uint64_t factor = *places < 64 ? uint64_t(1) << *places : 0;
  const int64_t bits = countBits(x);
  return graph.binary<MulOp>(
      x, graph.splatInt(APInt(64, factor).trunc(bits).getSExtValue(),
                        graph.typeOf(x)));
}

/// The low `count` bits of an integer of `bits`.
static int64_t makeMask(int64_t count, unsigned bits) {
  return APInt::getLowBitsSet(bits, count).getSExtValue();
}

/// Without its last bits an integer divides by their power of two; logically,
/// the copies of the sign that move in are removed. The power that is the sign
/// itself is negative.
template <bool isLogical>
static Value convertShiftRight(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  std::optional<int64_t> places = findShift(op, graph);
  if (!places || *places == 0)
    return places ? x : Value();
  RankedTensorType type = graph.typeOf(x);
  const int64_t bits = countBits(x);
  if (bits == 1 || *places == bits)
    return isLogical ? graph.splatInt(0, type)
                     : (op->emitError("expects a shift by less bits than there "
                                      "are, got ")
                            << *places,
                        Value());
  Value high =
      graph.binary<AndOp>(x, graph.splatInt(~makeMask(*places, 64), type));
  Value moved = graph.binary<DivOp>(
      high,
      graph.splatInt(APInt::getOneBitSet(bits, *places).getSExtValue(), type));
  if (isLogical)
    return graph.binary<AndOp>(
        moved, graph.splatInt(makeMask(bits - *places, bits), type));
  return *places == bits - 1 ? graph.unary<NegOp>(moved) : moved;
}

/// A float from 1 to 2 by its bits, as random numbers are made: those of 1, and
/// others in the place of the fraction.
static Value convertBitcast(HloOp op, Conversion &graph) {
  Value x = graph.operand(op, 0);
  RankedTensorType type = graph.resultType(op);
  auto both = x.getDefiningOp<OrOp>();
  auto refuse = [&] {
    return op->emitError("cannot import ")
               << op->getName()
               << " but that of random numbers from 1 to 2; convert instead",
           Value();
  };
  const bool isF64 = type.getElementType().isF64();
  if (!both || !(isF64 || type.getElementType().isF32()) ||
      graph.shapeOf(x) != type.getShape())
    return refuse();
  const int64_t fraction = isF64 ? 52 : 23;
  const int64_t one = isF64 ? 0x3ff0000000000000 : 0x3f800000;
  auto low = both.getLhs().getDefiningOp<AndOp>();
  std::optional<int64_t> mask = low ? graph.known(low.getRhs()) : std::nullopt;
  if (graph.known(both.getRhs()) != one || !mask || *mask < 0 ||
      *mask >= int64_t(1) << fraction)
    return refuse();
  Value scaled =
      graph.binary<MulOp>(graph.convert(both.getLhs(), type.getElementType()),
                          graph.splat(isF64 ? 0x1p-52 : 0x1p-23, type));
  return graph.binary<AddOp>(scaled, graph.splat(1, type));
}

void pp::hlo::addBits(Handlers &handlers) {
  handlers["xor"] = {convertXor, nullptr, 2};
  handlers["shift_left"] = {convertShiftLeft, nullptr, 2};
  handlers["shift_right_logical"] = {convertShiftRight<true>, nullptr, 2};
  handlers["shift_right_arithmetic"] = {convertShiftRight<false>, nullptr, 2};
  handlers["bitcast_convert"] = {convertBitcast, nullptr, 1};
}
