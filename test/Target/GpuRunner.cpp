//===- GpuRunner.cpp - runs kernels as PTX --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "GpuRunner.h"
#include "../Reference/Testing.h"
#include "Gpu/Ptx.h"
#include "Ptx.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;

namespace {

/// Buffers of a launch, far apart, so that what is behind one is nobody's.
class Buffers : public ptx::Memory {
public:
  uint64_t add(pp::testing::Bytes &bytes, bool isWritten) {
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
    pp::testing::Bytes *bytes;
    std::vector<std::byte> written;
  };
  std::vector<Buffer> buffers;
};

} // namespace

bool pp::testing::GpuRunner::run(
    func::FuncOp kernel, ArrayRef<std::shared_ptr<pp::testing::Bytes>> all) {
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
  pp::testing::Bytes scalars(64, 0);
  pass(memory.add(scalars, true));
  pass(0); // no gate
  if (!module->run(launch, memory, error)) {
    ADD_FAILURE() << error << "\n" << *text;
    return false;
  }
  EXPECT_TRUE(memory.isComplete()) << "results are not whole";
  return true;
}

void pp::testing::compareOnGpu(const std::string &text, double low, double high,
                               double tolerance) {
  pp::testing::Context context;
  DialectRegistry registry;
  pp::gpu::registerGpuDialects(registry);
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : main.getArgumentTypes())
    inputs.push_back(pp::testing::randomTensor(cast<RankedTensorType>(type),
                                               random, low, high));
  auto expected = reference::evaluate(main, inputs);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(pp::testing::formKernels(*module, kGpu));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  GpuRunner runner(text.size());
  auto actual = pp::testing::runLaunches(
      *module,
      [&](func::FuncOp kernel,
          ArrayRef<std::shared_ptr<pp::testing::Bytes>> buffers) {
        return runner.run(kernel, buffers);
      },
      inputs);
  pp::testing::expectNear(actual, *expected, tolerance, formed);
}
