//===- Pipelines.h - the lists of passes ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `--pp-parallelize="dp=2 tp=2 ..."` of pp-opt and `--parallelize` of pp-run:
// the text, the options and the list of passes it stands for.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TRANSFORMS_PIPELINES_H
#define PP_TRANSFORMS_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "pp/IR/PP.h"
#include "pp/IR/PlanKeys.h"
#include "pp/Transforms/Shard/MakePlan.h"
#include <functional>

namespace pp {

/// The pass that runs them.
inline constexpr llvm::StringLiteral kParallelize = "pp-parallelize";

struct PipelineOptions {
  /// The options of the plan.
  PlanOptions plan = {{PlanKey::Optimizer, "adamw"}};
  /// Whether nobody asked for the optimizer in it; a step that has its own is
  /// then no contradiction.
  bool hasDefaultOptimizer = true;
  /// A file with a `#pp.plan` to use instead; empty: none.
  std::string planFile;
  /// Whether a plan is given: then the module must have none yet.
  bool givesPlan = false;
  /// The last level.
  Level stopAfter = Level::Program;
  /// The target of kernels; empty: the module's.
  std::string target;
  /// Return every gradient from the step, for comparisons.
  bool keepGradients = false;
  /// Evaluate the model instead of training it, as parts of the same plan.
  bool evaluates = false;
  /// The value (pp.name) that an evaluation returns as well; empty: none.
  std::string predict;
  /// End at this level, or at the module's if that is beyond it: the caller
  /// goes on from there.
  Level leavesAfter = Level::Program;
  /// Leave out the proof of the programs, for callers that run
  /// pprt::checkArtifact themselves and handle its findings.
  bool skipProgramChecks = false;
};

/// Reads `text`, `key=value` words separated by white space, into `options`. On
/// failure `error` names the wrong word and the expected ones.
mlir::LogicalResult parseParallelize(llvm::StringRef text,
                                     PipelineOptions &options,
                                     std::string &error);

/// One line per key of the text.
std::string describeParallelizeKeys();

/// Appends the passes from a module of level `from` (see getLevel) to
/// `options.stopAfter`. If the module `hasPlan`, that plan is used; options
/// that give another are refused.
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options,
                   std::optional<Level> from, bool hasPlan = false);

/// Appends the passes from a model with a plan to a training step whose plan
/// has cuts and seeds: pp-plan-training runs them on a copy.
void addPassesToSeeds(mlir::OpPassManager &manager, std::string target);

/// Runs passes on a module that is not printed between them: a copy, to see
/// what would become of it.
mlir::LogicalResult
runOnCopy(mlir::ModuleOp copy,
          llvm::function_ref<void(mlir::OpPassManager &)> addPasses);

/// Appends the passes that follow pp-schedule in a step of level graph, as far
/// as places in memory: pp-schedule runs them to see what an order needs.
void addPassesAfterSchedule(mlir::OpPassManager &manager, std::string target);

/// Appends the passes that follow pp-choose-residuals, as far as places in
/// memory: pp-choose-residuals runs them to see what a choice needs.
void addPassesAfterResiduals(mlir::OpPassManager &manager, std::string target);

/// The level whose contract `module` fulfils (`pp.level`); nothing for a model
/// before its training step is made.
std::optional<Level> getLevel(mlir::ModuleOp module);

/// Registers kParallelize. It runs the passes of buildPipeline for the level
/// that it finds. `adjust` changes the options of the text.
void registerPipelines(std::function<void(PipelineOptions &)> adjust = nullptr);

} // namespace pp

#endif // PP_TRANSFORMS_PIPELINES_H
