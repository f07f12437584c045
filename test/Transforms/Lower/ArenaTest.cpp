//===- ArenaTest.cpp - how much memory programs waste ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The arena of every rank against the values it holds at once. The bound is
// taken from the instruction list: a value lives from the instruction that
// writes it to the last that reads it, an argument always. What lives at once
// in this one order may live at once, so that the bound is no larger than that
// over all orders.
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
#include <map>
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
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  SmallVector<SlotOp> slots(program.getSlots().getOps<SlotOp>());
  const ProgramList list(program);
  std::vector<int64_t> changes(list.items().size() + 1);
  struct Life {
    int64_t bytes, first, last;
  };
  std::map<int64_t, Life> lives; // by copy of a slot: its current value
  auto end = [&](const Life &life) {
    changes[life.first] += life.bytes;
    changes[life.last + 1] -= life.bytes;
  };
  int64_t live = 0;
  for (SlotOp slot : slots)
    live += slot.getArgument() ? bytesOf(slot) : 0;
  for (auto [now, item] : llvm::enumerate(list.items())) {
    SmallVector<SlotAccess> accesses = getAccesses(*list.getOp(item), symbols);
    for (SlotAccess access : accesses) {
      if (slots[access.slot].getArgument())
        continue;
      const bool isRead = llvm::any_of(accesses, [&](SlotAccess other) {
        return other.slot == access.slot && other.reads;
      });
      auto [life, isNew] = lives.try_emplace(
          list.getCopy(access.slot, item),
          Life{bytesOf(slots[access.slot]), int64_t(now), int64_t(now)});
      if (!isNew && !isRead && life->second.last < int64_t(now)) {
        end(life->second);
        life->second.first = now;
      }
      life->second.last = now;
    }
  }
  for (const auto &[copy, life] : lives)
    end(life);
  int64_t most = 0;
  for (int64_t change : changes)
    most = std::max(most, live += change);
  return most;
}

/// Whether two slots must not share bytes.
bool areRivals(const CopyLifetime &a, const CopyLifetime &b) {
  auto meet = [](int64_t begin, const CopyLifetime &one,
                 const CopyLifetime &other) {
    return begin <= other.last && other.first <= one.last;
  };
  if (meet(a.first, a, b))
    return true;
  auto rivals = [&](const CopyLifetime &received, const CopyLifetime &other) {
    return received.postable >= 0 && other.postable < 0 &&
           (meet(received.postable, received, other) ||
            (other.isSent && meet(received.pendingFrom, received, other)));
  };
  return rivals(a, b) || rivals(b, a);
}

/// The end if the largest slot goes first, each as low as possible.
int64_t placeLargestFirst(ArrayRef<CopyLifetime> slots) {
  auto align = [](int64_t bytes) { return (bytes + 63) / 64 * 64; };
  std::vector<CopyLifetime> placed, order(slots.begin(), slots.end());
  std::stable_sort(order.begin(), order.end(),
                   [](auto &a, auto &b) { return a.bytes > b.bytes; });
  int64_t end = 64;
  for (CopyLifetime &slot : order) {
    if (slot.first < 0)
      continue;
    slot.offset = 64;
    for (const CopyLifetime &other : placed)
      if (areRivals(slot, other) && slot.offset + slot.bytes > other.offset)
        slot.offset = std::max(slot.offset, other.offset + align(other.bytes));
    end = std::max(end, slot.offset + align(slot.bytes));
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), slot,
                         [](auto &a, auto &b) { return a.offset < b.offset; }),
        slot);
  }
  return end;
}

// At last so many that they are placed outwards.
TEST(Arena, KeepsRivalsApart) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<CopyLifetime> slots(trial < 199 ? random() % 40 : 5000);
    const int64_t length = trial < 199 ? 30 : 5000;
    const bool isPlain = trial % 2 == 0;
    for (auto [index, slot] : llvm::enumerate(slots)) {
      slot.bytes = random() % 5 == 0 ? 0 : int64_t(random() % 3000);
      if (random() % 20 == 0)
        continue; // nobody touches it
      slot.first = int64_t(random() % length);
      slot.last = slot.first + int64_t(random() % (random() % 9 ? 6 : 40));
      if (isPlain)
        continue;
      switch (random() % 4) {
      case 0:
        slot.postable = slot.first - std::min<int64_t>(slot.first, 2);
        slot.pendingFrom = slot.first - std::min<int64_t>(slot.first, 5);
        break;
      case 1:
        slot.isSent = true;
        break;
      case 2:
        slot.isScratch = true;
        slot.alignment = 256;
        break;
      default: // like others
        slot.pattern = int64_t(random() % 4);
        slot.bytes = 64 * (slot.pattern + 1);
        slot.copy = int64_t(index);
      }
    }
    const int64_t end = layoutSlots(slots, 64).end;
    if (isPlain && trial < 199) {
      ASSERT_LE(end, std::max(placeLargestFirst(slots),
                              (64 + findMostLive(slots)) * 257 / 256 + 64));
    }
    int64_t top = 0, topOfScratch = 0;
    for (auto [index, slot] : llvm::enumerate(slots)) {
      ASSERT_EQ(slot.offset % slot.alignment,
                slot.first < 0 ? slot.offset % slot.alignment : 0);
      if (slot.first < 0 || slot.bytes == 0)
        continue;
      int64_t &highest = slot.isScratch ? topOfScratch : top;
      highest = std::max(highest, slot.offset + slot.bytes);
      ASSERT_GE(slot.offset, 64);
      ASSERT_LE(slot.offset + slot.bytes, end);
      for (const CopyLifetime &other :
           ArrayRef<CopyLifetime>(slots).take_front(index))
        if (other.first >= 0 && other.bytes > 0 && areRivals(slot, other)) {
          ASSERT_TRUE(slot.offset + slot.bytes <= other.offset ||
                      other.offset + other.bytes <= slot.offset)
              << "trial " << trial << " slot " << index;
        }
    }
    if (top > 0) {
      ASSERT_GE(top + 63, topOfScratch) << "trial " << trial;
    }
  }
}

struct Family {
  const char *name;
  OwningOpRef<ModuleOp> (*build)(MLIRContext &, Type);
  std::vector<const char *> plans;
};

// Most are within a fiftieth. No smaller layout of unet's first stage is known
// in which no receive waits for a send, mlp has few values in bf16, and for
// unet in bf16 the search would need eight times the steps. What collectives
// hold ahead is no part of the bound.
TEST(Arena, IsCloseToWhatLivesAtOnce) {
  pp::testing::Context context;
  DialectRegistry registry;
  registerCostModels(registry);
  registerGradientModels(registry);
  registerShardingModels(registry);
  registerLinalgModels(registry);
  context.appendDialectRegistry(registry);
  const char *oneDevice = "", *zero = "dp=2 zero=3 ahead=0",
             *oneForwardOneBackward = "pp=2 microbatches=4 schedule=1f1b",
             *gpipe = "pp=2 microbatches=4 schedule=gpipe",
             *sequence = "tp=2 sequence=true", *all = "remat=none",
             *few = "remat=full", *halves = "precision=bf16",
             *many = "pp=4 microbatches=32";
  const Family families[] = {
      {"gpt",
       [](MLIRContext &context, Type type) {
         const GptConfig config = {
             /*layers=*/4, /*hidden=*/64, /*heads=*/4,
             /*seq=*/32,   /*batch=*/32,  /*vocab=*/128};
         return buildGpt(context, config, type);
       },
       {oneDevice, zero, oneForwardOneBackward, gpipe, sequence, all, few,
        halves, many}},
      {"moe",
       [](MLIRContext &context, Type type) {
         const MoeConfig config = {{/*layers=*/2, /*hidden=*/64, /*heads=*/4,
                                    /*seq=*/32,
                                    /*batch=*/16, /*vocab=*/128}};
         return buildMoe(context, config, type);
       },
       {oneDevice, zero, oneForwardOneBackward, gpipe, sequence, few, halves}},
      {"mlp",
       [](MLIRContext &context, Type type) {
         MlpConfig config;
         config.layers = 6;
         config.hidden = 128;
         config.batch = 64;
         return buildMlp(context, config, type);
       },
       {oneDevice, zero, oneForwardOneBackward, gpipe, few, halves}},
      {"resnet",
       [](MLIRContext &context, Type type) {
         ResNetConfig config;
         config.width = 32;
         return buildResNet(context, config, type);
       },
       {oneDevice, zero, few, halves}},
      {"unet",
       [](MLIRContext &context, Type type) {
         UNetConfig config;
         config.batch = 16;
         return buildUNet(context, config, type);
       },
       {oneDevice, zero, oneForwardOneBackward, gpipe, few, halves}},
  };
  for (const Family &family : families)
    for (const char *plan : family.plans) {
      PipelineOptions options;
      std::string error;
      ASSERT_TRUE(succeeded(parseParallelize(plan, options, error))) << error;
      auto module = family.build(context, Float32Type::get(&context));
      PassManager passes(&context);
      buildPipeline(passes, options, std::nullopt);
      ASSERT_TRUE(succeeded(passes.run(*module)));
      for (auto program : module->getOps<ProgramOp>()) {
        const double ratio =
            double(program.getArenaBytes()) / double(measureMostLive(program));
        std::printf("%s [%s] @%s: %.3f\n", family.name, plan,
                    program.getSymName().str().c_str(), ratio);
        EXPECT_LE(ratio, 1.03) << family.name << " [" << plan << "] @"
                               << program.getSymName().str();
      }
    }
}

} // namespace
