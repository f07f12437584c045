//===- SpecialValuesTest.cpp - zeros, infinities, NaN, subnormals ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops and reductions at the values for which formulas have
// exceptions, each paired with each: first the interpreter against what IEEE
// 754 says, where C does not say it already; then compiled kernels, of the
// processor and of GPUs, against the interpreter.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "GpuRunner.h"
#include "KernelCases.h"
#include "KernelRunner.h"
#include "pp/IR/Model.h"
#include "pp/IR/PlanKeys.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;
using reference::HostTensor;

namespace {

/// Subnormal in the type that is asked for.
constexpr double tiny = 1e-310;
const double specials[] = {0.0,  -0.0,  1.0,      -1.0,      0.5,  -2.5,
                           3.0,  20.,   -20.,     1e-3,      4096, 1e9,
                           tiny, -tiny, INFINITY, -INFINITY, NAN};
constexpr int64_t count = std::size(specials);

/// The specials by rows or by columns, so that two tensors pair each with each.
HostTensor table(MLIRContext &context, Type element, bool byRows) {
  HostTensor tensor(RankedTensorType::get({count, count}, element));
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = specials[byRows ? i / count : i % count];
    if (std::abs(value) == tiny && !element.isF64())
      value *= 1e270;
    tensor.values[i] = value;
  }
  tensor.roundToElement();
  return tensor;
}

/// The type of a tensor, such as tensor<15x15xf32>; %f is the element of the
/// inputs.
std::string tensorOf(const std::vector<int64_t> &shape,
                     const std::string &element = "%f") {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  return type + element + ">";
}
std::string square(const std::string &element = "%f") {
  return tensorOf({count, count}, element);
}
std::string line(const std::string &element = "%f") {
  return tensorOf({count}, element);
}

/// @main of `ops`, which compute %z of type %out from %x and %y of type %in.
std::string program(const std::string &ops, const std::string &element,
                    const std::string &out) {
  std::string text = "func.func @main(%x: %in, %y: %in) -> %out {\n" + ops +
                     "\nreturn %z : %out\n}";
  for (auto [from, to] :
       {std::pair("%in", square()), {"%out", out}, {"%f", element}})
    text = pp::testing::replaceAll(text, from, to);
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

/// Zeros have signs; NaN is NaN.
bool areSame(double got, double want) {
  return std::isnan(want)
             ? std::isnan(got)
             : got == want && std::signbit(got) == std::signbit(want);
}

struct Options {
  /// The result's type.
  std::string out = square();
  std::vector<std::string> elements = {"f32", "f64"};
  /// Every op rounds to its element, and what comes out is that to the bit.
  bool isExact = false;
  /// The same of ops on f32, whose result is then rounded to the element.
  bool isRoundedOnce = false;
  const char *numerics = "f32";
};

enum class Compiler { Processor, Gpu };

class SpecialValues : public ::testing::TestWithParam<Compiler> {
  void SetUp() override {
    if (GetParam() == Compiler::Gpu && !pp::testing::hasGpuCompiler())
      GTEST_SKIP() << "the build found no libdevice";
  }

protected:
  void compare(const std::string &ops, const Options &options = {}) {
    for (const std::string &element : options.elements)
      compareOn(element, ops, options);
  }

private:
  static std::vector<HostTensor> run(ModuleOp module,
                                     ArrayRef<HostTensor> inputs) {
    if (GetParam() == Compiler::Gpu)
      return pp::testing::runOnGpu(module, inputs, /*seed=*/7);
    CompileOptions options;
    options.useCache = false;
    auto kernels =
        CompiledKernels::compile(pp::testing::loopsKernels(module), options);
    if (failed(kernels) || failed(kernels->load()))
      return {};
    return pp::testing::runLaunches(module, *kernels, inputs);
  }

  /// In f32 what `inputs` are of bf16, and then rounded.
  static FailureOr<std::vector<HostTensor>>
  evaluateWide(const std::string &ops, const Options &options,
               std::vector<HostTensor> inputs) {
    pp::testing::Context context;
    auto module = context.parse(program(ops, "f32", options.out));
    auto main = module->lookupSymbol<func::FuncOp>("main");
    Type half = inputs.front().elementType();
    for (auto [input, type] : llvm::zip_equal(inputs, main.getArgumentTypes()))
      input.type = cast<RankedTensorType>(type);
    auto results = reference::evaluate(main, inputs, {/*roundToElement=*/true});
    if (succeeded(results))
      for (double &value : results->front().values)
        value = reference::roundTo(half, value);
    return results;
  }

  void compareOn(const std::string &element, const std::string &ops,
                 const Options &options) {
    pp::testing::Context context;
    auto module = context.parse(program(ops, element, options.out));
    ASSERT_TRUE(module) << ops;
    auto main = module->lookupSymbol<func::FuncOp>("main");
    Type type = getElementTypeOrSelf(main.getArgumentTypes()[0]),
         resultType = getElementTypeOrSelf(main.getResultTypes()[0]);
    std::vector<HostTensor> inputs = {table(context, type, true),
                                      table(context, type, false)};
    auto want = reference::evaluate(
        main, inputs,
        {/*roundToElement=*/options.isExact && !options.isRoundedOnce});
    ASSERT_TRUE(succeeded(want));
    if (options.isRoundedOnce)
      want = evaluateWide(ops, options, inputs);
    ASSERT_TRUE(succeeded(want));
    (*module)->setAttr(attrs::kPlan,
                       PlanAttr::get(module->getContext(),
                                     MeshAttr::get(module->getContext(), {}))
                           .withSetting(PlanKey::Numerics, options.numerics));
    ASSERT_TRUE(pp::testing::formKernels(
        *module, GetParam() == Compiler::Gpu ? pp::testing::kGpu : "cpu"));
    auto got = run(*module, inputs);
    ASSERT_EQ(got.size(), 1u) << ops << " on " << element;
    const double tolerance = element == "f32"   ? 3e-6
                             : element == "f64" ? 1e-13
                                                : 1e-2;
    for (int64_t i = 0; i < (*want)[0].size(); ++i) {
      // Beyond the type's largest number the interpreter goes on.
      const double mine = got[0].values[i],
                   its = reference::roundTo(resultType, (*want)[0].values[i]);
      EXPECT_TRUE(options.isExact ? areSame(mine, its)
                                  : agree(mine, its, tolerance))
          << ops << " on " << element << ": x " << inputs[0].values[i] << ", y "
          << inputs[1].values[i] << ": expects " << its << ", got " << mine;
    }
  }
};

TEST(SpecialValuesOfTheInterpreter, AreThoseOfIeee754) {
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

TEST_P(SpecialValues, Unary) {
  for (std::string op : {"neg", "abs", "exp", "log", "log1p", "sqrt", "rsqrt",
                         "tanh", "erf", "logistic", "sin", "cos", "sign"})
    compare("%z = pp." + op + " %x : %in");
}

TEST_P(SpecialValues, Binary) {
  for (std::string op : {"add", "sub", "mul", "div", "max", "min", "pow"})
    compare("%z = pp." + op + " %x, %y : %in");
}

// What IEEE 754 defines to the bit: signs of zeros and subnormals, too.
// One number that a whole row, or column, is divided by.
TEST_P(SpecialValues, SharedDivisors) {
  Options options;
  options.elements = {"f32", "f64", "bf16", "f16"};
  for (std::string of : {"x", "y"})
    for (std::string dim : {"0", "1"})
      for (std::string other : {"x", "y"})
        compare("%d = pp.reduce max %" + of + " dims [" + dim + "] : %in -> " +
                    line() + "\n%ds = pp.broadcast %d dims [" +
                    (dim == "0" ? "1" : "0") + "] : " + line() +
                    " -> %in\n%z = pp.div %" + other + ", %ds : %in",
                options);
}

TEST_P(SpecialValues, Exact) {
  Options exact;
  exact.elements = {"f32", "f64", "bf16", "f16"};
  exact.isExact = true;
  for (std::string op : {"neg", "abs", "sqrt", "sign"})
    compare("%z = pp." + op + " %x : %in", exact);
  for (std::string op : {"add", "sub", "mul", "div", "max", "min"})
    compare("%z = pp." + op + " %x, %y : %in", exact);
  for (std::string direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    compare("%c = pp.compare " + direction + " %x, %y : %in -> " +
                square("i1") + "\n%z = pp.select %c, %x, %y : " + square("i1") +
                ", %in",
            exact);
}

// Once: a little more than half way between two values is nearer to the larger
// one, also where f32 cannot tell.
TEST_P(SpecialValues, RoundingToNarrowFloats) {
  Options exact;
  exact.elements = {"f64"};
  exact.isExact = true;
  for (auto [narrow, more] :
       {std::pair<std::string, std::string>{"bf16", "0x3F70000000100000"},
        {"bf16", "0x3F6FFFFFFFF00000"},
        {"bf16", "0x3F70000000000000"},
        {"bf16", "0x7E37E43C8800759C"},
        {"f16", "0x3F40000000100000"},
        {"f16", "0x3F3FFFFFFFF00000"},
        {"f16", "0x3F40000000000000"},
        {"f16", "0x7E37E43C8800759C"}})
    compare("%more = pp.constant dense<" + more +
                "> : tensor<f64>\n"
                "%wide = pp.broadcast %more dims [] : tensor<f64> -> %in\n"
                "%sum = pp.add %x, %wide : %in\n"
                "%half = pp.convert %sum : %in -> " +
                square(narrow) + "\n%z = pp.convert %half : " + square(narrow) +
                " -> %in",
            exact);
}

// Within one kernel, too, what was narrowed and widened again has lost bits.
// The result of an op on halves has not, unless the plan asks for it.
TEST_P(SpecialValues, RoundsBetweenOps) {
  Options exact;
  exact.isExact = true;
  const std::string third = "%t = pp.constant dense<0.3333333333333333> : "
                            "tensor<f64>\n"
                            "%ts = pp.broadcast %t dims [] : tensor<f64> -> " +
                            square("f64") +
                            "\n%third = pp.convert %ts : " + square("f64") +
                            " -> %in\n%a = pp.add %x, %third : %in\n";
  for (auto [narrow, wide] : {std::pair("bf16", "f32"),
                              {"bf16", "f64"},
                              {"f16", "f32"},
                              {"f16", "f64"},
                              {"f32", "f64"}}) {
    exact.elements = {wide};
    compare(third + "%n = pp.convert %a : %in -> " + square(narrow) +
                "\n%b = pp.convert %n : " + square(narrow) +
                " -> %in\n%z = pp.sub %a, %b : %in",
            exact);
  }
  exact.elements = {"bf16", "f16"};
  // A number that both have.
  const std::string chain =
      pp::testing::replaceAll(third, "0.3333333333333333", "0.333984375") +
      "%m = pp.sub %a, %y : %in\n%s = pp.add %m, %third : %in\n"
      "%z = pp.mul %s, %third : %in";
  exact.isRoundedOnce = true;
  compare(chain, exact);
  exact.isRoundedOnce = false;
  exact.numerics = "strict";
  compare(chain, exact);
}

// Integers end somewhere.
TEST_P(SpecialValues, ToIntegers) {
  for (std::string integer : {"i32", "i64"})
    for (std::string scale : {"1.0", "1.0e9", "1.0e18"})
      compare("%c = pp.constant dense<" + scale +
              "> : tensor<f64>\n"
              "%cs = pp.broadcast %c dims [] : tensor<f64> -> " +
              square("f64") + "\n%scale = pp.convert %cs : " + square("f64") +
              " -> %in\n"
              "%distant = pp.mul %x, %scale : %in\n"
              "%i = pp.convert %distant : %in -> " +
              square(integer) + "\n%z = pp.convert %i : " + square(integer) +
              " -> %in");
}

TEST_P(SpecialValues, Reductions) {
  Options options;
  options.elements = {"f32", "f64", "bf16", "f16"};
  options.out = line();
  for (std::string reduction : {"sum", "max", "min", "prod"})
    for (std::string dim : {"0", "1"})
      for (std::string of : {"x", "y"})
        compare("%z = pp.reduce " + reduction + " %" + of + " dims [" + dim +
                    "] : %in -> %out",
                options);
}

// More than the lanes of a row have at once, of which the last are special.
TEST_P(SpecialValues, WideRows) {
  Options options;
  options.out = line();
  const std::string ones = tensorOf({count, 1350}),
                    row = tensorOf({count, 1350 + count});
  for (std::string of : {"%x", "%y"}) {
    const std::string ops = "%ones = pp.constant dense<1.0> : " + ones +
                            "\n%r = pp.concatenate %ones, " + of +
                            " dim 1 : " + ones + ", %in -> " + row + "\n";
    for (std::string reduction : {"sum", "max", "min"})
      compare(ops + "%z = pp.reduce " + reduction + " %r dims [1] : " + row +
                  " -> %out",
              options);
    compare(ops + "%i = pp.argmax %r dim 1 : " + row + " -> " + line("i32") +
                "\n%z = pp.convert %i : " + line("i32") + " -> %out",
            options);
  }
}

// What is added up, multiplied or compared may be no number, and an op behind
// that in the same kernel sees it.
TEST_P(SpecialValues, AreSeenBehindReductions) {
  const std::string more =
      "%l = pp.log %y : %in\n%places = pp.iota dim 0 : " + line("i32") + "\n";
  // A digit of the result for each direction.
  auto test = [&](const std::string &op, const std::string &out) {
    Options options;
    options.out = out;
    const std::string type = out == line() ? line("i1") : square("i1");
    std::string ops =
        more + "%s = " + op + "\n%zero = pp.constant dense<0.0> : %out\n";
    std::string sum = "%zero";
    for (auto [direction, digit] :
         {std::pair<std::string, std::string>{"ne", "1.0"},
          {"eq", "2.0"},
          {"ge", "4.0"}}) {
      ops += "%digit_" + direction + " = pp.constant dense<" + digit +
             "> : %out\n%is_" + direction + " = pp.compare " + direction +
             " %s, %s : %out -> " + type + "\n%as_" + direction +
             " = pp.select %is_" + direction + ", %digit_" + direction +
             ", %zero : " + type + ", %out\n%sum_" + direction + " = pp.add " +
             sum + ", %as_" + direction + " : %out\n";
      sum = "%sum_" + direction;
    }
    compare(ops + "%z = pp.neg " + sum + " : %out", options);
  };
  for (std::string of : {"x", "y", "l"}) {
    for (std::string reduction : {"sum", "max", "min", "prod"})
      for (std::string dim : {"0", "1"})
        test("pp.reduce " + reduction + " %" + of + " dims [" + dim +
                 "] : %in -> %out",
             line());
    for (std::string reduction : {"sum", "max"})
      test("pp.reduce_window " + reduction + " %" + of +
               " dims [1] sizes [3] strides [1] dilation [1] low [1] high [1] "
               ": %in -> %in",
           square());
    test("pp.cumsum %" + of + " dim 1 : %in", square());
  }
  test("pp.scatter_add %x[%places], %l batch 0 : %in, " + line("i32") + ", %in",
       square());
}

// However many are added up: bf16 and f16 soon round, even if they count by
// nines.
TEST_P(SpecialValues, SumsOfNarrowFloatsRoundOnce) {
  Options exact;
  exact.elements = {"bf16", "f16"};
  exact.isExact = true;
  const std::string many = tensorOf({600, 6});
  auto constant = [](const std::string &name, const std::string &value,
                     const std::string &type) {
    return name + " = pp.constant dense<" + value + "> : " + type + "\n";
  };
  const std::string ones = constant("%ones", "9.0", many);
  for (std::string reverse : {"", " reverse"}) {
    exact.out = many;
    compare(ones + "%z = pp.cumsum %ones dim 0" + reverse + " : " + many,
            exact);
  }
  exact.out = tensorOf({3, 6});
  compare(ones + constant("%places", "1", tensorOf({600}, "i32")) +
              constant("%table", "1.0", "%out") +
              "%z = pp.scatter_add %table[%places], %ones batch 0 : %out, " +
              tensorOf({600}, "i32") + ", " + many,
          exact);
  exact.out = tensorOf({6});
  compare(ones + "%z = pp.reduce sum %ones dims [0] : " + many + " -> %out",
          exact);
  exact.out = tensorOf({101, 6});
  compare(ones +
              "%z = pp.reduce_window sum %ones dims [0] sizes [500] strides "
              "[1] dilation [1] low [0] high [0] : " +
              many + " -> %out",
          exact);
}

// Infinities that leave an element out, as of a softmax: of some elements of a
// row, and of all.
TEST_P(SpecialValues, Masks) {
  Options options;
  options.elements = {"f32", "f64", "bf16", "f16"};
  auto mask = [](const std::string &of) {
    const std::string types = " : %in -> " + square("i1") + "\n";
    return "%a" + of + " = pp.abs %" + of + " : %in\n%c" + of +
           " = pp.compare lt %a" + of + ", %ten" + types + "%m" + of +
           " = pp.select %c" + of + ", %" + of + ", %hidden : " + square("i1") +
           ", %in\n";
  };
  compare("%ten = pp.constant dense<10.0> : %in\n"
          "%none = pp.constant dense<0.0> : %in\n"
          "%hidden = pp.log %none : %in\n" +
              mask("x") + mask("y") +
              "%sum = pp.add %mx, %my : %in\n"
              "%top = pp.reduce max %sum dims [1] : %in -> " +
              line() + "\n%tops = pp.broadcast %top dims [0] : " + line() +
              " -> %in\n"
              "%less = pp.sub %sum, %tops : %in\n"
              "%e = pp.exp %less : %in\n"
              "%all = pp.reduce sum %e dims [1] : %in -> " +
              line() + "\n%alls = pp.broadcast %all dims [0] : " + line() +
              " -> %in\n%z = pp.div %e, %alls : %in",
          options);
}

// NaN comes before all numbers, and the first of equal elements before others.
TEST_P(SpecialValues, Selections) {
  Options options;
  options.elements = {"f32", "f64", "bf16", "f16"};
  for (std::string dim : {"0", "1"}) {
    const std::vector<int64_t> top = dim == "0"
                                         ? std::vector<int64_t>{5, count}
                                         : std::vector<int64_t>{count, 5};
    for (std::string of : {"x", "y"}) {
      options.out = line();
      compare("%i = pp.argmax %" + of + " dim " + dim + " : %in -> " +
                  line("i32") + "\n%z = pp.convert %i : " + line("i32") +
                  " -> %out",
              options);
      options.out = tensorOf(top);
      compare("%i = pp.top_k %" + of + " dim " + dim + " : %in -> " +
                  tensorOf(top, "i32") +
                  "\n%z = pp.convert %i : " + tensorOf(top, "i32") + " -> %out",
              options);
      options.out = square();
      compare("%z = pp.select_and_scatter %" + of + ", %y dims [" + dim +
                  "] sizes [4] strides [1] dilation [1] "
                  "low [1] high [2] : %in, %in",
              options);
    }
  }
}

std::string nameOf(const ::testing::TestParamInfo<Compiler> &info) {
  return info.param == Compiler::Gpu ? "Gpu" : "Processor";
}
INSTANTIATE_TEST_SUITE_P(OnEvery, SpecialValues,
                         ::testing::Values(Compiler::Processor, Compiler::Gpu),
                         nameOf);

} // namespace
