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

/// The running sum along one dimension: windows that reach to its beginning.
static Hlo writeCumsum(CumsumOp op, const Hlo &operand, HloWriter &out) {
  const size_t rank = operand.shape().size();
  Windows windows;
  for (SmallVector<int64_t> *ones :
       {&windows.sizes, &windows.strides, &windows.dilations})
    ones->assign(rank, 1);
  windows.low.assign(rank, 0);
  windows.high.assign(rank, 0);
  const int64_t dim = op.getDimension(), size = operand.shape()[dim];
  windows.sizes[dim] = std::max<int64_t>(size, 1);
  (op.getReverse() ? windows.high : windows.low)[dim] =
      std::max<int64_t>(size - 1, 0);
  return out.reduceWindow(operand, Reduction::Sum, windows, operand.shape());
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
