//===- GpuKernelsTest.cpp - kernels as PTX --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every op has a GPU lowering, and what comes of typical clusters is a module
// that ptxas assembles, where there is one.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "Gpu/ElementRules.h"
#include "Gpu/Libdevice.h"
#include "Gpu/Ptx.h"
#include "GpuRunner.h"
#include "KernelCases.h"
#include "KernelRunner.h"
#include "pp/IR/Kernel.h"
#include "pp/Target/KernelCompiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <gtest/gtest.h>
#include <regex>
#include <set>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using pp::testing::KernelCase;

namespace {

void assemble(const std::string &ptx, const std::string &processor) {
  llvm::SmallString<64> path;
  ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("kernel", "ptx", path));
  {
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    file << ptx;
  }
  std::string arch = "-arch=" + processor;
  llvm::StringRef arguments[] = {PP_PTXAS, arch, path, "-o", "/dev/null"};
  EXPECT_EQ(llvm::sys::ExecuteAndWait(PP_PTXAS, arguments), 0) << ptx;
  llvm::sys::fs::remove(path);
}

/// Threads would overwrite what others read.
bool isRefused(const std::string &name) {
  return name == "insertionReplacesParameter";
}

class GpuKernels : public ::testing::TestWithParam<KernelCase> {
  void SetUp() override {
    if (gpu::getLibdevice().empty())
      GTEST_SKIP() << "the build found no libdevice";
    if (isRefused(GetParam().name))
      GTEST_SKIP() << "refused: see InPlace";
  }
};

/// Runs `text` as PTX and in the interpreter, and compares.
void compare(const std::string &text, double low, double high,
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
  ASSERT_TRUE(pp::testing::formKernels(*module));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  auto actual = pp::testing::runOnGpu(*module, inputs, /*seed=*/text.size());
  pp::testing::expectNear(actual, expected, tolerance, formed);
}

TEST_P(GpuKernels, F32) {
  compare(pp::testing::replaceAll(GetParam().text, "%f", "f32"), GetParam().low,
          GetParam().high, 3e-6);
}
TEST_P(GpuKernels, F64) {
  compare(pp::testing::replaceAll(GetParam().text, "%f", "f64"), GetParam().low,
          GetParam().high, 1e-13);
}
TEST_P(GpuKernels, BF16) {
  compare(pp::testing::replaceAll(GetParam().text, "%f", "bf16"),
          GetParam().low, GetParam().high, 4e-2);
}

/// Calls `visit` with the PTX of each kernel of loops.
void compileAll(const std::string &text, const std::string &processor,
                llvm::function_ref<void(const std::string &)> visit) {
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  ASSERT_TRUE(pp::testing::formKernels(*module));
  DialectRegistry registry;
  pp::gpu::registerGpuDialects(registry);
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  for (func::FuncOp kernel : pp::testing::loopsKernels(*module)) {
    auto compiled = gpu::compileToPtx(kernel, "kernel", processor);
    ASSERT_TRUE(succeeded(compiled));
    visit(*compiled);
  }
}

TEST_P(GpuKernels, Assemble) {
  if (*PP_PTXAS == 0)
    GTEST_SKIP() << "the build found no ptxas";
  for (const char *type : {"f32", "f64", "bf16"}) {
    compileAll(pp::testing::replaceAll(GetParam().text, "%f", type), "sm_90",
               [](const std::string &ptx) { assemble(ptx, "sm_90"); });
    if (GetParam().text.find("%f") == std::string::npos)
      break; // it has no float type to change
  }
}

unsigned countMatches(const std::string &text, const char *pattern) {
  const std::regex regex(pattern);
  return unsigned(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {}));
}

// Where rows are whole vectors, nothing but the gate is read by elements.
TEST(GpuKernelsVectors, AccessMemory) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::pair<const char *, unsigned> texts[] = {
      {"func.func @main(%x: tensor<64x128x%f>, %y: tensor<64x128x%f>) -> "
       "tensor<64x128x%f> {\n"
       "  %a = pp.add %x, %y : tensor<64x128x%f>\n"
       "  %t = pp.tanh %a : tensor<64x128x%f>\n"
       "  return %t : tensor<64x128x%f>\n}",
       3},
      {"func.func @main(%x: tensor<64x128x%f>, %y: tensor<64x128x%f>) -> "
       "tensor<64x128x%f> {\n"
       "  %m = pp.reduce max %x dims [1] : tensor<64x128x%f> -> tensor<64x%f>\n"
       "  %b = pp.broadcast %m dims [0] : tensor<64x%f> -> tensor<64x128x%f>\n"
       "  %s = pp.sub %x, %b : tensor<64x128x%f>\n"
       "  %z = pp.mul %s, %y : tensor<64x128x%f>\n"
       "  return %z : tensor<64x128x%f>\n}",
       3},
      // Each lane has some columns.
      {"func.func @main(%x: tensor<64x128x%f>) -> tensor<128x%f> {\n"
       "  %s = pp.reduce sum %x dims [0] : tensor<64x128x%f> -> "
       "tensor<128x%f>\n"
       "  return %s : tensor<128x%f>\n}",
       2}};
  for (const auto &[text, vectors] : texts)
    for (const char *type : {"f32", "bf16"}) // f64 by two
      compileAll(
          pp::testing::replaceAll(text, "%f", type), "sm_90",
          [&, least = vectors](const std::string &ptx) {
            EXPECT_GE(countMatches(ptx, "(ld|st)\\.global\\S*\\.v4"), least)
                << ptx;
            EXPECT_EQ(countMatches(ptx, "(ld|st)\\.global(?!\\S*\\.v)"), 1u)
                << ptx;
          });
}

TEST(GpuKernelsInPlace, RefusesWhatOthersRead) {
  for (const KernelCase &one : pp::testing::shapeCases()) {
    if (!isRefused(one.name))
      continue;
    pp::testing::Context context;
    auto module = context.parse(pp::testing::replaceAll(one.text, "%f", "f32"));
    ASSERT_TRUE(pp::testing::formKernels(*module));
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    module->getContext()->appendDialectRegistry(registry);
    module->getContext()->loadAllAvailableDialects();
    for (func::FuncOp kernel : pp::testing::loopsKernels(*module))
      EXPECT_TRUE(failed(gpu::compileToPtx(kernel, "kernel", "sm_90")));
  }
}

/// A new op cannot forget GPUs: it has a rule, and a kernel that is run.
TEST(GpuKernelsOps, EveryOpIsRun) {
  std::set<std::string> run;
  for (const auto &cases :
       {pp::testing::elementwiseCases(), pp::testing::shapeCases(),
        pp::testing::reductionCases(), pp::testing::typeCases()})
    for (const KernelCase &one : cases) {
      if (isRefused(one.name))
        continue;
      pp::testing::Context context;
      auto module =
          context.parse(pp::testing::replaceAll(one.text, "%f", "f32"));
      ASSERT_TRUE(module && pp::testing::formKernels(*module)) << one.name;
      for (func::FuncOp kernel : pp::testing::loopsKernels(*module))
        for (Operation &op : kernel.getBody().front().without_terminator())
          run.insert(op.getName().getStringRef().str());
    }
  pp::testing::Context context;
  unsigned count = 0;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("pp")) {
    Operation *op = Operation::create(
        OperationState(UnknownLoc::get(&context), OperationName(name)));
    const bool isInKernels = isKernelOp(op);
    op->destroy();
    if (!isInKernels)
      continue;
    ++count;
    EXPECT_TRUE(gpu::hasElementRule(name)) << name.getStringRef().str();
    EXPECT_TRUE(run.count(name.getStringRef().str()))
        << name.getStringRef().str() << " is in no kernel that is run";
  }
  EXPECT_GT(count, 45u);
}

std::string nameOf(const ::testing::TestParamInfo<KernelCase> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Elementwise, GpuKernels,
                         ::testing::ValuesIn(pp::testing::elementwiseCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Shape, GpuKernels,
                         ::testing::ValuesIn(pp::testing::shapeCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Reductions, GpuKernels,
                         ::testing::ValuesIn(pp::testing::reductionCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Types, GpuKernels,
                         ::testing::ValuesIn(pp::testing::typeCases()), nameOf);

} // namespace
