//===- Compile.h - from a module to an artifact in memory -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The compiler as pp-run sees it. No MLIR here: the rest of pp-run builds
// without it.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_COMPILE_H
#define PP_RUN_COMPILE_H

#include "Stepper.h"
#include "pprt/Session.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
template <typename OpTy> class OwningOpRef;
} // namespace mlir

namespace pp::run {

/// A program that can be run.
struct Compiled {
  std::shared_ptr<const pprt::ppx::ArtifactT> artifact;
  /// Finds kernels that were compiled in this process; empty for an artifact
  /// from a file, which carries its own.
  pprt::KernelResolver resolver;
  double passesMs = 0, kernelsMs = 0;
  /// Warnings for the user, a line each.
  std::string warnings;
};

enum class Variant {
  asAsked,
  withGradients, ///< the step also emits every gradient
  oneDevice,     ///< so does this one, and it is not partitioned
  oneDeviceInF64 ///< nor is this one, which computes everything in f64
};

/// How a model is evaluated.
struct Evaluation {
  std::string parallelize;
  /// The plan of the training program, whose layouts it has; empty: that of
  /// `parallelize`.
  std::string plan;
  /// The value that is returned besides; empty: none.
  std::string predict;
};

enum class Kernels {
  none,   ///< the program cannot be run, only looked at
  loaded, ///< into this process
  linked  ///< into the artifact, so that other processes can run it
};

/// Bytes that a rank needs beside the arena of its program.
using MeasureBeside =
    std::function<uint64_t(const pprt::ppx::ArtifactT &artifact)>;

/// A plan with other keys, as if it were compiled, or why it is refused.
struct PlanTrial {
  /// The keys that differ, and all of them.
  std::string change, keys;
  std::string refusal;
  /// Unless it is refused: of the rank that needs most, and of a step.
  uint64_t bytes = 0;
  double seconds = 0;
  uint32_t devices = 0;
};

/// Bounds the rounding of an update.
struct UpdateRule {
  bool isAdam = false;
  double beta1 = 0;
  double eps = 0; ///< Adam's
  /// The learning rate of a step, from 0; empty if the program does not say.
  std::function<double(uint64_t)> rate;
};

/// Whether --parallelize knows the key.
bool isPlanKey(const std::string &name);

/// Whether this build can take modules.
bool hasCompiler();

/// A module, parsed once and compiled as often as wanted.
class SourceModule {
public:
  /// Reads `text`, the content of file `name`. Compiled kernels are cached for
  /// later runs, up to `cacheLimit` bytes; 0: no limit. They are for `target`;
  /// empty: the module's target, or this machine. Fails (usage) if it is
  /// unknown.
  static pprt::Expected<std::unique_ptr<SourceModule>>
  parse(const std::string &name, const std::string &text, uint64_t cacheLimit,
        const std::string &target);
  ~SourceModule();

  /// The file that `plan=` names in the text of --parallelize; empty: none.
  /// Fails (usage) if the text means nothing.
  static pprt::Expected<std::string> planFileOf(const std::string &parallelize);

  /// The reasons of the collectives of the program for `parallelize`, as
  /// pp-opt's --pp-explain gives them without trying advice.
  pprt::Expected<std::string> explain(const std::string &parallelize);

  /// Runs the passes that remain, obeying `parallelize`, and compiles the
  /// kernels.
  pprt::Expected<Compiled> compile(const std::string &parallelize,
                                   Variant variant,
                                   Kernels kernels = Kernels::loaded);

  /// The same for a program that evaluates the model. Fails (usage) if it has
  /// no value of the name to predict.
  pprt::Expected<Compiled> compileEvaluation(const Evaluation &evaluation,
                                             Kernels kernels);

  /// Whether there are keys to change: fails (usage) if `parallelize` names the
  /// file of a plan, or the module has a plan of its own.
  pprt::Status checkHasKeys(const std::string &parallelize) const;

  /// Tries changes of single keys that may save memory, and adds what
  /// findPlanThatFits() finds. Nothing if there are no keys to change.
  std::vector<PlanTrial> trySmallerPlans(const std::string &parallelize,
                                         uint64_t limit,
                                         const MeasureBeside &measureBeside);
  /// Finds a plan for as many devices, each of which needs at most `limit`
  /// bytes.
  std::optional<PlanTrial> findPlanThatFits(const std::string &parallelize,
                                            uint64_t limit,
                                            const MeasureBeside &measureBeside);

  /// Whether the training step is still to be made: only then can it be made
  /// with gradients, or for another mesh.
  bool isModel() const;

  /// Whether it can be made for any mesh: a model, or a training step without a
  /// plan.
  bool takesPlan() const;

  /// Whether it is whole on one device: a model, or its step of level graph.
  bool isUnpartitioned() const;

  /// The types of the parameters, such as `f32[4, 3]`, by name.
  std::map<std::string, std::string> parameterTypes() const;

  /// Lets the model obey the text of a `#pp.plan`.
  pprt::Status adoptPlan(const std::string &plan);

  /// Multiplications and additions of one unpartitioned training step, as far
  /// as they are in contractions.
  double stepFlops() const;

  /// Half the distance between neighbours around 1, of the narrowest floats
  /// that a step computes or keeps.
  pprt::Expected<double> roundoff(const std::string &parallelize);

  pprt::Expected<UpdateRule> updateRule(const std::string &parallelize);

  /// The unpartitioned training step with all gradients, evaluated op by op in
  /// f64, or rounded to its type after each. Parameters and states are zero
  /// until it follows a session; a batch holds the tensors called `inputs`, in
  /// their order.
  pprt::Expected<std::unique_ptr<Stepper>>
  interpret(const std::string &parallelize,
            const std::vector<std::string> &inputs, bool isRounded = false);

  /// The same of an evaluation, in f64.
  pprt::Expected<std::unique_ptr<Stepper>>
  interpretEvaluation(const Evaluation &evaluation,
                      const std::vector<std::string> &inputs);

private:
  struct State;
  explicit SourceModule(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// Makes every float of a verified level 1 module f64, for --verify of low
/// precision. Inputs and labels keep their types and are converted on entry.
void widenToF64(mlir::ModuleOp module);

/// Evaluates the training step of a module of level 1, op by op; `inputs` are
/// the names of a batch's tensors. Rounds after every op if `isRounded`.
std::unique_ptr<Stepper> makeInterpreter(mlir::OwningOpRef<mlir::ModuleOp> step,
                                         const std::vector<std::string> &inputs,
                                         bool isRounded);

} // namespace pp::run

#endif // PP_RUN_COMPILE_H
