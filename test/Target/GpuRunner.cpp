//===- GpuRunner.cpp - runs a function of launches as PTX -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "GpuRunner.h"
#include "Gpu/Ptx.h"
#include "GpuBuffers.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PaddedRows.h"
#include "pp/Target/KernelCompiler.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using Bytes = pp::testing::Bytes;

bool pp::testing::runKernelOnGpu(func::FuncOp kernel,
                                 ArrayRef<std::shared_ptr<Bytes>> all,
                                 ArrayRef<int64_t> scalars, uint64_t seed,
                                 PtxObserver observe) {
  auto text = gpu::compileToPtx(kernel, "kernel", kGpu);
  auto shape = gpu::getLaunchShape(kernel);
  if (failed(text) || failed(shape))
    return false;
  if (observe)
    observe(*text);
  std::string error;
  auto module = ptx::Module::parse(*text, error);
  if (!module) {
    ADD_FAILURE() << error << "\n" << *text;
    return false;
  }
  GpuBuffers memory;
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = shape->grid;
  launch.block.x = shape->block;
  launch.seed = launch.errors = seed;
  auto pass = [&](uint64_t address) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&address);
    launch.parameters.insert(launch.parameters.end(), bytes, bytes + 8);
  };
  KernelParameters parameters = getKernelParameters(kernel);
  for (size_t index = 0; index < parameters.types.size(); ++index)
    pass(memory.add(all[index], parameters.access[index] != Access::Write));
  Bytes told(reinterpret_cast<const uint8_t *>(scalars.begin()),
             reinterpret_cast<const uint8_t *>(scalars.end()));
  pass(memory.add(std::move(told), true));
  pass(0); // no gate
  if (!module->run(launch, memory, error)) {
    ADD_FAILURE() << error << "\n" << *text;
    return false;
  }
  Operation *end = kernel.getBody().front().getTerminator();
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (isRowPadding(value.getDefiningOp())) {
      auto type = cast<RankedTensorType>(value.getType());
      auto rows = cast<RankedTensorType>(withoutRowPadding(value).getType());
      const int64_t bytes = type.getElementTypeBitWidth() / 8;
      EXPECT_TRUE(memory.isCompleteBut(parameters.ofResult[index],
                                       rows.getShape().back() * bytes,
                                       type.getShape().back() * bytes))
          << "rows are not whole, or what is between them is written";
    }
  EXPECT_TRUE(memory.isComplete()) << "results are not whole";
  return true;
}

bool pp::testing::hasGpuCompiler() { return !gpu::getLibdevice().empty(); }

std::vector<HostTensor> pp::testing::runOnGpu(ModuleOp module,
                                              ArrayRef<HostTensor> inputs,
                                              uint64_t seed,
                                              PtxObserver observe) {
  DialectRegistry registry;
  gpu::registerGpuDialects(registry);
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  const std::vector<int64_t> scalars = getLaunchScalars(module);
  return runLaunches(
      module,
      [&](func::FuncOp kernel, ArrayRef<std::shared_ptr<Bytes>> buffers) {
        return runKernelOnGpu(kernel, buffers, scalars, seed, observe);
      },
      inputs);
}

void pp::testing::compareOnGpu(const std::string &text, double low, double high,
                               double tolerance, PtxObserver observe) {
  compareKernels(text, low, high, tolerance, kGpu,
                 [&](ModuleOp module, ArrayRef<HostTensor> inputs) {
                   return runOnGpu(module, inputs, /*seed=*/text.size(),
                                   observe);
                 });
}
