//===- Evaluator.h - a model on data that it does not train on --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A session of the program that evaluates, in the same processes as the one
// that trains, from which it takes parameters and states. Every evaluation sees
// the same batches, the first of --eval-data.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_EVALUATOR_H
#define PP_RUN_EVALUATOR_H

#include "Verify.h"
#include "pprt/host/TensorFile.h"

#include <memory>
#include <optional>

namespace pp::run {

class Saver;

class Evaluator {
public:
  /// All calls are collective, but isDue(). Opens --eval-data; random data are
  /// of `seed`. `saver`, if not null, goes on with a save under way. Fails
  /// (usage, io) if the data do not fit the program, or the file of --predict
  /// cannot be written.
  static pprt::Expected<std::unique_ptr<Evaluator>>
  open(const Options &options, const Compiled &program,
       std::shared_ptr<pprt::World> world, uint64_t seed, Saver *saver);
  /// The same of a session that has begun, with its own values and batches.
  Evaluator(const Options &options, pprt::Session &session,
            const pprt::host::Batches &batches,
            std::shared_ptr<pprt::World> world);

  /// Whether to evaluate after so many steps.
  bool isDue(uint64_t step) const {
    return step == options.steps ||
           (options.evalEvery > 0 && step % options.evalEvery == 0);
  }
  /// Evaluates the parameters of `training`, which has no steps in flight.
  /// Writes the file of --predict if `isLast`. Nothing if a signal ends it.
  pprt::Expected<std::optional<pprt::host::EvaluationReport>>
  run(const pprt::Session &training, bool isLast);
  /// Evaluates a run that goes on after `step` steps, if it ended before it
  /// could; tells of it, and notes it in the last of `lines`, those of
  /// --metrics, which process 0 has. A run that is done writes its predictions
  /// again. Nothing if that is not due.
  pprt::Expected<std::optional<pprt::host::EvaluationReport>>
  makeUp(const pprt::Session &training, uint64_t step, std::string &lines);
  /// Evaluates the session's own values. `judge`, in process 0, evaluates the
  /// same, and `verified` gets the largest errors; null: none.
  pprt::Expected<std::optional<pprt::host::EvaluationReport>>
  run(bool isLast, Stepper *judge = nullptr,
      pprt::host::VerifyReport *verified = nullptr);
  /// Ends the session, if it has begun.
  pprt::Status end();

private:
  struct Sums;
  uint64_t steps() const;
  pprt::Status prepare(bool isLast);
  pprt::Status step(Sums &sums);
  pprt::Status compare(Stepper &judge, const pprt::host::Batch &batch,
                       pprt::host::VerifyReport &verified) const;
  bool isFirst() const { return world->process() == 0; }

  const Options &options;
  std::optional<pprt::host::Batches> ownBatches;
  std::unique_ptr<pprt::Session> ownSession;
  std::shared_ptr<pprt::World> world;
  const pprt::host::Batches *batches = nullptr;
  pprt::Session *session = nullptr;
  Saver *saver = nullptr;
  bool hasBegun = false;
  pprt::host::Batch batch;
  /// While predictions are written, in process 0.
  std::optional<pprt::host::TensorFile> file;
};

/// The same failure of --eval-data as of --data.
pprt::Status ofEvalData(const pprt::Status &status);

/// Whether the program predicts what --predict writes, and it can be written.
pprt::Status checkPrediction(const Options &options,
                             const pprt::ppx::ArtifactT &artifact);

/// `pp-run --eval-only`: evaluates a session that has begun, and writes what
/// the options ask for. `step`: the number of steps that led to its parameters.
/// `module` judges, with --verify.
pprt::Status evaluateOnly(const Options &options, SourceModule *module,
                          pprt::Session &session,
                          const pprt::host::Batches &batches,
                          std::shared_ptr<pprt::World> world, uint64_t step,
                          pprt::host::Report &report);

} // namespace pp::run

#endif // PP_RUN_EVALUATOR_H
