//===- OptionTable.cpp - the options of pp-run ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Readers check each value by itself.
//
//===----------------------------------------------------------------------===//
#include "OptionTable.h"
#include "Command.h"
#include "pp/Predict/MemoryReport.h"
#include "pprt/Backend.h"
#include "pprt/Bytes.h"
#include "pprt/Session.h"
#include "pprt/host/TensorFile.h"

#include <charconv>
#include <optional>
#include <string>

using namespace pp::run;

namespace {

const char *readNumber(std::string_view text, uint64_t &number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size()
             ? nullptr
             : "a number from 0 on";
}

const char *readText(std::string_view text, std::string &field) {
  field = text;
  return text.empty() ? "a value" : nullptr;
}

/// A file to write. There is no short name for standard output, since a run
/// writes its progress there.
const char *readResult(std::string_view text, std::string &field) {
  field = text;
  return text.empty()  ? "a file"
         : text == "-" ? "a file; /dev/stdout is standard output"
                       : nullptr;
}

/// A picture; a name without an extension is accepted.
const char *readPicture(std::string_view text, std::string &field) {
  const char *misfit = readResult(text, field);
  const size_t dot = text.find('.', text.rfind('/') + 1);
  return misfit || dot == text.npos || text.substr(text.rfind('.')) == ".svg"
             ? misfit
             : "a name like FILE.svg, the format that it writes";
}

/// Detects files with the extension of another format; a name without an
/// extension is accepted.
bool isOfOtherFormat(std::string_view file) {
  for (std::string_view suffix : {".npz", ".npy", ".pt", ".pth", ".bin"})
    if (file.size() > suffix.size() &&
        file.substr(file.size() - suffix.size()) == suffix)
      return true;
  return false;
}

/// No bytes are no limit.
const char *readLimit(std::string_view text, std::optional<uint64_t> &limit) {
  const std::optional<uint64_t> bytes = pprt::parseBytes(text);
  if (bytes && *bytes > 0)
    limit = bytes;
  return bytes ? nullptr : pprt::kBytesSyntax;
}

/// A part of the whole, also in per cent.
const char *readShare(std::string_view text, double &share) {
  const bool isPerCent = !text.empty() && text.back() == '%';
  const char *const end = text.data() + text.size() - isPerCent;
  const auto [last, error] = std::from_chars(text.data(), end, share);
  share /= isPerCent ? 100 : 1;
  return error == std::errc() && last == end && share >= 0 && share < 1
             ? nullptr
             : "a share from 0 to below 1, such as 0.05 or 5%";
}

const char *readCount(std::string_view text, uint64_t &number) {
  return readNumber(text, number) || number == 0 ? "a number from 1 on"
                                                 : nullptr;
}

/// Steps, or a time with its unit.
const char *readInterval(std::string_view text, Options &options) {
  static constexpr char kExpected[] =
      "a number of steps, or a time such as 30s, 10m or 2h";
  const std::string_view units = "smh";
  const size_t unit = text.empty() ? units.npos : units.find(text.back());
  uint64_t number = 0;
  if (readNumber(text.substr(0, text.size() - (unit != units.npos)), number) ||
      number == 0 || number > 1'000'000'000)
    return kExpected;
  static constexpr uint64_t kSeconds[] = {1, 60, 3600};
  (unit == units.npos ? options.saveEvery : options.saveSeconds) =
      number * (unit == units.npos ? 1 : kSeconds[unit]);
  return nullptr;
}

/// The devices that there are.
std::string deviceList(const char *between) {
  std::string text;
  for (const std::string &name : pprt::deviceNames())
    text += (text.empty() ? "" : between) + name;
  return text;
}
const std::string deviceValue = deviceList("|"),
                  expectedDevice = deviceList(" or ");

const char *readOnOff(std::string_view text, std::optional<bool> &field) {
  field = text == "on";
  return text == "on" || text == "off" ? nullptr : "on or off";
}

const char *readLauncher(std::string_view text, Options &options) {
  if (text == "threads" || text == "mpi") {
    options.launcher = text;
    return nullptr;
  }
  options.launcherCommand =
      splitWords(text).value_or(std::vector<std::string>());
  return options.launcherCommand.empty()
             ? "threads, mpi, or a command such as \"mpirun -n 4\", whose "
               "quotes end"
             : nullptr;
}

const char *setSwitch(bool &field) {
  field = true;
  return nullptr;
}

} // namespace

const std::vector<Option> &pp::run::optionTable() {
  static const std::vector<Option> options = {
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
       "text:FILE (bytes are tokens, the label is the next one), tokens:PATH "
       "(a "
       "file of tokens: .bin, .u32.bin or .npy; or a folder of them), npy:DIR "
       "(NAME.npy per input and label) or random (default)",
       [](std::string_view v, Options &o) {
         o.givesData = true;
         return readText(v, o.data);
       },
       needsRun | needsValues},
      {"tokenizer", "bytes|FILE",
       "for --data=text: what makes tokens of the text: bytes (default), or a "
       "tokenizer.json of Hugging Face, which needs pip install tokenizers",
       [](std::string_view v, Options &o) { return readText(v, o.tokenizer); },
       needsRun | needsValues},
      {"shuffle", "on|off",
       "read the data of each epoch in an order that --seed determines "
       "(default: "
       "on for --data=tokens, else off)",
       [](std::string_view v, Options &o) { return readOnOff(v, o.shuffle); },
       needsRun | needsValues},
      {"hold-out", "SHARE",
       "do not train on this share at the end of the data, such as 0.05 or 5% "
       "(default 0)",
       [](std::string_view v, Options &o) { return readShare(v, o.holdOut); },
       needsRun | needsValues},
      {"steps", "N",
       "training steps (default 10); 0 only makes the initial parameters",
       [](std::string_view v, Options &o) { return readNumber(v, o.steps); },
       needsRun},
      {"seed", "N",
       "seed of initial values, random data and shuffled orders (default 0)",
       [](std::string_view v, Options &o) {
         o.givesSeed = true;
         return readNumber(v, o.seed);
       },
       needsRun | needsValues},
      {"parameters", "FILE.safetensors",
       "start from these parameters and model states; the optimizer starts "
       "anew",
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
       "end, and when a signal ends the run. With --dry-run: predict what that "
       "takes",
       [](std::string_view v, Options &o) { return readText(v, o.checkpoint); },
       needsValues},
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
       "with --resume: take the model's parameters and states alone, and begin "
       "a "
       "new run with them",
       [](std::string_view, Options &o) {
         return setSwitch(o.resumesParametersOnly);
       },
       needsRun | needsValues},
      {"eval-data", "KIND|held-out",
       "evaluate the model on these data, which are of the kinds of --data, or "
       "on the part that --hold-out keeps: the loss and metrics of its forward "
       "pass, without dropout, with the running statistics of batch norm",
       [](std::string_view v, Options &o) { return readText(v, o.evalData); },
       needsValues},
      {"eval-every", "N",
       "with --eval-data: evaluate after every N steps and at the end "
       "(default: "
       "at the end)",
       [](std::string_view v, Options &o) { return readCount(v, o.evalEvery); },
       needsRun | needsValues},
      {"eval-steps", "N",
       "with --eval-data: evaluate on its first N batches (default: all, but "
       "at "
       "most 20)",
       [](std::string_view v, Options &o) { return readCount(v, o.evalSteps); },
       needsRun | needsValues},
      {"eval-only", "",
       "do not train: evaluate the parameters of --parameters or --resume. "
       "With "
       "--verify, compare with the model, interpreted in f64",
       [](std::string_view, Options &o) { return setSwitch(o.evalOnly); },
       needsValues},
      {"eval-program", "FILE.ppx",
       "with --eval-data, for an artifact: the program that evaluates, as "
       "pp-opt "
       "--evaluate --emit=ppx makes it",
       [](std::string_view v, Options &o) {
         return readText(v, o.evalProgram);
       },
       needsValues},
      {"predict", "FILE",
       "with --eval-data: at the last evaluation, write what the model "
       "predicts "
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
      {"verify", "",
       "before training, compare a few steps with the unpartitioned model",
       [](std::string_view, Options &o) { return setSwitch(o.verify); },
       needsRun | needsValues | needsCompiler},
      {"reference", "MODEL",
       "for --verify of an artifact or a partitioned module: the original "
       "model, "
       "or its training step (level graph)",
       [](std::string_view v, Options &o) { return readText(v, o.reference); },
       needsRun | needsValues | needsCompiler},
      {"report", "FILE.json", "write measurements as JSON",
       [](std::string_view v, Options &o) { return readResult(v, o.report); },
       needsValues},
      {"metrics", "FILE.jsonl",
       "write a line of JSON after every step: loss, metrics, milliseconds, "
       "tokens or samples per second, memory of the process",
       [](std::string_view v, Options &o) { return readResult(v, o.metrics); },
       needsRun | needsValues},
      {"plot", "FILE.svg",
       "draw the loss over the steps, every minute and at the end",
       [](std::string_view v, Options &o) { return readPicture(v, o.plot); },
       needsRun | needsValues},
      {"tensorboard", "FOLDER",
       "write the numbers of every step to a file in FOLDER for TensorBoard",
       [](std::string_view v, Options &o) {
         return readText(v, o.tensorboard);
       },
       needsRun | needsValues},
      {"listen", "[HOST:]PORT",
       "answer http://HOST:PORT/metrics with the last step, as Prometheus "
       "reads "
       "it (default of HOST: 127.0.0.1, this machine alone; PORT 0: any)",
       [](std::string_view v, Options &o) {
         o.listen = pprt::host::parseEndpoint(v);
         return o.listen ? nullptr : "a port, or HOST:PORT";
       },
       needsRun | needsValues},
      {"log-every", "N",
       "show a line for every N steps (default: now and then; on a terminal, "
       "none stays)",
       [](std::string_view v, Options &o) { return readNumber(v, o.logEvery); },
       needsRun | needsValues},
      {"trace", "FILE.json",
       "write the last step's timeline for ui.perfetto.dev",
       [](std::string_view v, Options &o) { return readResult(v, o.trace); }},
      {"trace-steps", "N", "record the last N steps (default 1)",
       [](std::string_view v, Options &o) {
         return readNumber(v, o.traceSteps);
       },
       needsRun | needsValues},
      {"draw", "FILE.svg",
       "draw the last step: what each rank computed when, below what was "
       "predicted, and the memory over time",
       [](std::string_view v, Options &o) { return readPicture(v, o.draw); },
       needsValues},
      {"draw-transfers", "", "with --draw: also a line for each transfer",
       [](std::string_view, Options &o) { return setSwitch(o.drawsTransfers); },
       needsValues},
      {"dry-run", "",
       "only check the program and predict a run: memory, communication, "
       "stages, "
       "schedule and bubble; for an artifact also list its images. --report, "
       "--trace and --draw write the prediction",
       [](std::string_view, Options &o) { return setSwitch(o.dryRun); }},
      {"durations", "TRACE.json",
       "with --dry-run: predict with the times of kernels that another run "
       "measured and wrote by --trace, such as one of another schedule with "
       "the same stages; messages take what the plan's links say",
       [](std::string_view v, Options &o) { return readText(v, o.durations); }},
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
       "with --dry-run of an artifact: write the code of its image's kernels, "
       "an "
       "ELF shared object for processors, PTX for GPUs",
       [](std::string_view v, Options &o) { return readResult(v, o.code); }},
      {"memory-limit", "BYTES",
       "refuse a program that needs more memory per rank, or per GPU for all "
       "ranks on it, such as 512M or 1.5GiB (default 0: no limit), and list "
       "keys "
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
       "keep no more compiled kernels than this for later runs (default 256M; "
       "0: "
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
      {"launcher", "threads|mpi|COMMAND",
       "run the ranks as threads of one process; or of all processes that a "
       "launcher started, as in mpirun -n 2 pp-run gpt.mlir; or start them, "
       "as in --launcher=\"mpirun -n 2\" (default: mpi if a launcher started "
       "several processes, else threads)",
       readLauncher},
      {"restart", "N",
       "with --checkpoint: start the job again, at most N times, when a "
       "signal, a hang, a device or a file has ended it, from its newest "
       "checkpoint (default 0)",
       [](std::string_view v, Options &o) { return readNumber(v, o.restarts); },
       needsRun | needsValues},
      {"elastic", "dp",
       "with --restart: after a start that saved nothing, go on with the next "
       "smaller divisor of the dp of --parallelize, and with as much fewer "
       "processes of --launcher",
       [](std::string_view v, Options &o) {
         o.isElastic = true;
         return v == "dp" ? nullptr : "dp, the axis that may shrink";
       },
       needsRun | needsValues | needsCompiler},
      {"graph", "on|off",
       "capture the first step as a CUDA graph and launch the graph from then "
       "on, which costs less host time (default: on, but off with --trace, "
       "--draw or --report, since a graph gives no times of instructions)",
       [](std::string_view v, Options &o) { return readOnOff(v, o.graph); },
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
  return options;
}
