//===- GpuRunner.cpp - runs a function of launches as PTX -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "GpuRunner.h"
#include "../Reference/Testing.h"
#include "Gpu/Libdevice.h"
#include "Gpu/Ptx.h"
#include "Ptx.h"
#include "pp/IR/Kernel.h"
#include "pp/Target/KernelCompiler.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using Bytes = pp::testing::Bytes;

namespace {

/// Buffers of a launch, far apart, so that what is behind one is nobody's.
class Buffers : public ptx::Memory {
public:
  uint64_t add(Bytes &bytes, bool isWritten) {
    const uint64_t address = (buffers.size() + 1) << 32;
    buffers.push_back(
        {&bytes, std::vector<std::byte>(bytes.size(), std::byte(isWritten))});
    return address;
  }
  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const uint64_t number = (address >> 32) - 1, offset = uint32_t(address);
    if (number < buffers.size() &&
        offset + size <= buffers[number].bytes->size())
      return reinterpret_cast<std::byte *>(buffers[number].bytes->data()) +
             offset;
    error = "expects an address inside of a buffer, got parameter " +
            std::to_string(number) + ", byte " + std::to_string(offset);
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    return buffers[(address >> 32) - 1].written.data() + uint32_t(address);
  }
  /// Whether all of every buffer has been written.
  bool isComplete() const {
    return llvm::all_of(buffers, [](const Buffer &buffer) {
      return !llvm::is_contained(buffer.written, std::byte(0));
    });
  }

private:
  struct Buffer {
    Bytes *bytes;
    std::vector<std::byte> written;
  };
  std::vector<Buffer> buffers;
};

} // namespace

bool pp::testing::runKernelOnGpu(func::FuncOp kernel,
                                 ArrayRef<std::shared_ptr<Bytes>> all,
                                 ArrayRef<int64_t> scalars, uint64_t seed) {
  auto text = gpu::compileToPtx(kernel, "kernel", kGpu);
  auto shape = gpu::getLaunchShape(kernel);
  if (failed(text) || failed(shape))
    return false;
  std::string error;
  auto module = ptx::Module::parse(*text, error);
  if (!module) {
    ADD_FAILURE() << error << "\n" << *text;
    return false;
  }
  Buffers memory;
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
    pass(memory.add(*all[index], parameters.access[index] != Access::Write));
  Bytes told(reinterpret_cast<const uint8_t *>(scalars.begin()),
             reinterpret_cast<const uint8_t *>(scalars.end()));
  pass(memory.add(told, true));
  pass(0); // no gate
  if (!module->run(launch, memory, error)) {
    ADD_FAILURE() << error << "\n" << *text;
    return false;
  }
  EXPECT_TRUE(memory.isComplete()) << "results are not whole";
  return true;
}

bool pp::testing::hasGpuCompiler() { return !gpu::getLibdevice().empty(); }

std::vector<HostTensor> pp::testing::runOnGpu(ModuleOp module,
                                              ArrayRef<HostTensor> inputs,
                                              uint64_t seed) {
  DialectRegistry registry;
  gpu::registerGpuDialects(registry);
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  const std::vector<int64_t> scalars = getLaunchScalars(module);
  return runLaunches(
      module,
      [&](func::FuncOp kernel, ArrayRef<std::shared_ptr<Bytes>> buffers) {
        return runKernelOnGpu(kernel, buffers, scalars, seed);
      },
      inputs);
}

void pp::testing::compareOnGpu(const std::string &text, double low, double high,
                               double tolerance) {
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : main.getArgumentTypes())
    inputs.push_back(pp::testing::randomTensor(cast<RankedTensorType>(type),
                                               random, low, high));
  auto expected = pp::testing::evaluateMain(*module, inputs);
  ASSERT_FALSE(expected.empty());
  ASSERT_TRUE(pp::testing::formKernels(*module, kGpu));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  auto actual = pp::testing::runOnGpu(*module, inputs, /*seed=*/text.size());
  pp::testing::expectNear(actual, expected, tolerance, formed);
}
