//===- GpuKernelsTest.cpp - kernels as PTX --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every op has a GPU lowering, and what comes of typical clusters is a module
// that ptxas assembles, where there is one.
//
//===----------------------------------------------------------------------===//
#include "../Random/RandomProgram.h"
#include "../Reference/Testing.h"
#include "Gpu/ElementRules.h"
#include "Gpu/Libdevice.h"
#include "Gpu/Ptx.h"
#include "KernelCases.h"
#include "KernelRunner.h"
#include "Ptx.h"
#include "pp/IR/Aspects.h"
#include "pp/Target/KernelCompiler.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <gtest/gtest.h>
#include <regex>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;
using pp::testing::KernelCase;

namespace {

/// Kernels are formed and compiled for it.
constexpr const char *kProcessor = "sm_90";

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

/// Buffers of a launch, far apart, so that what is behind one is nobody's.
class Buffers : public ptx::Memory {
public:
  uint64_t add(pp::testing::Bytes &bytes, bool isWritten) {
    const uint64_t address = (buffers.size() + 1) << 32;
    buffers.push_back(
        {&bytes, std::vector<std::byte>(bytes.size(), std::byte(isWritten))});
    return address;
  }
  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const uint64_t number = (address >> 32) - 1, offset = uint32_t(address);
    if (number < buffers.size() &&
        offset + size <= buffers[number].bytes->size())
      return reinterpret_cast<std::byte *>(buffers[number].bytes->data()) +
             offset;
    error = "expects an address inside of a buffer, got parameter " +
            std::to_string(number) + ", byte " + std::to_string(offset);
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    return buffers[(address >> 32) - 1].written.data() + uint32_t(address);
  }
  /// Whether all of every buffer has been written.
  bool isComplete() const {
    return llvm::all_of(buffers, [](const Buffer &buffer) {
      return !llvm::is_contained(buffer.written, std::byte(0));
    });
  }

private:
  struct Buffer {
    pp::testing::Bytes *bytes;
    std::vector<std::byte> written;
  };
  std::vector<Buffer> buffers;
};

class GpuRunner {
public:
  explicit GpuRunner(uint64_t seed) : seed(seed) {}

  bool run(func::FuncOp kernel,
           ArrayRef<std::shared_ptr<pp::testing::Bytes>> all) {
    auto text = gpu::compileToPtx(kernel, "kernel", kProcessor);
    auto shape = gpu::getLaunchShape(kernel);
    if (failed(text) || failed(shape))
      return false;
    std::string error;
    auto module = ptx::Module::parse(*text, error);
    if (!module) {
      ADD_FAILURE() << error << "\n" << *text;
      return false;
    }
    Buffers memory;
    ptx::Launch launch;
    launch.entry = "kernel";
    launch.grid.x = shape->grid;
    launch.block.x = shape->block;
    launch.seed = launch.errors = seed;
    auto pass = [&](uint64_t address) {
      const auto *bytes = reinterpret_cast<const std::byte *>(&address);
      launch.parameters.insert(launch.parameters.end(), bytes, bytes + 8);
    };
    KernelParameters parameters = getKernelParameters(kernel);
    for (size_t index = 0; index < parameters.types.size(); ++index)
      pass(memory.add(*all[index], parameters.access[index] != Access::Write));
    pp::testing::Bytes scalars(64, 0);
    pass(memory.add(scalars, true));
    pass(0); // no gate
    if (!module->run(launch, memory, error)) {
      ADD_FAILURE() << error << "\n" << *text;
      return false;
    }
    EXPECT_TRUE(memory.isComplete()) << "results are not whole";
    return true;
  }

private:
  uint64_t seed;
};

/// Runs `text` as PTX and in the interpreter, and compares.
void compare(const std::string &text, double low, double high,
             double tolerance) {
  pp::testing::Context context;
  DialectRegistry registry;
  pp::gpu::registerGpuDialects(registry);
  auto module = context.parse(text);
  ASSERT_TRUE(module) << text;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  std::mt19937 random(7);
  std::vector<HostTensor> inputs;
  for (Type type : main.getArgumentTypes())
    inputs.push_back(pp::testing::randomTensor(cast<RankedTensorType>(type),
                                               random, low, high));
  auto expected = reference::evaluate(main, inputs);
  ASSERT_TRUE(succeeded(expected));
  ASSERT_TRUE(pp::testing::formKernels(*module, kProcessor));
  std::string formed;
  llvm::raw_string_ostream(formed) << *module;
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  GpuRunner runner(text.size());
  auto actual = pp::testing::runLaunches(
      *module,
      [&](func::FuncOp kernel,
          ArrayRef<std::shared_ptr<pp::testing::Bytes>> buffers) {
        return runner.run(kernel, buffers);
      },
      inputs);
  pp::testing::expectNear(actual, *expected, tolerance, formed);
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
  ASSERT_TRUE(pp::testing::formKernels(*module, kProcessor));
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
  for (const char *type : {"f32", "f64", "bf16"})
    compileAll(pp::testing::replaceAll(GetParam().text, "%f", type), kProcessor,
               [](const std::string &ptx) { assemble(ptx, kProcessor); });
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
          pp::testing::replaceAll(text, "%f", type), kProcessor,
          [&, least = vectors](const std::string &ptx) {
            EXPECT_GE(countMatches(ptx, "(ld|st)\\.global\\S*\\.v4"), least)
                << ptx;
            EXPECT_EQ(countMatches(ptx, "(ld|st)\\.global(?!\\S*\\.v)"), 1u)
                << ptx;
          });
}

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

TEST(GpuKernelsInPlace, OverwritesWhatNobodyReads) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  for (unsigned seed = 0; seed < 400 && !::testing::Test::HasFatalFailure();
       ++seed) {
    SCOPED_TRACE(seed);
    compare(States(seed).build(), -2, 2, 1e-12);
  }
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
      {1, 6100, 1, "rows, 512 lanes:", 512},
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
    ASSERT_TRUE(GpuRunner(columns).run(kernel, {bytes, result}));
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
    compare(pp::testing::replaceAll(pp::testing::mainOf("%x: tensor<2x3000x%f>",
                                                        ops, last,
                                                        "tensor<2x3000x%f>"),
                                    "%f", type),
            -2, 2, type[1] == '6' ? 1e-11 : 1e-4);
}

/// Kernels that are written down may ask for too much.
TEST(GpuKernelsInPlace, RefusesWhatOtherBlocksRead) {
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
    EXPECT_EQ(failed(gpu::compileToPtx(kernel, "kernel", kProcessor)),
              isRefused)
        << text << message;
    if (isRefused)
      EXPECT_EQ(message, "expects a kernel whose result 0 overwrites what no "
                         "other thread reads, got argument 0 read for result "
                         "0");
  }
}

/// Whatever the passes form for a GPU has code for it.
TEST(GpuKernelsInPlace, RandomProgramsAreBuilt) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    pp::testing::Context context;
    pp::testing::RandomProgramOptions options;
    options.batch = 6;
    options.hasStates = options.hasLiterals = true;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    auto module = pp::testing::makeRandomProgram(context, seed, options);
    ASSERT_TRUE(pp::testing::formKernels(*module, kProcessor));
    context.loadAllAvailableDialects();
    for (func::FuncOp kernel : pp::testing::loopsKernels(*module)) {
      OwningOpRef<ModuleOp> built = ModuleOp::create(kernel.getLoc());
      OpBuilder builder = OpBuilder::atBlockEnd(built->getBody());
      EXPECT_TRUE(succeeded(gpu::buildGpuKernel(builder, kernel, "kernel")))
          << "seed " << seed;
    }
  }
}

/// A new op cannot forget GPUs.
TEST(GpuKernelsOps, EveryOpHasARule) {
  pp::testing::Context context;
  auto module = context.parse("func.func @main() { return }");
  DialectRegistry registry;
  pp::registerLinalgModels(registry);
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  unsigned count = 0;
  for (RegisteredOperationName name :
       module->getContext()->getRegisteredOperationsByDialect("pp")) {
    if (!name.hasInterface<LinalgOpInterface>())
      continue;
    ++count;
    EXPECT_TRUE(gpu::hasElementRule(name)) << name.getStringRef().str();
  }
  EXPECT_GT(count, 40u);
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

} // namespace
