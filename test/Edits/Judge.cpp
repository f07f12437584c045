//===- Judge.cpp - what becomes of an edited module -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The edited text goes the way a user's file goes: it is parsed and verified,
// the passes that remain are run, the programs are checked, and of some the
// kernels are compiled and a step is run by pp-run's own code. It is refused at
// a place, with a code that the docs give, or it is right.
//
//===----------------------------------------------------------------------===//
#include "Judge.h"
#include "../Random/RandomProgram.h"
#include "Run.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Models/Models.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Checks.h"
#include <fstream>

using namespace mlir;
using namespace pp;
using namespace pp::testing;
using pprt::ExitCode;

static void registerAll(MLIRContext &context) {
  context.disableMultithreading(); // a worker is forked
  DialectRegistry registry;
  registry.insert<PPDialect, func::FuncDialect>();
  registerCostModels(registry);
  registerGradientModels(registry);
  registerShardingModels(registry);
  registerLinalgModels(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

std::vector<Sample> pp::testing::makeSamples() {
  MLIRContext context;
  registerAll(context);
  std::vector<Sample> samples;
  auto add = [&](const std::string &name, ModuleOp model,
                 const std::string &goal) {
    samples.push_back({name + " model", print(model), goal});
    for (Level level :
         {Level::Graph, Level::Spmd, Level::Pipeline, Level::Program}) {
      PipelineOptions options;
      std::string error;
      OwningOpRef<ModuleOp> module = model.clone();
      PassManager passes(&context);
      if (failed(parseParallelize(goal, options, error)))
        llvm::report_fatal_error(llvm::StringRef(error));
      options.stopAfter = level;
      buildPipeline(passes, options, std::nullopt);
      if (failed(passes.run(*module)))
        llvm::report_fatal_error("expects a sample that compiles");
      samples.push_back(
          {name + " " + stringifyLevel(level).str(), print(*module), ""});
    }
  };
  Type element = Float64Type::get(&context);
  MlpConfig mlp{/*layers=*/2, /*input=*/6, /*hidden=*/8, /*classes=*/4,
                /*batch=*/8};
  GptConfig gpt{/*layers=*/1, /*hidden=*/8, /*heads=*/4, /*seq=*/4,
                /*batch=*/4,  /*vocab=*/8};
  RandomProgramOptions random;
  random.batch = 12;
  random.numOps = 12;
  random.maxElements = 500;
  add("mlp", *buildMlp(context, mlp, element),
      "optimizer=sgd lr=0.1 threads=1");
  add("partitioned mlp", *buildMlp(context, mlp, element),
      "dp=2 tp=2 pp=2 microbatches=2 optimizer=adam lr=0.1 clip=1 threads=1");
  add("padded gpt", *buildGpt(context, gpt, element),
      "tp=3 pp=2 microbatches=2 schedule=gpipe optimizer=momentum lr=0.1 "
      "threads=1");
  for (unsigned seed = 0; seed < 3; ++seed) {
    OwningOpRef<ModuleOp> model = makeRandomProgram(context, seed, random);
    auto main = model->lookupSymbol<func::FuncOp>("main");
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      if (getElementTypeOrSelf(main.getArgumentTypes()[i]).isInteger())
        main.setArgAttr(i, attrs::kBound,
                        Builder(&context).getI64IntegerAttr(2));
    add("random " + std::to_string(seed), *model,
        "dp=2 pp=2 microbatches=3 optimizer=sgd lr=0.1 threads=1");
  }
  return samples;
}

namespace {

/// Errors of a module, and whether each says where.
struct Report {
  std::string text;
  bool hasError = false, isPlaced = true;
  int code = 1;

  LogicalResult add(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    hasError = true;
    code = getExitCode(diagnostic);
    isPlaced &= diagnostic.getLocation()->findInstanceOf<FileLineColLoc>() !=
                FileLineColLoc();
    llvm::raw_string_ostream(text) << diagnostic << "\n";
    return success();
  }
};

} // namespace

/// Parses, runs the passes and checks the programs. True if all is right.
static bool compile(const Sample &sample, const std::string &text,
                    Verdict &verdict) {
  MLIRContext context;
  registerAll(context);
  Report report;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { return report.add(diagnostic); });
  auto refuse = [&](const char *where) {
    verdict.code = report.code;
    verdict.message = report.text;
    if (!report.hasError)
      verdict.fault = std::string("refused without a word by ") + where;
    else if (!report.isPlaced)
      verdict.fault = std::string("refused at no place by ") + where;
    return false;
  };
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return refuse("the parser");
  PipelineOptions options;
  std::string error;
  if (failed(parseParallelize(sample.goal, options, error)))
    llvm::report_fatal_error(llvm::StringRef(error));
  options.skipProgramChecks = true;
  PassManager passes(&context);
  buildPipeline(passes, options, getLevel(*module),
                (*module)->hasAttr(attrs::kPlan));
  if (failed(passes.run(*module)))
    return refuse("a pass");
  auto artifact = buildArtifact(*module);
  if (failed(artifact))
    return refuse("the artifact");
  pprt::CheckResult checked = pprt::checkArtifact(**artifact);
  verdict.code = int(checked.status().code());
  verdict.message = checked.status().message();
  // What is accepted can be printed, and read again as it was.
  std::string printed = print(*module);
  module = parseSourceString<ModuleOp>(printed, &context);
  if (!module || print(*module) != printed)
    verdict.fault = "printed as another module";
  return checked.ok() && verdict.fault.empty();
}

/// pp-run on a file, for one step.
static void trainOne(const Sample &sample, const std::string &text,
                     const std::string &folder, Verdict &verdict) {
  pp::run::Options options;
  options.input = folder + "/module.mlir";
  options.parallelize = sample.goal;
  options.steps = 1;
  options.quiet = true;
  options.verify = !sample.goal.empty();
  std::ofstream(options.input) << text;
  pprt::Status status = pp::run::run(options);
  verdict.isRun = true;
  verdict.code = int(status.code());
  verdict.message = status.message();
}

/// Codes with which pp-run may end: a refusal, or numbers that are none.
static bool isHonest(int code) {
  constexpr ExitCode honest[] = {ExitCode::ok,
                                 ExitCode::doesNotCompile,
                                 ExitCode::usage,
                                 ExitCode::badArtifact,
                                 ExitCode::outOfMemory,
                                 ExitCode::checkFailed,
                                 ExitCode::verifyDiffers,
                                 ExitCode::nonFinite};
  return llvm::is_contained(honest, ExitCode(code));
}

Verdict pp::testing::judge(const Sample &sample, const std::string &text,
                           bool runs, const std::string &folder) {
  Verdict verdict;
  if (compile(sample, text, verdict) && runs)
    trainOne(sample, text, folder, verdict);
  if (!isHonest(verdict.code))
    verdict.fault = "ended with code " + std::to_string(verdict.code);
  return verdict;
}
