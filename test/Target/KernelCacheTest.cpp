//===- KernelCacheTest.cpp - kernels kept between runs --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A second compilation takes its objects from the cache, each kernel its own;
// an entry that was damaged is compiled again and mended, whatever the damage.
// The key holds all that decides what the machine code is.
//
//===----------------------------------------------------------------------===//
#include "../../lib/Target/KernelObject.h"
#include "../Reference/Testing.h"
#include "KernelRunner.h"
#include "pprt/Processor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SHA256.h"
#include "llvm/TargetParser/Host.h"
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
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pp-cache", directory));
    options.cacheDirectory = directory.str().str();
    use("neg");
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }

  /// Makes `module` the kernel of a unary op.
  void use(const std::string &op) {
    module = context.parse(
        "func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {\n"
        "  %y = pp." +
        op + " %x : tensor<3x5xf32>\n  return %y : tensor<3x5xf32>\n}");
    ASSERT_TRUE(module && pp::testing::formKernels(*module));
  }

  /// What the kernel makes of 2; counts what came from the cache.
  double compileAndRun(size_t &cached) {
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    EXPECT_TRUE(succeeded(kernels) && succeeded(kernels->load()));
    cached = kernels->getNumCached();
    auto type = RankedTensorType::get({3, 5}, Float32Type::get(&context));
    reference::HostTensor input(type, 2.0);
    return pp::testing::runLaunches(*module, *kernels, input)[0].values[14];
  }

  llvm::SmallString<128> directory;
  pp::testing::Context context;
  OwningOpRef<ModuleOp> module;
  CompileOptions options;
};

TEST_F(KernelCache, CompilesDamagedEntriesAgain) {
  /// The number of objects that came from the cache, after a run that must be
  /// right.
  auto compileAndRun = [&] {
    size_t cached = 0;
    EXPECT_EQ(KernelCache::compileAndRun(cached), -2.0);
    return cached;
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

TEST_F(KernelCache, KeepsKernelsApart) {
  for (size_t run = 0; run < 2; ++run)
    for (std::string op : {"neg", "abs"}) {
      use(op);
      size_t cached = 0;
      EXPECT_EQ(compileAndRun(cached), op == "neg" ? -2.0 : 2.0);
      EXPECT_EQ(cached, run);
    }
}

TEST_F(KernelCache, KnowsCompilerAndProcessor) {
  const std::string target = describeTarget();
  for (std::string part :
       {std::string(LLVM_VERSION_STRING), llvm::sys::getProcessTriple(),
        pprt::processorLevel(), llvm::sys::getHostCPUName().str()})
    EXPECT_NE((target + "\n").find("\n" + part + "\n"), std::string::npos)
        << part;
  // An entry is named by the hash of its kernel and all of that.
  size_t cached = 0;
  compileAndRun(cached);
  const std::string key =
      getKernelSymbol(pp::testing::loopsKernels(*module).front()) + "\n" +
      target;
  const std::string name =
      llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(key)),
                  /*LowerCase=*/true);
  EXPECT_TRUE(llvm::sys::fs::exists(directory + "/" + name + ".o"));
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
