//===- GpuIndexingTest.cpp - tables and indices of any size ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Kernels of GPUs that go by numbers: sums of rows into a table have the bits
// of a plain loop over the indices, and take few instructions.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "Gpu/Libdevice.h"
#include "Gpu/Ptx.h"
#include "KernelRunner.h"
#include "Ptx.h"
#include "pp/IR/Aspects.h"
#include "pp/Target/KernelCompiler.h"
#include <gtest/gtest.h>

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

} // namespace
