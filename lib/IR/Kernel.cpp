//===- Kernel.cpp - the interface of a kernel function --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Kernel.h"
#include "pp/IR/Values.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace pp;

int64_t pp::getTensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         std::max(8u, tensor.getElementTypeBitWidth()) / 8;
}

bool pp::isKernelOp(Operation *op) {
  return isGraphOp(op) || isa<AxisIndexOp>(op);
}

/// kernel_c2
static LogicalResult verifyInplace(func::FuncOp kernel) {
  auto attribute = kernel->getAttrOfType<DenseI64ArrayAttr>(attrs::kInplace);
  if (!attribute)
    return success();
  ArrayRef<int64_t> pairs = attribute;
  llvm::SmallBitVector results(kernel.getNumResults());
  llvm::SmallBitVector operands(kernel.getNumArguments());
  auto take = [](llvm::SmallBitVector &set, int64_t index) {
    if (index < 0 || index >= int64_t(set.size()) || set.test(index))
      return false;
    set.set(index);
    return true;
  };
  bool isFit = pairs.size() % 2 == 0;
  for (size_t i = 0; isFit && i < pairs.size(); i += 2)
    isFit = take(results, pairs[i]) && take(operands, pairs[i + 1]) &&
            kernel.getResultTypes()[pairs[i]] ==
                kernel.getArgumentTypes()[pairs[i + 1]];
  if (isFit)
    return success();
  return kernel.emitOpError()
         << "expects pp.inplace to pair results below " << results.size()
         << " with operands below " << operands.size()
         << " of their types, none twice, got [" << pairs << "] (kernel_c2)";
}

LogicalResult pp::verifyKernel(func::FuncOp kernel) {
  TypeAttr type = kernel.getFunctionTypeAttr();
  if (!type || !isa<FunctionType>(type.getValue()))
    return success(); // left to the function's own verifier
  if (kernel.isExternal() || !kernel.getBody().hasOneBlock() ||
      kernel.getNumResults() == 0 ||
      !llvm::all_of(kernel.getArgumentTypes(), isTensor) ||
      !llvm::all_of(kernel.getResultTypes(), isTensor))
    return kernel.emitOpError()
           << "expects a body of one block, and arguments and at least one "
              "result that are tensors of static shape, got "
           << kernel.getFunctionType() << " (kernel_c1)";
  for (Operation &op : kernel.getBody().front())
    if (!isKernelOp(&op) && !isa<func::ReturnOp>(op))
      return op.emitOpError() << "expects not to be in a kernel, which holds "
                                 "ops of level 1 and pp.axis_index (kernel_c1)";
  auto workspace = kernel->getAttrOfType<IntegerAttr>(attrs::kWorkspace);
  if (workspace && workspace.getInt() < 0)
    return kernel.emitOpError()
           << "expects pp.workspace of at least 0 bytes, got "
           << workspace.getInt() << " (kernel_c3)";
  return verifyInplace(kernel);
}

std::optional<KernelKind> pp::getKernelKind(func::FuncOp function) {
  auto kind = function->getAttrOfType<KernelKindAttr>(attrs::kKernel);
  return kind ? std::optional<KernelKind>(kind.getValue()) : std::nullopt;
}

int64_t pp::getInplaceOperand(func::FuncOp kernel, unsigned index) {
  auto pairs = kernel->getAttrOfType<DenseI64ArrayAttr>(attrs::kInplace);
  if (!pairs)
    return -1;
  for (int64_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] == index)
      return pairs[i + 1];
  return -1;
}

SmallVector<RunParameter> pp::getRunParameters(func::FuncOp kernel,
                                               bool accumulate) {
  using Source = RunParameter::Source;
  SmallVector<RunParameter> parameters;
  for (auto [index, type] : llvm::enumerate(kernel.getArgumentTypes()))
    parameters.push_back({Source::Operand, static_cast<unsigned>(index),
                          /*reads=*/true,
                          /*writes=*/false, getTensorBytes(type)});
  for (auto [index, type] : llvm::enumerate(kernel.getResultTypes())) {
    int64_t operand = getInplaceOperand(kernel, index);
    if (operand >= 0)
      parameters[operand].writes = true;
    else
      parameters.push_back({Source::Result, static_cast<unsigned>(index),
                            /*reads=*/accumulate && index == 0,
                            /*writes=*/true, getTensorBytes(type)});
  }
  auto workspace = kernel->getAttrOfType<IntegerAttr>(attrs::kWorkspace);
  if (workspace && workspace.getInt() > 0)
    parameters.push_back({Source::Workspace, 0, /*reads=*/false,
                          /*writes=*/true, workspace.getInt()});
  return parameters;
}
