//===- GpuInPlaceTest.cpp - results of GPU kernels that overwrite ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What a kernel may overwrite on a GPU is decided where it is formed: whatever
// a program reads of its states, there is code for it, without a race.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Reference/Testing.h"
#include "Gpu/Ptx.h"
#include "GpuRunner.h"
#include "mlir/IR/Diagnostics.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pp;

namespace {

/// States whose new values need old ones at other places, in other states, and
/// in sums: a kernel that overwrites one must not do so too early.
class States {
public:
  explicit States(unsigned seed) : random(seed) {
    const unsigned rank = 1 + random() % 3;
    for (unsigned dim = 0; dim < rank; ++dim)
      shape.push_back(
          std::vector<int64_t>{1, 2, 3, 4, 7, 8, 33, 64}[random() % 8]);
  }

  std::string build() {
    const std::string type = typeOf(shape);
    SmallVector<std::string> values{"%p", "%q", "%x"}, results, types;
    for (unsigned number = 2 + random() % 5; number > 0; --number)
      values.push_back(addOp(values));
    std::string marks;
    for (const char *name : {"p", "q"}) {
      results.push_back(
          values[random() % 4 == 0 ? 0 : values.size() - 1 - random() % 2]);
      types.push_back(type + " {pp.role = #pp.role<state>, pp.name = \"" +
                      name + "\"}");
    }
    results.push_back(values[random() % values.size()]);
    types.push_back(type);
    std::string text = "func.func @main(";
    for (const char *name : {"p", "q"})
      text += std::string("%") + name + ": " + type +
              " {pp.role = #pp.role<state>, pp.name = \"" + name + "\"}, ";
    return text + "%x: " + type + ", %i: tensor<i32>, %v: tensor<f64>) -> (" +
           llvm::join(types, ", ") + ") {\n" + ops + "  return " +
           llvm::join(results, ", ") + " : " + type + ", " + type + ", " +
           type + "\n}";
  }

private:
  using Shape = std::vector<int64_t>;
  static std::string typeOf(const Shape &shape, StringRef element = "f64") {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element.str() + ">";
  }
  std::string add(const std::string &op) {
    const std::string name = "%n" + std::to_string(count++);
    ops += "  " + name + " = pp." + op + "\n";
    return name;
  }
  static std::string list(const Shape &numbers) {
    return "[" +
           llvm::join(llvm::map_range(numbers,
                                      [](int64_t number) {
                                        return std::to_string(number);
                                      }),
                      ", ") +
           "]";
  }

  /// Of the same shape, from one or two of `values`.
  std::string addOp(ArrayRef<std::string> values) {
    const std::string type = typeOf(shape),
                      x = values[values.size() - 1 - random() % 2],
                      y = values[random() % values.size()];
    const unsigned dim = random() % shape.size();
    const int64_t size = shape[dim];
    const Shape ones(shape.size(), 1), zeros(shape.size(), 0);
    Shape kept = shape, dims, at = zeros, part = shape;
    kept.erase(kept.begin() + dim);
    for (unsigned other = 0; other < shape.size(); ++other)
      if (other != dim)
        dims.push_back(other);
    switch (random() % 9) {
    case 0: // what is next to it
      if (size > 1) {
        at[dim] = 1;
        part[dim] = size - 1;
        std::string s =
            add("slice " + x + " " + list(at) + ", " + list(shape) + ", " +
                list(ones) + " : " + type + " -> " + typeOf(part));
        return add("pad " + s + ", %v low " + list(zeros) + " high " +
                   list(at) + " interior " + list(zeros) + " : " +
                   typeOf(part) + ", tensor<f64> -> " + type);
      }
      break;
    case 1: // its row's sum
    case 2: {
      std::string s = add("reduce sum " + x + " dims [" + std::to_string(dim) +
                          "] : " + type + " -> " + typeOf(kept));
      return add("broadcast " + s + " dims " + list(dims) + " : " +
                 typeOf(kept) + " -> " + type);
    }
    case 3: { // the sum of all
      Shape all;
      for (unsigned other = 0; other < shape.size(); ++other)
        all.push_back(other);
      std::string s = add("reduce sum " + x + " dims " + list(all) + " : " +
                          type + " -> tensor<f64>");
      return add("broadcast " + s + " dims [] : tensor<f64> -> " + type);
    }
    case 4:
      return add("cumsum " + x + " dim " + std::to_string(dim) + " : " + type);
    case 5: // a part of another, anywhere
      part[dim] = (size + 1) / 2;
      {
        std::string where =
                        "[" +
                        llvm::join(SmallVector<std::string>(shape.size(), "%i"),
                                   ", ") +
                        "]",
                    scalars;
        for (size_t number = 0; number < shape.size(); ++number)
          scalars += ", tensor<i32>";
        std::string s = add("dynamic_slice " + x + where + " : " + type +
                            scalars + " -> " + typeOf(part));
        return add("dynamic_update_slice " + y + ", " + s + where + " : " +
                   type + ", " + typeOf(part) + scalars);
      }
    case 6: { // rows the other way round
      Shape perm, moved;
      for (size_t number = shape.size(); number-- > 0;) {
        perm.push_back(number);
        moved.push_back(shape[number]);
      }
      std::string s = add("transpose " + x + " perm " + list(perm) + " : " +
                          type + " -> " + typeOf(moved));
      return add("reshape " + s + " : " + typeOf(moved) + " -> " + type);
    }
    case 7:
      return add("tanh " + x + " : " + type);
    }
    return add("sub " + x + ", " + y + " : " + type);
  }

  std::mt19937 random;
  Shape shape;
  std::string ops;
  unsigned count = 0;
};

TEST(GpuInPlace, OverwritesWhatNobodyReads) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  for (unsigned seed = 0; seed < 160 && !::testing::Test::HasFatalFailure();
       ++seed) {
    SCOPED_TRACE(seed);
    pp::testing::compareOnGpu(States(seed).build(), -2, 2, 1e-12);
  }
}

/// Blocks whose threads look through indices together, one of them with fewer
/// elements than threads.
TEST(GpuInPlace, AddsRowsToTables) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const std::string table = "tensor<45x24xf64>",
                    state = " {pp.role = #pp.role<state>, pp.name = \"p\"}";
  pp::testing::compareOnGpu(
      "func.func @main(%p: " + table + state +
          ", %i: tensor<100xi32>, %u: tensor<100x24xf64>) -> (" + table +
          state + ") {\n  %y = pp.scatter_add %p[%i], %u batch 0 : " + table +
          ", tensor<100xi32>, tensor<100x24xf64>\n  return %y : " + table +
          "\n}",
      -2, 50, 0, [](StringRef ptx) {
        EXPECT_EQ(ptx.count(".param .u64 .ptr .global .align 64"), 3);
        EXPECT_TRUE(ptx.contains("bar.sync"));
      });
}

/// Kernels that are written down may ask for too much.
TEST(GpuInPlace, RefusesWhatOtherBlocksRead) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  auto kernelOf = [](const std::string &rows, const std::string &ops) {
    return "func.func private @k(%a: tensor<64x64xf32>) -> tensor<64x64xf32> "
           "attributes {pp.kernel = #pp.kernel<loops>, pp.inplace = "
           "array<i64: 0, 0>, pp.rows = #pp.rows<" +
           rows + ">} {\n" + ops +
           "  %y = pp.sub %a, %b : tensor<64x64xf32>\n"
           "  return %y : tensor<64x64xf32>\n}";
  };
  const std::string byRows = "64, [[1, 64, 1, 1, 1, 64]]",
                    asOne = "1, [[1, 1, 64, 1, 1, 64]]";
  const std::string ofAll = "  %s = pp.reduce sum %a dims [0, 1] : "
                            "tensor<64x64xf32> -> tensor<f32>\n"
                            "  %b = pp.broadcast %s dims [] : tensor<f32> -> "
                            "tensor<64x64xf32>\n",
                    ofRow = "  %s = pp.reduce sum %a dims [1] : "
                            "tensor<64x64xf32> -> tensor<64xf32>\n"
                            "  %b = pp.broadcast %s dims [0] : tensor<64xf32> "
                            "-> tensor<64x64xf32>\n",
                    ofBoth = "  %s = pp.reduce sum %a dims [1] : "
                             "tensor<64x64xf32> -> tensor<64xf32>\n"
                             "  %c = pp.broadcast %s dims [0] : tensor<64xf32> "
                             "-> tensor<64x64xf32>\n"
                             "  %d = pp.broadcast %s dims [1] : tensor<64xf32> "
                             "-> tensor<64x64xf32>\n"
                             "  %b = pp.add %c, %d : tensor<64x64xf32>\n";
  struct {
    std::string text;
    bool isRefused;
  } cases[] = {{kernelOf(byRows, ofRow), false},
               {kernelOf(asOne, ofAll), false},
               {kernelOf(byRows, ofAll), true},
               // A row has its own sum before it stores, but not the others'.
               {kernelOf(byRows, ofBoth), true}};
  for (const auto &[text, isRefused] : cases) {
    pp::testing::Context context;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    std::string message;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success(!isa<UnknownLoc>(diagnostic.getLocation()));
    });
    auto module = context.parse(text);
    ASSERT_TRUE(module) << text << message;
    auto kernel = module->lookupSymbol<func::FuncOp>("k");
    EXPECT_EQ(failed(gpu::compileToPtx(kernel, "kernel", pp::testing::kGpu)),
              isRefused)
        << text << message;
    if (isRefused)
      EXPECT_EQ(message, "expects a kernel whose result 0 overwrites what no "
                         "other thread reads, got argument 0 read for result "
                         "0");
  }
}

/// Whatever the passes form for a GPU has code for it.
TEST(GpuInPlace, RandomProgramsAreBuilt) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    pp::testing::Context context;
    pp::testing::RandomProgramOptions options;
    options.batch = 6;
    options.hasStates = options.hasLiterals = true;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = pp::testing::makeRandomProgram(context, seed, options);
    ASSERT_TRUE(pp::testing::formKernels(*module, pp::testing::kGpu));
    context.loadAllAvailableDialects();
    for (func::FuncOp kernel : pp::testing::loopsKernels(*module)) {
      OwningOpRef<ModuleOp> built = ModuleOp::create(kernel.getLoc());
      OpBuilder builder = OpBuilder::atBlockEnd(built->getBody());
      EXPECT_TRUE(succeeded(gpu::buildGpuKernel(builder, kernel, "kernel")))
          << "seed " << seed;
    }
  }
}

} // namespace
