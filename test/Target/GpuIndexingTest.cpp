//===- GpuIndexingTest.cpp - tables and indices of any size ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Where threads of GPU kernels look: sums of rows into a table have the bits of
// a plain loop over the indices, and take few instructions; what is transposed
// is read and written by whole sectors; in tensors of more than 2^31 elements,
// of which some blocks are run, every element is where it is in smaller ones.
//
//===----------------------------------------------------------------------===//
#include "../Reference/Testing.h"
#include "Gpu/Ptx.h"
#include "GpuBuffers.h"
#include "GpuRunner.h"
#include "KernelCases.h"
#include "Ptx.h"
#include "pp/IR/Aspects.h"
#include "pp/Target/KernelCompiler.h"
#include <gtest/gtest.h>
#include <map>
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
    if (!source || !pp::testing::formKernels(*source, pp::testing::kGpu))
      return;
    DialectRegistry registry;
    pp::gpu::registerGpuDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto all = pp::testing::loopsKernels(*source);
    EXPECT_EQ(all.size(), 1u) << text;
    function = all.front();
    auto compiled = gpu::compileToPtx(function, "kernel", pp::testing::kGpu);
    auto itsShape = gpu::getLaunchShape(function);
    std::string error;
    if (succeeded(compiled) && succeeded(itsShape)) {
      module = ptx::Module::parse(*compiled, error);
      shape = *itsShape;
    }
    EXPECT_TRUE(module) << error;
  }
};

/// With a buffer at each of `addresses`, the last of them the launch's scalars.
ptx::Launch launchOf(const Kernel &kernel, ArrayRef<uint64_t> addresses) {
  ptx::Launch launch;
  launch.entry = "kernel";
  launch.grid.x = kernel.shape.grid;
  launch.block.x = kernel.shape.block;
  SmallVector<uint64_t> all(addresses);
  all.push_back(0); // no gate
  launch.parameters.resize(all.size() * 8);
  std::memcpy(launch.parameters.data(), all.data(), launch.parameters.size());
  return launch;
}

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
      if (Type type = table.type.getElementType();
          type.isF32() || type.isBF16())
        sum = double(float(sum)); // bf16 is rounded at the end
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
  pp::testing::GpuBuffers memory;
  SmallVector<uint64_t> addresses;
  for (const HostTensor &input : inputs)
    addresses.push_back(memory.add(pp::testing::toBytes(input), true));
  addresses.push_back(memory.add(pp::testing::Bytes(expected.size()), false));
  addresses.push_back(memory.add(pp::testing::Bytes(64, 0), true));
  ptx::Launch launch = launchOf(kernel, addresses);
  launch.seed = seed;
  std::string error;
  ptx::Counters counters;
  if (!kernel.module->run(launch, memory, error, nullptr, &counters)) {
    ADD_FAILURE() << error;
    return -1;
  }
  const bool isEqual = memory.bytes(3) == expected && memory.isComplete();
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
      {{50, 64}, 0, {100}, "f64"},
      // And for blocks,
      {{3, 128}, 0, {4000}},                  // again and again
      {{3, 128}, 0, {4000}, "f32", "i64"},    // with wide indices
      {{40, 512}, 0, {60}, "bf16"},           // by rows of whole warps
      {{2, 3, 7, 24}, 2, {2, 3, 50}, "bf16"}, // that share batches
      {{5, 7, 3, 1}, 1, {5, 40}, "bf16"}};    // by single elements
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

// Fewer of a larger table: most blocks have none of its rows.
TEST(GpuIndexing, LooksThroughIndicesByBlock) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  const Scatter scatter{{1024, 256}, 0, {1024}};
  const int64_t count = countInstructions(scatter, 1);
  ASSERT_GT(count, 0);
  const double each = double(count) / double(scatter.elements() / 4) /
                      double(scatter.indicesOfEach());
  std::printf("%.3f instructions of a lane for each index\n", each);
  EXPECT_LT(each, 0.3);
}

// What many indices are for is read many at once: loads lie one behind the
// other, and lanes exchange what needs all of them before any is added.
TEST(GpuIndexing, ReadsUpdatesTogether) {
  if (gpu::getLibdevice().empty())
    GTEST_SKIP() << "the build found no libdevice";
  Kernel kernel(Scatter{{50, 512}, 0, {100}, "bf16"}.text());
  ASSERT_TRUE(kernel.module);
  auto text = gpu::compileToPtx(kernel.function, "kernel", pp::testing::kGpu);
  ASSERT_TRUE(succeeded(text));
  int64_t most = 0, loads = 0;
  for (llvm::StringRef line : llvm::split(*text, '\n'))
    if (line.contains("ld.global.nc.v4")) {
      ++loads;
    } else if (line.contains("shfl.sync") && loads > 0) {
      most = std::max(most, loads);
      loads = 0;
    } else if (line.contains("add.f32")) {
      loads = 0;
    }
  EXPECT_EQ(most, 16);
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
  pp::testing::GpuBuffers memory;
  SmallVector<uint64_t> addresses;
  size_t bytes = 0;
  for (const HostTensor &input : inputs) {
    addresses.push_back(memory.add(pp::testing::toBytes(input), true));
    bytes += memory.bytes(addresses.size() - 1).size();
  }
  const pp::testing::Bytes result = pp::testing::toBytes(expected->front());
  addresses.push_back(memory.add(pp::testing::Bytes(result.size()), false));
  bytes += result.size();
  addresses.push_back(memory.add(pp::testing::Bytes(64, 0), true));
  ptx::Launch launch = launchOf(kernel, addresses);
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
  return memory.bytes(inputs.size()) == result
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

/// Buffers of any size, of which there are the pages that somebody looks at.
class Sparse : public ptx::Memory {
public:
  /// Word number `word` of a buffer, before anybody writes it.
  using Fill = std::function<uint32_t(size_t buffer, uint64_t word)>;
  Sparse(std::vector<uint64_t> itsSizes, Fill itsFill)
      : sizes(std::move(itsSizes)), fill(std::move(itsFill)) {}

  static uint64_t addressOf(size_t buffer) { return (buffer + 1) << 40; }
  std::byte *find(uint64_t address, uint64_t size,
                  std::string &error) override {
    const size_t buffer = (address >> 40) - 1;
    const uint64_t offset = address & (addressOf(0) - 1);
    if (buffer >= sizes.size() || offset + size > sizes[buffer]) {
      error = "expects an address inside of a buffer, got parameter " +
              std::to_string(buffer) + ", byte " + std::to_string(offset);
      return nullptr;
    }
    return pageOf(address).data() + address % kPage;
  }
  std::byte *isWritten(uint64_t address) override {
    return written.data() + address % kPage;
  }
  uint32_t word(size_t buffer, uint64_t number) {
    const uint64_t address = addressOf(buffer) + number * 4;
    uint32_t value;
    std::memcpy(&value, pageOf(address).data() + address % kPage, 4);
    return value;
  }

private:
  static constexpr uint64_t kPage = 4096;
  std::vector<std::byte> &pageOf(uint64_t address) {
    std::vector<std::byte> &page = pages[address / kPage];
    if (!page.empty())
      return page;
    page.resize(kPage);
    const size_t buffer = (address >> 40) - 1;
    const uint64_t first = (address & (addressOf(0) - 1)) / kPage * (kPage / 4);
    for (uint64_t index = 0; index < kPage / 4; ++index) {
      const uint32_t value = fill(buffer, first + index);
      std::memcpy(page.data() + index * 4, &value, 4);
    }
    return page;
  }

  std::vector<uint64_t> sizes;
  Fill fill;
  std::map<uint64_t, std::vector<std::byte>> pages;
  std::vector<std::byte> written =
      std::vector<std::byte>(2 * kPage, std::byte(1));
};

/// Any small number, of a word.
float numberOf(uint64_t word) {
  return float((word * 0x9E3779B97F4A7C15u >> 40) % 1000);
}
uint32_t bitsOf(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, 4);
  return bits;
}

/// Runs blocks at both ends of a launch and in its middle; the last parameter
/// is the result, of words. Its element number `word` has to be
/// `expected(word)`, and all of `words` be written.
void runEnds(const std::string &text, std::vector<uint64_t> sizes,
             const Sparse::Fill &fill, uint64_t elementsOfBlock,
             llvm::function_ref<float(uint64_t word)> expected) {
  Kernel kernel(text);
  ASSERT_TRUE(kernel.module);
  const size_t result = sizes.size() - 1;
  const uint64_t words = sizes.back() / 4;
  EXPECT_EQ(uint64_t(kernel.shape.grid), words / elementsOfBlock);
  sizes.push_back(64); // the launch's scalars
  Sparse memory(sizes, fill);
  SmallVector<uint64_t> addresses;
  for (size_t index = 0; index < sizes.size(); ++index)
    addresses.push_back(Sparse::addressOf(index));
  ptx::Launch launch = launchOf(kernel, addresses);
  launch.blocks = {0, 1, launch.grid.x / 2, launch.grid.x / 2 + 1,
                   launch.grid.x - 1};
  std::string error;
  ptx::Accesses accesses;
  ASSERT_TRUE(kernel.module->run(launch, memory, error, &accesses)) << error;
  uint64_t bytes = 0;
  for (const ptx::Accesses::Range &range : accesses.written)
    bytes += range.end - range.begin;
  EXPECT_EQ(bytes, launch.blocks.size() * elementsOfBlock * 4);
  for (uint32_t block : launch.blocks)
    for (uint64_t word = block * elementsOfBlock;
         word < (block + 1) * elementsOfBlock; ++word)
      ASSERT_EQ(memory.word(result, word), bitsOf(expected(word)))
          << "element " << word;
}

class GpuIndexingOfManyElements : public ::testing::Test {
  void SetUp() override {
    if (gpu::getLibdevice().empty())
      GTEST_SKIP() << "the build found no libdevice";
  }
};

constexpr uint64_t kMany = uint64_t(1) << 32;
/// Elements of a block whose 256 threads have four runs of four elements each.
constexpr uint64_t kFourRuns = 4096;
const Sparse::Fill kNumbers = [](size_t, uint64_t word) {
  return bitsOf(numberOf(word));
};

TEST_F(GpuIndexingOfManyElements, Elementwise) {
  runEnds("func.func @main(%x: tensor<65536x65536xf32>) -> "
          "tensor<65536x65536xf32> {\n"
          "  %y = pp.neg %x : tensor<65536x65536xf32>\n"
          "  return %y : tensor<65536x65536xf32>\n}",
          {kMany * 4, kMany * 4}, kNumbers, kFourRuns,
          [](uint64_t word) { return -numberOf(word); });
}

TEST_F(GpuIndexingOfManyElements, Transposed) {
  runEnds("func.func @main(%x: tensor<4x32768x32768xf32>) -> "
          "tensor<32768x4x32768xf32> {\n"
          "  %y = pp.transpose %x perm [1, 0, 2] : tensor<4x32768x32768xf32> "
          "-> tensor<32768x4x32768xf32>\n"
          "  return %y : tensor<32768x4x32768xf32>\n}",
          {kMany * 4, kMany * 4}, kNumbers, kFourRuns, [](uint64_t word) {
            const uint64_t column = word % 32768, row = word / 32768;
            return numberOf((row % 4 * 32768 + row / 4) * 32768 + column);
          });
}

TEST_F(GpuIndexingOfManyElements, Rows) {
  constexpr uint64_t kRow = 1024;
  std::map<uint64_t, float> sums;
  runEnds("func.func @main(%x: tensor<4194304x1024xf32>) -> "
          "tensor<4194304x1024xf32> {\n"
          "  %s = pp.reduce sum %x dims [1] : tensor<4194304x1024xf32> -> "
          "tensor<4194304xf32>\n"
          "  %b = pp.broadcast %s dims [0] : tensor<4194304xf32> -> "
          "tensor<4194304x1024xf32>\n"
          "  %y = pp.sub %x, %b : tensor<4194304x1024xf32>\n"
          "  return %y : tensor<4194304x1024xf32>\n}",
          {kMany * 4, kMany * 4}, kNumbers, 4 * kRow, [&](uint64_t word) {
            auto [sum, isNew] = sums.try_emplace(word / kRow, 0.0f);
            for (uint64_t i = 0; isNew && i < kRow; ++i)
              sum->second += numberOf(word / kRow * kRow + i);
            return numberOf(word) - sum->second; // exact: of small integers
          });
}

TEST_F(GpuIndexingOfManyElements, Gather) {
  constexpr uint64_t kRow = 2048, kRows = kMany / kRow;
  auto rowOf = [](uint64_t number) { return number * 0x9E3779B1u % kRows; };
  runEnds(
      "func.func @main(%x: tensor<2097152x2048xf32>, "
      "%i: tensor<2097152xi32>) -> tensor<2097152x2048xf32> {\n"
      "  %y = pp.gather %x[%i] batch 0 : tensor<2097152x2048xf32>, "
      "tensor<2097152xi32> -> tensor<2097152x2048xf32>\n"
      "  return %y : tensor<2097152x2048xf32>\n}",
      {kMany * 4, kRows * 4, kMany * 4},
      [&](size_t buffer, uint64_t word) {
        return buffer == 1 ? uint32_t(rowOf(word)) : bitsOf(numberOf(word));
      },
      kFourRuns,
      [&](uint64_t word) {
        return numberOf(rowOf(word / kRow) * kRow + word % kRow);
      });
}

TEST_F(GpuIndexingOfManyElements, Scatter) {
  constexpr uint64_t kRow = 2048, kRows = kMany / kRow, kIndices = 100;
  auto rowOf = [](uint64_t number) {
    const uint64_t rows[] = {0, kRows - 1, kRows / 2, ~uint32_t(0), kRows, 1};
    return rows[number % 6];
  };
  runEnds(
      "func.func @main(%x: tensor<2097152x2048xf32>, %i: tensor<100xi32>, "
      "%u: tensor<100x2048xf32>) -> tensor<2097152x2048xf32> {\n"
      "  %y = pp.scatter_add %x[%i], %u batch 0 : "
      "tensor<2097152x2048xf32>, tensor<100xi32>, tensor<100x2048xf32>\n"
      "  return %y : tensor<2097152x2048xf32>\n}",
      {kMany * 4, kIndices * 4, kIndices * kRow * 4, kMany * 4},
      [&](size_t buffer, uint64_t word) {
        return buffer == 1 ? uint32_t(rowOf(word)) : bitsOf(numberOf(word));
      },
      kFourRuns,
      [&](uint64_t word) {
        float sum = numberOf(word);
        for (uint64_t index = 0; index < kIndices; ++index)
          if (rowOf(index) == word / kRow)
            sum += numberOf(index * kRow + word % kRow);
        return sum;
      });
}

} // namespace
