//===- CommandLine.cpp - the options of pp-opt ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// pp-opt has all options of mlir-opt; --help shows the few that its users need
// and --help-hidden the rest.
//
//===----------------------------------------------------------------------===//
#include "CommandLine.h"
#include "../NamedValues.h"
#include "pp/IR/Version.h"
#include "pp/Predict/MemoryReport.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Bytes.h"
#include "pprt/Files.h"
#include "pprt/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <functional>

using namespace pp::opt;
namespace cl = llvm::cl;

/// The options of LLVM and MLIR that --help shows. A pass stands for all.
static constexpr llvm::StringLiteral kShown[] = {"pp-parallelize",
                                                 "pass-pipeline",
                                                 "mlir-print-debuginfo",
                                                 "mlir-print-ir-after-all",
                                                 "mlir-print-op-on-diagnostic",
                                                 "mlir-timing",
                                                 "remarks-filter",
                                                 "split-input-file",
                                                 "verify-diagnostics",
                                                 "help",
                                                 "help-hidden",
                                                 "version"};

/// Passes that make remarks.
static constexpr llvm::StringLiteral kRemarking[] = {
    "pp-import-stablehlo",    "pp-cut-stages",     "pp-annotate-shardings",
    "pp-propagate-shardings", "pp-pad-dimensions", "pp-lint-shardings",
    "pp-partition",           "pp-split-stages",   "pp-schedule",
    "pp-choose-residuals",    "pp-plan-buffers"};

/// The error in a filter of remarks; empty if it is valid.
static std::string checkFilter(llvm::StringRef filter) {
  if (filter.empty()) // not given
    return "";
  std::string error;
  if (!llvm::Regex(filter).isValid(error))
    return "expects a regular expression, got '" + filter.str() + "': " + error;
  // As MLIR does: a part of a name lets nothing through.
  llvm::Regex whole("^(" + filter.str() + ")$");
  if (llvm::any_of(kRemarking,
                   [&](llvm::StringRef pass) { return whole.match(pass); }))
    return "";
  return "expects the name of a pass that makes remarks (" +
         llvm::join(llvm::ArrayRef(kRemarking), ", ") +
         ") or a regular expression for some, "
         "got '" +
         filter.str() + "'";
}

static void adjustOptions() {
  llvm::SmallPtrSet<const cl::Option *, 16> shown;
  auto &all = cl::getRegisteredOptions();
  for (llvm::StringRef name : kShown)
    if (auto found = all.find(name); found != all.end())
      shown.insert(found->second);
  for (auto &entry : all)
    if (!shown.contains(entry.second) &&
        entry.second->getOptionHiddenFlag() == cl::NotHidden)
      entry.second->setHiddenFlag(cl::Hidden);
  // An error is a line. Its op, which may be a whole model, stays out unless
  // asked for.
  if (auto found = all.find("mlir-print-op-on-diagnostic"); found != all.end())
    static_cast<cl::opt<bool> *>(found->second)->setInitialValue(false);
  // Printed modules have been verified: when they were read, behind a pass, or
  // at the end of a level.
  if (auto found = all.find("mlir-print-assume-verified"); found != all.end())
    static_cast<cl::opt<bool> *>(found->second)->setInitialValue(true);
  // -p, short for --pass-pipeline, would be seen in every misspelt --p...
  if (cl::Option *alias = all.lookup("p"))
    alias->removeArgument();
}

/// Whether passes are to be verified one by one whatever they are.
static bool wantsVerifyEach() {
  auto &all = cl::getRegisteredOptions();
  auto found = all.find("verify-each");
  return found != all.end() && found->second->getNumOccurrences();
}

/// As users type it: one letter has one dash.
static std::string getSpelling(const cl::Option &option) {
  return (option.ArgStr.size() == 1 ? "-" : "--") + option.ArgStr.str();
}

mlir::FailureOr<CommandLine>
pp::opt::parseCommandLine(int argc, char **argv,
                          mlir::DialectRegistry &registry) {
  (void)mlir::registerCLIOptions("pp-opt", registry);
  adjustOptions();
  cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << describeVersion() << "\n"; });
  // LLVM's own -h would print help for every misspelt --h...
  cl::opt<bool> help("h", cl::ReallyHidden);
  cl::opt<std::string> input(cl::Positional, cl::desc("<input file>"),
                             cl::init("-"));
  cl::opt<std::string> output("o", cl::value_desc("file"), cl::init("-"),
                              cl::desc("file to write; - is standard output"));
  using Emit = CommandLine::Emit;
  pp::NamedValues<Emit> emit(
      "emit", cl::desc("what to write"), cl::init(Emit::MLIR),
      cl::values(clEnumValN(Emit::MLIR, "mlir", "a module (default)"),
                 clEnumValN(Emit::Plan, "plan",
                            "the plan that the passes obeyed; plan=FILE reads "
                            "it"),
                 clEnumValN(Emit::Schedule, "schedule",
                            "the table of actions, which schedule=FILE.csv "
                            "reads"),
                 clEnumValN(Emit::PPX, "ppx",
                            "an artifact for pp-run, from a module of level "
                            "program"),
                 clEnumValN(Emit::StableHLO, "stablehlo",
                            "StableHLO for XLA and IREE, and FILE.json, which "
                            "describes its arguments and results")));
  using Import = CommandLine::Import;
  pp::NamedValues<Import> importAs(
      "import",
      cl::desc("what a model of another framework is written in; without it, "
               "the content says it"),
      cl::init(Import::Auto),
      cl::values(clEnumValN(Import::StableHLO, "stablehlo",
                            "the text that jax.jit(loss).lower(...).as_text("
                            "debug_info=True) prints"),
                 clEnumValN(Import::None, "none", "only read it")));
  cl::list<std::string> inputs(
      "inputs", cl::value_desc("name,..."), cl::CommaSeparated,
      cl::desc("arguments of an imported loss that a batch consists of: names, "
               "beginnings of dotted names or numbers, with dimensions as in "
               "tokens:batch:sequence; the others are parameters. A training "
               "step needs none"));
  cl::list<std::string> labels(
      "labels", cl::value_desc("name,..."), cl::CommaSeparated,
      cl::desc("arguments of an imported loss that the model should answer"));
  cl::list<std::string> states(
      "states", cl::value_desc("name,..."), cl::CommaSeparated,
      cl::desc(
          "arguments of an imported loss that one step passes to the next, "
          "whose new values are results behind the loss"));
  cl::opt<bool> keepShardings(
      "keep-shardings", cl::init(true),
      cl::desc("keep the shardings of an imported model, and their mesh; "
               "=false leaves all to the plan"));
  cl::opt<bool> evaluate(
      "evaluate",
      cl::desc(
          "with --pp-parallelize: make a program that evaluates the model, "
          "with the cuts and seeds of the training step (pp-run "
          "--eval-program takes it)"));
  cl::opt<std::string> predict(
      "predict-values", cl::value_desc("name"),
      cl::desc("with --evaluate: a value (pp.name), such as logits, that the "
               "program returns for pp-run --predict"));
  cl::opt<std::string> cacheLimit(
      "cache-limit", cl::value_desc("bytes"), cl::init("256M"),
      cl::desc("keep no more compiled kernels than this for later runs "
               "(default 256M; 0: no limit)"));
  cl::list<std::string> targets(
      "targets", cl::value_desc("name,..."), cl::CommaSeparated,
      cl::desc(
          "targets of the images of --emit=ppx; pp-run takes the best one. "
          "cpu: this machine's processors (default); levels of others, as in "
          "x86-64-v2,x86-64-v4; NVIDIA GPUs of an architecture or later: sm_80 "
          "(also 8.6 and 8.9), sm_90, sm_100"));
  cl::opt<std::string> drawing(
      "draw-schedule", cl::value_desc("file"),
      cl::desc("also draw the schedule: FILE.svg (of programs with times as "
               "predicted, and memory), FILE.txt or - (text on standard "
               "output; the module is written only with -o)"));
  cl::opt<bool> drawsTransfers(
      "draw-transfers",
      cl::desc("with --draw-schedule=FILE.svg: a line for each transfer"));
  cl::opt<bool> explanation(
      "pp-explain", cl::desc("print why each collective is there and what it "
                             "costs; the module is written only with -o"));
  cl::opt<bool> prediction(
      "pp-predict",
      cl::desc("print memory, communication and time of a step, as pp-run "
               "--dry-run does; the module is written only with -o"));
  cl::opt<std::string> memory(
      "pp-memory-report", cl::ValueOptional, cl::value_desc("file"),
      cl::desc("print what fills the memory of each rank over a step, and why "
               "(the module is written only with -o); or write it to FILE.svg, "
               "FILE.json or FILE.txt"));
  cl::opt<std::string> shardings(
      "pp-shardings", cl::ValueOptional, cl::value_desc("name"),
      cl::desc("print how each value is split and which seed caused it; with a "
               "name (* is any text) also the path from the seed; the module "
               "is written only with -o"));
  const std::string overview =
      "pp-opt: runs passes over a module\n\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 tp=2 pp=2 microbatches=4 "
      "stop-after=spmd\" -o spmd.mlir\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 optimizer=adamw lr=1e-3\" "
      "--emit=ppx -o gpt.ppx\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2\" --emit=ppx "
      "--targets=x86-64-v2,x86-64-v4 -o gpt.ppx\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2\" --emit=ppx "
      "--targets=sm_80,sm_90 -o gpt.ppx\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2\" --evaluate --emit=ppx "
      "-o eval.ppx\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"pp=4 microbatches=8\" "
      "--draw-schedule=- -o program.mlir\n"
      "  pp-opt loss.mlir --import=stablehlo --inputs=tokens --labels=labels "
      "-o model.mlir\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 tp=2\" --pp-explain\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 tp=2\" --pp-predict\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 zero=1\" "
      "--pp-memory-report=memory.svg -o program.mlir\n"
      "  pp-opt gpt.mlir --pp-parallelize=\"dp=2 tp=2\" "
      "--pp-shardings=h.0.attn*\n\n"
      "--pp-parallelize=\"KEY=VALUE ...\" runs every pass from the module's "
      "level to programs. Keys:\n" +
      describeParallelizeKeys();
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return mlir::failure();

  if (help) {
    cl::PrintHelpMessage();
    std::exit(0);
  }

  CommandLine result;
  result.input = input;
  result.output = output;
  result.importAs = importAs;
  result.inputs.assign(inputs.begin(), inputs.end());
  result.labels.assign(labels.begin(), labels.end());
  result.states.assign(states.begin(), states.end());
  result.keepsShardings = keepShardings;
  const std::array<std::reference_wrapper<const cl::Option>, 4> ofImports = {
      inputs, labels, states, keepShardings};
  for (const cl::Option &option : ofImports)
    if (option.getNumOccurrences() && result.importOption.empty())
      result.importOption = option.ArgStr.str();
  result.emit = emit;
  result.evaluates = evaluate;
  result.predict = predict;
  result.drawing = drawing;
  result.config = mlir::MlirOptMainConfig::createFromCLOptions();
  auto refuse = [](const llvm::Twine &message) {
    llvm::errs() << "pp-opt: error: " << message << "\n";
    return mlir::failure();
  };
  for (auto [name, filter] :
       {std::pair("remarks-filter", result.config.getRemarksAllFilter()),
        {"remarks-filter-passed", result.config.getRemarksPassedFilter()},
        {"remarks-filter-failed", result.config.getRemarksFailedFilter()},
        {"remarks-filter-missed", result.config.getRemarksMissedFilter()},
        {"remarks-filter-analyse", result.config.getRemarksAnalyseFilter()}})
    if (std::string wrong = checkFilter(filter); !wrong.empty())
      return refuse(llvm::Twine("--") + name + " " + wrong);
  std::optional<uint64_t> bytes = pprt::parseBytes(cacheLimit);
  if (!bytes)
    return refuse(llvm::Twine("--cache-limit expects ") + pprt::kBytesSyntax +
                  ", got '" + cacheLimit + "'");
  result.cacheLimit = *bytes;
  for (const std::string &name : targets) {
    const pprt::Target *target = pprt::findTarget(name);
    if (!target)
      return refuse("--targets expects names of " +
                    llvm::join(pprt::targetNames(), ", ") + ", got '" + name +
                    "'" + pprt::adviseTarget(name));
    if (llvm::is_contained(result.targets, target->name()))
      return refuse("--targets expects each target once, got '" + name +
                    "', which is " + target->name() + ", twice");
    result.targets.push_back(target->name());
  }
  if (predict.getNumOccurrences() && !evaluate)
    return refuse("--predict-values needs --evaluate");
  for (cl::Option *option :
       {static_cast<cl::Option *>(&output), static_cast<cl::Option *>(&emit),
        static_cast<cl::Option *>(&drawing),
        static_cast<cl::Option *>(&cacheLimit),
        static_cast<cl::Option *>(&memory),
        static_cast<cl::Option *>(&shardings)})
    if (option->getNumOccurrences() > 1)
      return refuse("expects '" + getSpelling(*option) +
                    "' once, got it more often");
  if (result.output.empty())
    return refuse("-o expects a file or -, got ''");
  result.verifiesByLevel = !wantsVerifyEach();
  result.decisions.wantsPlan = emit == Emit::Plan;
  result.decisions.planFile = result.output;
  result.decisions.wantsSchedule = emit == Emit::Schedule;
  if (drawing.getNumOccurrences()) {
    llvm::StringRef file = result.drawing;
    bool isText = file == "-" || file.ends_with(".txt");
    if (!isText && !file.ends_with(".svg"))
      return refuse("--draw-schedule expects FILE.svg, FILE.txt or -, got '" +
                    result.drawing + "'");
    result.decisions.wantsDrawing =
        isText ? Decisions::Drawing::Text : Decisions::Drawing::Svg;
    if (isText && drawsTransfers)
      return refuse("--draw-transfers expects --draw-schedule=FILE.svg, got '" +
                    result.drawing + "', which is text");
    if ((result.drawing == result.output ||
         pprt::isSameFile(result.output, result.drawing)) &&
        output.getNumOccurrences())
      return refuse("-o and --draw-schedule expect different files");
  }
  if (drawsTransfers && !drawing.getNumOccurrences())
    return refuse("--draw-transfers needs --draw-schedule=FILE.svg");
  result.decisions.drawsTransfers = drawsTransfers;
  result.decisions.wantsMemory = memory.getNumOccurrences() > 0;
  result.decisions.memoryFile = memory;
  if (!memory.empty()) {
    if (!pp::predict::isMemoryFile(memory))
      return refuse(llvm::Twine("--pp-memory-report expects ") +
                    pp::predict::kMemoryFiles + ", got '" + memory + "'");
    for (const std::string &file :
         {result.input, result.output, result.drawing})
      if (memory == file || pprt::isSameFile(file, memory))
        return refuse("--pp-memory-report expects another file, got '" +
                      memory + "', which is also read or written");
  }
  result.decisions.wantsExplanation = explanation;
  result.decisions.wantsPrediction = prediction;
  result.decisions.wantsShardings = shardings.getNumOccurrences() > 0;
  result.decisions.shardingsOf = shardings;
  // Standard output shows the answers; the module does not go there then.
  const bool tellsOfMemory = result.decisions.wantsMemory && memory.empty();
  const bool drawsFile = !result.drawing.empty() && result.drawing != "-";
  const bool tells = explanation || prediction || tellsOfMemory ||
                     result.decisions.wantsShardings || result.drawing == "-" ||
                     (drawsFile && emit == Emit::MLIR);
  if (tells && !output.getNumOccurrences()) {
    if (emit == Emit::Plan || emit == Emit::Schedule)
      return refuse(llvm::Twine("--emit=") +
                    (emit == Emit::Plan ? "plan expects -o FILE.plan"
                                        : "schedule expects -o FILE.csv") +
                    ", since the answers go to standard output");
    result.output.clear();
  }
  const bool isOfOne = tells || emit != Emit::MLIR ||
                       drawing.getNumOccurrences() ||
                       memory.getNumOccurrences();
  if (isOfOne && !result.config.inputSplitMarker().empty())
    return refuse("--emit=ppx, --emit=plan, --emit=schedule, --emit=stablehlo, "
                  "--draw-schedule, "
                  "--pp-explain, "
                  "--pp-predict, --pp-memory-report and --pp-shardings expect "
                  "one module, got "
                  "--split-input-file");
  if (emit != Emit::PPX && cacheLimit.getNumOccurrences())
    return refuse(
        "--cache-limit needs --emit=ppx: other commands compile no kernels");
  if (emit != Emit::PPX && targets.getNumOccurrences())
    return refuse("--targets needs --emit=ppx: other commands make no images");
  if (targets.getNumOccurrences() &&
      (explanation || prediction || result.decisions.wantsMemory))
    return refuse("--pp-explain, --pp-predict and --pp-memory-report describe "
                  "one program, but "
                  "--targets makes one per target; leave --targets out, or use "
                  "pp-run FILE.ppx --target=NAME --dry-run");
  if (emit == Emit::StableHLO &&
      (explanation || prediction || result.decisions.wantsMemory ||
       drawing.getNumOccurrences()))
    return refuse("--pp-explain, --pp-predict, --pp-memory-report and "
                  "--draw-schedule describe programs, which --emit=stablehlo "
                  "does not make; ask in a command of their own");
  if (emit != Emit::MLIR && pprt::isSameFile(result.input, result.output))
    return refuse("-o expects another file, got '" + result.output +
                  "', which is the module");
  if (!result.drawing.empty() && pprt::isSameFile(result.input, result.drawing))
    return refuse("--draw-schedule expects another file, got '" +
                  result.drawing + "', which is the module");
  if (emit == Emit::PPX && (result.output.empty() || result.output == "-"))
    return refuse("--emit=ppx expects a file to write: -o FILE.ppx");
  if (emit == Emit::StableHLO &&
      (result.output.empty() || result.output == "-"))
    return refuse("--emit=stablehlo expects a file to write: -o FILE.mlir; it "
                  "also writes FILE.mlir.json");
  return result;
}
