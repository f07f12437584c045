//===- CommandLine.h - the options of pp-opt --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_COMMANDLINE_H
#define PP_OPT_COMMANDLINE_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace pp::opt {

struct CommandLine {
  std::string input, output;
  /// Whether `output` is to be an artifact instead of a module.
  bool emitsArtifact = false;
  mlir::MlirOptMainConfig config;
};

/// Reads MLIR's options and ours. On failure the user has been told.
mlir::FailureOr<CommandLine> parseCommandLine(int argc, char **argv,
                                              mlir::DialectRegistry &registry);

} // namespace pp::opt

#endif // PP_OPT_COMMANDLINE_H
