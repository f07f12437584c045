//===- CommandLine.h - the options of pp-opt --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: the arguments of the process and a registry with passes. Out: what to do,
// after all checks that need no module.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_COMMANDLINE_H
#define PP_OPT_COMMANDLINE_H

#include "Decisions.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace pp::opt {

struct CommandLine {
  enum class Emit { MLIR, Plan, Schedule, PPX, StableHLO };
  enum class Import { Auto, None, StableHLO };

  /// `output` is empty when nothing but the drawing is to be written.
  std::string input, output;
  /// What `input` is imported as; Auto: as what its content is.
  Import importAs = Import::Auto;
  /// The roles of an imported model's arguments.
  std::vector<std::string> inputs, labels, states;
  bool keepsShardings = true;
  /// The first option given that only an import reads; empty: none.
  std::string importOption;
  /// The kind of `output`.
  Emit emit = Emit::MLIR;
  /// Whether programs evaluate, and the value that they return then; empty:
  /// none.
  bool evaluates = false;
  std::string predict;
  /// Limit in bytes of the cache of compiled kernels; 0: none.
  uint64_t cacheLimit = 0;
  /// The targets of an artifact's images; none: the module's target.
  std::vector<std::string> targets;
  /// The file of the schedule's drawing; empty: none.
  std::string drawing;
  /// The questions about the module.
  Decisions decisions;
  mlir::MlirOptMainConfig config;
  /// Each level verifies its result; no more verification was requested.
  bool verifiesByLevel = true;
};

/// Reads MLIR's options and ours. Errors have been printed.
mlir::FailureOr<CommandLine> parseCommandLine(int argc, char **argv,
                                              mlir::DialectRegistry &registry);

} // namespace pp::opt

#endif // PP_OPT_COMMANDLINE_H
