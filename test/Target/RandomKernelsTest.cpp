//===- RandomKernelsTest.cpp - clusters that nobody thought of ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Programs with tensors of every type, without elements and of one, as kernels
// of processors and of GPUs, compared with the reference interpreter. PTX is
// run by test/gpu/ptx.
//
//   RandomKernelsTests [--count=60] [--first=0]
//
//===----------------------------------------------------------------------===//
#include "../Random/Flags.h"
#include "../Random/RandomProgram.h"
#include "../Reference/Testing.h"
#include "GpuRunner.h"
#include "KernelRunner.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;

static pp::testing::Flags flags;

namespace {

std::string draw(unsigned number) {
  pp::testing::RandomProgramOptions options;
  options.numOps = 2 + number % 12;
  options.sizes = {0, 1, 2, 3, 5, 8, 17};
  options.maxElements = number % 5 ? 400 : 2000;
  options.numMetrics = std::min<int64_t>(options.numOps, 4);
  options.mixesTypes = options.hasLiterals = true;
  pp::testing::Context context;
  std::string text;
  llvm::raw_string_ostream(text)
      << *pp::testing::makeRandomProgram(context, number, options);
  return text;
}

std::vector<HostTensor> runOnCpu(ModuleOp module, ArrayRef<HostTensor> inputs) {
  CompileOptions options;
  options.useCache = false;
  auto kernels =
      CompiledKernels::compile(pp::testing::loopsKernels(module), options);
  return succeeded(kernels) && succeeded(kernels->load())
             ? pp::testing::runLaunches(module, *kernels, inputs)
             : std::vector<HostTensor>();
}

TEST(RandomKernels, AgreeWithTheInterpreter) {
  for (unsigned number = flags.first; number < flags.end(); ++number) {
    const std::string text = draw(number);
    SCOPED_TRACE("program " + std::to_string(number) + ":\n" + text);
    pp::testing::compareKernels(text, -1, 1, 1e-11, "cpu", runOnCpu);
    if (pp::testing::hasGpuCompiler())
      pp::testing::compareOnGpu(text, -1, 1, 1e-11);
  }
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  flags.count = 60;
  if (flags.parse(argc, argv))
    return RUN_ALL_TESTS();
  llvm::errs() << "usage: RandomKernelsTests [--count=N] [--first=N]\n";
  return 2;
}
