//===- KernelCacheTest.cpp - kernels kept between runs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A second compilation takes its objects from the cache; an entry that was
// damaged is compiled again and mended, whatever the damage.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "KernelRunner.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void writeFile(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

class KernelCache : public ::testing::Test {
protected:
  void SetUp() override {
    module = context.parse(R"(
      func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
        %y = pp.neg %x : tensor<3x5xf32>
        return %y : tensor<3x5xf32>
      })");
    ASSERT_TRUE(module && pp::testing::formKernels(*module));
  }

  pp::testing::Context context;
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
};

TEST_F(KernelCache, CompilesDamagedEntriesAgain) {
  llvm::SmallString<128> directory;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pp-cache", directory));
  llvm::scope_exit cleanup(
      [&] { llvm::sys::fs::remove_directories(directory); });
  options.cacheDirectory = directory.str().str();
  /// The number of objects that came from the cache, after a run that must be
  /// right.
  auto compileAndRun = [&] {
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    EXPECT_TRUE(succeeded(kernels) && succeeded(kernels->load()));
    auto type = RankedTensorType::get({3, 5}, Float32Type::get(&context));
    reference::HostTensor input(type, 2.0), expected(type, -2.0);
    auto results = pp::testing::runLaunches(*module, *kernels, input);
    EXPECT_EQ(results.at(0).values, expected.values);
    return kernels->getNumCached();
  };

  EXPECT_EQ(compileAndRun(), 0u);
  EXPECT_EQ(compileAndRun(), 1u);
  std::error_code error;
  llvm::sys::fs::directory_iterator entry(directory, error), end;
  ASSERT_TRUE(!error && entry != end);
  const std::string path = entry->path(), whole = readFile(path);
  ASSERT_GT(whole.size(), 100u);

  std::string flipped = whole;
  flipped[whole.size() / 2] ^= 1;
  for (const std::string &damaged :
       {std::string(), whole.substr(0, 20), whole.substr(0, whole.size() / 2),
        flipped, whole + "x", std::string(whole.size(), '\0')}) {
    writeFile(path, damaged);
    EXPECT_EQ(compileAndRun(), 0u) << damaged.size() << " bytes";
    EXPECT_EQ(readFile(path), whole);
    EXPECT_EQ(compileAndRun(), 1u);
  }
}

TEST_F(KernelCache, DoesWithoutADirectory) {
  options.cacheDirectory = "/dev/null/cache";
  for (int run = 0; run < 2; ++run) {
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    ASSERT_TRUE(succeeded(kernels));
    EXPECT_EQ(kernels->getNumCached(), 0u);
  }
}

} // namespace
