//===- CommandLine.h - the options of pp-opt --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the arguments of the process and a registry in which passes are
// registered. Out: what to do, with everything checked that can be checked
// without a module.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_COMMANDLINE_H
#define PP_OPT_COMMANDLINE_H

#include "Decisions.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace pp::opt {

struct CommandLine {
  enum class Emit { MLIR, Plan, PPX };

  /// `output` is empty when nothing but the drawing is to be written.
  std::string input, output;
  /// What `output` is to be.
  Emit emit = Emit::MLIR;
  /// Bytes that compiled kernels may take in the cache; 0: as many as they
  /// want.
  uint64_t cacheLimit = 0;
  /// What an artifact has images for; none: what the module is for.
  std::vector<std::string> targets;
  /// Where the schedule is drawn; empty: nowhere.
  std::string drawing;
  /// What these ask of the module.
  Decisions decisions;
  mlir::MlirOptMainConfig config;
  /// Levels verify what they end with; nobody asked for more.
  bool verifiesByLevel = true;
};

/// Reads MLIR's options and ours. On failure the user has been told.
mlir::FailureOr<CommandLine> parseCommandLine(int argc, char **argv,
                                              mlir::DialectRegistry &registry);

} // namespace pp::opt

#endif // PP_OPT_COMMANDLINE_H
