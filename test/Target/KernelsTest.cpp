//===- KernelsTest.cpp - compiled kernels against the reference -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every op and typical clusters: formed, compiled, run, and compared with the
// reference interpreter on the unformed function.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Reference/Testing.h"
#include "KernelRunner.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;

namespace {

struct Case {
  const char *name;
  /// %f: the float type, such as f32.
  std::string text;
  double low = -2, high = 2;
};

std::string replaceAll(std::string text, const std::string &from,
                       const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

HostTensor randomTensor(RankedTensorType type, std::mt19937 &random, double low,
                        double high) {
  HostTensor tensor(type);
  std::uniform_real_distribution<double> uniform(low, high);
  for (double &value : tensor.values)
    value = isa<FloatType>(type.getElementType()) ? uniform(random)
            : type.getElementType().isInteger(1)  ? double(random() % 2)
                                                  : double(random() % 9) - 1;
  tensor.roundToElement();
  return tensor;
}

/// Runs `text` both ways and compares to `tolerance`, relative to the largest.
void compare(const std::string &text, double low, double high,
             double tolerance) {
  pp::testing::Context context;
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : main.getArgumentTypes())
    inputs.push_back(
        randomTensor(cast<RankedTensorType>(type), random, low, high));
  auto expected = reference::evaluate(main, inputs);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(pp::testing::formKernels(*module));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  CompileOptions options;
  options.useCache = false;
  auto kernels =
      CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
  ASSERT_TRUE(succeeded(kernels)) << formed;
  ASSERT_TRUE(succeeded(kernels->load()));
  auto actual = pp::testing::runLaunches(*module, *kernels, inputs);
  ASSERT_EQ(actual.size(), expected->size()) << formed;
  for (size_t index = 0; index < actual.size(); ++index) {
    const HostTensor &want = (*expected)[index], &got = actual[index];
    double largest = 1e-30;
    for (double value : want.values)
      if (std::isfinite(value))
        largest = std::max(largest, std::abs(value));
    for (size_t at = 0; at < want.values.size(); ++at) {
      if (std::isnan(want.values[at]) || std::isinf(want.values[at])) {
        EXPECT_EQ(std::isnan(got.values[at]), std::isnan(want.values[at]))
            << formed;
        continue;
      }
      ASSERT_NEAR(got.values[at], want.values[at], tolerance * largest)
          << "result " << index << " element " << at << "\n"
          << formed;
    }
  }
}

class Kernels : public ::testing::TestWithParam<Case> {};

TEST_P(Kernels, F32) {
  compare(replaceAll(GetParam().text, "%f", "f32"), GetParam().low,
          GetParam().high, 3e-6);
}
TEST_P(Kernels, F64) {
  compare(replaceAll(GetParam().text, "%f", "f64"), GetParam().low,
          GetParam().high, 1e-13);
}
TEST_P(Kernels, BF16) {
  compare(replaceAll(GetParam().text, "%f", "bf16"), GetParam().low,
          GetParam().high, 4e-2);
}

std::string unary(const std::string &op) {
  return "func.func @main(%x: tensor<6x40x%f>) -> tensor<6x40x%f> {\n"
         "  %y = pp." +
         op + " %x : tensor<6x40x%f>\n  return %y : tensor<6x40x%f>\n}";
}
std::string binary(const std::string &op, const std::string &element = "%f") {
  std::string type = "tensor<6x40x" + element + ">";
  return "func.func @main(%x: " + type + ", %y: " + type + ") -> " + type +
         " {\n  %z = pp." + op + " %x, %y : " + type +
         "\n  return %z : " + type + "\n}";
}
std::string body(const std::string &arguments, const std::string &ops,
                 const std::string &value, const std::string &type) {
  return "func.func @main(" + arguments + ") -> (" + type + ") {\n" + ops +
         "\n  return " + value + " : " + type + "\n}";
}

INSTANTIATE_TEST_SUITE_P(
    Elementwise, Kernels,
    ::testing::Values(
        Case{"neg", unary("neg")}, Case{"abs", unary("abs")},
        Case{"exp", unary("exp")}, Case{"log", unary("log"), 0.1, 5},
        Case{"sqrt", unary("sqrt"), 0.1, 5},
        Case{"rsqrt", unary("rsqrt"), 0.1, 5}, Case{"tanh", unary("tanh")},
        Case{"erf", unary("erf")}, Case{"logistic", unary("logistic")},
        Case{"sin", unary("sin")}, Case{"cos", unary("cos")},
        Case{"sign", unary("sign")}, Case{"add", binary("add")},
        Case{"sub", binary("sub")}, Case{"mul", binary("mul")},
        Case{"div", binary("div"), 0.5, 2}, Case{"max", binary("max")},
        Case{"min", binary("min")}, Case{"pow", binary("pow"), 0.5, 2},
        Case{"divInts", binary("div", "i32")},
        Case{"andInts", binary("and", "i64")},
        Case{"orBools", binary("or", "i1")}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Shape, Kernels,
    ::testing::Values(
        Case{"broadcast", body("%x: tensor<6x%f>",
                               "  %y = pp.broadcast %x dims [1] : tensor<6x%f> "
                               "-> tensor<4x6x8x%f>",
                               "%y", "tensor<4x6x8x%f>")},
        Case{
            "reshape",
            body("%x: tensor<6x40x%f>",
                 "  %y = pp.reshape %x : tensor<6x40x%f> -> tensor<2x3x5x8x%f>",
                 "%y", "tensor<2x3x5x8x%f>")},
        Case{"reshapeOdd",
             body("%x: tensor<6x10x%f>",
                  "  %y = pp.reshape %x : tensor<6x10x%f> -> tensor<4x15x%f>",
                  "%y", "tensor<4x15x%f>")},
        Case{"transpose", body("%x: tensor<4x6x8x%f>",
                               "  %y = pp.transpose %x perm [2, 0, 1] : "
                               "tensor<4x6x8x%f> -> tensor<8x4x6x%f>",
                               "%y", "tensor<8x4x6x%f>")},
        Case{"slice", body("%x: tensor<4x6x8x%f>",
                           "  %y = pp.slice %x [0, 1, 2], [4, 6, 8], [1, 2, 3] "
                           ": tensor<4x6x8x%f> -> tensor<4x3x2x%f>",
                           "%y", "tensor<4x3x2x%f>")},
        Case{"pad",
             body("%x: tensor<4x6x%f>, %v: tensor<%f>",
                  "  %y = pp.pad %x, %v low [1, 0] high [0, 2] interior [0, 1] "
                  ": tensor<4x6x%f>, tensor<%f> -> tensor<5x13x%f>",
                  "%y", "tensor<5x13x%f>")},
        Case{"concatenate",
             body("%x: tensor<4x6x%f>, %z: tensor<4x3x%f>",
                  "  %y = pp.concatenate %x, %z dim 1 : tensor<4x6x%f>, "
                  "tensor<4x3x%f> -> tensor<4x9x%f>",
                  "%y", "tensor<4x9x%f>")},
        Case{"dynamicSlice",
             body("%x: tensor<4x9x%f>, %i: tensor<i32>, %j: tensor<i32>",
                  "  %y = pp.dynamic_slice %x[%i, %j] : tensor<4x9x%f>, "
                  "tensor<i32>, tensor<i32> -> tensor<4x3x%f>",
                  "%y", "tensor<4x3x%f>")},
        Case{"dynamicUpdateSlice",
             body("%x: tensor<4x9x%f>, %u: tensor<4x3x%f>, %i: tensor<i32>, "
                  "%j: tensor<i32>",
                  "  %y = pp.dynamic_update_slice %x, %u[%i, %j] : "
                  "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>",
                  "%y", "tensor<4x9x%f>")},
        // Both insertions and their sum are results: one base, three
        // destinations.
        Case{"insertionsAdded",
             body("%u: tensor<4x3x%f>, %v: tensor<4x5x%f>, %i: tensor<i32>, "
                  "%j: tensor<i32>",
                  "  %z = pp.constant dense<0.0> : tensor<%f>\n"
                  "  %c = pp.broadcast %z dims [] : tensor<%f> -> "
                  "tensor<4x9x%f>\n"
                  "  %a = pp.dynamic_update_slice %c, %u[%i, %j] : "
                  "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>\n"
                  "  %b = pp.dynamic_update_slice %c, %v[%j, %i] : "
                  "tensor<4x9x%f>, tensor<4x5x%f>, tensor<i32>, tensor<i32>\n"
                  "  %y = pp.add %a, %b : tensor<4x9x%f>",
                  "%a, %b, %y",
                  "tensor<4x9x%f>, tensor<4x9x%f>, tensor<4x9x%f>")},
        // The base of the insertion lies in the parameter it replaces, but not
        // before that has been read.
        Case{"insertionReplacesParameter",
             "func.func @main(%p: tensor<4x9x%f> {pp.role = #pp.role<param>, "
             "pp.name = \"p\"}, %x: tensor<4x9x%f>, %i: tensor<i32>, %j: "
             "tensor<i32>) -> (tensor<4x9x%f> {pp.role = #pp.role<param>, "
             "pp.name = \"p\"}) {\n"
             "  %base = pp.exp %x : tensor<4x9x%f>\n"
             "  %e = pp.exp %p : tensor<4x9x%f>\n"
             "  %s = pp.slice %e [0, 0], [4, 3], [1, 1] : tensor<4x9x%f> -> "
             "tensor<4x3x%f>\n"
             "  %y = pp.dynamic_update_slice %base, %s[%i, %j] : "
             "tensor<4x9x%f>, tensor<4x3x%f>, tensor<i32>, tensor<i32>\n"
             "  return %y : tensor<4x9x%f>\n}"},
        Case{"iota", body("%x: tensor<4x6x%f>",
                          "  %i = pp.iota dim 0 : tensor<4x6x%f>\n  %y = "
                          "pp.add %x, %i : tensor<4x6x%f>",
                          "%y", "tensor<4x6x%f>")},
        Case{"constant", body("",
                              "  %y = pp.constant dense<[[1.0, 2.0], [3.0, "
                              "4.0]]> : tensor<2x2x%f>",
                              "%y", "tensor<2x2x%f>")},
        Case{"convert",
             body("%x: tensor<4x6xi32>",
                  "  %y = pp.convert %x : tensor<4x6xi32> -> tensor<4x6x%f>",
                  "%y", "tensor<4x6x%f>")},
        Case{"select",
             body("%p: tensor<4x6xi1>, %x: tensor<4x6x%f>, %y: tensor<4x6x%f>",
                  "  %c = pp.compare lt %x, %y : tensor<4x6x%f> -> "
                  "tensor<4x6xi1>\n  %d = pp.and %c, %p : tensor<4x6xi1>\n  %z "
                  "= pp.select %d, %x, %y : tensor<4x6xi1>, tensor<4x6x%f>",
                  "%z", "tensor<4x6x%f>")}),
    [](const auto &info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Reductions, Kernels,
    ::testing::Values(
        Case{"sumRows", body("%x: tensor<6x40x%f>",
                             "  %y = pp.reduce sum %x dims [1] : "
                             "tensor<6x40x%f> -> tensor<6x%f>",
                             "%y", "tensor<6x%f>")},
        Case{"sumColumns", body("%x: tensor<600x128x%f>",
                                "  %y = pp.reduce sum %x dims [0] : "
                                "tensor<600x128x%f> -> tensor<128x%f>",
                                "%y", "tensor<128x%f>")},
        // What is read twice inside of a row is too large for the stack.
        Case{"wideRows",
             body("%x: tensor<4x140000x%f>",
                  "  %m = pp.reduce max %x dims [1] : tensor<4x140000x%f> -> "
                  "tensor<4x%f>\n"
                  "  %b = pp.broadcast %m dims [0] : tensor<4x%f> -> "
                  "tensor<4x140000x%f>\n"
                  "  %s = pp.sub %x, %b : tensor<4x140000x%f>\n"
                  "  %e = pp.exp %s : tensor<4x140000x%f>\n"
                  "  %d = pp.reduce min %e dims [1] : tensor<4x140000x%f> -> "
                  "tensor<4x%f>\n"
                  "  %t = pp.reduce min %s dims [1] : tensor<4x140000x%f> -> "
                  "tensor<4x%f>\n"
                  "  %y = pp.add %d, %t : tensor<4x%f>",
                  "%y", "tensor<4x%f>")},
        Case{"sumAll",
             body("%x: tensor<600x128x%f>",
                  "  %y = pp.reduce sum %x dims [0, 1] : tensor<600x128x%f> -> "
                  "tensor<%f>",
                  "%y", "tensor<%f>"),
             0, 1},
        Case{"maxMiddle", body("%x: tensor<4x6x8x%f>",
                               "  %y = pp.reduce max %x dims [1] : "
                               "tensor<4x6x8x%f> -> tensor<4x8x%f>",
                               "%y", "tensor<4x8x%f>")},
        Case{"prod", body("%x: tensor<4x6x%f>",
                          "  %y = pp.reduce prod %x dims [1] : tensor<4x6x%f> "
                          "-> tensor<4x%f>",
                          "%y", "tensor<4x%f>")},
        Case{"argmax",
             body("%x: tensor<4x6x%f>",
                  "  %y = pp.argmax %x dim 1 : tensor<4x6x%f> -> tensor<4xi32>",
                  "%y", "tensor<4xi32>")},
        Case{
            "topK",
            body("%x: tensor<4x6x%f>",
                 "  %y = pp.top_k %x dim 1 : tensor<4x6x%f> -> tensor<4x3xi32>",
                 "%y", "tensor<4x3xi32>")},
        Case{
            "topKOfEqual",
            body("%x: tensor<6x4x%f>",
                 "  %s = pp.sign %x : tensor<6x4x%f>\n"
                 "  %y = pp.top_k %s dim 0 : tensor<6x4x%f> -> tensor<6x4xi32>",
                 "%y", "tensor<6x4xi32>")},
        Case{"cumsum", body("%x: tensor<4x6x%f>",
                            "  %y = pp.cumsum %x dim 1 : tensor<4x6x%f>", "%y",
                            "tensor<4x6x%f>")},
        Case{"cumsumReverse",
             body("%x: tensor<4x6x%f>",
                  "  %y = pp.cumsum %x dim 0 reverse : tensor<4x6x%f>", "%y",
                  "tensor<4x6x%f>")},
        Case{"embedding",
             body("%x: tensor<7x40x%f>, %i: tensor<4x5xi32>",
                  "  %y = pp.gather %x[%i] batch 0 : tensor<7x40x%f>, "
                  "tensor<4x5xi32> -> tensor<4x5x40x%f>",
                  "%y", "tensor<4x5x40x%f>")},
        Case{"pick", body("%x: tensor<4x5x7x%f>, %i: tensor<4x5xi32>",
                          "  %y = pp.gather %x[%i] batch 2 : tensor<4x5x7x%f>, "
                          "tensor<4x5xi32> -> tensor<4x5x%f>",
                          "%y", "tensor<4x5x%f>")},
        Case{"scatter",
             body("%x: tensor<7x256x%f>, %i: tensor<4x5xi32>, %u: "
                  "tensor<4x5x256x%f>",
                  "  %y = pp.scatter_add %x[%i], %u batch 0 : "
                  "tensor<7x256x%f>, tensor<4x5xi32>, tensor<4x5x256x%f>",
                  "%y", "tensor<7x256x%f>")},
        Case{
            "scatterLabels",
            body(
                "%x: tensor<4x5x7x%f>, %i: tensor<4x5xi32>, %u: tensor<4x5x%f>",
                "  %y = pp.scatter_add %x[%i], %u batch 2 : tensor<4x5x7x%f>, "
                "tensor<4x5xi32>, tensor<4x5x%f>",
                "%y", "tensor<4x5x7x%f>")},
        Case{"scatterNowhere",
             body("%x: tensor<4x2x3x%f>, %i: tensor<4x5xi32>, %u: "
                  "tensor<4x5x3x%f>",
                  "  %s = pp.sin %x : tensor<4x2x3x%f>\n"
                  "  %e = pp.slice %s [0, 0, 0], [4, 0, 3], [1, 1, 1] : "
                  "tensor<4x2x3x%f> -> tensor<4x0x3x%f>\n"
                  "  %y = pp.scatter_add %e[%i], %u batch 1 : "
                  "tensor<4x0x3x%f>, tensor<4x5xi32>, tensor<4x5x3x%f>\n"
                  "  %r = pp.reduce sum %y dims [1] : tensor<4x0x3x%f> -> "
                  "tensor<4x3x%f>\n"
                  "  %t = pp.reduce sum %s dims [1] : tensor<4x2x3x%f> -> "
                  "tensor<4x3x%f>\n"
                  "  %z = pp.add %r, %t : tensor<4x3x%f>",
                  "%z", "tensor<4x3x%f>")},
        Case{"dotInts",
             body("%x: tensor<4x6xi32>, %y: tensor<6x5xi32>",
                  "  %z = pp.dot_general %x, %y batch [] x [] contract [1] x "
                  "[0] : tensor<4x6xi32>, tensor<6x5xi32> -> tensor<4x5xi32>",
                  "%z", "tensor<4x5xi32>")},
        Case{"dot",
             body("%x: tensor<3x4x6x%f>, %y: tensor<6x3x5x%f>, %r: "
                  "tensor<4x3x5x%f>",
                  "  %z = pp.dot_general %x, %y batch [0] x [1] contract [2] x "
                  "[0] : tensor<3x4x6x%f>, tensor<6x3x5x%f> -> "
                  "tensor<3x4x5x%f>\n  %t = pp.transpose %z perm [1, 0, 2] : "
                  "tensor<3x4x5x%f> -> tensor<4x3x5x%f>\n  %s = pp.add %t, %r "
                  ": tensor<4x3x5x%f>",
                  "%s", "tensor<4x3x5x%f>")},
        Case{"convolution",
             body("%x: tensor<3x5x6x4x%f>, %y: tensor<3x2x4x5x%f>",
                  "  %z = pp.convolution %x, %y batch [] x [] contract [3] x "
                  "[2] window [1, 2] x [0, 1] -> [1, 2] strides [2, 1] low "
                  "[1, 1] high [2, 0] dilation [1, 1] x [1, 2] : "
                  "tensor<3x5x6x4x%f>, tensor<3x2x4x5x%f> -> "
                  "tensor<3x3x5x5x%f>",
                  "%z", "tensor<3x3x5x5x%f>")},
        Case{"convolutionReversed",
             body("%x: tensor<2x3x4x2x%f>, %y: tensor<3x2x3x2x%f>",
                  "  %z = pp.convolution %x, %y batch [] x [] contract [3] x "
                  "[3] window [1, 2] x [0, 1] -> [1, 2] strides [1, 2] low "
                  "[1, 2] high [2, -1] dilation [2, 1] x [1, 1] reverse : "
                  "tensor<2x3x4x2x%f>, tensor<3x2x3x2x%f> -> "
                  "tensor<2x6x2x3x%f>",
                  "%z", "tensor<2x6x2x3x%f>")},
        Case{"convolutionGrouped",
             body("%x: tensor<3x4x2x3x%f>, %y: tensor<2x3x2x3x%f>",
                  "  %z = pp.convolution %x, %y batch [2] x [0] contract [3] x "
                  "[1] window [1] x [3] -> [1] strides [1] low [0] high [1] "
                  "dilation [2] x [1] : tensor<3x4x2x3x%f>, "
                  "tensor<2x3x2x3x%f> -> tensor<2x6x3x2x%f>",
                  "%z", "tensor<2x6x3x2x%f>")},
        Case{"convolutionInts",
             body("%x: tensor<2x4x3xi32>, %y: tensor<2x3x5xi32>",
                  "  %z = pp.convolution %x, %y batch [] x [] contract [2] x "
                  "[1] window [1] x [0] -> [1] strides [1] low [1] high [-1] "
                  "dilation [2] x [1] reverse : tensor<2x4x3xi32>, "
                  "tensor<2x3x5xi32> -> tensor<2x6x5xi32>",
                  "%z", "tensor<2x6x5xi32>")},
        Case{"poolSum",
             body("%x: tensor<3x5x6x4x%f>",
                  "  %y = pp.reduce_window sum %x dims [1, 2] sizes [3, 2] "
                  "strides [2, 3] dilation [1, 2] low [1, 0] high [1, -1] : "
                  "tensor<3x5x6x4x%f> -> tensor<3x3x1x4x%f>",
                  "%y", "tensor<3x3x1x4x%f>")},
        // As much is added behind as is cut off in front.
        Case{"poolMoved",
             body("%x: tensor<3x5x%f>",
                  "  %y = pp.reduce_window sum %x dims [1] sizes [2] strides "
                  "[1] dilation [1] low [-1] high [1] : tensor<3x5x%f> -> "
                  "tensor<3x4x%f>",
                  "%y", "tensor<3x4x%f>")},
        Case{"poolMax",
             body("%x: tensor<3x5x6x4x%f>",
                  "  %y = pp.reduce_window max %x dims [1, 2] sizes [3, 3] "
                  "strides [2, 2] dilation [1, 1] low [1, 1] high [1, 1] : "
                  "tensor<3x5x6x4x%f> -> tensor<3x3x3x4x%f>",
                  "%y", "tensor<3x3x3x4x%f>")},
        Case{"poolMaxGradient",
             body("%x: tensor<3x5x6x4x%f>, %u: tensor<3x3x4x4x%f>",
                  "  %y = pp.select_and_scatter %x, %u dims [1, 2] sizes [3, "
                  "3] strides [2, 2] dilation [1, 1] low [1, 2] high [1, 1] : "
                  "tensor<3x5x6x4x%f>, tensor<3x3x4x4x%f>",
                  "%y", "tensor<3x5x6x4x%f>")},
        Case{"randomBits", body("%s: tensor<i64>, %t: tensor<i32>",
                                "  %y = pp.random_bits %s, %t stream 7 : "
                                "tensor<i64>, tensor<i32> -> tensor<64x96xi32>",
                                "%y", "tensor<64x96xi32>")}),
    [](const auto &info) { return info.param.name; });

/// What a backward kernel computes again is compared with what a forward one
/// kept: an op rounds once, whatever stands around it.
TEST(ElementwiseKernels, RoundOnce) {
  compare(body("%x: tensor<4x5xf64>, %y: tensor<4x5xf64>, %d: tensor<5xf64>",
               "  %w = pp.broadcast %d dims [1] : tensor<5xf64> -> "
               "tensor<4x5xf64>\n"
               "  %p = pp.mul %x, %y : tensor<4x5xf64>\n"
               "  %s = pp.add %p, %x : tensor<4x5xf64>\n"
               "  %q = pp.div %s, %w : tensor<4x5xf64>\n"
               "  %r = pp.div %y, %w : tensor<4x5xf64>\n"
               "  %t = pp.add %q, %r : tensor<4x5xf64>\n"
               "  %u = pp.sub %t, %r : tensor<4x5xf64>\n"
               "  %v = pp.sqrt %u : tensor<4x5xf64>",
               "%v", "tensor<4x5xf64>"),
          1, 2, /*tolerance=*/0);
}

/// Clusters that nobody thought of.
TEST(RandomKernels, AgreeWithTheInterpreter) {
  pp::testing::RandomProgramOptions options;
  options.numOps = 10;
  options.sizes = {1, 2, 3, 5, 8, 17};
  options.maxElements = 2000;
  options.numMetrics = 4;
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    pp::testing::Context context;
    auto module = pp::testing::makeRandomProgram(context, seed, options);
    std::string text;
    llvm::raw_string_ostream(text) << *module;
    compare(text, -1, 1, 1e-11);
    compare(replaceAll(text, "f64", "f32"), -1, 1, 1e-3);
    if (HasFailure())
      return;
  }
}

} // namespace
