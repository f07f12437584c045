//===- Trials.h - what changes of a plan would come to ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Advice is worth what it brings. A change of the plan is made, the model is
// compiled again, in a context of its own, and what its step takes is
// predicted, as --pp-predict does: nothing is estimated, and nothing is run.
//
//===----------------------------------------------------------------------===//
#ifndef PP_EXPLAIN_TRIALS_H
#define PP_EXPLAIN_TRIALS_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/IR/PP.h"
#include "pp/Predict/Prediction.h"
#include <map>
#include <optional>
#include <string>

namespace pp {

/// Of a plan.
struct Outcome {
  int64_t devices = 1;
  double seconds = 0; ///< of a step
  uint64_t bytes = 0; ///< of the rank that holds most
};

Outcome getOutcome(const predict::Prediction &prediction, int64_t devices);

class Trials {
public:
  /// A module of level graph with the plan that was given, which may leave
  /// seeds and cuts open. What is tried begins with it.
  void setModel(mlir::ModuleOp module);
  bool hasModel() const { return !model.empty(); }

  /// With `change`, as Finding has it, of the plan of `programs`, which obey
  /// it: a key in the plan that was given, a seed in what became of that. The
  /// same is tried once. Nothing if such a plan is refused.
  std::optional<Outcome> run(llvm::StringRef change, mlir::ModuleOp programs);

private:
  std::optional<Outcome> compile(llvm::StringRef change,
                                 mlir::ModuleOp programs) const;

  mlir::DialectRegistry registry;
  std::string model; ///< bytecode
  std::map<std::string, std::optional<Outcome>> outcomes;
};

} // namespace pp

#endif // PP_EXPLAIN_TRIALS_H
