//===- GpuIndexingTest.cpp - tables and indices of any size ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Where threads of GPU kernels look: sums of rows into a table have the bits of
// a plain loop over the indices, and take few instructions; what is transposed
// is read and written by whole sectors.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "Gpu/Libdevice.h"
#include "Gpu/Ptx.h"
#include "KernelCases.h"
#include "KernelRunner.h"
#include "Ptx.h"
#include "pp/IR/Aspects.h"
#include "pp/Target/KernelCompiler.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pp;
using pp::reference::HostTensor;

namespace {

/// The only kernel of a function, as PTX.
struct Kernel {
  pp::testing::Context context;
  OwningOpRef<ModuleOp> source;
  func::FuncOp function;
  std::unique_ptr<ptx::Module> module;
  gpu::LaunchShape shape;

  explicit Kernel(const std::string &text) {
    source = context.parse(text);
    if (!source || !pp::testing::formKernels(*source))
      return;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto all = pp::testing::loopsKernels(*source);
    EXPECT_EQ(all.size(), 1u) << text;
    function = all.front();
    auto compiled = gpu::compileToPtx(function, "kernel", "sm_90");
    auto itsShape = gpu::getLaunchShape(function);
    std::string error;
    if (succeeded(compiled) && succeeded(itsShape)) {
      module = ptx::Module::parse(*compiled, error);
      shape = *itsShape;
    }
    EXPECT_TRUE(module) << error;
  }
};

/// Buffers of a launch, far apart.
class Buffers : public ptx::Memory {
public:
  uint64_t add(pp::testing::Bytes bytes, bool isWritten) {
    written.push_back(
        std::vector<std::byte>(bytes.size(), std::byte(isWritten)));
    data.push_back(std::move(bytes));
    return uint64_t(data.size()) << 32;
  }
  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const uint64_t number = (address >> 32) - 1, offset = uint32_t(address);
    if (number < data.size() && offset + size <= data[number].size())
      return reinterpret_cast<std::byte *>(data[number].data()) + offset;
    error = "expects an address inside of a buffer, got parameter " +
            std::to_string(number) + ", byte " + std::to_string(offset);
    return nullptr;
  }
  std::byte *isWritten(uint64_t address) override {
    return written[(address >> 32) - 1].data() + uint32_t(address);
  }
  std::vector<pp::testing::Bytes> data;
  std::vector<std::vector<std::byte>> written;
};

/// A table, the number of dimensions that indices have in common with it, and
/// their shape.
struct Scatter {
  std::vector<int64_t> table;
  int64_t batch;
  std::vector<int64_t> indices;
  const char *element = "f32", *index = "i32";

  static std::string spell(const std::vector<int64_t> &shape,
                           const char *element) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + element + ">";
  }
  std::string text() const {
    std::vector<int64_t> updates = indices;
    updates.insert(updates.end(), table.begin() + batch + 1, table.end());
    const std::string x = spell(table, element), i = spell(indices, index),
                      u = spell(updates, element);
    return "func.func @main(%x: " + x + ", %i: " + i + ", %u: " + u + ") -> " +
           x + " {\n  %y = pp.scatter_add %x[%i], %u batch " +
           std::to_string(batch) + " : " + x + ", " + i + ", " + u +
           "\n  return %y : " + x + "\n}";
  }
  static int64_t product(llvm::ArrayRef<int64_t> sizes) {
    return ShapedType::getNumElements(sizes);
  }
  int64_t elements() const { return product(table); }
  int64_t widthOfRow() const {
    return product(llvm::ArrayRef(table).drop_front(batch + 1));
  }
  int64_t indicesOfEach() const {
    return product(llvm::ArrayRef(indices).drop_front(batch));
  }
};

/// What a plain loop makes of a table, indices and updates.
HostTensor add(const Scatter &scatter, const std::vector<HostTensor> &inputs) {
  HostTensor table = inputs[0];
  const int64_t count = scatter.indicesOfEach(),
                rows = scatter.table[scatter.batch],
                width = scatter.widthOfRow();
  for (auto [place, index] : llvm::enumerate(inputs[1].values)) {
    if (index < 0 || index >= double(rows))
      continue;
    const int64_t row = int64_t(place) / count * rows + int64_t(index);
    for (int64_t i = 0; i < width; ++i) {
      double &sum = table.values[row * width + i];
      sum += inputs[2].values[int64_t(place) * width + i];
      sum = table.type.getElementType().isF32() ? double(float(sum)) : sum;
    }
  }
  return table;
}

/// Of a launch; -1 if its bits are not those of a plain loop.
int64_t countInstructions(const Scatter &scatter, uint64_t seed) {
  Kernel kernel(scatter.text());
  if (!kernel.module)
    return -1;
  std::mt19937 random(seed);
  std::vector<HostTensor> inputs;
  for (Type type : kernel.function.getArgumentTypes())
    inputs.push_back(
        pp::testing::randomTensor(cast<RankedTensorType>(type), random, -1, 1));
  // Some rows twice and more, some never; some outside.
  const int64_t rows = scatter.table[scatter.batch];
  std::uniform_int_distribution<int64_t> row(-1, rows);
  for (double &index : inputs[1].values)
    index = double(row(random) | (random() % 4 == 0 ? 1 : 0));
  // What the kernel reads, which has fewer bits.
  for (HostTensor &input : inputs)
    input = pp::testing::fromBytes(input.type, pp::testing::toBytes(input));
  const pp::testing::Bytes expected =
      pp::testing::toBytes(add(scatter, inputs));
  Buffers memory;
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = kernel.shape.grid;
  launch.block.x = kernel.shape.block;
  launch.seed = seed;
  auto pass = [&](uint64_t address) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&address);
    launch.parameters.insert(launch.parameters.end(), bytes, bytes + 8);
  };
  for (const HostTensor &input : inputs)
    pass(memory.add(pp::testing::toBytes(input), true));
  pass(memory.add(pp::testing::Bytes(expected.size()), false));
  pass(memory.add(pp::testing::Bytes(64, 0), true));
  pass(0); // no gate
  std::string error;
  ptx::Counters counters;
  if (!kernel.module->run(launch, memory, error, nullptr, &counters)) {
    ADD_FAILURE() << error;
    return -1;
  }
  const bool isEqual = memory.data[3] == expected &&
                       !llvm::is_contained(memory.written[3], std::byte(0));
  return isEqual ? int64_t(counters.laneInstructions) : -1;
}

TEST(GpuIndexing, AddsRowsInOrder) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const Scatter all[] = {
      {{50, 64}, 0, {100}},         // one row for a warp and less
      {{50, 512}, 0, {10, 13}},     // several warps for a row
      {{40, 4}, 0, {70}},           // many rows for a warp
      {{130}, 0, {77}},             // rows of one number
      {{33, 3}, 0, {41}},           // vectors go across rows
      {{7, 256, 2}, 0, {3, 50}},    // and a last warp with few lanes
      {{3, 9, 16}, 1, {3, 40}},     // batches share warps
      {{2, 3, 5, 8}, 2, {2, 3, 2}}, // a short one
      {{2, 50, 128}, 1, {2, 5, 7}}, // several indices of each
      {{6, 40}, 0, {1}},            // one
      {{4, 5, 40}, 2, {4, 5}},      // one for each
      {{50, 64}, 0, {100}, "f32", "i64"},
      {{50, 64}, 0, {100}, "i32"},
      {{50, 64}, 0, {100}, "f64"}};
  for (const Scatter &scatter : all)
    for (uint64_t seed : {1, 2})
      EXPECT_GT(countInstructions(scatter, seed), 0) << scatter.text();
}

// Few instructions for each of an element's indices: lanes share them.
TEST(GpuIndexing, LooksThroughIndicesTogether) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  for (const Scatter &scatter :
       {Scatter{{64, 256}, 0, {4096}}, Scatter{{1024, 4}, 0, {4096}}}) {
    const int64_t count = countInstructions(scatter, 1);
    ASSERT_GT(count, 0);
    const int64_t lanes = scatter.elements() / 4;
    const double each =
        double(count) / double(lanes) / double(scatter.indicesOfEach());
    std::printf("%.3f instructions of a lane for each index\n", each);
    EXPECT_LT(each, 1.5);
  }
}

/// Sectors that warps ask for, by those that there are; -1 if it does not
/// compute what the interpreter does.
double countSectors(const std::string &text) {
  Kernel kernel(text);
  if (!kernel.module)
    return -1;
  auto main = kernel.context.parse(text);
  std::mt19937 random(3);
  std::vector<HostTensor> inputs;
  for (Type type : kernel.function.getArgumentTypes()) {
    auto ranked = cast<RankedTensorType>(type);
    inputs.push_back(pp::testing::fromBytes(
        ranked, pp::testing::toBytes(
                    pp::testing::randomTensor(ranked, random, -1, 1))));
  }
  auto expected =
      reference::evaluate(main->lookupSymbol<func::FuncOp>("main"), inputs);
  if (failed(expected))
    return -1;
  Buffers memory;
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = kernel.shape.grid;
  launch.block.x = kernel.shape.block;
  auto pass = [&](uint64_t address) {
    const auto *bytes = reinterpret_cast<const std::byte *>(&address);
    launch.parameters.insert(launch.parameters.end(), bytes, bytes + 8);
  };
  size_t bytes = 0;
  for (const HostTensor &input : inputs) {
    pass(memory.add(pp::testing::toBytes(input), true));
    bytes += memory.data.back().size();
  }
  const pp::testing::Bytes result = pp::testing::toBytes(expected->front());
  pass(memory.add(pp::testing::Bytes(result.size()), false));
  bytes += result.size();
  pass(memory.add(pp::testing::Bytes(64, 0), true));
  pass(0); // no gate
  size_t sectors = 0;
  constexpr uint64_t kSector = 32;
  launch.observe = [&](const ptx::WarpAccess &access) {
    std::set<uint64_t> touched;
    for (uint64_t address : access.addresses)
      for (uint64_t at = address / kSector;
           at * kSector < address + access.bytes; ++at)
        touched.insert(at);
    sectors += touched.size();
  };
  std::string error;
  if (!kernel.module->run(launch, memory, error)) {
    ADD_FAILURE() << error;
    return -1;
  }
  return memory.data[inputs.size()] == result
             ? double(sectors * kSector) / double(bytes)
             : -1;
}

TEST(GpuIndexing, TransposesBySectors) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  struct Transpose {
    const char *from, *to, *order;
    double most;
  };
  const std::string heads =
      "func.func @main(%x: tensor<4x32x48xf32>) -> tensor<4x3x16x32xf32> {\n"
      "  %r = pp.reshape %x : tensor<4x32x48xf32> -> tensor<4x32x3x16xf32>\n"
      "  %t = pp.transpose %r perm [0, 2, 3, 1] : tensor<4x32x3x16xf32> -> "
      "tensor<4x3x16x32xf32>\n"
      "  return %t : tensor<4x3x16x32xf32>\n}";
  EXPECT_GT(countSectors(heads), 0);
  EXPECT_LT(countSectors(heads), 1.01);
  for (const Transpose &one : {
           Transpose{"64x96x%f", "96x64x%f", "[1, 0]", 1.01},
           {"3x32x64x%f", "3x64x32x%f", "[0, 2, 1]", 1.01},
           {"32x5x64x%f", "64x32x5x%f", "[2, 0, 1]", 5},
           {"5x32x64x%f", "64x5x32x%f", "[2, 0, 1]", 1.01},
           {"6x16x4x64x%f", "6x4x16x64x%f", "[0, 2, 1, 3]", 1.01},
           {"40x72x%f", "72x40x%f", "[1, 0]", 5}, // does not divide
           {"7x9x%f", "9x7x%f", "[1, 0]", 9},
       })
    for (const std::string type : {"f32", "bf16", "f64"}) {
      std::string text = pp::testing::replaceAll(
          std::string("func.func @main(%x: tensor<") + one.from +
              ">, %y: tensor<" + one.to + ">) -> tensor<" + one.to +
              "> {\n  %t = pp.transpose %x perm " + one.order + " : tensor<" +
              one.from + "> -> tensor<" + one.to +
              ">\n  %z = pp.max %t, %y : tensor<" + one.to +
              ">\n  return %z : tensor<" + one.to + ">\n}",
          "%f", type);
      const double times = countSectors(text);
      EXPECT_GT(times, 0) << text;
      EXPECT_LT(times, one.most) << text;
    }
}

} // namespace
