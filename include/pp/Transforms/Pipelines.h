//===- Pipelines.h - which passes, in which order ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// `--pp-parallelize="dp=2 tp=2 ..."` of pp-opt and `--parallelize` of pp-run:
// the text, the options it stands for, and the list of passes they stand for.
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

/// The name of the pass that runs them.
inline constexpr llvm::StringLiteral kParallelize = "pp-parallelize";

struct PipelineOptions {
  /// What the plan is made from.
  PlanOptions plan = {{PlanKey::Optimizer, "adamw"}};
  /// A file with a `#pp.plan` to obey instead; empty: none.
  std::string planFile;
  /// Whether anything was said about the plan: then there must be none yet.
  bool givesPlan = false;
  /// The level to end at.
  Level stopAfter = Level::Program;
  /// What kernels are formed for; empty: what the module says.
  std::string target;
  /// Return every gradient from the step, for comparisons.
  bool keepGradients = false;
  /// End before level 4: the caller forms programs for several targets.
  bool leavesPrograms = false;
  /// Leave the proof of the programs out, for callers that repeat it anyway
  /// (pprt::checkArtifact) and want to tell its findings apart.
  bool skipProgramChecks = false;
};

/// Reads `text`, `key=value` words separated by white space, into `options`. On
/// failure `error` names the word that is wrong and what was expected.
mlir::LogicalResult parseParallelize(llvm::StringRef text,
                                     PipelineOptions &options,
                                     std::string &error);

/// One line per key of that text.
std::string describeParallelizeKeys();

/// Appends the passes that lead from a module of level `from` (as getLevel
/// tells) to `options.stopAfter`. A model that `hasPlan` is obeyed as it is
/// unless the options give one, which is refused.
void buildPipeline(mlir::OpPassManager &manager, const PipelineOptions &options,
                   std::optional<Level> from, bool hasPlan = false);

/// The level whose contract `module` fulfils (`pp.level`); nothing for a model
/// whose training step is still to be made.
std::optional<Level> getLevel(mlir::ModuleOp module);

/// Makes kParallelize known to pass pipelines. It runs what buildPipeline
/// appends for the level that it finds. `adjust` changes what the text says.
void registerPipelines(std::function<void(PipelineOptions &)> adjust = nullptr);

} // namespace pp

#endif // PP_TRANSFORMS_PIPELINES_H
