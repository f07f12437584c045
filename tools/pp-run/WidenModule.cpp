//===- WidenModule.cpp - a model in f64 -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a verified module of level 1, with its training step or without. Out: the
// same with every float as f64.
//
//===----------------------------------------------------------------------===//
#include "Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "pp/IR/Model.h"
#include "pp/IR/PP.h"

using namespace mlir;

/// `type` with f64 in place of any other float.
static RankedTensorType widen(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return isa<FloatType>(tensor.getElementType())
             ? tensor.clone(Float64Type::get(type.getContext()))
             : tensor;
}

static DenseElementsAttr widen(DenseFPElementsAttr literal) {
  return literal.mapValues(
      Float64Type::get(literal.getContext()), [](const APFloat &value) {
        APFloat wide = value;
        bool losesInfo = false;
        wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                     &losesInfo);
        return wide.bitcastToAPInt();
      });
}

static void widenArgument(func::FuncOp main, BlockArgument argument) {
  RankedTensorType wide = widen(argument.getType());
  if (wide == argument.getType())
    return;
  std::optional<pp::Role> role = pp::getArgRole(main, argument.getArgNumber());
  if (role == pp::Role::Param || role == pp::Role::State) {
    argument.setType(wide);
    return;
  }
  auto builder = OpBuilder::atBlockBegin(argument.getOwner());
  auto convert =
      pp::ConvertOp::create(builder, argument.getLoc(), wide, argument);
  // In a training step it is part of the forward pass, as its readers are.
  for (Operation *user : argument.getUsers())
    if (user != convert && pp::getOrigin(user) >= 0)
      pp::setOrigin(convert, pp::getOrigin(user));
  argument.replaceAllUsesExcept(convert, convert);
}

void pp::run::widenToF64(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &body = main.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (auto literal = dyn_cast<DenseFPElementsAttr>(constant.getValue()))
        constant.setValueAttr(widen(literal));
    for (Value result : op.getResults())
      result.setType(widen(result.getType()));
  }
  for (BlockArgument argument : body.getArguments())
    widenArgument(main, argument);
  for (auto convert : llvm::make_early_inc_range(body.getOps<ConvertOp>()))
    if (convert.getOperand().getType() == convert.getType()) {
      convert.replaceAllUsesWith(convert.getOperand());
      convert.erase();
    }
  main.setFunctionType(
      FunctionType::get(module.getContext(), body.getArgumentTypes(),
                        body.getTerminator()->getOperandTypes()));
}
