//===- MatrixProductTest.cpp - the memory of a library's products ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Exact memory peaks rely on this: allocations in a library's call come from
// the scratchpad that was planned for it. Counted by a malloc of our own.
//
//===----------------------------------------------------------------------===//
#include "backends/cpu/MatrixProduct.h"
#include "pprt/AllocationCounter.h"
#include "pprt/Lending.h"
#include "pprt/Processor.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>

using namespace pprt;

namespace {

/// Heap memory of the calling thread during its life.
class Counted {
public:
  Counted() { attributeAllocations(&counter); }
  ~Counted() { attributeAllocations(nullptr); }
  AllocationCounter counter;
};

struct Free {
  void operator()(std::byte *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, Free>;

Memory allocate(uint64_t bytes) {
  bytes = (bytes + 64) / 64 * 64;
  auto *memory = static_cast<std::byte *>(std::aligned_alloc(64, bytes));
  std::memset(memory, 0, bytes);
  return Memory(memory);
}

/// Runs a product; the heap must not be used.
void expectNoHeap(ppx::MatrixLibrary library, const cpu::ProductShape &shape) {
  const auto product = cpu::createProduct(library, shape);
  if (!product)
    return;
  EXPECT_LE(product->scratchpadBytes(),
            cpu::rulesOf(library).scratchpadBytes(shape));
  const uint64_t bytes = elementSize(shape.element);
  const auto matrix = [&](const cpu::FactorLayout &layout, uint64_t rows,
                          uint64_t columns) {
    return allocate(bytes * layout.leading *
                    (layout.transposed ? columns : rows));
  };
  const Memory lhs = matrix(shape.lhs, shape.rows, shape.steps),
               rhs = matrix(shape.rhs, shape.steps, shape.columns),
               out = allocate(8 * shape.rows * shape.outLeading),
               scratchpad = allocate(product->scratchpadBytes());
  Counted scope;
  product->run(lhs.get(), rhs.get(), out.get(), scratchpad.get());
  EXPECT_EQ(scope.counter.count, 0u)
      << scope.counter.peak << " bytes for " << shape.rows << "x"
      << shape.columns << "x" << shape.steps << ", transposed "
      << shape.lhs.transposed << shape.rhs.transposed << ", "
      << ppx::EnumNameElementType(shape.element);
}

void expectNoHeap(uint64_t rows, uint64_t columns, uint64_t steps) {
  for (ppx::ElementType element :
       {ppx::ElementType_f32, ppx::ElementType_f64, ppx::ElementType_bf16})
    for (bool left : {false, true})
      for (bool right : {false, true})
        for (uint64_t gap : {0, 5})
          for (ppx::MatrixLibrary library :
               {ppx::MatrixLibrary_onednn_matmul,
                ppx::MatrixLibrary_onednn_gemm, ppx::MatrixLibrary_openblas})
            expectNoHeap(library, {element,
                                   rows,
                                   columns,
                                   steps,
                                   {left, (left ? rows : steps) + gap},
                                   {right, (right ? steps : columns) + gap},
                                   columns + gap,
                                   0.5,
                                   /*add=*/left != right});
}

TEST(MatrixProduct, TakesNoMemoryButItsScratchpad) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "wants counted allocations";
  for (uint64_t rows : {1, 8, 24, 60, 130})
    for (uint64_t columns : {1, 8, 24, 60, 130})
      for (uint64_t steps : {1, 9, 60, 500})
        expectNoHeap(rows, columns, steps);
  for (uint64_t rows : {17, 1024})
    for (uint64_t columns : {515, 1024})
      for (uint64_t steps : {16, 64, 515, 768, 1025})
        expectNoHeap(rows, columns, steps);
}

TEST(MatrixProduct, ComesFromMatmulWhereItKeepsToTheCallersMemory) {
  if (processorLevel() != "x86-64-v4" || std::getenv("DNNL_MAX_CPU_ISA"))
    GTEST_SKIP() << "wants AVX-512";
  cpu::ProductShape shape;
  shape.rows = shape.columns = shape.steps = 128;
  shape.lhs.leading = shape.rhs.leading = shape.outLeading = 128;
  const auto create = [&] {
    return cpu::createProduct(ppx::MatrixLibrary_onednn_matmul, shape);
  };
  EXPECT_NE(create(), nullptr);
  shape.lhs.leading = 256; // needs a buffer of the library's own
  EXPECT_EQ(create(), nullptr);
}

TEST(Lending, ServesWhatFits) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "wants counted allocations";
  const Memory block = allocate(1024);
  Counted scope;
  // Expectations allocate, too: they come afterwards.
  bool owned[6];
  uint64_t alignment, countBefore, countAfter;
  char kept;
  {
    const Lending lending(block.get(), 1024, /*smallest=*/64);
    void *volatile first = std::malloc(100);
    void *volatile second = std::aligned_alloc(128, 128);
    void *volatile note = std::malloc(8);
    countBefore = scope.counter.count;
    void *volatile large = std::malloc(2000);
    countAfter = scope.counter.count;
    owned[0] = lending.owns(first);
    owned[1] = lending.owns(second);
    owned[2] = lending.owns(note);
    owned[3] = lending.owns(large);
    alignment = reinterpret_cast<uintptr_t>(second) % 128;
    std::free(note);
    std::free(large);
    static_cast<char *>(first)[99] = 7;
    first = std::realloc(first, 300);
    kept = static_cast<char *>(first)[99];
    owned[4] = lending.owns(first);
    std::free(first);
    std::free(second);
    void *volatile again = std::malloc(1000); // all of it is back
    owned[5] = lending.owns(again);
    std::free(again);
  }
  attributeAllocations(nullptr);
  EXPECT_TRUE(owned[0] && owned[1] && owned[4] && owned[5]);
  EXPECT_FALSE(owned[2] || owned[3]);
  EXPECT_EQ(alignment, 0u);
  EXPECT_EQ(countBefore, 0u);
  EXPECT_EQ(countAfter, 1u);
  EXPECT_EQ(kept, 7);
  EXPECT_EQ(scope.counter.live, 0);
}

TEST(LendingDeathTest, EndsTheProgramIfALibraryKeepsMemory) {
  if (!allocationsAreCounted())
    GTEST_SKIP() << "wants counted allocations";
  static std::byte block[1024];
  EXPECT_DEATH(
      {
        const Lending lending(block, sizeof(block), 0);
        void *volatile kept = std::malloc(100);
        (void)kept;
      },
      "expects a library to free what it allocates");
}

} // namespace
