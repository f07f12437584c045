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

class GpuKernels : public ::testing::TestWithParam<KernelCase> {
  void SetUp() override {
    if (gpu::getLibdevice().empty())
      GTEST_SKIP() << "the build found no libdevice";
  }
};

/// What was run is then assembled, all types at once: starting ptxas takes
/// longer than most kernels.
TEST_P(GpuKernels, AgreeAndAssemble) {
  std::vector<std::string> modules;
  for (const auto &[text, bound] : GetParam().inEveryType())
    pp::testing::compareOnGpu(
        text, GetParam().low, GetParam().high, bound, [&](StringRef ptx) {
          modules.push_back(pp::testing::replaceAll(
              ptx.str(), "kernel", "kernel" + std::to_string(modules.size())));
        });
  if (*PP_PTXAS == 0)
    GTEST_SKIP() << "the build found no ptxas";
  assemble(gpu::joinPtx(llvm::to_vector_of<StringRef>(modules)),
           pp::testing::kGpu);
}

/// Calls `visit` with the PTX of each kernel of loops.
void compileAll(const std::string &text, const std::string &processor,
                llvm::function_ref<void(const std::string &)> visit) {
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  ASSERT_TRUE(pp::testing::formKernels(*module, pp::testing::kGpu));
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
          pp::testing::replaceAll(text, "%f", type), pp::testing::kGpu,
          [&, least = vectors](const std::string &ptx) {
            EXPECT_GE(countMatches(ptx, "(ld|st)\\.global\\S*\\.v4"), least)
                << ptx;
            EXPECT_EQ(countMatches(ptx, "(ld|st)\\.global(?!\\S*\\.v)"), 1u)
                << ptx;
          });
}

/// Sums of columns lie in shared memory: of fewer rows in a block, and of fewer
/// lanes, where they are long. Sums that find no room are each lane's own.
TEST(GpuKernelsRows, FitIntoSharedMemory) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  struct {
    int64_t rows, columns, sums;
    const char *form;
    int64_t block;
  } cases[] = {
      {8, 30, 1, "rows, 32 lanes:", 128},
      {8, 480, 2, "rows, 32 lanes:", 128},
      {8, 480, 4, "rows, 32 lanes:", 64},
      {1, 4000, 1, "rows, 256 lanes:", 256},
      {1, 6000, 1, "rows, 512 lanes:", 512},
      {1, 6200, 1, "rows, 512 lanes, 1 sums apart:", 512},
      {1, 3100, 2, "rows, 256 lanes, 1 sums apart:", 256},
  };
  for (const auto &[rows, columns, sums, form, block] : cases) {
    const std::string end = std::to_string(columns) + "xf64>",
                      start = "tensor<" + std::to_string(rows),
                      of = start + "x" + end, all = start + "x2x" + end;
    std::string text =
        "func.func private @k(%y0: " + all + ") -> " + all +
        " attributes {pp.kernel = #pp.kernel<loops>, pp.rows = #pp.rows<" +
        std::to_string(rows) + ", [[1, " + std::to_string(rows) +
        ", 1, 1, 1, 2, 1, 1, " + std::to_string(columns) + "]]>} {\n";
    const char *reductions[] = {"sum", "max", "min", "prod"};
    for (int64_t index = 0; index < sums; ++index) {
      const std::string here = std::to_string(index),
                        next = std::to_string(index + 1);
      text += "  %s" + here + " = pp.reduce " + reductions[index] +
              " %y0 dims [1] : " + all + " -> " + of + "\n  %b" + here +
              " = pp.broadcast %s" + here + " dims [0, 2] : " + of + " -> " +
              all + "\n  %y" + next + " = pp.sub %y" + here + ", %b" + here +
              " : " + all + "\n";
    }
    text += "  return %y" + std::to_string(sums) + " : " + all + "\n}";
    pp::testing::Context context;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = context.parse(text);
    ASSERT_TRUE(module) << text;
    auto kernel = module->lookupSymbol<func::FuncOp>("k");
    std::mt19937 random(7);
    HostTensor input = pp::testing::randomTensor(
        cast<RankedTensorType>(kernel.getArgumentTypes()[0]), random, -2, 2);
    auto expected = reference::evaluate(kernel, {input});
    ASSERT_TRUE(succeeded(expected));
    context.loadAllAvailableDialects();
    EXPECT_EQ(gpu::describeGpuKernel(kernel).substr(0, std::strlen(form)),
              form);
    EXPECT_EQ(gpu::getLaunchShape(kernel)->block, block) << form;
    auto bytes =
             std::make_shared<pp::testing::Bytes>(pp::testing::toBytes(input)),
         result = std::make_shared<pp::testing::Bytes>(bytes->size(), 0);
    ASSERT_TRUE(pp::testing::runKernelOnGpu(kernel, {bytes, result},
                                            std::vector<int64_t>(8), columns));
    pp::testing::expectNear(
        {pp::testing::fromBytes(
            cast<RankedTensorType>(kernel.getResultTypes()[0]), *result)},
        *expected, 1e-13, text);
  }
}

/// Several warps hand on one sum after the other, in rooms that come by turns.
TEST(GpuKernelsRows, HandOnOneSumAfterTheOther) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  std::string ops, last = "%x";
  for (int index = 0; index < 5; ++index) {
    const std::string number = std::to_string(index);
    ops += "  %s" + number + " = pp.reduce sum " + last +
           " dims [1] : tensor<2x3000x%f> -> tensor<2x%f>\n  %b" + number +
           " = pp.broadcast %s" + number +
           " dims [0] : tensor<2x%f> -> tensor<2x3000x%f>\n  %t" + number +
           " = pp.tanh %b" + number + " : tensor<2x3000x%f>\n  %y" + number +
           " = pp.sub " + last + ", %t" + number + " : tensor<2x3000x%f>\n";
    last = "%y" + number;
  }
  for (const char *type : {"f64", "f32"})
    pp::testing::compareOnGpu(
        pp::testing::replaceAll(pp::testing::mainOf("%x: tensor<2x3000x%f>",
                                                    ops, last,
                                                    "tensor<2x3000x%f>"),
                                "%f", type),
        -2, 2, type[1] == '6' ? 1e-11 : 1e-4);
}

/// What a softmax takes of each of the 4 elements that a lane has: an
/// exponential, and of the row one division.
TEST(GpuKernelsRows, DivideByOneReciprocal) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  compileAll(
      "func.func @main(%x: tensor<64x128xf32>) -> tensor<64x128xf32> {\n"
      "  %e = pp.exp %x : tensor<64x128xf32>\n"
      "  %s = pp.reduce sum %e dims [1] : tensor<64x128xf32> -> "
      "tensor<64xf32>\n"
      "  %b = pp.broadcast %s dims [0] : tensor<64xf32> -> tensor<64x128xf32>\n"
      "  %y = pp.div %e, %b : tensor<64x128xf32>\n"
      "  return %y : tensor<64x128xf32>\n}",
      pp::testing::kGpu, [](const std::string &ptx) {
        EXPECT_EQ(countMatches(ptx, "ex2\\.approx"), 4u) << ptx;
        EXPECT_EQ(countMatches(ptx, "(div|rcp)\\."), 1u) << ptx;
      });
}

/// A row's own numbers are read once for all that a lane has of it, though
/// nothing is summed, as in the gradient of a cross entropy.
TEST(GpuKernelsRows, ShareNumbersWithoutSums) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string of = "tensor<128x3x%f>", all = "tensor<128x3x1024x%f>",
                    places = "tensor<128x3xi32>",
                    allPlaces = "tensor<128x3x1024xi32>";
  const std::string text = pp::testing::mainOf(
      "%x: " + all + ", %m: " + of + ", %l: " + places,
      "  %ms = pp.broadcast %m dims [0, 1] : " + of + " -> " + all +
          "\n  %s = pp.sub %x, %ms : " + all + "\n  %e = pp.exp %s : " + all +
          "\n  %i = pp.iota dim 2 : " + allPlaces +
          "\n  %ls = pp.broadcast %l dims [0, 1] : " + places + " -> " +
          allPlaces + "\n  %c = pp.compare eq %i, %ls : " + allPlaces +
          " -> tensor<128x3x1024xi1>\n  %y = pp.select %c, %e, %s : "
          "tensor<128x3x1024xi1>, " +
          all,
      "%y", all);
  for (const char *type : {"f32", "bf16"}) {
    const std::string typed = pp::testing::replaceAll(text, "%f", type);
    compileAll(typed, pp::testing::kGpu, [](const std::string &ptx) {
      EXPECT_NE(ptx.find(": rows, "), std::string::npos) << ptx;
      EXPECT_EQ(countMatches(ptx, "ld\\.global(\\.nc)?\\.b(32|16)"), 3u) << ptx;
    });
    pp::testing::compareOnGpu(typed, -2, 2, type[0] == 'f' ? 3e-6 : 4e-2);
  }
}

/// Quotients that are numbers come out as these, and others are rounded once,
/// whatever the size of the divisor.
TEST(GpuKernelsRows, RoundQuotientsOnce) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string text =
      "func.func @main(%x: tensor<64x128xf32>, %d: tensor<64xf32>) -> "
      "tensor<64x128xf32> {\n"
      "  %b = pp.broadcast %d dims [0] : tensor<64xf32> -> tensor<64x128xf32>\n"
      "  %y = pp.div %x, %b : tensor<64x128xf32>\n"
      "  return %y : tensor<64x128xf32>\n}";
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module && pp::testing::formKernels(*module, pp::testing::kGpu));
  auto main = module->lookupSymbol<func::FuncOp>("main");
  HostTensor x(cast<RankedTensorType>(main.getArgumentTypes()[0])),
      d(cast<RankedTensorType>(main.getArgumentTypes()[1]));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(1, 2);
  for (int64_t row = 0; row < 64; ++row) {
    // From subnormal numbers to the largest; of the first rows, whole ones.
    const float divisor =
        row < 16 ? float(2 * row + 3)
                 : std::ldexp(uniform(random), int(row - 16) * 276 / 47 - 149);
    d.values[row] = divisor;
    for (int64_t column = 0; column < 128; ++column)
      x.values[row * 128 + column] = row < 16
                                         ? divisor * float(column)
                                         : float(divisor * uniform(random) / 2);
  }
  auto results = pp::testing::runOnGpu(*module, {x, d}, /*seed=*/1);
  ASSERT_EQ(results.size(), 1u);
  int64_t off = 0;
  for (int64_t at = 0; at < 64 * 128; ++at)
    off += float(results[0].values[at]) !=
           float(x.values[at]) / float(d.values[at / 128]);
  EXPECT_EQ(off, 0);
}

/// Two sums of columns that share a tensor read it once.
TEST(GpuKernelsRows, ReadOnceForSumsOfColumns) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string all = "tensor<4096x64xf32>", of = "tensor<64xf32>",
                    sum = " dims [0] : " + all + " -> " + of;
  compileAll("func.func @main(%x: " + all + ", %y: " + all + ") -> (" + of +
                 ", " + of + ") {\n  %p = pp.mul %x, %y : " + all +
                 "\n  %s = pp.reduce sum %p" + sum +
                 "\n  %t = pp.reduce sum %y" + sum +
                 "\n  return %s, %t : " + of + ", " + of + "\n}",
             pp::testing::kGpu, [](const std::string &ptx) {
               // Of each tensor, four turns of a loop at once.
               EXPECT_EQ(countMatches(ptx, "ld\\.global\\S*\\.v4"), 8u) << ptx;
               EXPECT_EQ(countMatches(ptx, "bar\\.sync"), 3u) << ptx;
             });
}

/// Threads that are more than a GPU has at once take several runs each, and the
/// first one what is left.
TEST(GpuKernelsFlat, TakeSeveralRuns) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string text = pp::testing::mainOf(
      "%x: tensor<1050001xf64>", "  %y = pp.neg %x : tensor<1050001xf64>", "%y",
      "tensor<1050001xf64>");
  compileAll(text, pp::testing::kGpu, [](const std::string &ptx) {
    EXPECT_NE(ptx.find("// 1026 blocks of 256"), std::string::npos) << ptx;
  });
  pp::testing::compareOnGpu(text, -2, 2, 0);
}

/// What is divided by a root takes two estimates, unless a choice depends on
/// it.
TEST(GpuKernelsFlat, DivideByRoots) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string all = "tensor<64x128xf32>";
  for (bool isCompared : {false, true}) {
    const std::string end =
        isCompared ? "  %c = pp.compare gt %q, %m : " + all +
                         " -> tensor<64x128xi1>\n"
                         "  %y = pp.select %c, %m, %v : tensor<64x128xi1>, " +
                         all + "\n"
                   : "  %p = pp.mul %q, %v : " + all +
                         "\n  %y = pp.sub %m, %p : " + all + "\n";
    compileAll(
        pp::testing::mainOf("%m: " + all + ", %v: " + all,
                            "  %r = pp.sqrt %v : " + all +
                                "\n  %e = pp.constant dense<1.0e-8> : " + all +
                                "\n  %d = pp.add %r, %e : " + all +
                                "\n  %q = pp.div %m, %d : " + all + "\n" + end,
                            "%y", all),
        pp::testing::kGpu, [&](const std::string &ptx) {
          const unsigned each = isCompared ? 0 : 4;
          EXPECT_EQ(countMatches(ptx, "sqrt\\.approx\\.ftz"), each) << ptx;
          EXPECT_EQ(countMatches(ptx, "rcp\\.approx\\.ftz"), each) << ptx;
          EXPECT_EQ(countMatches(ptx, "(div|sqrt)\\.rn"), 8 - 2 * each) << ptx;
          EXPECT_EQ(countMatches(ptx, "fma\\.rn"), each) << ptx;
        });
  }
}

/// A new op cannot forget GPUs: it is in a kernel that is run.
TEST(GpuKernelsOps, EveryOpIsRun) {
  std::set<std::string> run;
  for (const KernelCase &one : pp::testing::allCases()) {
    pp::testing::Context context;
    auto module = context.parse(pp::testing::replaceAll(one.text, "%f", "f32"));
    ASSERT_TRUE(module && pp::testing::formKernels(*module, pp::testing::kGpu))
        << one.name;
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
