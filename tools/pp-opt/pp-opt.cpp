//===- pp-opt.cpp - runs passes, explains, predicts -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Files appear under their names complete or not at all.
//
//===----------------------------------------------------------------------===//
#include "../OtherInput.h"
#include "../Process.h"
#include "CommandLine.h"
#include "Decisions.h"
#include "Reporter.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Transforms/Passes.h"
#include "pp/Import/Passes.h"
#include "pp/Import/StableHLOReader.h"
#include "pp/InitAll.h"
#include "pprt/Files.h"
#include "pprt/Status.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using pprt::ExitCode;

static int fail(const llvm::Twine &message, ExitCode code) {
  llvm::errs() << "pp-opt: error: " << message << "\n";
  return int(code);
}

static bool isDevice(const std::string &path) {
  llvm::sys::fs::file_status status;
  return !llvm::sys::fs::status(path, status) &&
         (status.type() == llvm::sys::fs::file_type::character_file ||
          status.type() == llvm::sys::fs::file_type::block_file);
}

/// Returns the exit code and prints errors.
static int writeText(const std::string &path, llvm::StringRef text) {
  pprt::Status written = pprt::writeOutput(path, text.data(), text.size());
  return written.ok() ? 0 : fail(written.message(), written.code());
}

static bool isImport(mlir::Pass &pass) {
  return pass.getArgument() == pp::kImportStableHLO;
}

/// Passes of one's own choice are verified one by one; pp-parallelize ends each
/// level with a check of everything, and what is imported was verified.
static bool areLevels(mlir::PassManager &manager) {
  return llvm::all_of(manager.getPasses(), [](mlir::Pass &pass) {
    return pass.getName() == pp::kParallelize || isImport(pass);
  });
}

/// Adds the passes of the command line, behind that which imports the model
/// unless they have it.
static mlir::LogicalResult addPasses(mlir::PassManager &manager,
                                     const mlir::MlirOptMainConfig &list,
                                     const pp::opt::CommandLine &options,
                                     bool imports) {
  mlir::PassManager chosen(manager.getContext());
  if (failed(list.setupPassPipeline(chosen)))
    return mlir::failure();
  if (imports && llvm::none_of(chosen.getPasses(), isImport)) {
    pp::ImportStableHLOOptions roles;
    roles.inputs.assign(options.inputs.begin(), options.inputs.end());
    roles.labels.assign(options.labels.begin(), options.labels.end());
    roles.states.assign(options.states.begin(), options.states.end());
    roles.keepShardings = options.keepsShardings;
    manager.addPass(pp::createImportStableHLO(roles));
  }
  return list.setupPassPipeline(manager);
}

int main(int argc, char **argv) {
  pp::guardProcess("pp-opt");
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  pp::registerAllDialects(registry);
  pp::registerStableHLOReader(registry);
  mlir::registerTransformsPasses();
  // Set by the options.
  std::vector<std::string> targets;
  bool evaluates = false;
  std::string predict;
  pp::Level lastLevel = pp::Level::Program;
  pp::registerAllPasses([&](pp::PipelineOptions &pipeline) {
    pipeline.evaluates = evaluates;
    pipeline.predict = predict;
    pipeline.leavesAfter = lastLevel;
    // What is kept is chosen once, for the first.
    if (!targets.empty())
      pipeline.target = targets.front();
  });

  auto options = pp::opt::parseCommandLine(argc, argv, registry);
  if (failed(options))
    return int(ExitCode::usage);
  targets = options->targets;
  evaluates = options->evaluates;
  predict = options->predict;
  using Emit = pp::opt::CommandLine::Emit;
  // What differs between targets, or is not for pp's own runtime, is made of
  // the level before.
  if (options->emit == Emit::StableHLO)
    lastLevel = pp::Level::Spmd;
  else if (!targets.empty())
    lastLevel = pp::Level::Pipeline;
  mlir::MlirOptMainConfig &config = options->config;
  // A device may never end.
  if (options->input != "-" && isDevice(options->input))
    return fail(options->input +
                    ": expects a regular file or a pipe, got a device",
                ExitCode::io);
  std::string message;
  auto input = mlir::openInputFile(options->input, &message);
  if (!input)
    return fail(message, ExitCode::io);
  // FlatBuffers' file identifier; its last letter is the version.
  if (input->getBuffer().substr(4, 3) == "PPX")
    return fail("expects a module, got the artifact " + options->input +
                    ", which pp-run runs",
                ExitCode::usage);
  if (const std::string other = pp::findOtherInput(input->getBuffer());
      !other.empty())
    return fail(input->getBufferIdentifier() + ": " + other,
                ExitCode::doesNotCompile);
  pp::opt::Reporter reporter(input->getBufferIdentifier().str(),
                             input->getBuffer(),
                             config.shouldVerifyDiagnostics());
  reporter.attachTo(registry);

  using Import = pp::opt::CommandLine::Import;
  const bool imports = options->importAs == Import::StableHLO ||
                       (options->importAs == Import::Auto &&
                        pp::isStableHLO(input->getBuffer()));

  if (!imports && !options->importOption.empty())
    return fail("--" + options->importOption +
                    " has an effect with models that are imported, got " +
                    options->input +
                    ", a module of pp, whose pp.role and pp.sharding say it",
                ExitCode::usage);

  // A pass list that cannot be read is no fault of the module.
  bool isUnderstood = true;
  config.setPassPipelineSetupFn([&, list = config](mlir::PassManager &manager) {
    isUnderstood = succeeded(addPasses(manager, list, *options, imports));
    if (options->verifiesByLevel && areLevels(manager))
      manager.enableVerifier(false);
    if (isUnderstood)
      pp::opt::addReader(manager, options->decisions);
    return mlir::success(isUnderstood);
  });

  // Between the passes and the artifact the module is bytecode: it keeps the
  // locations.
  const bool emitsFiles =
      options->emit == Emit::PPX || options->emit == Emit::StableHLO;
  if (emitsFiles)
    config.emitBytecode(true);
  std::string module;
  llvm::raw_string_ostream stream(module);
  const bool isDone = succeeded(mlir::MlirOptMain(
      stream, llvm::MemoryBuffer::getMemBuffer(input->getMemBufferRef()),
      registry, config));
  // Shardings may explain the failure of a later pass.
  llvm::outs() << options->decisions.shardings;
  if (!isDone)
    return isUnderstood ? reporter.exitCode() : int(ExitCode::usage);
  if (!options->drawing.empty())
    if (int code = writeText(options->drawing, options->decisions.drawing))
      return code;
  if (const std::string &file = options->decisions.memoryFile; !file.empty())
    if (int code = writeText(file, options->decisions.memory))
      return code;
  llvm::outs() << options->decisions.prediction
               << options->decisions.explanation;
  if (options->decisions.memoryFile.empty())
    llvm::outs() << options->decisions.memory;
  if (options->output.empty())
    return 0;
  if (emitsFiles) {
    reporter.forgetSource();
    bool isWritten = succeeded(
        options->emit == Emit::StableHLO
            ? pp::opt::emitStableHLO(module, options->input, options->output,
                                     registry)
            : pp::opt::emitArtifact(module, options->output, options->targets,
                                    options->cacheLimit, registry));
    return isWritten ? 0 : reporter.exitCode();
  }
  return writeText(options->output, options->emit == Emit::Plan
                                        ? options->decisions.plan
                                    : options->emit == Emit::Schedule
                                        ? options->decisions.schedule
                                        : module);
}
