//===- SpecialValuesTest.cpp - zeros, infinities, NaN ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops and reductions at the values for which formulas have
// exceptions, each paired with each: first the interpreter against what IEEE
// 754 says, where C does not say it already; then compiled kernels against the
// interpreter.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "KernelRunner.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using reference::HostTensor;

namespace {

const double specials[] = {0.0, -0.0, 1.0,  -1.0,     0.5,       -2.5, 3.0,
                           20., -20., 1e-3, INFINITY, -INFINITY, NAN};
constexpr int64_t count = std::size(specials);

/// The specials by rows or by columns, so that two tensors pair each with each.
HostTensor table(MLIRContext &context, Type element, bool byRows) {
  HostTensor tensor(RankedTensorType::get({count, count}, element));
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.values[i] = specials[byRows ? i / count : i % count];
  return tensor;
}

/// @main of `ops`, which compute %z of the given shape from %x and %y.
std::string program(const std::string &ops, const std::string &element,
                    const std::string &shape) {
  std::string in = "tensor<13x13x" + element + ">";
  std::string out = "tensor<" + shape + element + ">";
  std::string text = "func.func @main(%x: " + in + ", %y: " + in + ") -> " +
                     out + " {\n" + ops + "\nreturn %z : " + out + "\n}";
  for (size_t at; (at = text.find("%in")) != text.npos;)
    text.replace(at, 3, in);
  for (size_t at; (at = text.find("%out")) != text.npos;)
    text.replace(at, 4, out);
  return text;
}

/// Whether two numbers are of one kind, and near each other if they are finite.
bool agree(double got, double want, double tolerance) {
  // Beyond f32 the interpreter, which computes in f64, has a number.
  if (std::isinf(got) && std::abs(want) > 1e38)
    return true;
  if (std::isnan(want) || std::isinf(want))
    return std::isnan(want) ? std::isnan(got) : got == want;
  return std::abs(got - want) <= tolerance * std::max(1.0, std::abs(want));
}

/// A row maximum is the plain machine instruction, which drops NaN: there it is
/// left out with `ignoresNaN`.
void compare(const std::string &ops, const std::string &shape = "13x13x",
             bool ignoresNaN = false,
             const std::vector<std::string> &elements = {"f32", "f64"},
             const reference::EvaluateOptions &judged = {}) {
  for (const std::string &element : elements) {
    pp::testing::Context context;
    auto module = context.parse(program(ops, element, shape));
    ASSERT_TRUE(module) << ops;
    auto main = module->lookupSymbol<func::FuncOp>("main");
    Type type = getElementTypeOrSelf(main.getArgumentTypes()[0]);
    std::vector<HostTensor> inputs = {table(context, type, true),
                                      table(context, type, false)};
    auto want = reference::evaluate(main, inputs, judged);
    ASSERT_TRUE(succeeded(want));
    ASSERT_TRUE(pp::testing::formKernels(*module));
    CompileOptions options;
    options.useCache = false;
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(*module), options);
    ASSERT_TRUE(succeeded(kernels) && succeeded(kernels->load()));
    auto got = pp::testing::runLaunches(*module, *kernels, inputs);
    for (int64_t i = 0; i < (*want)[0].size(); ++i)
      EXPECT_TRUE((ignoresNaN && std::isnan((*want)[0].values[i])) ||
                  agree(got[0].values[i], (*want)[0].values[i],
                        element == "f32" ? 3e-6 : 1e-13))
          << ops << " on " << element << ": x " << inputs[0].values[i] << ", y "
          << inputs[1].values[i] << ": expects " << (*want)[0].values[i]
          << ", got " << got[0].values[i];
  }
}

TEST(SpecialValues, Interpreter) {
  pp::testing::Context context;
  auto run = [&](const std::string &ops, double x, double y) {
    std::string text =
        "func.func @main(%x: tensor<f64>, %y: tensor<f64>) -> tensor<f64> {\n" +
        ops + " : tensor<f64>\nreturn %z : tensor<f64>\n}";
    return context
        .run(text, {context.tensor("f64", {x}), context.tensor("f64", {y})})
        .at(0)
        .values.at(0);
  };
  for (double zero : {0.0, -0.0})
    EXPECT_EQ(run("%z = pp.sign %x", zero, 0), 0);
  EXPECT_EQ(run("%z = pp.sign %x", -INFINITY, 0), -1);
  EXPECT_TRUE(std::isnan(run("%z = pp.sign %x", NAN, 0)));
  for (std::string op : {"max", "min"})
    for (auto [x, y] :
         {std::pair(double(NAN), 1.0), std::pair(1.0, double(NAN))})
      EXPECT_TRUE(std::isnan(run("%z = pp." + op + " %x, %y", x, y)));
}

TEST(SpecialValues, Unary) {
  for (std::string op : {"neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh",
                         "erf", "logistic", "sin", "cos", "sign"})
    compare("%z = pp." + op + " %x : %in");
}

TEST(SpecialValues, Binary) {
  for (std::string op : {"add", "sub", "mul", "div", "max", "min", "pow"})
    compare("%z = pp." + op + " %x, %y : %in");
}

// Once: a little more than half way between two values is nearer to the larger
// one, also where f32 cannot tell.
TEST(SpecialValues, RoundingToHalves) {
  for (std::string more : {"0x3F70000000100000", "0x3F6FFFFFFFF00000",
                           "0x3F70000000000000", "0x7E37E43C8800759C"})
    compare("%more = pp.constant dense<" + more +
                "> : tensor<f64>\n"
                "%wide = pp.broadcast %more dims [] : tensor<f64> -> %in\n"
                "%sum = pp.add %x, %wide : %in\n"
                "%half = pp.convert %sum : %in -> tensor<13x13xbf16>\n"
                "%z = pp.convert %half : tensor<13x13xbf16> -> %in",
            "13x13x", /*ignoresNaN=*/false, {"f64"}, {/*roundToElement=*/true});
}

// Within one kernel, too: what was narrowed and widened again has lost bits,
// and so has the result of an op on halves.
TEST(SpecialValues, RoundsBetweenOps) {
  const reference::EvaluateOptions exactly = {/*roundToElement=*/true};
  const std::string third = "%t = pp.constant dense<0.3333333333333333> : "
                            "tensor<f64>\n"
                            "%ts = pp.broadcast %t dims [] : tensor<f64> -> "
                            "tensor<13x13xf64>\n"
                            "%third = pp.convert %ts : tensor<13x13xf64> -> "
                            "%in\n"
                            "%a = pp.add %x, %third : %in\n";
  for (auto [narrow, wide] :
       {std::pair("bf16", "f32"), {"bf16", "f64"}, {"f32", "f64"}})
    compare(third + "%n = pp.convert %a : %in -> tensor<13x13x" + narrow +
                ">\n%b = pp.convert %n : tensor<13x13x" + narrow +
                "> -> %in\n%z = pp.sub %a, %b : %in",
            "13x13x", /*ignoresNaN=*/false, {wide}, exactly);
  compare(third + "%m = pp.mul %a, %third : %in\n%s = pp.sub %m, %y : %in\n"
                  "%z = pp.add %s, %y : %in",
          "13x13x", /*ignoresNaN=*/false, {"bf16"}, exactly);
}

// Integers end somewhere.
TEST(SpecialValues, ToIntegers) {
  for (std::string integer : {"i32", "i64"})
    for (std::string scale : {"1.0", "1.0e9", "1.0e18"})
      compare("%c = pp.constant dense<" + scale +
              "> : tensor<f64>\n"
              "%cs = pp.broadcast %c dims [] : tensor<f64> -> "
              "tensor<13x13xf64>\n"
              "%scale = pp.convert %cs : tensor<13x13xf64> -> %in\n"
              "%far = pp.mul %x, %scale : %in\n"
              "%i = pp.convert %far : %in -> tensor<13x13x" +
              integer + ">\n%z = pp.convert %i : tensor<13x13x" + integer +
              "> -> %in");
}

TEST(SpecialValues, Comparisons) {
  for (std::string direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    compare("%c = pp.compare " + direction +
            " %x, %y : %in -> tensor<13x13xi1>\n"
            "%z = pp.select %c, %x, %y : tensor<13x13xi1>, %in");
}

TEST(SpecialValues, Reductions) {
  for (std::string reduction : {"sum", "max", "min", "prod"})
    for (std::string dim : {"0", "1"})
      compare("%z = pp.reduce " + reduction + " %x dims [" + dim +
                  "] : %in -> %out",
              "13x", reduction[0] == 'm');
}

// NaN comes before all numbers, and the first of equal elements before others.
TEST(SpecialValues, Selections) {
  for (std::string dim : {"0", "1"}) {
    const std::string top = dim == "0" ? "5x13x" : "13x5x";
    for (std::string of : {"x", "y"}) {
      compare("%i = pp.argmax %" + of + " dim " + dim +
                  " : %in -> tensor<13xi32>\n"
                  "%z = pp.convert %i : tensor<13xi32> -> %out",
              "13x");
      compare("%i = pp.top_k %" + of + " dim " + dim + " : %in -> tensor<" +
                  top + "i32>\n%z = pp.convert %i : tensor<" + top +
                  "i32> -> %out",
              top);
      compare("%z = pp.select_and_scatter %" + of + ", %y dims [" + dim +
              "] sizes [4] strides [1] dilation [1] "
              "low [1] high [2] : %in, %in");
    }
  }
}

} // namespace
