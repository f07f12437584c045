//===- SourceState.h - a module and the compiler's context ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the files of SourceModule share. Knows MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef PP_RUN_SOURCESTATE_H
#define PP_RUN_SOURCESTATE_H

#include "Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "pp/Explain/MemoryFit.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Diagnostics.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace pp::run {

using pprt::ExitCode;
using pprt::Expected;
using pprt::Status;

/// The options that a text of --parallelize stands for. Ranks and the threads
/// inside them share the machine's cores.
Expected<pp::PipelineOptions> readOptions(const std::string &text);

/// Collects the compiler's diagnostics while it lives.
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, mlir::MLIRContext &context)
      : stream(text), handler(sources, &context, stream),
        plain(&context, [this, &sources](mlir::Diagnostic &diagnostic) {
          note(diagnostic);
          const llvm::MemoryBuffer *source =
              sources.getMemoryBuffer(sources.getMainFileID());
          return mlir::success(pp::printPlainly(diagnostic,
                                                source->getBufferIdentifier(),
                                                source->getBuffer(), stream));
        }) {}

  /// The reason of a failure. A failure outside of the module is printed
  /// without a place in it.
  Status failure() {
    if (code != ExitCode::doesNotCompile)
      return Status(code, first);
    llvm::StringRef all = text;
    return Status(code, all.rtrim().str());
  }

  /// All that was said.
  const std::string &all() const { return text; }

private:
  void note(mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error ||
        code != ExitCode::doesNotCompile)
      return;
    code = ExitCode(pp::getExitCode(diagnostic));
    first = diagnostic.str();
  }

  std::string text;
  /// The code of the first error that has one, and its message.
  ExitCode code = ExitCode::doesNotCompile;
  std::string first;
  llvm::raw_string_ostream stream;
  mlir::SourceMgrDiagnosticHandler handler;
  mlir::ScopedDiagnosticHandler plain; ///< is asked first
};

struct SourceModule::State {
  llvm::SourceMgr sources;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  pp::CompileOptions kernels;
  std::string target;
  std::unique_ptr<pp::MemoryFit> fit;
  std::pair<std::string, uint64_t> fitOf; ///< keys and limit

  State() : context(registry()) {
    context.printOpOnDiagnostic(false);
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    pp::registerForCompilation(registry);
    return registry;
  }

  Status checkHasKeys(const std::string &keys);
  pp::MemoryFit *tryKeys(const std::string &keys, uint64_t limit,
                         const MeasureBeside &measureBeside);
  /// The training step of the model, for one device.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  makeStep(const std::string &parallelize, bool keepsGradients = false);
  /// The evaluation of the model, up to `level`.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  makeEvaluation(const Evaluation &evaluation, pp::Level level);
  /// The artifact of a module of level 4.
  Expected<Compiled> finish(mlir::ModuleOp module, Kernels kernels,
                            double passesMs);
  /// A copy of the module, after the passes of `options`.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  transform(const pp::PipelineOptions &options);
  /// `module`, after those passes of `options` that remain.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  runPasses(mlir::OwningOpRef<mlir::ModuleOp> module,
            const pp::PipelineOptions &options);
};

} // namespace pp::run

#endif // PP_RUN_SOURCESTATE_H
