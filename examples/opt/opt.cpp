//===- opt.cpp - an opt tool of another compiler --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Takes what mlir-opt takes, and pp's passes. A compiler adds its own dialects
// and passes here.
//
//===----------------------------------------------------------------------===//
#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <mlir/Transforms/Passes.h>
#include <pp/InitAll.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pp::registerAllDialects(registry);
  pp::registerAllPasses();
  mlir::registerTransformsPasses();
  return failed(mlir::MlirOptMain(argc, argv, "opt with pp\n", registry));
}
