//===- Kernel.cpp - the interface of a kernel function --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "pp/IR/Kernel.h"

using namespace mlir;
using namespace pp;

int64_t pp::getTensorBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         std::max(8u, tensor.getElementTypeBitWidth()) / 8;
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
                            /*reads=*/accumulate,
                            /*writes=*/true, getTensorBytes(type)});
  }
  auto workspace = kernel->getAttrOfType<IntegerAttr>(attrs::kWorkspace);
  if (workspace && workspace.getInt() > 0)
    parameters.push_back({Source::Workspace, 0, /*reads=*/false,
                          /*writes=*/true, workspace.getInt()});
  return parameters;
}
