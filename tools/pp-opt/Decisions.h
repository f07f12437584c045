//===- Decisions.h - the answers and artifacts of pp-opt --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For `--emit`, `--draw-schedule`, `--pp-explain`, `--pp-predict`,
// `--pp-memory-report` and `--pp-shardings`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_DECISIONS_H
#define PP_OPT_DECISIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Explain/Explain.h"
#include <string>
#include <vector>

namespace pp::opt {

/// The questions about the module after the passes, and the answers.
struct Decisions {
  enum class Drawing { None, Text, Svg };

  bool wantsPlan = false, wantsSchedule = false;
  /// The file that the plan is written to, beside which it finds its table.
  std::string planFile;
  Drawing wantsDrawing = Drawing::None;
  bool drawsTransfers = false;
  bool wantsExplanation = false, wantsPrediction = false, wantsMemory = false,
       wantsShardings = false;
  /// The file of the memory report, whose name says how it is spelled; empty:
  /// text on standard output.
  std::string memoryFile;
  /// The values whose shardings are explained; empty: a table of all.
  std::string shardingsOf;

  /// Whether a pass has written shardings.
  bool hasSeenShardings = false;

  std::string plan, schedule, drawing, explanation, prediction, memory,
      shardings;
  /// Tries the advice of an explanation.
  Trials trials;
};

/// Appends a pass that answers the questions of `decisions`, and watches the
/// passes before it; `decisions` outlives the pass. A module that has no answer
/// is an error with an exit code.
void addReader(mlir::PassManager &manager, Decisions &decisions);

/// The module that MlirOptMain wrote; null after an error.
mlir::OwningOpRef<mlir::ModuleOp> readBack(llvm::StringRef bytecode,
                                           mlir::MLIRContext &context);

/// Reads the text of a module and writes it, with the machine code of its
/// kernels, to the artifact `path`, whole or not at all. Without `targets` the
/// module is of level 4; otherwise of level 3, and the remaining passes run for
/// each target. Reports errors with an exit code. `cacheLimit`: see
/// CommandLine.
mlir::LogicalResult emitArtifact(llvm::StringRef module,
                                 const std::string &path,
                                 const std::vector<std::string> &targets,
                                 uint64_t cacheLimit,
                                 const mlir::DialectRegistry &registry);

/// Reads the text of a module and writes it as StableHLO to `path`, with what
/// belongs to it beside it, but not over `input`. Runs the passes that split it
/// into stages if its mesh has them. Reports errors with an exit code.
mlir::LogicalResult emitStableHLO(llvm::StringRef module,
                                  const std::string &input,
                                  const std::string &path,
                                  const mlir::DialectRegistry &registry);

} // namespace pp::opt

#endif // PP_OPT_DECISIONS_H
