//===- Options.h - the command line of pp-run -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Read without LLVM's option library, so that a machine without a compiler can
// still run artifacts.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_OPTIONS_H
#define PP_RUN_OPTIONS_H

#include "pprt/Status.h"
#include "pprt/host/StepServer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pp::run {

struct Options {
  /// A module or an artifact; `-` is standard input.
  std::string input;
  std::string parallelize;
  std::string data = "random";
  bool givesData = false;
  /// `bytes`, or the file of another one.
  std::string tokenizer = "bytes";
  /// Whether each epoch has an order of its own; nothing: as the kind has it.
  std::optional<bool> shuffle;
  /// The share of the data, at its end, that training does not read.
  double holdOut = 0;
  /// The target of kernels, or the image of an artifact that runs; empty: the
  /// best one here.
  std::string target;
  uint64_t steps = 10;
  uint64_t seed = 0;
  /// Whether the command line says so.
  bool givesSeed = false;
  /// Files; empty: none.
  std::string parameters, save, report, trace, draw, metrics, plot, reference,
      code;
  bool drawsTransfers = false;
  /// Folders; empty: none.
  std::string checkpoint, resume, tensorboard;
  /// Where the last step can be asked for.
  std::optional<pprt::host::Endpoint> listen;
  /// A line stays for every so many steps; 0: by time.
  uint64_t logEvery = 0;
  /// Whether to go on from the newest checkpoint of --checkpoint, if any.
  bool resumesOwn = false;
  bool resumesParametersOnly = false;
  /// A checkpoint is made after so many steps; 0: by time.
  uint64_t saveEvery = 0;
  /// Or after this time, in seconds.
  uint64_t saveSeconds = 600;
  /// How many checkpoints stay.
  uint64_t keep = 2;
  /// Data to evaluate the model on; empty: it is not evaluated.
  std::string evalData;
  /// Evaluates after so many steps, and at the end; 0: at the end.
  uint64_t evalEvery = 0;
  /// Batches of an evaluation; 0: a pass over the data, but at most 20.
  uint64_t evalSteps = 0;
  bool evalOnly = false;
  /// Files; empty: none.
  std::string evalProgram, predict;
  /// The value that goes to `predict`.
  std::string predictValues = "logits";
  /// Whether the dry run reports what fills the memory, and to which file;
  /// empty: text on standard output.
  bool reportsMemory = false;
  std::string memoryReport;
  /// Of a dry run: the trace that says how long kernels take; empty: none.
  std::string durations;
  /// How many of the last steps the trace has.
  uint64_t traceSteps = 1;
  /// The device of the ranks, one of pprt::deviceNames().
  std::string device = "cpu";
  /// Whether the command line says so.
  bool givesDevice = false;
  /// Ranks are `threads`, or processes of `mpi`; empty: `mpi` if a launcher
  /// started several processes.
  std::string launcher;
  /// The words of a command that starts the processes; empty: none.
  std::vector<std::string> launcherCommand;
  /// How often a job that ended badly is started again.
  uint64_t restarts = 0;
  /// Whether it may go on with less data parallelism.
  bool isElastic = false;
  /// Whether a GPU launches captured steps.
  std::optional<bool> graph;
  uint64_t hangTimeoutSeconds = 30; ///< 0: none
  bool verify = false;
  /// Predicts a run instead of running.
  bool dryRun = false;
  /// Limit in bytes for a rank, or for a GPU with all its ranks; nothing: none.
  std::optional<uint64_t> memoryLimit;
  /// Whether to change the plan until it fits.
  bool fit = false;
  /// The command line as a shell reads it, but without --parallelize.
  std::string command;
  /// Limit in bytes of the cache of compiled kernels; nothing: none.
  std::optional<uint64_t> cacheLimit = uint64_t(256) << 20;
  /// Whether the command line says so.
  bool givesCacheLimit = false;
  bool quiet = false;
  /// Whether to evaluate on the part of --data that --hold-out keeps.
  bool evaluatesHeldOut() const { return evalData == "held-out"; }
  bool help = false;
  bool version = false;
};

/// Reads the command line. Failures are usage errors.
pprt::Expected<Options> parseOptions(int argc, const char *const *argv);

/// The text of `--help`.
std::string describeOptions();

} // namespace pp::run

#endif // PP_RUN_OPTIONS_H
