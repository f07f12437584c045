//===- pp-opt.cpp - runs passes, explains, predicts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/PP.h"
#include "pp/Transforms/Passes.h"
#include "pp/Transforms/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<pp::PPDialect, mlir::func::FuncDialect>();
  pp::registerCostModels(registry);
  pp::registerGradientModels(registry);
  pp::registerShardingModels(registry);
  mlir::registerTransformsPasses();
  pp::registerPPPasses();
  pp::registerPipelines();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "pp: a graph partitioner for training\n", registry));
}
