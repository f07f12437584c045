//===- ArenaTest.cpp - how much memory programs waste ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The arena of every rank against the values it holds at once. The bound is
// taken from the instruction list: a value lives from its first to its last
// instruction, an argument always. What lives at once in this one order may
// live at once, so that the bound is no larger than that over all orders.
//
//===----------------------------------------------------------------------===//
#include "Slots.h"
#include "Testing.h"
#include "mlir/Pass/PassManager.h"
#include "pp/IR/Aspects.h"
#include "pp/Models/Models.h"
#include "pp/Transforms/Pipelines.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using namespace pp;

namespace {

int64_t bytesOf(SlotOp slot) {
  auto type = cast<RankedTensorType>(slot.getType());
  return type.getNumElements() *
         llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The largest total of values that live at one instruction.
int64_t measureMostLive(ProgramOp program) {
  struct Life {
    int64_t first = -1, last = -1;
  };
  SmallVector<SlotOp> slots(program.getSlots().getOps<SlotOp>());
  SmallVector<Life> lives(slots.size());
  int64_t time = 0;
  for (Operation &op : program.getBody().getOps()) {
    for (int64_t slot :
         op.getAttrOfType<DenseI64ArrayAttr>("slots").asArrayRef()) {
      if (lives[slot].first < 0)
        lives[slot].first = time;
      lives[slot].last = time;
    }
    ++time;
  }
  int64_t most = 0;
  for (int64_t now = 0; now < time; ++now) {
    int64_t live = 0;
    for (auto [slot, life] : llvm::zip_equal(slots, lives))
      if (slot.getArgument() || (life.first <= now && now <= life.last))
        live += bytesOf(slot);
    most = std::max(most, live);
  }
  return most;
}

// Slots that live together are apart, and one order of placing them is as good
// as looking at all that are placed.
TEST(Arena, PlacesAsWhoLooksAtAllSlots) {
  std::mt19937 random(3);
  auto align = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  for (int trial = 0; trial < 2000; ++trial) {
    // At last so many that only those are looked at that live with one.
    std::vector<SlotLifetime> slots(trial < 1999 ? random() % 40 : 10500);
    const uint64_t length = trial < 1999 ? 30 : 10000;
    for (SlotLifetime &slot : slots) {
      slot.bytes = random() % 5 == 0 ? 0 : int64_t(random() % 3000);
      if (random() % 20 == 0)
        continue; // nobody touches it
      slot.first = int64_t(random() % length);
      slot.last = slot.first + int64_t(random() % (random() % 9 ? 6 : 40));
    }
    auto placeAll = [&](auto isBefore) {
      std::vector<size_t> order(slots.size());
      std::iota(order.begin(), order.end(), size_t(0));
      std::stable_sort(order.begin(), order.end(), isBefore);
      std::vector<int64_t> offsets(slots.size(), 64);
      int64_t end = 64;
      std::vector<size_t> placed;
      for (size_t index : order) {
        if (slots[index].first < 0)
          continue;
        int64_t offset = 64;
        for (size_t other : placed)
          if (slots[other].first <= slots[index].last &&
              slots[index].first <= slots[other].last &&
              offsets[other] < offset + align(slots[index].bytes))
            offset =
                std::max(offset, offsets[other] + align(slots[other].bytes));
        offsets[index] = offset;
        end = std::max(end, offset + align(slots[index].bytes));
        placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                       [&](size_t a, size_t b) {
                                         return offsets[a] < offsets[b];
                                       }),
                      index);
      }
      return std::pair(end, offsets);
    };
    const auto bySize = placeAll(
        [&](size_t a, size_t b) { return slots[a].bytes > slots[b].bytes; });
    const auto byStart = placeAll(
        [&](size_t a, size_t b) { return slots[a].first < slots[b].first; });
    const auto &best = byStart.first < bySize.first ? byStart : bySize;
    ASSERT_EQ(layoutSlots(slots, 64), best.first) << "trial " << trial;
    for (size_t i = 0; i < slots.size(); ++i)
      ASSERT_EQ(slots[i].offset, best.second[i]) << "trial " << trial;
  }
}

TEST(Arena, IsWithinATenthOfWhatLivesAtOnce) {
  pp::testing::Context context;
  DialectRegistry registry;
  registerCostModels(registry);
  registerGradientModels(registry);
  registerShardingModels(registry);
  registerLinalgModels(registry);
  context.appendDialectRegistry(registry);
  GptConfig config; // the README's model
  config.layers = 4;
  config.hidden = 256;
  config.heads = 8;
  config.seq = 128;
  config.batch = 16;
  config.vocab = 256;
  for (const char *plan :
       {"dp=2 tp=2 pp=2 microbatches=4 schedule=1f1b optimizer=adamw",
        "dp=2 tp=2 pp=2 microbatches=4 schedule=gpipe optimizer=adamw",
        "optimizer=adamw", "dp=2", "tp=2", "pp=2 microbatches=8",
        "pp=4 microbatches=8 optimizer=sgd"}) {
    PipelineOptions options;
    std::string error;
    ASSERT_TRUE(succeeded(parseParallelize(plan, options, error))) << error;
    auto module = buildGpt(context, config, Float32Type::get(&context));
    PassManager passes(&context);
    buildPipeline(passes, options, std::nullopt);
    ASSERT_TRUE(succeeded(passes.run(*module)));
    for (auto program : module->getOps<ProgramOp>()) {
      int64_t arena = program.getArenaBytes(), live = measureMostLive(program);
      std::printf("%s @%s: %.3f\n", plan, program.getSymName().str().c_str(),
                  double(arena) / double(live));
      EXPECT_LE(arena, 1.1 * live)
          << plan << " @" << program.getSymName().str();
    }
  }
}

} // namespace
