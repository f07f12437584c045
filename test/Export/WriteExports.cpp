//===- WriteExports.cpp - random programs as StableHLO, with their values -===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Random programs with random shardings over random meshes, partitioned and
// exported, for a test that runs them with XLA: K.mlir and K.mlir.json as
// pp-opt writes them, and K.values.json with whole inputs and the results that
// the reference interpreter has of the program before it was partitioned.
// Programs whose shardings are refused are left out. Fails where an op of the
// dialect has no form.
//
//   WriteExports --folder=DIR --devices=8 [--count=60] [--first=0]
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Transforms/Shard/RandomShardings.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Export/StableHLO.h"
#include "pp/IR/AllOps.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Interpreter.h"
#include "pp/Transforms/Passes.h"
#include "pprt/Files.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace pp;
using namespace pp::testing;
namespace cl = llvm::cl;

/// A forward graph, one of regroupings, one of all types, or micro-batches.
static OwningOpRef<ModuleOp> draw(MLIRContext &context, unsigned number) {
  RandomProgramOptions program;
  RandomShardingOptions shardings;
  program.numOps = 4 + number % 16;
  program.sizes = {2, 3, 4, 5, 6, 8};
  program.maxElements = 400;
  program.maxMagnitude = 1e4;
  program.numMetrics = 3;
  program.hasLiterals = program.stopsGradients = true;
  switch (number % 4) {
  case 0:
    break;
  case 1:
    program.regroups = true;
    program.sizes = {2, 4, 8, 6, 4, 3, 12};
    shardings.constraintPercent = 50;
    break;
  case 2:
    program.mixesTypes = true;
    program.sizes = {0, 1, 2, 3, 4, 6, 8};
    break;
  default:
    program.batch = 7;
    program.hasStates = true;
    shardings.hasTime = true;
  }
  OwningOpRef<ModuleOp> module = makeRandomProgram(context, number, program);
  addRandomShardings(*module, number, shardings);
  return module;
}

static LogicalResult partition(ModuleOp module) {
  PassManager passes(module.getContext());
  passes.addPass(createPropagateShardings());
  passes.addPass(createSplitScans());
  passes.addPass(createPadDimensions());
  passes.addPass(createPartition());
  passes.addPass(createOptimizeCollectives());
  return passes.run(module);
}

/// A list of lists, with NaN and Infinity as Python reads them.
static std::string spell(ArrayRef<reference::HostTensor> tensors) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "[";
  llvm::interleaveComma(tensors, out, [&](const reference::HostTensor &tensor) {
    out << "[";
    llvm::interleaveComma(tensor.values, out, [&](double value) {
      if (std::isfinite(value))
        out << llvm::format("%.17g", value);
      else
        out << (std::isnan(value) ? "NaN"
                : value > 0       ? "Infinity"
                                  : "-Infinity");
    });
    out << "]";
  });
  out << "]";
  return text;
}

static bool write(const std::string &path, const std::string &text) {
  pprt::Status written = pprt::writeFile(path, text.data(), text.size());
  if (!written.ok())
    llvm::errs() << written.message() << "\n";
  return written.ok();
}

/// False where something is at fault.
static bool writeProgram(ModuleOp module, unsigned number,
                         const std::string &folder, int64_t devices) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  auto inputs = makeRandomInputs(main, number);
  auto expected = reference::evaluate(main, inputs);
  if (failed(expected) || failed(partition(module)) ||
      lookupMesh(module).getMesh().getNumDevices() > devices)
    return true;
  const std::string path = folder + "/" + std::to_string(number);
  auto files = exportStableHLO(module, path + ".mlir");
  if (failed(files)) {
    module.print(llvm::errs());
    return false;
  }
  for (const ExportedFile &file : *files)
    if (!write(file.path, file.text))
      return false;
  return write(path + ".values.json",
               "{\"inputs\": " + spell(inputs) +
                   ",\n \"results\": " + spell(*expected) + "}\n");
}

/// Whether each op of levels 1 and 2 is in the table.
static bool hasAllForms(MLIRContext &context) {
  bool hasAll = true;
  visitAllOps([&](auto tag) {
    using OpTy = typename decltype(tag)::Type;
    OperationState state(UnknownLoc::get(&context), OpTy::getOperationName());
    OwningOpRef<Operation *> op = Operation::create(state);
    if (isa<AccumulateOp, MeshOp>(*op) || !isSpmdOp(*op) ||
        hasStableHLOForm(OpTy::getOperationName()))
      return;
    llvm::errs() << OpTy::getOperationName() << " has no form in StableHLO\n";
    hasAll = false;
  });
  return hasAll;
}

int main(int argc, char **argv) {
  cl::opt<std::string> folder("folder", cl::Required);
  cl::opt<unsigned> first("first", cl::init(0)), count("count", cl::init(60));
  cl::opt<int64_t> devices("devices", cl::Required);
  cl::ParseCommandLineOptions(argc, argv);
  DialectRegistry registry;
  registry.insert<PPDialect, func::FuncDialect>();
  registerShardingModels(registry);
  registerGradientModels(registry);
  registerCostModels(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  bool isRight = hasAllForms(context);
  std::string refusals;
  for (unsigned number = first; number < first + count; ++number) {
    OwningOpRef<ModuleOp> module = draw(context, number);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      refusals += diagnostic.str() + "\n";
      return success();
    });
    if (writeProgram(*module, number, folder, devices))
      continue;
    llvm::errs() << "program " << number << ": " << refusals << "\n";
    isRight = false;
  }
  return isRight ? 0 : 1;
}
