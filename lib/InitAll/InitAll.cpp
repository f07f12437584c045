//===- InitAll.cpp - registers everything that tools need -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A library of its own, since it depends on all others.
//
//===----------------------------------------------------------------------===//
#include "pp/InitAll.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Aspects.h"
#include "pp/Import/Passes.h"
#include "pp/Transforms/Passes.h"

void pp::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<PPDialect, mlir::func::FuncDialect>();
  registerCostModels(registry);
  registerGradientModels(registry);
  registerShardingModels(registry);
  mlir::func::registerInlinerExtension(registry);
}

void pp::registerAllPasses(
    const std::function<void(PipelineOptions &)> &adjust) {
  registerPPPasses();
  registerPPImportPasses();
  registerPipelines(adjust);
}
