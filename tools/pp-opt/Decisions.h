//===- Decisions.h - the plan and the schedule a module has -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `--emit=plan`, `--draw-schedule`, `--pp-explain`, `--pp-predict` and
// `--pp-shardings`.
//
//===----------------------------------------------------------------------===//
#ifndef PP_OPT_DECISIONS_H
#define PP_OPT_DECISIONS_H

#include "mlir/Pass/PassManager.h"
#include "pp/Explain/Trials.h"
#include <string>

namespace pp::opt {

/// What is asked of the module that the passes leave, and the answers.
struct Decisions {
  enum class Drawing { None, Text, Svg };

  bool wantsPlan = false;
  Drawing wantsDrawing = Drawing::None;
  bool wantsExplanation = false, wantsPrediction = false,
       wantsShardings = false;
  /// The values whose shardings are explained; empty: a table of all.
  std::string shardingsOf;

  /// Whether a pass has written shardings.
  bool hasSeenShardings = false;

  std::string plan, drawing, explanation, prediction, shardings;
  /// Of what is advised where there is an explanation.
  Trials trials;
};

/// Appends a pass, and watches those before it, that answers what `decisions`
/// asks for; it outlives the pass. A module that has no answer is an error with
/// an exit code.
void addReader(mlir::PassManager &manager, Decisions &decisions);

} // namespace pp::opt

#endif // PP_OPT_DECISIONS_H
