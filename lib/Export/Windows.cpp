//===- Windows.cpp - pooling ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// StableHLO's windows have all dimensions of a tensor, pp's those that slide.
//
//===----------------------------------------------------------------------===//
#include "Forms.h"

using namespace mlir;
using namespace pp;
using namespace pp::hlo;

template <typename OpTy> static Windows getWindows(OpTy op, size_t rank) {
  Windows all;
  auto spread = [&](SmallVector<int64_t> &into, Ints values, int64_t other) {
    into.assign(rank, other);
    for (auto [dim, value] : llvm::zip_equal(op.getDimensions(), values))
      into[dim] = value;
  };
  spread(all.sizes, op.getSizes(), 1);
  spread(all.strides, op.getStrides(), 1);
  spread(all.dilations, op.getDilations(), 1);
  spread(all.low, op.getLow(), 0);
  spread(all.high, op.getHigh(), 0);
  return all;
}

/// The larger of two elements: the one that came first, of equal ones.
static std::string selectLarger(Type element, HloWriter &out) {
  return out.region({element, element}, [&](ArrayRef<Hlo> values) {
    Hlo larger = out.compare("GE", values[0], values[1]);
    Hlo isNaN = out.compare("NE", values[0], values[0]);
    return Hlos{out.same("or", {larger, isNaN})};
  });
}

static FailureOr<Hlos> writeSelectAndScatter(SelectAndScatterOp op,
                                             ArrayRef<Hlo> in, HloWriter &out) {
  if (llvm::any_of(op.getDilations(), [](int64_t by) { return by != 1; }))
    return op.emitError("expects windows without dilation, got ")
           << spell(op.getDilations())
           << ": StableHLO's select_and_scatter has none";
  Windows windows = getWindows(op, in[0].shape().size());
  Hlo zero = out.constant(RankedTensorType::get({}, in[0].element()), 0);
  SmallVector<SmallVector<int64_t>> padding;
  for (auto [low, high] : llvm::zip_equal(windows.low, windows.high))
    padding.push_back({low, high});
  std::string regions = selectLarger(in[0].element(), out) + ", " +
                        out.combiner(Reduction::Sum, in[0].element());
  return out.generic("stablehlo.select_and_scatter", {in[0], in[1], zero},
                     "padding = " + spellRows(padding) +
                         ", window_dimensions = " + spellArray(windows.sizes) +
                         ", window_strides = " + spellArray(windows.strides),
                     regions, in[0].type);
}

void hlo::addWindowForms(Forms &forms) {
  add<ReduceWindowOp>(
      forms, [](ReduceWindowOp op, ArrayRef<Hlo> in, Device &device) {
        return device.out.reduceWindow(in[0], op.getReduction(),
                                       getWindows(op, in[0].shape().size()),
                                       resultType(op).getShape());
      });
  forms[SelectAndScatterOp::getOperationName()] = [](Operation *op,
                                                     ArrayRef<Hlo> in,
                                                     Device &device) {
    return writeSelectAndScatter(cast<SelectAndScatterOp>(op), in, device.out);
  };
}
