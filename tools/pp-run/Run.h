//===- Run.h - runs the options of pp-run -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// run() checks that no output overwrites an input, then predicts (dryRun),
// counts (nullRun), verifies (Verify.h) or trains (train). Input: options, each
// checked by itself. Output: files and what the screen shows.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_RUN_H
#define PP_RUN_RUN_H

#include "Options.h"
#include "pprt/Session.h"
#include "pprt/World.h"
#include "pprt/host/Batches.h"
#include "pprt/host/Measure.h"
#include "pprt/host/Report.h"

#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace pp::predict {
struct Prediction;
} // namespace pp::predict

namespace pp::run {

/// Does everything that the options ask for. The message of a failure is
/// complete; it is empty if another process prints it.
pprt::Status run(const Options &options);

/// Prints why the program ends.
void printError(const pprt::Status &failure);

struct NamedFile {
  std::string what; ///< the option that names it, or its kind
  std::string path;
};
/// The files that a run reads, but the plan's.
std::vector<NamedFile> inputsOf(const Options &options);

/// Fails (usage) if an output file is also an input or `other`, or in a
/// checkpoint, or the output of another option.
pprt::Status checkOverwrites(const Options &options, const NamedFile &other);

/// The table of actions that a plan names: a file, or empty.
NamedFile tableOf(const std::string &plan);

/// `pp-run --dry-run`: prints to `out`, unless told to be quiet, what a step of
/// the program needs, and writes the files of --report, --trace, --draw and
/// --code.
/// Allocates nothing of the size of the model. `checked` says whether the
/// program may run, `staging` is stagingOf(). A program that exceeds the memory
/// limit is shown before it is refused.
pprt::Status dryRun(const Options &options,
                    const pprt::ppx::ArtifactT &artifact,
                    const pprt::Status &checked, std::vector<uint64_t> staging,
                    double passesMs, std::ostream &out);

/// `pp-run --device=null`: runs all sections on the device "null", in all
/// processes of the world. Process 0 prints counts and times. Fails
/// (checkFailed) if the counts are not those of the program.
pprt::Status nullRun(const Options &options,
                     std::shared_ptr<const pprt::ppx::ArtifactT> artifact,
                     std::shared_ptr<pprt::World> world, std::ostream &out);

/// Fills the parts of `report` that are known before a run.
void reportPrediction(const pprt::ppx::ArtifactT &artifact,
                      const pprt::Mesh &mesh,
                      const pp::predict::Prediction &prediction,
                      pprt::host::Report &report);

/// The output that is the loss.
std::optional<uint32_t> findLoss(const pprt::ppx::ArtifactT &artifact);

class Evaluator;
class Saver;
class Sinks;

/// Where training begins, and what it fills.
struct Course {
  uint64_t before = 0; ///< steps done
  std::string metrics; ///< lines of --metrics of these, in process 0
  Saver *saver = nullptr;
  Evaluator *evaluator = nullptr;
  pprt::host::LastSteps *lastSteps = nullptr;
  Sinks &sinks;
};

/// Trains until the steps are done, or a signal or a failure in any process
/// ends it. Tells the console, the sinks, `report` and, if not null,
/// `lastSteps` of the finished steps, and saves them by `saver`. `keeps`:
/// whether the parameters are those after a whole step.
pprt::Status train(pprt::Session &session, const pprt::host::Batches &batches,
                   const Options &options, pprt::World &world,
                   pprt::host::Report &report, Course course, bool &keeps);

/// The first failure, followed by the second.
pprt::Status join(pprt::Status first, const pprt::Status &second);

/// Makes the first SIGINT, SIGTERM or SIGHUP, and every SIGPIPE, set a flag
/// only, so that the step can finish and its result be saved. The next of the
/// first three removes half-written files and ends the process. Call it once,
/// before the first step.
void catchInterrupts();

/// Whether such a signal has arrived.
bool interrupted();

/// Sums what the devices counted, by name, at process 0. All processes have the
/// same names in the same order.
pprt::Expected<std::vector<pprt::NamedCount>>
sumCounts(pprt::World &world, std::vector<pprt::NamedCount> counts);

/// `12 launches, 3 copies`.
std::string printCounts(const std::vector<pprt::NamedCount> &counts);

} // namespace pp::run

#endif // PP_RUN_RUN_H
