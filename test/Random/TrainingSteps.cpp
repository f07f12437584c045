//===- TrainingSteps.cpp - training steps in two ways ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "TrainingSteps.h"
#include "Stepper.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Model.h"
#include "pp/Reference/Interpreter.h"
#include "pp/Reference/Spmd.h"
#include "pp/Target/Artifact.h"
#include "pp/Target/KernelCompiler.h"
#include "pp/Transforms/Pipelines.h"
#include "pprt/ElementFormats.h"
#include "pprt/Program.h"
#include "pprt/Session.h"
#include "pprt/host/Elements.h"

using namespace mlir;
using namespace pp;
using namespace pp::testing;
using pp::reference::HostTensor;
using pprt::Expected;
using pprt::Status;
using pprt::host::StepValues;

void pp::testing::loadDialects(MLIRContext &context) {
  DialectRegistry registry;
  registry.insert<PPDialect, func::FuncDialect>();
  registerCostModels(registry);
  registerGradientModels(registry);
  registerShardingModels(registry);
  registerLinalgModels(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

namespace {

class Interpreter {
public:
  Interpreter(ModuleOp module, const Arguments &arguments)
      : main(module.lookupSymbol<func::FuncOp>("main")) {
    if (getLevel(module).value_or(Level::Graph) != Level::Graph)
      mesh = lookupMesh(module).getMesh();
    for (unsigned i = 0; i < main.getNumArguments(); ++i) {
      const auto given = arguments.find(getArgName(main, i).str());
      values.push_back(
          given != arguments.end()
              ? given->second
              : HostTensor(cast<RankedTensorType>(main.getArgumentTypes()[i])));
    }
  }

  FailureOr<StepValues> step() {
    auto results = mesh ? reference::evaluateSpmd(main, mesh, values)
                        : reference::evaluate(main, values);
    if (failed(results))
      return failure();
    StepValues told;
    for (auto [index, tensor] : llvm::enumerate(*results)) {
      const std::string name = getResultName(main, index).str();
      switch (getResultRole(main, index).value_or(Role::State)) {
      case Role::Loss:
        told.loss = tensor.values.front();
        break;
      case Role::Metric:
        told.metrics[name] = tensor.values;
        break;
      case Role::Gradient:
        told.gradients[name] = tensor.values;
        break;
      case Role::Param:
        told.parameters[name] = tensor.values;
        break;
      default:
        told.states[name] = tensor.values;
      }
    }
    return told;
  }

  /// Goes on from what another step left.
  void follow(const StepValues &leader) {
    for (const pprt::host::Values *tensors :
         {&leader.parameters, &leader.states})
      for (const auto &[name, elements] : *tensors)
        if (int64_t argument = findArg(main, name); argument >= 0)
          values[argument].values = elements;
  }

private:
  func::FuncOp main;
  MeshAttr mesh; ///< null for a module of level 1
  std::vector<HostTensor> values;
};

} // namespace

/// `tensor` as the runtime keeps it.
static std::vector<std::byte>
toBytes(const HostTensor &tensor, pprt::ppx::ElementType element, size_t size) {
  std::vector<std::byte> bytes(size);
  if (pprt::isFloat(element)) {
    pprt::host::convertFloats(pprt::ppx::ElementType_f64, tensor.values.data(),
                              element, bytes.data(), tensor.values.size());
    return bytes;
  }
  pprt::withFormat(element, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    auto *to = reinterpret_cast<Stored *>(bytes.data());
    for (double value : tensor.values)
      *to++ = static_cast<Stored>(value);
  });
  return bytes;
}

/// Sets all arguments, and returns those that are inputs.
static Expected<pprt::host::Batch> setArguments(pprt::Session &session,
                                                const Arguments &arguments) {
  pprt::host::Batch batch;
  for (auto [i, argument] : llvm::enumerate(session.artifact().arguments)) {
    std::vector<std::byte> bytes(session.argumentBytes(i));
    if (const auto given = arguments.find(argument->name);
        given != arguments.end())
      bytes = toBytes(given->second, argument->element, bytes.size());
    const bool isHeld = argument->role == pprt::ppx::Role_param ||
                        argument->role == pprt::ppx::Role_state;
    // A setup may read the inputs before the first step.
    Status status = isHeld ? session.setArgument(i, bytes.data(), bytes.size())
                           : session.setInput(i, bytes.data(), bytes.size());
    if (!status.ok())
      return status;
    if (!isHeld)
      batch.push_back(std::move(bytes));
  }
  return batch;
}

Status pp::testing::takeSteps(
    ModuleOp meaning, ModuleOp program, const Arguments &arguments, int count,
    function_ref<void(const StepValues &, const StepValues &)> compare) {
  auto artifact = buildArtifact(program);
  auto kernels = CompiledKernels::compile(program);
  if (failed(artifact) || failed(kernels) || failed(kernels->load()))
    return Status(pprt::ExitCode::doesNotCompile,
                  "expects a program that compiles");
  pprt::SessionOptions options;
  options.resolver = [&](const std::string &symbol) {
    return reinterpret_cast<void *>(kernels->lookup(symbol));
  };
  auto session = pprt::Session::create(
      std::shared_ptr<const pprt::ppx::ArtifactT>(std::move(*artifact)),
      options);
  if (!session)
    return session.status();
  // Padding, too.
  if (Status status = (*session)->initialize(/*seed=*/0); !status.ok())
    return status;
  auto batch = setArguments(**session, arguments);
  if (!batch)
    return batch.status();
  if (Status status = (*session)->begin(); !status.ok())
    return status;
  const auto stepper = run::makeSessionStepper(**session);
  Interpreter interpreter(meaning, arguments);
  for (int step = 0; step < count; ++step) {
    Expected<StepValues> ours = stepper->step(*batch);
    if (!ours)
      return ours.status();
    FailureOr<StepValues> judged = interpreter.step();
    if (failed(judged))
      return Status(pprt::ExitCode::verifyDiffers,
                    "expects a module that the interpreter can evaluate");
    compare(*ours, *judged);
    interpreter.follow(*ours);
  }
  return {};
}
