//===- kernels.cpp - times every loops kernel of a program ----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// In: a module after pp-form-kernels. Out: per loops
// kernel its rows, its bytes, how often a step runs it, and its time with its
// rows divided over the cores; then the sum over a step, and compile times.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "pp/IR/Kernel.h"
#include "pp/IR/PP.h"
#include "pp/Target/KernelCompiler.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <condition_variable>
#include <thread>

using namespace mlir;
using Clock = std::chrono::steady_clock;

static double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

/// The best of several runs with rows divided over `threads`.
static double timeKernel(pp::KernelFunction function, void *const *arguments,
                         const int64_t *scalars, int64_t rows,
                         unsigned threads) {
  double best = 1e30;
  for (int round = 0; round < 7; ++round) {
    Clock::time_point start = Clock::now();
    std::vector<std::thread> team;
    for (unsigned part = 1; part < threads; ++part)
      team.emplace_back([=] {
        function(arguments, scalars, rows * part / threads,
                 rows * (part + 1) / threads);
      });
    function(arguments, scalars, 0, rows / threads);
    for (std::thread &worker : team)
      worker.join();
    best = std::min(best, millisecondsSince(start));
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    llvm::errs() << "usage: " << argv[0] << " PROGRAM.mlir\n";
    return 2;
  }
  MLIRContext context;
  context.loadDialect<pp::PPDialect, func::FuncDialect>();
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  llvm::StringMap<unsigned> launches;
  module->walk([&](pp::LaunchOp launch) { ++launches[launch.getCallee()]; });
  SmallVector<func::FuncOp> kernels;
  for (auto function : module->getOps<func::FuncOp>())
    if (pp::getKernelKind(function) == pp::KernelKind::Loops)
      kernels.push_back(function);

  Clock::time_point start = Clock::now();
  pp::CompileOptions options;
  options.useCache = false;
  auto compiled = pp::CompiledKernels::compile(kernels, options);
  if (failed(compiled) || failed(compiled->load()))
    return 1;
  llvm::outs() << kernels.size() << " kernels compiled in "
               << llvm::format("%.0f", millisecondsSince(start)) << " ms\n";

  unsigned threads = std::thread::hardware_concurrency();
  std::vector<int64_t> scalars(64, 0);
  double total = 0, totalBytes = 0;
  for (func::FuncOp kernel : kernels) {
    pp::KernelParameters parameters = pp::getKernelParameters(kernel);
    std::vector<std::vector<float>> buffers;
    std::vector<void *> arguments;
    for (auto [type, bytes] :
         llvm::zip_equal(parameters.types, parameters.bytes)) {
      // Small positive numbers; zero bits are index 0 for integers.
      bool isFloat = isa<FloatType>(getElementTypeOrSelf(type));
      buffers.emplace_back(bytes / sizeof(float) + 16, isFloat ? 0.5f : 0.0f);
      arguments.push_back(buffers.back().data());
    }
    int64_t rows = pp::getKernelRows(kernel);
    double best = timeKernel(compiled->lookup(pp::getKernelSymbol(kernel)),
                             arguments.data(), scalars.data(), rows, threads);
    double bytes = pp::getKernelCost(kernel).bytes;
    unsigned count = launches.lookup(kernel.getSymName());
    llvm::outs() << llvm::format(
        "%-10s rows %7lld  %8.2f MB  x%3u  %8.3f ms  %6.1f GB/s\n",
        kernel.getSymName().str().c_str(), static_cast<long long>(rows),
        bytes / 1e6, count, best, bytes / best / 1e6);
    total += best * count;
    totalBytes += bytes * count;
  }
  llvm::outs() << llvm::format("a step: %.1f ms, %.1f MB\n", total,
                               totalBytes / 1e6);
}
