//===- Options.cpp - the command line of pp-run ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Reads a command line by the table of options, and checks what several of them
// say together.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "Command.h"
#include "Compile.h"
#include "Data.h"
#include "OptionTable.h"
#include "OtherNames.h"
#include "Run.h"
#include "Supervisor.h"
#include "pprt/Backend.h"
#include "pprt/Launcher.h"
#include "pprt/Session.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

namespace {

/// Single-letter edits between two words (Levenshtein).
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = std::exchange(
          row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

Status usageError(const std::string &message) {
  return Status(ExitCode::usage, message + " (see pp-run --help)");
}

Status unknownOption(std::string_view name) {
  std::string message = "unknown option '--" + std::string(name) + "'";
  if (const std::string ours = findOtherName(name); !ours.empty())
    return usageError(message + ours);
  if (isPlanKey(std::string(name)))
    return usageError(message + ": it is a plan key; pass --parallelize=\"" +
                      std::string(name) + "=...\"");
  for (const Option &option : optionTable())
    if (editDistance(name, option.name) <= 2)
      return usageError(message + ", did you mean '--" +
                        std::string(option.name) + "'?");
  return usageError(message);
}

/// The target and the device must both be processors or both GPUs.
Status checkTarget(const Options &result) {
  const pprt::Target *target = pprt::findTarget(result.target);
  if (!target)
    return {}; // an artifact's, or unknown: told where it is looked for
  const bool isGpus = target->code() == pprt::Code::ptx;
  const std::string spelling = "'--target=" + result.target + "'";
  if (isGpus && result.device == "cpu" &&
      (result.givesDevice || !result.dryRun))
    return usageError(spelling + " expects '--device=cuda'" +
                      (result.dryRun ? "" : ", or '--dry-run'") +
                      ", got '--device=cpu'");
  if (!isGpus && pprt::findBackend(result.device)->code == pprt::Code::ptx)
    return usageError(spelling +
                      " expects '--device=cpu', got '--device=cuda', which "
                      "runs targets such as sm_80");
  return {};
}

/// Checks of what says how to evaluate.
Status checkEvaluation(const Options &result,
                       const std::set<std::string_view> &seen) {
  if (result.evalData.empty())
    for (const char *name : {"eval-every", "eval-steps", "eval-only",
                             "eval-program", "predict", "predict-values"})
      if (seen.count(name))
        return usageError("'--" + std::string(name) + "' needs '--eval-data'");
  if (seen.count("predict-values") && result.predict.empty())
    return usageError("'--predict-values' needs '--predict'");
  if (result.evaluatesHeldOut() && (result.holdOut == 0 || result.evalOnly))
    return usageError("'--eval-data=held-out' expects a run that trains, with "
                      "'--hold-out', got " +
                      std::string(result.evalOnly ? "'--eval-only'" : "none"));
  if (!result.evalOnly)
    return {};
  if (!result.evalProgram.empty())
    return usageError("'--eval-only' expects the program that evaluates "
                      "instead of the one that trains; leave out "
                      "'--eval-program'");
  for (const char *name :
       {"data", "steps", "eval-every", "save", "checkpoint", "trace", "draw",
        "draw-transfers", "fit", "reference", "plot", "tensorboard", "listen",
        "log-every"})
    if (seen.count(name))
      return usageError("'--eval-only' trains nothing and so cannot obey '--" +
                        std::string(name) + "', got both");
  return {};
}

/// Checks of what says how the job is started, and started again.
Status checkSupervised(const Options &result,
                       const std::set<std::string_view> &seen) {
  const std::vector<std::string> &launcher = result.launcherCommand;
  if (!launcher.empty() && !isProgram(launcher.front()))
    return usageError("'--launcher' expects threads, mpi, or a command such as "
                      "\"mpirun -n 4\", got '" +
                      launcher.front() + "': no such program");
  if (const auto by = pprt::findLauncher();
      isSupervised(result) && by && by->isOneOfSeveral())
    return usageError(
        "'" + std::string(launcher.empty() ? "--restart" : "--launcher") +
        "' starts the processes of the job, and so expects to be "
        "given to one process, got several, of " +
        by->by +
        "; give their launcher to pp-run, as in "
        "--launcher=\"mpirun -n 4\"");
  if (seen.count("restart") && result.checkpoint.empty())
    return usageError("'--restart' needs '--checkpoint', to go on from");
  if (result.restarts > 0)
    for (const NamedFile &input : inputsOf(result))
      if (std::error_code error;
          input.path == "-" || std::filesystem::is_other(input.path, error))
        return usageError(
            "'--restart' expects inputs that can be read again, got " +
            (input.path == "-" ? "standard input"
                               : input.what + " '" + input.path + "'"));
  if (!result.isElastic)
    return {};
  if (result.restarts == 0)
    return usageError("'--elastic' needs '--restart' of at least 1");
  if (std::filesystem::path(result.input).extension() == ".ppx")
    return usageError(
        "'--elastic' expects a model, whose plan it can change, got "
        "the artifact " +
        result.input);
  if (dataParallelOf(result.parallelize).value_or(1) == 1)
    return usageError(
        "'--elastic=dp' expects dp of at least 2 in --parallelize, "
        "got '" +
        result.parallelize + "'");
  if (!launcher.empty() && !processCountOf(launcher))
    return usageError(
        "'--elastic' expects the number of processes in --launcher, "
        "as in \"mpirun -n 4\", got none");
  return {};
}

/// Checks that concern several options.
Status checkTogether(const Options &result,
                     const std::set<std::string_view> &seen) {
  // At once, rather than to ask for another option that is lacking as well.
  for (const Option &option : optionTable())
    if ((option.needs & needsCompiler) && seen.count(option.name) &&
        !hasCompiler())
      return usageError("'--" + std::string(option.name) +
                        "' needs a build with the compiler (PP_COMPILER=ON)");
  if (result.input.empty())
    return usageError(hasCompiler() ? "expects a module or an artifact"
                                    : "expects an artifact");
  if (result.verify && result.steps == 0)
    return usageError("'--verify' expects --steps of at least 1, got 0");
  for (const auto &[name, file] :
       {std::pair("--trace", result.trace), {"--draw", result.draw}})
    if (!file.empty() && result.steps == 0 && !result.dryRun)
      return usageError("'" + std::string(name) +
                        "' expects --steps of at least 1, got 0");
  if (!result.plot.empty() && result.steps == 0)
    return usageError("'--plot' expects --steps of at least 1, got 0");
  if (seen.count("log-every") && result.logEvery == 0)
    return usageError("'--log-every' expects at least 1, got 0");
  if (seen.count("trace-steps") && result.trace.empty())
    return usageError("'--trace-steps' needs '--trace'");
  if (result.drawsTransfers && result.draw.empty())
    return usageError("'--draw-transfers' needs '--draw'");
  if (result.traceSteps == 0)
    return usageError("'--trace-steps' expects at least 1, got 0");
  if (!result.reference.empty() && !result.verify)
    return usageError("'--reference' needs '--verify'");
  if (!result.code.empty() && !result.dryRun)
    return usageError("'--code' needs '--dry-run'");
  if (result.fit && !result.memoryLimit)
    return usageError("'--fit' needs '--memory-limit'");
  for (const char *name : {"save-every", "keep"})
    if (seen.count(name) && result.checkpoint.empty())
      return usageError("'--" + std::string(name) + "' needs '--checkpoint'");
  if (Status status = checkEvaluation(result, seen); !status.ok())
    return status;
  if (result.keep == 0)
    return usageError("'--keep' expects at least 1, got 0");
  if (result.resumesOwn && result.checkpoint.empty())
    return usageError("'--resume' needs a folder, or '--checkpoint'");
  if (result.resumesParametersOnly && !seen.count("resume"))
    return usageError("'--resume-parameters-only' needs '--resume'");
  if (seen.count("resume") && !result.parameters.empty())
    return usageError("'--resume' and '--parameters' both say where to begin; "
                      "give one");
  if (Status status = checkSupervised(result, seen); !status.ok())
    return status;
  if (result.reportsMemory && !result.dryRun)
    return usageError("'--memory-report' needs '--dry-run'");
  if (!result.durations.empty() && !result.dryRun)
    return usageError("'--durations' needs '--dry-run'");
  const auto isText = [](const std::string &data) {
    return data.compare(0, 5, "text:") == 0;
  };
  if (result.tokenizer != "bytes" && !isText(result.data) &&
      !isText(result.evalData))
    return usageError("'--tokenizer' needs '--data=text:FILE', got '--data=" +
                      result.data + "'");
  // Before anything is compiled.
  if (Status status =
          pprt::host::checkDataOptions(result.data, dataOptions(result, 0));
      !status.ok())
    return usageError(status.message());
  if (result.dryRun)
    for (const Option &option : optionTable())
      if ((option.needs & needsRun) && seen.count(option.name))
        return usageError("'--dry-run' runs nothing and so cannot obey '--" +
                          std::string(option.name) + "', got both");
  if (Status status = checkTarget(result); !status.ok())
    return status;
  if (result.graph && !pprt::findBackend(result.device)->hasStreams)
    return usageError("'--graph' needs '--device=cuda', got " + result.device);
  if (result.graph.value_or(false) &&
      !(result.trace.empty() && result.draw.empty()))
    return usageError(
        "'" + std::string(result.trace.empty() ? "--draw" : "--trace") +
        "' needs '--graph=off': a graph gives no times of instructions");
  if (result.device != "null")
    return {};
  if (result.dryRun)
    return usageError("'--dry-run' runs nothing and so cannot obey "
                      "'--device=null', got both");
  for (const Option &option : optionTable())
    if ((option.needs & needsValues) && seen.count(option.name))
      return usageError("'--device=null' computes nothing and so cannot obey "
                        "'--" +
                        std::string(option.name) + "', got both");
  return {};
}

} // namespace

/// A word as a shell reads it.
static std::string quote(std::string_view word) {
  const bool isPlain =
      word.find_first_of(" \t\n\"'\\$`*?[](){}<>|&;#~!") == word.npos;
  if (isPlain && !word.empty())
    return std::string(word);
  std::string text = "'";
  for (char c : word)
    text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

/// The options but those that `--fit` would obey.
static std::string printCommand(int argc, const char *const *argv) {
  std::string text = "pp-run";
  for (int i = 1; i < argc; ++i)
    if (const std::string_view word = argv[i];
        word.substr(0, 13) != "--parallelize" && word != "--fit")
      text += " " + quote(word);
  return text;
}

Expected<Options> pp::run::parseOptions(int argc, const char *const *argv) {
  Options result;
  result.command = printCommand(argc, argv);
  std::set<std::string_view> seen;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word =
        std::string_view(argv[i]) == "-h" ? "--help" : argv[i];
    if (word.substr(0, 2) != "--") {
      if (word.size() > 1 && word[0] == '-')
        return usageError("unknown option '" + std::string(word) + "'");
      if (!result.input.empty())
        return usageError("expects one module or artifact, got '" +
                          result.input + "' and '" + std::string(word) + "'");
      result.input = word;
      continue;
    }
    const size_t equals = word.find('=');
    const bool hasValue = equals != std::string_view::npos;
    const std::string_view name =
        word.substr(2, hasValue ? equals - 2 : word.npos);
    const std::string_view value =
        hasValue ? word.substr(equals + 1) : std::string_view();
    const auto option =
        std::find_if(optionTable().begin(), optionTable().end(),
                     [&](const Option &o) { return o.name == name; });
    if (option == optionTable().end())
      return unknownOption(name);
    const std::string spelling = "'--" + std::string(name) + "'";
    if (!seen.insert(name).second)
      return usageError(spelling + " is given twice; give it once");
    if (hasValue == option->value.empty() && !option->mayLackValue())
      return usageError(
          spelling +
          (hasValue ? " expects no value, got '" + std::string(value) + "'"
                    : " expects a value: --" + std::string(name) + "=" +
                          std::string(option->value)));
    if (const char *expected = option->read(value, result))
      return usageError(spelling + " expects " + expected + ", got '" +
                        std::string(value) + "'");
  }
  if (result.help || result.version)
    return result;
  if (Status status = checkTogether(result, seen); !status.ok())
    return status;
  return result;
}

static constexpr char kWithCompiler[] =
    "pp-run MODULE|FILE.ppx [options]: trains a model, partitioned over "
    "devices\n\n"
    "  pp-run gpt.mlir --parallelize=\"dp=2 tp=2 pp=2 microbatches=4 "
    "optimizer=adamw lr=1e-3\" \\\n"
    "         --data=text:kjv.txt --steps=800\n"
    "  pp-run gpt.mlir --device=cuda --parallelize=\"dp=2\" "
    "--data=text:kjv.txt\n"
    "  pp-run gpt.mlir --target=sm_90 --dry-run\n\n"
    "MODULE is a module of any level; - reads it from standard input.\n\n";
static constexpr char kWithoutCompiler[] =
    "pp-run FILE.ppx [options]: trains a model that was partitioned over "
    "devices\n\n"
    "  pp-run gpt.ppx --data=text:kjv.txt --steps=800\n"
    "  pp-run gpt.ppx --device=cuda --data=text:kjv.txt\n\n"
    "FILE.ppx is an artifact, as pp-opt --emit=ppx writes it. This build has "
    "no compiler:\n"
    "a module (.mlir), and the options that want one, are for a pp-run of a "
    "build with\nPP_COMPILER=ON.\n\n";

std::string pp::run::describeOptions() {
  std::string text = hasCompiler() ? kWithCompiler : kWithoutCompiler;
  for (const Option &option : optionTable()) {
    if ((option.needs & needsCompiler) && !hasCompiler())
      continue;
    text += "  --" + std::string(option.name);
    if (option.mayLackValue())
      text += "[=" + std::string(option.value.substr(1));
    else if (!option.value.empty())
      text += "=" + std::string(option.value);
    text += "\n      " + std::string(option.help) + "\n";
  }
  text +=
      "\nExit codes: 0 ok; 1 does not compile; 2 usage; 3 bad artifact; 4 does "
      "not fit the\n"
      "memory limit; 5 a program check failed; 6 processes of different "
      "builds; "
      "7 --verify\n"
      "found a difference; 11 hang; 12 non-finite loss; 13 bad parameter file; "
      "14 I/O;\n"
      "15 device; 130 interrupted.\n";
  return text;
}
