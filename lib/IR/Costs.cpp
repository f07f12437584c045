//===- Costs.cpp - costs of ops -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Counts on the shapes of an op: global ones at level 1, a device's at level 2.
// Only proportions matter for balancing stages and comparing plans; times come
// from a topology.
//
//===----------------------------------------------------------------------===//
#include "pp/IR/AllOps.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"

using namespace mlir;
using namespace pp;

namespace {

/// Arithmetic in one element of a vectorised exp, tanh, ...: a polynomial of
/// about this many terms.
constexpr double kTranscendental = 16.0;
/// Ten rounds of two wide products and two exclusive ors.
constexpr double kPhilox = 80.0;

double elementsOf(Value value) {
  return static_cast<double>(
      cast<RankedTensorType>(value.getType()).getNumElements());
}

double bytesOf(Value value) {
  return static_cast<double>(getTensorBytes(value.getType()));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

double none(Operation *) { return 0.0; }
double onePerResult(Operation *op) { return elementsOf(op->getResult(0)); }
double onePerOperand(Operation *op) { return elementsOf(op->getOperand(0)); }
double transcendental(Operation *op) {
  return kTranscendental * onePerResult(op);
}
double philox(Operation *op) { return kPhilox * onePerResult(op); }
/// Each largest element is found by comparing all.
double onePerOperandEach(Operation *op) {
  auto top = cast<TopKOp>(op);
  return onePerOperand(op) *
         static_cast<double>(top.getType().getDimSize(top.getDimension()));
}
/// Two for each product of a contraction.
double contraction(Operation *op) {
  auto dot = cast<DotGeneralOp>(op);
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType());
  double depth = 1.0;
  for (int64_t dim : dot.getLhsContract())
    depth *= static_cast<double>(lhs.getDimSize(dim));
  return 2.0 * depth * onePerResult(op);
}
/// The same of a convolution; zeros around lhs count.
double convolution(Operation *op) {
  auto conv = cast<ConvolutionOp>(op);
  auto rhs = cast<RankedTensorType>(conv.getRhs().getType());
  double depth = 1.0;
  for (ArrayRef<int64_t> dims : {conv.getRhsContract(), conv.getRhsWindow()})
    for (int64_t dim : dims)
      depth *= static_cast<double>(rhs.getDimSize(dim));
  return 2.0 * depth * onePerResult(op);
}
template <typename OpTy> double tapsOf(OpTy op) {
  double taps = 1.0;
  for (int64_t size : op.getSizes())
    taps *= static_cast<double>(size);
  return taps;
}
double onePerTap(Operation *op) {
  return tapsOf(cast<ReduceWindowOp>(op)) * onePerResult(op);
}
/// A search for the largest, and an addition.
double onePerTapAndUpdate(Operation *op) {
  auto scatter = cast<SelectAndScatterOp>(op);
  return (tapsOf(scatter) + 1.0) * elementsOf(scatter.getUpdates());
}
double onePerUpdate(Operation *op) {
  return elementsOf(cast<ScatterAddOp>(op).getUpdates());
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// Everything once.
double everything(Operation *op) {
  double bytes = bytesOf(op->getResult(0));
  for (Value operand : op->getOperands())
    bytes += bytesOf(operand);
  return bytes;
}
/// Selected elements are read and written; the rest stays untouched.
double picked(Operation *op) {
  double bytes = 2.0 * bytesOf(op->getResult(0));
  for (Value operand : op->getOperands().drop_front())
    bytes += bytesOf(operand);
  return bytes;
}

template <typename OpTy, double (*flops)(Operation *),
          double (*bytes)(Operation *)>
struct CostModel
    : CostOpInterface::ExternalModel<CostModel<OpTy, flops, bytes>, OpTy> {
  double getFlops(Operation *op) const { return flops(op); }
  double getBytes(Operation *op) const { return bytes(op); }
};

template <double (*flops)(Operation *), double (*bytes)(Operation *),
          typename... OpTys>
void attach(MLIRContext *context) {
  (OpTys::template attachInterface<CostModel<OpTys, flops, bytes>>(*context),
   ...);
}

/// The costs that an op's traits imply.
template <typename OpTy> void attachByTraits(MLIRContext *context) {
  if (RegisteredOperationName::lookup(TypeID::get<OpTy>(), context)
          ->template hasInterface<CostOpInterface>())
    return;
  if constexpr (OpTy::template hasTrait<Transcendental>())
    attach<transcendental, everything, OpTy>(context);
  else if constexpr (OpTy::template hasTrait<OpTrait::Elementwise>())
    attach<onePerResult, everything, OpTy>(context);
  else if constexpr (OpTy::template hasTrait<MovesElements>())
    attach<none, everything, OpTy>(context);
}

} // namespace

void pp::registerCostModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PPDialect *) {
    attach<onePerResult, everything, CumsumOp>(context);
    attach<transcendental, everything, SqrtOp, RsqrtOp>(context);
    attach<onePerOperand, everything, ReduceOp, ArgmaxOp>(context);
    attach<onePerOperandEach, everything, TopKOp>(context);
    attach<contraction, everything, DotGeneralOp>(context);
    attach<convolution, everything, ConvolutionOp>(context);
    attach<onePerTap, everything, ReduceWindowOp>(context);
    attach<onePerTapAndUpdate, everything, SelectAndScatterOp>(context);
    attach<onePerUpdate, everything, ScatterAddOp>(context);
    attach<philox, everything, RandomBitsOp>(context);
    attach<none, everything, IotaOp>(context);
    attach<none, picked, SliceOp, DynamicSliceOp, GatherOp>(context);
    // A literal is there already, and the other ops rename existing values.
    attach<none, none, ConstantOp, ReshapeOp, StopGradientOp, IfTrainingOp,
           ShardingConstraintOp, ReshardOp, NameOp>(context);
    visitAllOps([&](auto tag) {
      attachByTraits<typename decltype(tag)::Type>(context);
    });
  });
}
