//===- Shapes.cpp - sources, shapes and reductions ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Ops whose attributes StableHLO spells differently.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

/// The running sum along one dimension: to each element the one 1, 2, 4, ...
/// places before it is added. As a window that reaches to the beginning it
/// would be quadratic work unless a compiler knows the pattern.
static Hlo writeCumsum(CumsumOp op, Hlo sum, HloWriter &out) {
  const SmallVector<int64_t> shape(sum.shape());
  const SmallVector<int64_t> none(shape.size(), 0);
  const int64_t dim = op.getDimension();
  Hlo zero = out.constant(RankedTensorType::get({}, sum.element()), 0);
  for (int64_t distance = 1; distance < shape[dim]; distance *= 2) {
    SmallVector<int64_t> in(none), away(none);
    in[dim] = distance;
    away[dim] = -distance;
    Hlo moved = op.getReverse() ? out.pad(sum, zero, away, in, none, shape)
                                : out.pad(sum, zero, in, away, none, shape);
    sum = out.same("add", {sum, moved});
  }
  return sum;
}

void hlo::addShapeForms(Forms &forms) {
  add<ConstantOp>(forms, [](ConstantOp op, ArrayRef<Hlo>, Device &device) {
    return device.out.constant(op.getValue());
  });
  add<IotaOp>(forms, [](IotaOp op, ArrayRef<Hlo>, Device &device) {
    return device.out.iota(resultType(op), op.getDimension());
  });
  add<RandomBitsOp>(forms,
                    [](RandomBitsOp op, ArrayRef<Hlo> in, Device &device) {
                      return writeRandomBits(op, in, device.out);
                    });
  add<BroadcastOp>(forms, [](BroadcastOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.broadcast(in[0], op.getDimensions(),
                                resultType(op).getShape());
  });
  add<ReshapeOp>(forms, [](ReshapeOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.reshape(in[0], resultType(op).getShape());
  });
  add<TransposeOp>(forms, [](TransposeOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.transpose(in[0], op.getPermutation());
  });
  add<ReverseOp>(forms, [](ReverseOp op, ArrayRef<Hlo> in, Device &device) {
    HloWriter &out = device.out;
    return out
        .generic("stablehlo.reverse", in[0],
                 "dimensions = " + spellArray(op.getDimensions()), "",
                 in[0].type)
        .front();
  });
  add<SliceOp>(forms, [](SliceOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.slice(in[0], op.getStarts(), op.getLimits(),
                            op.getStrides());
  });
  add<PadOp>(forms, [](PadOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.pad(in[0], in[1], op.getLow(), op.getHigh(),
                          op.getInterior(), resultType(op).getShape());
  });
  add<ConcatenateOp>(forms,
                     [](ConcatenateOp op, ArrayRef<Hlo> in, Device &device) {
                       return device.out.concatenate(in, op.getDimension());
                     });
  add<DynamicSliceOp>(forms,
                      [](DynamicSliceOp op, ArrayRef<Hlo> in, Device &device) {
                        return device.out.dynamicSlice(
                            in[0], in.drop_front(), resultType(op).getShape());
                      });
  add<DynamicUpdateSliceOp>(
      forms, [](DynamicUpdateSliceOp, ArrayRef<Hlo> in, Device &device) {
        return device.out.dynamicUpdateSlice(in[0], in[1], in.drop_front(2));
      });
  add<ReduceOp>(forms, [](ReduceOp op, ArrayRef<Hlo> in, Device &device) {
    return device.out.reduce(in[0], op.getReduction(), op.getDimensions());
  });
  add<CumsumOp>(forms, [](CumsumOp op, ArrayRef<Hlo> in, Device &device) {
    return writeCumsum(op, in[0], device.out);
  });
}
