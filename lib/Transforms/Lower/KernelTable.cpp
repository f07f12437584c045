//===- KernelTable.cpp - the kernels of a module, each once ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels are equal when they print alike under one name: printing leaves out
// locations and numbers values in order.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "pp/IR/Kernel.h"

using namespace mlir;
using namespace pp;

func::FuncOp KernelTable::insert(func::FuncOp kernel) {
  kernel.setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Else printing would verify it first, every time.
  kernel->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
  auto [entry, isNew] = kernels.try_emplace(text, kernel);
  if (!isNew) {
    kernel->erase();
    return entry->second;
  }
  bool isContraction = getKernelKind(kernel) == KernelKind::Contraction;
  const bool isEpilogue = kernel->hasAttr(attrs::kEpilogue);
  bool slides = !kernel.getBody().getOps<ConvolutionOp>().empty();
  kernel.setSymName(isEpilogue ? "epilogue_" + std::to_string(numEpilogues++)
                    : !isContraction ? "fused_" + std::to_string(numLoops++)
                                     : (slides ? "convolution_" : "matmul_") +
                                           std::to_string(numContractions++));
  symbols.insert(kernel);
  return kernel;
}
