//===- KernelsTest.cpp - compiled kernels against the reference -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every op and typical clusters: formed, compiled, run, and compared with the
// reference interpreter on the unformed function.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "KernelCases.h"
#include "KernelRunner.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using pp::testing::KernelCase;

namespace {

/// Runs `text` both ways and compares to `tolerance`, relative to the largest.
void compare(const std::string &text, double low, double high,
             double tolerance) {
  pp::testing::compareKernels(
      text, low, high, tolerance, "cpu",
      [](ModuleOp module, ArrayRef<HostTensor> inputs) {
        CompileOptions options;
        options.useCache = false;
        auto kernels = CompiledKernels::compile(
            pp::testing::loopsKernels(module), options);
        return succeeded(kernels) && succeeded(kernels->load())
                   ? pp::testing::runLaunches(module, *kernels, inputs)
                   : std::vector<HostTensor>();
      });
}

class Kernels : public ::testing::TestWithParam<KernelCase> {};

TEST_P(Kernels, AgreeWithTheInterpreter) {
  for (const auto &[text, bound] : GetParam().inEveryType())
    compare(text, GetParam().low, GetParam().high, bound);
}

std::string nameOf(const ::testing::TestParamInfo<KernelCase> &info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Elementwise, Kernels,
                         ::testing::ValuesIn(pp::testing::elementwiseCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Shape, Kernels,
                         ::testing::ValuesIn(pp::testing::shapeCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Reductions, Kernels,
                         ::testing::ValuesIn(pp::testing::reductionCases()),
                         nameOf);
INSTANTIATE_TEST_SUITE_P(Types, Kernels,
                         ::testing::ValuesIn(pp::testing::typeCases()), nameOf);

/// A row's part of an op drops dimensions: an attribute that speaks of them and
/// is not in the op's PP_Dimensions would be copied as it is.
TEST(KernelOps, SayWhichAttributesSpeakOfDimensions) {
  // A stream has a number, and windows have amounts for each of theirs.
  std::set<std::string> others = {"pp.random_bits stream"};
  for (std::string amount : {"strides", "low", "high"})
    for (std::string op :
         {"convolution", "reduce_window", "select_and_scatter"})
      others.insert("pp." + op + " " + amount);
  for (std::string amount : {"sizes", "dilations"})
    for (std::string op : {"reduce_window", "select_and_scatter"})
      others.insert("pp." + op + " " + amount);
  others.insert("pp.convolution lhs_dilation");
  others.insert("pp.convolution rhs_dilation");
  for (const KernelCase &one : pp::testing::allCases()) {
    pp::testing::Context context;
    auto module = context.parse(pp::testing::replaceAll(one.text, "%f", "f32"));
    ASSERT_TRUE(module) << one.name;
    module->walk([&](DimensionOpInterface op) {
      const std::string name = op->getName().getStringRef().str() + " ";
      std::set<std::string> said = others;
      for (const DimensionAttr &attr : op.getDimensionAttrs())
        said.insert(name + attr.name.str());
      auto attributes =
          dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute());
      for (NamedAttribute attribute :
           attributes ? attributes.getValue() : ArrayRef<NamedAttribute>()) {
        auto number = dyn_cast<IntegerAttr>(attribute.getValue());
        if (isa<DenseI64ArrayAttr>(attribute.getValue()) ||
            (number && number.getType().isInteger(64)))
          EXPECT_TRUE(said.count(name + attribute.getName().str()))
              << name << attribute.getName().str();
      }
    });
  }
}

/// What a backward kernel computes again is compared with what a forward one
/// kept: an op rounds once, whatever stands around it.
TEST(ElementwiseKernels, RoundOnce) {
  compare(pp::testing::mainOf(
              "%x: tensor<4x5xf64>, %y: tensor<4x5xf64>, %d: tensor<5xf64>",
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

} // namespace
