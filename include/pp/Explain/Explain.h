//===- Explain.h - explains collectives and shardings -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Advice is tried: a change of the plan is made, the model compiled again in a
// context of its own, and its step predicted as by --pp-predict. Nothing is
// run.
//
//===----------------------------------------------------------------------===//
#ifndef PP_EXPLAIN_EXPLAIN_H
#define PP_EXPLAIN_EXPLAIN_H

#include "mlir/IR/BuiltinOps.h"
#include "pp/Predict/Prediction.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pp {

struct PipelineOptions;

/// Prediction for a plan.
struct Outcome {
  uint32_t devices = 1;
  double seconds = 0; ///< of a step
  uint64_t bytes = 0; ///< of the rank that needs most
  /// Of them, what lies beside the arena; if measured.
  uint64_t besideArena = 0;
};
Outcome getOutcome(const predict::Prediction &prediction, uint32_t devices);

/// A change of the plan, as withChange() reads it, with its outcome or the
/// reason why the plan is refused; neither if it was not tried.
struct Trial {
  std::string change;
  std::optional<Outcome> outcome;
  std::string refusal;
};

/// The bytes that a rank needs beside the arena of its program.
using MeasureBeside =
    std::function<uint64_t(const pprt::ppx::ArtifactT &artifact)>;

/// Compiles and predicts a model under each plan, at the same time.
/// `measureBeside` is asked by one thread at a time.
std::vector<Trial> tryPlans(mlir::ModuleOp model,
                            llvm::ArrayRef<PipelineOptions> plans,
                            const MeasureBeside &measureBeside);

class Trials {
public:
  /// Trials at once: each is a compilation.
  static constexpr size_t kMost = 8;

  /// A module of level graph with the given plan, which may leave seeds and
  /// cuts open. Every trial starts from it.
  void setModel(mlir::ModuleOp module);
  bool hasModel() const { return !model.empty(); }

  /// Whether `change` can apply to the given plan: if that has seeds, keys that
  /// choose seeds cannot.
  bool canHave(llvm::StringRef change) const;

  /// Compiles and predicts each change. `programs` are the programs of the
  /// model: keys change the plan that was given, a seed changes the complete
  /// plan of `programs`.
  std::vector<Trial> run(llvm::ArrayRef<std::string> changes,
                         mlir::ModuleOp programs) const;

private:
  mlir::DialectRegistry registry;
  std::string model; ///< bytecode
  bool hasSeeds = false;
};

/// The text of --pp-explain for a module of level program: bytes sent per axis;
/// each collective with its place, cause, seeds, size and predicted time, equal
/// ones once; and advice, with outcomes if `trials` have the model.
mlir::FailureOr<std::string> explain(mlir::ModuleOp module,
                                     const Trials &trials);

/// The text of --pp-shardings for a module of level graph with shardings: the
/// sharding of each value and the source of each axis. With `pattern`, in which
/// `*` is any text, the path of each axis to the values of that name; it is an
/// error if there are none.
mlir::FailureOr<std::string> describeShardings(mlir::ModuleOp module,
                                               llvm::StringRef pattern);

} // namespace pp

#endif // PP_EXPLAIN_EXPLAIN_H
