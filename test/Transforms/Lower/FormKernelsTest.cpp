//===- FormKernelsTest.cpp - kernels compute what the graph computed ------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Whole training steps before and after pp-form-kernels under the reference
// interpreter, and every contraction's record against its kernel's body.
//
//===----------------------------------------------------------------------===//
#include "FormKernels.h"
#include "Testing.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "pp/Analysis/Contraction.h"
#include "pp/IR/Aspects.h"
#include "pp/IR/Kernel.h"
#include "pp/Models/Models.h"
#include "pp/Transforms/Passes.h"
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using reference::HostTensor;

namespace {

struct TrainingContext : pp::testing::Context {
  TrainingContext() {
    DialectRegistry registry;
    registerGradientModels(registry);
    appendDialectRegistry(registry);
  }
};

/// Values in [-1, 1], or small indices.
std::vector<HostTensor> randomInputs(func::FuncOp function) {
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : function.getArgumentTypes()) {
    HostTensor tensor(cast<RankedTensorType>(type));
    bool isInteger = tensor.elementType().isInteger();
    for (double &value : tensor.values)
      value = isInteger ? static_cast<double>(random() % 4)
                        : static_cast<double>(random() % 2001) / 1000 - 1;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void expectEqualResults(ModuleOp module, const std::string &target = "cpu",
                        double tolerance = 0) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::vector<HostTensor> inputs = randomInputs(main);
  auto before = reference::evaluate(main, inputs);
  ASSERT_TRUE(succeeded(before));
  PassManager passes(module.getContext());
  FormKernelsOptions options;
  options.target = target;
  passes.addPass(createFormKernels(options));
  ASSERT_TRUE(succeeded(passes.run(module)));
  for (Operation &op : main.getBody().front().without_terminator())
    EXPECT_TRUE(isa<LaunchOp>(op)) << op.getName().getStringRef().str();
  auto after = reference::evaluate(main, inputs);
  ASSERT_TRUE(succeeded(after));
  ASSERT_EQ(before->size(), after->size());
  for (size_t index = 0; index < before->size(); ++index) {
    ASSERT_EQ((*before)[index].size(), (*after)[index].size());
    for (int64_t at = 0; at < (*before)[index].size(); ++at)
      EXPECT_LE(
          std::abs((*before)[index].values[at] - (*after)[index].values[at]),
          tolerance)
          << "result " << index;
  }
}

/// Sums over all layers of a deep model: of numbers, of rows, and of rows that
/// are all read once more in the end.
TEST(FormKernels, KernelsAreWithinLimits) {
  for (const std::string target : {"cpu", "sm_90"})
    for (const std::string type : {"tensor<f32>", "tensor<8x40xf32>"})
      for (bool isReadAgain : {false, true}) {
        std::string arguments = "%a0: " + type, ops, sum = "%a0";
        auto add = [&](const std::string &name, const std::string &op) {
          ops += "  %" + name + " = pp." + op + " : " + type + "\n";
          sum = "%" + name;
        };
        for (int i = 1; i < 200; ++i) {
          const std::string number = std::to_string(i);
          arguments += ", %a" + number + ": " + type;
          add("s" + number, "add " + sum + ", %a" + number);
        }
        for (int i = 1; isReadAgain && i < 200; ++i)
          add("t" + std::to_string(i),
              "add " + sum + ", %s" + std::to_string(i));
        TrainingContext context;
        auto module = context.parse("func.func @main(" + arguments + ") -> " +
                                    type + " {\n" + ops + "  return " + sum +
                                    " : " + type + "\n}");
        ASSERT_TRUE(module);
        expectEqualResults(*module, target);
        for (auto kernel : module->getOps<func::FuncOp>())
          if (getKernelKind(kernel) == KernelKind::Loops)
            EXPECT_LE(kernel.getNumArguments() + kernel.getNumResults(), 128u);
      }
}

double at(const HostTensor &tensor, const pprt::ppx::MatrixViewT &view,
          uint64_t batchOffset, uint64_t row, uint64_t column) {
  return tensor.values.at(view.offset + batchOffset + row * view.row_stride +
                          column * view.column_stride);
}

/// What the record says, in plain loops.
HostTensor computeRecord(const pprt::ppx::ContractionT &c,
                         const std::vector<HostTensor> &inputs,
                         RankedTensorType type) {
  HostTensor result(type, std::nan(""));
  uint64_t items = 1;
  for (uint64_t size : c.batch)
    items *= size;
  for (uint64_t item = 0; item < items; ++item) {
    auto batchOffset = [&](const pprt::ppx::MatrixViewT &view) {
      uint64_t offset = 0, rest = item;
      for (size_t dim = c.batch.size(); dim-- > 0; rest /= c.batch[dim])
        offset += rest % c.batch[dim] * view.batch[dim];
      return offset;
    };
    for (uint64_t row = 0; row < c.m; ++row)
      for (uint64_t column = 0; column < c.n; ++column) {
        double sum = 0;
        for (uint64_t step = 0; step < c.k; ++step)
          sum += at(inputs[0], *c.lhs, batchOffset(*c.lhs), row, step) *
                 at(inputs[1], *c.rhs, batchOffset(*c.rhs), step, column);
        sum *= c.alpha;
        for (const auto &epilogue : c.epilogues)
          sum += at(inputs[epilogue->parameter], *epilogue->view,
                    batchOffset(*epilogue->view), row, column);
        result.values.at(c.out->offset + batchOffset(*c.out) +
                         row * c.out->row_stride +
                         column * c.out->column_stride) = sum;
      }
  }
  return result;
}

void expectContractionsMatch(ModuleOp module) {
  unsigned count = 0;
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (getKernelKind(kernel) != KernelKind::Contraction)
      continue;
    ++count;
    auto record = matchContraction(kernel);
    ASSERT_TRUE(succeeded(record));
    std::vector<HostTensor> inputs = randomInputs(kernel);
    auto expected = reference::evaluate(kernel, inputs);
    ASSERT_TRUE(succeeded(expected));
    HostTensor actual =
        computeRecord(*record, inputs,
                      cast<RankedTensorType>(kernel.getResultTypes().front()));
    for (int64_t index = 0; index < actual.size(); ++index)
      ASSERT_NEAR((*expected)[0].values[index], actual.values[index], 1e-12)
          << kernel.getSymName().str() << " element " << index;
  }
  EXPECT_GT(count, 0u);
}

void check(OwningOpRef<ModuleOp> module) {
  ASSERT_TRUE(module);
  PassManager passes(module->getContext());
  passes.addPass(createDifferentiate());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  expectEqualResults(*module);
  expectContractionsMatch(*module);
}

std::string printSum(StringRef reduction, StringRef operand, StringRef dims,
                     StringRef result, StringRef element) {
  const std::string from = ("tensor<" + operand + "x" + element + ">").str(),
                    to = ("tensor<" + result + element + ">").str();
  return "func.func @main(%x: " + from + ") -> " + to +
         " {\n  %y = pp.mul %x, %x : " + from + "\n  %s = pp.reduce " +
         reduction.str() + " %y dims " + dims.str() + " : " + from + " -> " +
         to + "\n  return %s : " + to + "\n}";
}

/// Where a sum is too long for a core: into rows of whole dimensions, of parts
/// of one, longer ones where nothing divides them, one filled up, and those
/// again.
TEST(FormKernels, DividedSums) {
  struct {
    const char *operand, *dims, *result, *rows;
    int launches;
  } cases[] = {{"300x100", "[0, 1]", "", "300", 2},
               {"1x300x100", "[1, 2]", "1x", "1x300", 2},
               {"40000", "[0]", "", "4", 2},
               {"2x30011", "[0, 1]", "", "2", 2},
               {"16x20011", "[0, 1]", "", "16", 2},
               {"20000x2", "[0, 1]", "", "4", 2},
               {"64x256x3", "[0, 1, 2]", "", "64", 2},
               {"20011", "[0]", "", "2", 3},
               {"1x20011", "[0, 1]", "", "2", 3},
               {"20011x2", "[0, 1]", "", "3", 3}};
  for (const auto &[operand, dims, result, rows, launches] : cases)
    for (const char *reduction : {"sum", "max", "min"}) {
      SCOPED_TRACE(std::string(reduction) + " of " + operand);
      pp::testing::Context context;
      auto module =
          context.parse(printSum(reduction, operand, dims, result, "f64"));
      ASSERT_TRUE(module);
      expectEqualResults(*module, "sm_90", 1e-8);
      std::string text;
      llvm::raw_string_ostream(text) << *module;
      EXPECT_NE(text.find(std::string("-> tensor<") + rows + "xf64>"),
                std::string::npos)
          << text;
      auto main = module->lookupSymbol<func::FuncOp>("main");
      EXPECT_EQ(llvm::range_size(main.getOps<LaunchOp>()), launches) << text;
    }
}

/// Rows of 257 ones, which bf16 has not: rounded, they would be 256.
TEST(FormKernels, DividedSumsRoundOnce) {
  pp::testing::Context context;
  auto module = context.parse(printSum("sum", "300x257", "[0, 1]", "", "bf16"));
  ASSERT_TRUE(module);
  PassManager passes(module->getContext());
  FormKernelsOptions options;
  options.target = "sm_90";
  passes.addPass(createFormKernels(options));
  ASSERT_TRUE(succeeded(passes.run(*module)));
  auto main = module->lookupSymbol<func::FuncOp>("main");
  HostTensor ones(cast<RankedTensorType>(main.getArgumentTypes()[0]), 1.0);
  reference::EvaluateOptions rounds;
  rounds.roundToElement = true;
  auto results = reference::evaluate(main, {ones}, rounds);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].values[0], 77312); // 77100; 300 x 256 is 76800
}

TEST(FormKernels, MlpStep) {
  TrainingContext context;
  MlpConfig config;
  config.layers = 2;
  config.input = config.hidden = 6;
  config.classes = 4;
  config.batch = 5;
  check(buildMlp(context, config, Float64Type::get(&context)));
}

TEST(FormKernels, GptStep) {
  TrainingContext context;
  for (bool tied : {false, true}) {
    GptConfig config;
    config.layers = 2;
    config.hidden = 8;
    config.heads = 2;
    config.seq = 5;
    config.batch = 3;
    config.vocab = 7;
    config.tied = tied;
    check(buildGpt(context, config, Float64Type::get(&context)));
  }
}

TEST(Contraction, TransposesWhatHasNoStride) {
  TrainingContext context;
  auto module = context.parse(R"(
    func.func @main(%a: tensor<2x3x4xf64>, %b: tensor<2x4x5xf64>) -> tensor<3x5xf64> {
      %c = pp.dot_general %a, %b batch [] x [] contract [2, 0] x [1, 0]
        : tensor<2x3x4xf64>, tensor<2x4x5xf64> -> tensor<3x5xf64>
      return %c : tensor<3x5xf64>
    })");
  expectEqualResults(*module);
  expectContractionsMatch(*module);
}

TEST(Contraction, TakesAlongViewsFactorsAndAddends) {
  TrainingContext context;
  auto module = context.parse(R"(
    func.func @main(%qkv: tensor<2x3x2x4xf64>, %bias: tensor<4xf64>, %rest: tensor<2x4x3xf64>)
        -> tensor<2x4x3xf64> {
      %0 = pp.slice %qkv [0, 0, 0, 0], [2, 3, 1, 4], [1, 1, 1, 1]
        : tensor<2x3x2x4xf64> -> tensor<2x3x1x4xf64>
      %q = pp.reshape %0 : tensor<2x3x1x4xf64> -> tensor<2x3x4xf64>
      %1 = pp.slice %qkv [0, 0, 1, 0], [2, 3, 2, 4], [1, 1, 1, 1]
        : tensor<2x3x2x4xf64> -> tensor<2x3x1x4xf64>
      %k = pp.reshape %1 : tensor<2x3x1x4xf64> -> tensor<2x3x4xf64>
      %s = pp.dot_general %q, %k batch [0] x [0] contract [1] x [1]
        : tensor<2x3x4xf64>, tensor<2x3x4xf64> -> tensor<2x4x4xf64>
      %half = pp.constant dense<5.0e-01> : tensor<f64>
      %factor = pp.broadcast %half dims [] : tensor<f64> -> tensor<2x4x4xf64>
      %t = pp.mul %s, %factor : tensor<2x4x4xf64>
      %row = pp.broadcast %bias dims [2] : tensor<4xf64> -> tensor<2x4x4xf64>
      %u = pp.add %row, %t : tensor<2x4x4xf64>
      %v = pp.dot_general %u, %q batch [0] x [0] contract [2] x [2]
        : tensor<2x4x4xf64>, tensor<2x3x4xf64> -> tensor<2x4x3xf64>
      %w = pp.transpose %v perm [0, 2, 1] : tensor<2x4x3xf64> -> tensor<2x3x4xf64>
      %x = pp.reshape %rest : tensor<2x4x3xf64> -> tensor<2x3x4xf64>
      %y = pp.add %w, %x : tensor<2x3x4xf64>
      %z = pp.reshape %y : tensor<2x3x4xf64> -> tensor<2x4x3xf64>
      return %z : tensor<2x4x3xf64>
    })");
  expectEqualResults(*module);
  expectContractionsMatch(*module);
  EXPECT_EQ(llvm::range_size(module->getOps<func::FuncOp>()),
            3); // main and two contractions
}

} // namespace

/// A target whose library adds nothing in passing.
class PlainTarget final : public pprt::Target {
public:
  const std::string &name() const override { return label; }
  const std::string &processor() const override { return cpu.processor(); }
  pprt::Status
  verify(const pprt::ppx::ContractionT &contraction) const override {
    if (!contraction.epilogues.empty())
      return {pprt::ExitCode::badArtifact, "expects no epilogues"};
    return cpu.verify(contraction);
  }
  void plan(pprt::ppx::ContractionT &contraction,
            unsigned threads) const override {
    cpu.plan(contraction, threads);
  }

private:
  const std::string label = "plain";
  const pprt::Target &cpu = *pprt::findTarget("cpu");
};

TEST(Contraction, TakesAlongWhatTheTargetTakes) {
  TrainingContext context;
  const char *text =
      R"(func.func @main(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %c: tensor<8x6xf32>) -> tensor<8x6xf32> {
    %0 = pp.dot_general %a, %b batch [] x [] contract [1] x [0] : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = pp.add %0, %c : tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  })";
  const PlainTarget plain;
  for (const pprt::Target *target :
       {static_cast<const pprt::Target *>(&plain), pprt::findTarget("cpu")}) {
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    KernelTable table(*module);
    formContractions(main.getBody().front(), table, *target, /*threads=*/1,
                     /*epilogues=*/true);
    EXPECT_EQ(std::distance(main.getOps<LaunchOp>().begin(),
                            main.getOps<LaunchOp>().end()),
              1);
    EXPECT_EQ(main.getOps<AddOp>().empty(), target != &plain);
  }
}
