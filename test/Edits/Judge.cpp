//===- Judge.cpp - what becomes of an edited module -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The edited text goes the way a user's file goes: it is parsed and verified,
// the passes that remain are run, the programs are checked, and of some the
// kernels are compiled and steps are taken, by pp-run's own code too. It is
// refused at a place, with a code that the docs give, or it is right.
//
//===----------------------------------------------------------------------===//
#include "Judge.h"
#include "../Random/RandomProgram.h"
#include "../Random/TrainingSteps.h"
#include "Run.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Diagnostics.h"
#include "pp/IR/Model.h"
#include "pp/Models/Models.h"
#include "pp/Target/Artifact.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/Checks.h"
#include <fstream>
#include <random>

using namespace mlir;
using namespace pp;
using namespace pp::testing;
using pprt::ExitCode;

template <typename T> static std::string print(T what) {
  std::string text;
  llvm::raw_string_ostream(text) << what;
  return text;
}

std::vector<Sample> pp::testing::makeSamples(MLIRContext &context) {
  std::vector<Sample> samples;
  auto add = [&](const std::string &name, ModuleOp model,
                 const std::string &goal) {
    using Kind = Sample::Kind;
    const std::string text = print(model);
    const bool isExact =
        text.find("f32") == text.npos && text.find("f16") == text.npos;
    samples.push_back({name + " model", text, Kind::Model, goal, "", isExact});
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
      const Kind kind = level == Level::Graph     ? Kind::Step
                        : level == Level::Program ? Kind::Program
                                                  : Kind::Partitioned;
      samples.push_back({name + " " + stringifyLevel(level).str(),
                         print(*module), kind, "", text, isExact});
      if (level == Level::Program) // the plan tells all decisions by now
        samples.push_back({name + " plan",
                           print((*module)->getAttr(attrs::kPlan)), Kind::Plan,
                           "", text, isExact});
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
  add("bf16 mlp", *buildMlp(context, mlp, BFloat16Type::get(&context)),
      "dp=2 pp=2 microbatches=2 optimizer=momentum lr=0.1 threads=1");
  for (unsigned seed = 0; seed < 3; ++seed) {
    random.hasStates = seed == 2;
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

namespace {

/// One edit on its way.
class Trial {
public:
  Trial(MLIRContext &context, const Sample &sample, const std::string &folder,
        Verdict &verdict)
      : sample(sample), folder(folder), verdict(verdict), context(context) {}

  /// Parses, runs the passes and checks the programs. True if all is right.
  bool compile(const std::string &text);
  /// What the program of a partitioned module computes is what it says.
  void compareWithMeaning();
  /// pp-run on the files.
  void train();

private:
  using Kind = Sample::Kind;
  std::string path(const char *name) const { return folder + "/" + name; }
  std::string goal() const {
    return sample.kind == Kind::Plan ? "plan=" + path("plan") : sample.goal;
  }

  const Sample &sample;
  const std::string &folder;
  Verdict &verdict;
  MLIRContext &context;
  OwningOpRef<ModuleOp> meaning, program;
  Arguments arguments;
};

} // namespace

static Type toType(pprt::ppx::ElementType element, MLIRContext &context) {
  Builder builder(&context);
  switch (element) {
  case pprt::ppx::ElementType_bf16:
    return builder.getBF16Type();
  case pprt::ppx::ElementType_f16:
    return builder.getF16Type();
  case pprt::ppx::ElementType_f32:
    return builder.getF32Type();
  case pprt::ppx::ElementType_f64:
    return builder.getF64Type();
  case pprt::ppx::ElementType_i1:
    return builder.getI1Type();
  case pprt::ppx::ElementType_i8:
    return builder.getI8Type();
  case pprt::ppx::ElementType_i32:
    return builder.getI32Type();
  case pprt::ppx::ElementType_i64:
    return builder.getI64Type();
  }
  llvm_unreachable("every element type is handled above");
}

/// Values for what a step reads; states begin with zeros, as optimizers' do.
static Arguments drawArguments(const pprt::ppx::ArtifactT &artifact,
                               MLIRContext &context) {
  std::mt19937 random(1);
  Arguments arguments;
  for (const auto &argument : artifact.arguments) {
    const Type element = toType(argument->element, context);
    reference::HostTensor tensor(RankedTensorType::get(
        SmallVector<int64_t>(argument->shape.begin(), argument->shape.end()),
        element));
    const uint64_t bound = std::clamp<uint64_t>(argument->bound, 1, 1 << 20);
    const bool isState = argument->role == pprt::ppx::Role_state;
    for (double &value : tensor.values)
      value = isState ? 0
              : isa<FloatType>(element)
                  ? double(random() % 2000) / 1000 - 0.9995
                  : double(random() % bound);
    tensor.roundToElement();
    arguments[argument->name] = std::move(tensor);
  }
  return arguments;
}

bool Trial::compile(const std::string &text) {
  const bool isPlan = sample.kind == Kind::Plan;
  std::ofstream(path("module.mlir")) << (isPlan ? sample.model : text);
  std::ofstream(path("plan")) << (isPlan ? text : "");
  std::ofstream(path("model.mlir")) << sample.model;
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
  program = parseSourceString<ModuleOp>(isPlan ? sample.model : text, &context);
  if (!program)
    return refuse("the parser");
  meaning = program->clone();
  PipelineOptions options;
  std::string error;
  if (failed(parseParallelize(goal(), options, error)))
    llvm::report_fatal_error(llvm::StringRef(error));
  options.skipProgramChecks = true;
  PassManager passes(&context);
  buildPipeline(passes, options, getLevel(*program),
                (*program)->hasAttr(attrs::kPlan));
  if (failed(passes.run(*program)))
    return refuse("a pass");
  auto artifact = buildArtifact(*program);
  if (failed(artifact))
    return refuse("the artifact");
  pprt::CheckResult checked = pprt::checkArtifact(**artifact);
  verdict.code = int(checked.status().code());
  verdict.message = checked.status().message();
  // What is accepted can be printed, and read again as it was.
  std::string printed = print(*program);
  auto again = parseSourceString<ModuleOp>(printed, &context);
  if (!again || print(*again) != printed)
    verdict.fault = "printed as another module";
  if (!checked.ok() || !verdict.fault.empty())
    return false;
  arguments = drawArguments(**artifact, context);
  return true;
}

void Trial::compareWithMeaning() {
  // An edit may have changed the level.
  std::optional<Level> level = getLevel(*meaning);
  if (level != Level::Spmd && level != Level::Pipeline)
    return;
  std::string said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    said += diagnostic.str();
    return success();
  });
  const double bound = sample.isExact ? 1e-10 : 0.25;
  pprt::host::Comparison comparison({bound, bound, bound}, /*adam=*/{});
  bool isFinite = true;
  pprt::Status status =
      takeSteps(*meaning, *program, arguments, /*count=*/2,
                [&](const pprt::host::StepValues &ours,
                    const pprt::host::StepValues &judged) {
                  isFinite &= pprt::host::findNonFinite(judged).empty();
                  if (isFinite)
                    comparison.add("loss", ours, ours, judged,
                                   /*learningRate=*/0);
                });
  // Copies that differ mean nothing, and to compute it is no fault. Of sums
  // over stages the interpreter knows nothing at level 3.
  if (!status.ok() && said.find("expects equal copies") == said.npos &&
      said.find("expects no sum over stages") == said.npos)
    verdict.fault = "no steps: " + status.message() + " " + said;
  if (!status.ok() || !isFinite || comparison.isWithinBounds())
    return;
  verdict.fault = "computes what it does not say";
  for (const pprt::host::Worst *worst :
       {&comparison.loss, &comparison.metrics, &comparison.gradients,
        &comparison.parameters, &comparison.states})
    verdict.fault +=
        ", " + worst->tensor + " by " + std::to_string(worst->error);
}

void Trial::train() {
  run::Options options;
  options.input = path("module.mlir");
  options.parallelize = goal();
  options.steps = 2;
  options.quiet = true;
  options.verify = true;
  if (sample.kind == Kind::Step)
    options.reference = options.input;
  if (sample.kind == Kind::Partitioned || sample.kind == Kind::Program)
    options.reference = path("model.mlir");
  pprt::Status status = run::run(options);
  verdict.isRun = true;
  verdict.code = int(status.code());
  verdict.message = status.message();
  if (status.code() == ExitCode::verifyDiffers && sample.isExact &&
      options.reference != path("model.mlir"))
    verdict.fault = "differs from the interpreter";
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

Verdict pp::testing::judge(MLIRContext &context, const Sample &sample,
                           const std::string &text, bool runs,
                           const std::string &folder) {
  Verdict verdict;
  Trial trial(context, sample, folder, verdict);
  if (trial.compile(text) && runs) {
    trial.compareWithMeaning();
    if (verdict.fault.empty())
      trial.train();
  }
  if (!isHonest(verdict.code))
    verdict.fault = "ended with code " + std::to_string(verdict.code);
  return verdict;
}
