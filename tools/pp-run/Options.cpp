//===- Options.cpp - the command line of pp-run ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One table holds every option with its help and its reader.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "Compile.h"
#include "OptionReaders.h"
#include "pp/Predict/MemoryReport.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/Session.h"
#include "pprt/host/TensorFile.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <string_view>
#include <vector>

using namespace pp::run;
using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

namespace {

/// Sets a field; returns what was expected, or null if `value` is valid.
using Reader = const char *(*)(std::string_view value, Options &options);

struct Option {
  std::string_view name;
  /// The text after `=`; empty for a switch. In brackets it may be left out.
  std::string_view value;
  std::string_view help;
  Reader read;
  /// An option that this one requires.
  unsigned needs = 0;
};

constexpr unsigned needsRun = 1;      ///< --dry-run runs nothing
constexpr unsigned needsValues = 2;   ///< --device=null has none
constexpr unsigned needsCompiler = 4; ///< a build may lack it

/// The devices that there are.
std::string deviceList(const char *between) {
  std::string text;
  for (const std::string &name : pprt::deviceNames())
    text += (text.empty() ? "" : between) + name;
  return text;
}
const std::string deviceValue = deviceList("|"),
                  expectedDevice = deviceList(" or ");

const Option options[] = {
    {"parallelize", "\"KEY=VALUE ...\"",
     "mesh, micro-batches and optimizer, as \"dp=2 tp=2 pp=2 microbatches=4 "
     "optimizer=adamw "
     "lr=1e-3\"; the keys are those of pp-opt --pp-parallelize. Default: one "
     "device, adamw",
     [](std::string_view v, Options &o) {
       o.parallelize = v;
       return static_cast<const char *>(nullptr);
     },
     needsCompiler},
    {"data", "KIND",
     "text:FILE (bytes are tokens, the label is the next byte), npy:DIR "
     "(NAME.npy per input and "
     "label) or random (default)",
     [](std::string_view v, Options &o) { return readText(v, o.data); },
     needsRun | needsValues},
    {"steps", "N",
     "training steps (default 10); 0 only makes the initial parameters",
     [](std::string_view v, Options &o) { return readNumber(v, o.steps); },
     needsRun},
    {"seed", "N", "seed of initial values and random data (default 0)",
     [](std::string_view v, Options &o) {
       o.givesSeed = true;
       return readNumber(v, o.seed);
     },
     needsRun | needsValues},
    {"parameters", "FILE.safetensors",
     "start from these parameters and model states; the optimizer starts anew",
     [](std::string_view v, Options &o) { return readText(v, o.parameters); },
     needsRun | needsValues},
    {"save", "FILE.safetensors",
     "at the end, write the whole parameters and model states, but no "
     "optimizer states",
     [](std::string_view v, Options &o) {
       const char *misfit = readResult(v, o.save);
       return misfit || !isOfOtherFormat(v)
                  ? misfit
                  : "a name like FILE.safetensors, the format that it writes";
     },
     needsRun | needsValues},
    {"checkpoint", "FOLDER",
     "save the whole state of the run in FOLDER/step-N, now and then, at the "
     "end, and when a signal ends the run",
     [](std::string_view v, Options &o) { return readText(v, o.checkpoint); },
     needsRun | needsValues},
    {"save-every", "N|TIME",
     "with --checkpoint: save after every N steps, or after a time such as "
     "30s, "
     "10m or 2h (default 10m), while training goes on",
     [](std::string_view v, Options &o) { return readInterval(v, o); },
     needsRun | needsValues},
    {"keep", "N",
     "with --checkpoint: keep the newest N checkpoints (default 2)",
     [](std::string_view v, Options &o) { return readNumber(v, o.keep); },
     needsRun | needsValues},
    {"resume", "[FOLDER]",
     "go on from the newest checkpoint of FOLDER, or from FOLDER/step-N, on "
     "any "
     "mesh and device; --steps counts all steps. Without FOLDER: from the "
     "newest one of --checkpoint, or, if there is none, from the beginning",
     [](std::string_view v, Options &o) {
       o.resume = v;
       o.resumesOwn = v.empty();
       return static_cast<const char *>(nullptr);
     },
     needsRun | needsValues},
    {"resume-parameters-only", "",
     "with --resume: take the model's parameters and states alone, and begin a "
     "new run with them",
     [](std::string_view, Options &o) {
       return setSwitch(o.resumesParametersOnly);
     },
     needsRun | needsValues},
    {"verify", "",
     "before training, compare a few steps with the unpartitioned model",
     [](std::string_view, Options &o) { return setSwitch(o.verify); },
     needsRun | needsValues | needsCompiler},
    {"reference", "MODEL",
     "for --verify of an artifact or a partitioned module: the original model, "
     "or its training step (level graph)",
     [](std::string_view v, Options &o) { return readText(v, o.reference); },
     needsRun | needsValues | needsCompiler},
    {"eval-data", "KIND",
     "evaluate the model on these data, which are of the kinds of --data: the "
     "loss and metrics of its forward pass, without dropout, with the running "
     "statistics of batch norm",
     [](std::string_view v, Options &o) { return readText(v, o.evalData); },
     needsValues},
    {"eval-every", "N",
     "with --eval-data: evaluate after every N steps and at the end (default: "
     "at the end)",
     [](std::string_view v, Options &o) { return readCount(v, o.evalEvery); },
     needsRun | needsValues},
    {"eval-steps", "N",
     "with --eval-data: evaluate on its first N batches (default: all, but at "
     "most 20)",
     [](std::string_view v, Options &o) { return readCount(v, o.evalSteps); },
     needsRun | needsValues},
    {"eval-only", "",
     "do not train: evaluate the parameters of --parameters or --resume. With "
     "--verify, compare with the model, interpreted in f64",
     [](std::string_view, Options &o) { return setSwitch(o.evalOnly); },
     needsValues},
    {"eval-program", "FILE.ppx",
     "with --eval-data, for an artifact: the program that evaluates, as pp-opt "
     "--evaluate --emit=ppx makes it",
     [](std::string_view v, Options &o) { return readText(v, o.evalProgram); },
     needsValues},
    {"predict", "FILE",
     "with --eval-data: at the last evaluation, write what the model predicts "
     "for all its batches to FILE.npy or FILE.safetensors",
     [](std::string_view v, Options &o) {
       const char *misfit = readResult(v, o.predict);
       return misfit || pprt::host::TensorFile::isNamed(o.predict)
                  ? misfit
                  : "FILE.npy or FILE.safetensors";
     },
     needsRun | needsValues},
    {"predict-values", "NAME",
     "with --predict: the value to write, by its name in the model (pp.name; "
     "default logits)",
     [](std::string_view v, Options &o) {
       return readText(v, o.predictValues);
     },
     needsRun | needsValues},
    {"report", "FILE.json", "write measurements as JSON",
     [](std::string_view v, Options &o) { return readResult(v, o.report); },
     needsValues},
    {"metrics", "FILE.jsonl",
     "write a line of JSON after every step: loss, metrics, milliseconds",
     [](std::string_view v, Options &o) { return readResult(v, o.metrics); },
     needsRun | needsValues},
    {"trace", "FILE.json", "write the last step's timeline for ui.perfetto.dev",
     [](std::string_view v, Options &o) { return readResult(v, o.trace); }},
    {"trace-steps", "N", "record the last N steps (default 1)",
     [](std::string_view v, Options &o) { return readNumber(v, o.traceSteps); },
     needsRun | needsValues},
    {"dry-run", "",
     "only check the program and predict a run: memory, communication, stages, "
     "schedule and bubble; for an artifact also list its images. --report and "
     "--trace write the prediction",
     [](std::string_view, Options &o) { return setSwitch(o.dryRun); }},
    {"memory-report", "[FILE]",
     "with --dry-run: print what fills the memory of each rank over a step, "
     "and "
     "why, even with --quiet; or write it to FILE.svg, FILE.json or FILE.txt",
     [](std::string_view v, Options &o) {
       o.reportsMemory = true;
       o.memoryReport = v;
       return v.empty() || pp::predict::isMemoryFile(o.memoryReport)
                  ? nullptr
                  : pp::predict::kMemoryFiles;
     }},
    {"code", "FILE",
     "with --dry-run of an artifact: write the code of its image's kernels, an "
     "ELF shared object for processors, PTX for GPUs",
     [](std::string_view v, Options &o) { return readResult(v, o.code); }},
    {"memory-limit", "BYTES",
     "refuse a program that needs more memory per rank, or per GPU for all "
     "ranks on it, such as 512M or 1.5GiB (default 0: no limit), and list keys "
     "that would save some. Memory of a GPU's driver (context, code) and of "
     "NCCL is not counted",
     [](std::string_view v, Options &o) {
       return readLimit(v, o.memoryLimit);
     }},
    {"fit", "",
     "with --memory-limit: change keys of --parallelize until the program "
     "fits, and say which on stderr",
     [](std::string_view, Options &o) { return setSwitch(o.fit); },
     needsCompiler},
    {"cache-limit", "BYTES",
     "keep no more compiled kernels than this for later runs (default 256M; 0: "
     "no limit)",
     [](std::string_view v, Options &o) {
       o.givesCacheLimit = true;
       return readLimit(v, o.cacheLimit);
     },
     needsRun | needsValues | needsCompiler},
    {"device", deviceValue,
     "run the ranks on cpu (default), this machine's processors; on cuda, "
     "NVIDIA GPUs; or on null, which computes and moves nothing, but "
     "dispatches every instruction, checks the order of communication, and "
     "measures the runtime's own time",
     [](std::string_view v, Options &o) {
       o.device = v;
       o.givesDevice = true;
       for (const std::string &name : pprt::deviceNames())
         if (v == name)
           return static_cast<const char *>(nullptr);
       return expectedDevice.c_str();
     }},
    {"target", "NAME",
     "image of an artifact to run, or target to compile for: cpu (this "
     "machine's processors), x86-64, x86-64-v2, x86-64-v3, x86-64-v4, or for "
     "GPUs sm_80, sm_90, sm_100 (default: the best for --device). A dry run "
     "predicts for this target",
     [](std::string_view v, Options &o) { return readText(v, o.target); }},
    {"launcher", "threads|mpi",
     "run the ranks as threads of one process, or of all processes that a "
     "launcher started, as in mpirun -n 2 pp-run gpt.mlir (default: mpi if a "
     "launcher started several processes, else threads)",
     [](std::string_view v, Options &o) {
       o.launcher = v;
       return v == "threads" || v == "mpi" ? nullptr : "threads or mpi";
     }},
    {"graph", "on|off",
     "capture the first step as a CUDA graph and launch the graph from then "
     "on, which costs less host time (default: on, but off with --trace or "
     "--report, since a graph gives no times of instructions)",
     [](std::string_view v, Options &o) {
       o.graph = v == "on";
       return v == "on" || v == "off" ? nullptr : "on or off";
     },
     needsRun},
    {"hang-timeout", "SECONDS",
     "end after this long without progress, and report which rank waits for "
     "which (default 30; 0: never)",
     [](std::string_view v, Options &o) {
       const char *expected = readNumber(v, o.hangTimeoutSeconds);
       return expected || o.hangTimeoutSeconds > 1'000'000'000
                  ? "a number from 0 (never) to 1000000000"
                  : nullptr;
     },
     needsRun},
    {"quiet", "", "show errors only",
     [](std::string_view, Options &o) { return setSwitch(o.quiet); }},
    {"help", "", "show this text",
     [](std::string_view, Options &o) { return setSwitch(o.help); }},
    {"version", "", "show the version",
     [](std::string_view, Options &o) { return setSwitch(o.version); }},
};

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

Status unknownOption(std::string_view name, bool hasValue) {
  std::string message = "unknown option '--" + std::string(name) + "'";
  for (const Option &option : options)
    if (editDistance(name, option.name) <= 2)
      return usageError(message + ", did you mean '--" +
                        std::string(option.name) + "'?");
  for (auto [other, ours] : {std::pair("pp-predict", "dry-run"),
                             {"pp-memory-report", "memory-report"},
                             {"pp-parallelize", "parallelize"}})
    if (name == other)
      return usageError(message + ", did you mean '--" + ours + "'?");
  if (hasValue && isPlanKey(std::string(name)))
    message += ": it is a plan key; pass --parallelize=\"" + std::string(name) +
               "=...\"";
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
  if (!result.evalOnly)
    return {};
  if (!result.evalProgram.empty())
    return usageError("'--eval-only' expects the program that evaluates "
                      "instead of the one that trains; leave out "
                      "'--eval-program'");
  for (const char *name : {"data", "steps", "eval-every", "save", "checkpoint",
                           "trace", "fit", "reference"})
    if (seen.count(name))
      return usageError("'--eval-only' trains nothing and so cannot obey '--" +
                        std::string(name) + "', got both");
  return {};
}

/// Checks that concern several options.
Status checkTogether(const Options &result,
                     const std::set<std::string_view> &seen) {
  // At once, rather than to ask for another option that is lacking as well.
  for (const Option &option : options)
    if ((option.needs & needsCompiler) && seen.count(option.name) &&
        !hasCompiler())
      return usageError("'--" + std::string(option.name) +
                        "' needs a build with the compiler (PP_COMPILER=ON)");
  if (result.input.empty())
    return usageError(hasCompiler() ? "expects a module or an artifact"
                                    : "expects an artifact");
  if (result.verify && result.steps == 0)
    return usageError("'--verify' expects --steps of at least 1, got 0");
  if (!result.trace.empty() && result.steps == 0 && !result.dryRun)
    return usageError("'--trace' expects --steps of at least 1, got 0");
  if (seen.count("trace-steps") && result.trace.empty())
    return usageError("'--trace-steps' needs '--trace'");
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
  if (result.reportsMemory && !result.dryRun)
    return usageError("'--memory-report' needs '--dry-run'");
  if (result.dryRun)
    for (const Option &option : options)
      if ((option.needs & needsRun) && seen.count(option.name))
        return usageError("'--dry-run' runs nothing and so cannot obey '--" +
                          std::string(option.name) + "', got both");
  if (Status status = checkTarget(result); !status.ok())
    return status;
  if (result.graph && !pprt::findBackend(result.device)->hasStreams)
    return usageError("'--graph' needs '--device=cuda', got " + result.device);
  if (result.graph.value_or(false) && !result.trace.empty())
    return usageError("'--trace' needs '--graph=off': a graph gives no times "
                      "of instructions");
  if (result.device != "null")
    return {};
  if (result.dryRun)
    return usageError("'--dry-run' runs nothing and so cannot obey "
                      "'--device=null', got both");
  for (const Option &option : options)
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
    const Option *option =
        std::find_if(std::begin(options), std::end(options),
                     [&](const Option &o) { return o.name == name; });
    if (option == std::end(options))
      return unknownOption(name, hasValue);
    const std::string spelling = "'--" + std::string(name) + "'";
    if (!seen.insert(name).second)
      return usageError(spelling + " is given twice; give it once");
    const bool mayLackValue = option->value.substr(0, 1) == "[";
    if (hasValue == option->value.empty() && !mayLackValue)
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
  for (const Option &option : options) {
    if ((option.needs & needsCompiler) && !hasCompiler())
      continue;
    text += "  --" + std::string(option.name);
    if (option.value.substr(0, 1) == "[")
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
