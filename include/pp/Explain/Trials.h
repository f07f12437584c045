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
#include "pp/Predict/Prediction.h"
#include <optional>
#include <string>
#include <vector>

namespace pp {

/// Of a plan.
struct Outcome {
  uint32_t devices = 1;
  double seconds = 0; ///< of a step
  uint64_t bytes = 0; ///< of the rank that holds most
};

Outcome getOutcome(const predict::Prediction &prediction, uint32_t devices);

/// A change of the plan, as withChange() reads it, and what it comes to, or why
/// such a plan is refused; neither if it was not tried.
struct Trial {
  std::string change;
  std::optional<Outcome> outcome;
  std::string refusal;
};

class Trials {
public:
  /// No more are tried at once: each is a compilation.
  static constexpr size_t kMost = 8;

  /// A module of level graph with the plan that was given, which may leave
  /// seeds and cuts open. What is tried begins with it.
  void setModel(mlir::ModuleOp module);
  bool hasModel() const { return !model.empty(); }
  /// Whether the plan that was given has a place for `change`: its own seeds
  /// leave none to keys that choose seeds.
  bool canHave(llvm::StringRef change) const;

  /// `programs` are what passes have made of the model. Keys change the plan
  /// that was given; a seed changes what became of it.
  std::vector<Trial> run(llvm::ArrayRef<std::string> changes,
                         mlir::ModuleOp programs) const;

private:
  void compile(Trial &trial, llvm::StringRef plan,
               llvm::StringRef target) const;

  mlir::DialectRegistry registry;
  std::string model; ///< bytecode
  bool hasSeeds = false;
};

} // namespace pp

#endif // PP_EXPLAIN_TRIALS_H
