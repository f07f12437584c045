//===- ContentsTest.cpp - what a program finds where it reads -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The smallest programs that are ordered, and read what was not meant.
//
//===----------------------------------------------------------------------===//
#include "OneRank.h"

using namespace pprt;
using namespace pprt::test;

namespace {
using Clobber = OneRank;
} // namespace

TEST_F(Clobber, ReadingWhatNothingWrote) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.run(main, {x}, {y});
  EXPECT_EQ(check(), "rank 0, body #0 '0P run': reads 'x'; nothing has "
                     "written these bytes");
}

TEST_F(Clobber, ReadingWhatIsWrittenInPart) {
  const uint32_t whole = program.slot("whole", 32), y = program.slot("y", 4);
  const uint32_t tail = program.slotAt(64, "tail", 16);
  program.run(main, {}, {tail});
  program.run(main, {whole}, {y});
  EXPECT_EQ(check(), "rank 0, body #1 '0P run': reads 'whole'; nothing has "
                     "written these bytes");
}

TEST_F(Clobber, ParametersAreWrittenBeforeTheSetup) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  artifact.hold(artifact.argument("x", ppx::Role_param, 4), x);
  program.run(main, {x}, {y});
  EXPECT_EQ(check(), "");
}

TEST_F(Clobber, AGateMayLeaveItsOutputsAsTheyWere) {
  const uint32_t x = program.slot("x", 4), flag = program.slot("flag", 1);
  program.get().slots[flag]->element = ppx::ElementType_i32;
  program.run(main, {}, {flag});
  program.gate(main, {}, {x}, flag);
  EXPECT_EQ(check(), "rank 0, body #1 '0P gate': reads 'x'; nothing has "
                     "written these bytes");
}

// Ordered, but still wrong.
TEST_F(Clobber, AReadAfterAnotherSlotTookItsBytes) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  program.run(main, {}, {x});
  program.run(main, {}, {taker});
  program.run(main, {x}, {y});
  EXPECT_EQ(check(), "rank 0, body #2 '0P run': reads 'x'; expects bytes last "
                     "written through it, got what rank 0, body #1 '0P run' "
                     "wrote through 'taker'");
}

// Micro-batches take a slot in turn, and one may come too early. A sum goes
// from one to the next.
TEST_F(Clobber, AnotherMicroBatchTookItsTurn) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t sum = program.slot("sum", 4);
  artifact.axis("mb", 2, ppx::AxisKind_time);
  program.run(main, {}, {x}).micro_batch = 0;
  program.run(main, {}, {sum}).micro_batch = 0;
  program.run(main, {}, {x}).micro_batch = 1;
  program.run(main, {x}, {}, {sum}).micro_batch = 1;
  program.run(main, {sum}, {y});
  program.run(main, {x}, {y}).micro_batch = 0;
  EXPECT_EQ(check(), "rank 0, body #5 '0P0 run': reads 'x'; expects what is "
                     "written for its own micro-batch, got what rank 0, body "
                     "#2 '0P1 run' wrote");
}

// What is read for no micro-batch is a sum over all, whether it begins with the
// first of them or with zeros.
class Sums : public OneRank {
protected:
  Sums() {
    artifact.axis("mb", 3, ppx::AxisKind_time);
    sum = program.slot("sum", 4);
    result = program.slot("result", 4);
  }
  void begin(int32_t microBatch) {
    program.run(main, {}, {sum}).micro_batch = microBatch;
  }
  void add(int32_t microBatch) {
    program.run(main, {}, {}, {sum}).micro_batch = microBatch;
  }
  void read(int32_t microBatch = -1) {
    program.run(main, {sum}, {result}).micro_batch = microBatch;
  }

  uint32_t sum = 0, result = 0;
};

TEST_F(Sums, HaveAPartOfEachMicroBatch) {
  begin(-1);
  for (int32_t microBatch : {2, 0, 1})
    add(microBatch);
  read();
  begin(1);
  for (int32_t microBatch : {1, 0, 2})
    add(microBatch);
  read();
  EXPECT_EQ(check(), "");
}

TEST_F(Sums, MayLackNone) {
  begin(0);
  add(0);
  add(2);
  read(2);
  read();
  begin(0);
  read();
  EXPECT_EQ(check(),
            "rank 0, body #4 '0P run': reads 'sum'; expects a sum over all 3 "
            "micro-batches, got none of micro-batch 1\n"
            "rank 0, body #6 '0P run': reads 'sum'; expects a sum over all 3 "
            "micro-batches, got none of micro-batch 1");
}

TEST_F(Sums, DoNotComeFromGates) {
  const uint32_t flag = program.slot("flag", 1);
  program.get().slots[flag]->element = ppx::ElementType_i32;
  program.run(main, {}, {flag});
  begin(0);
  for (int32_t microBatch : {1, 2})
    program.gate(main, {}, {sum}, flag).micro_batch = microBatch;
  read();
  EXPECT_EQ(check(), "rank 0, body #4 '0P run': reads 'sum'; expects a sum "
                     "over all 3 micro-batches, got none of micro-batch 0");
}

// The first body adds to what the setup began, the second to zeros.
TEST_F(Sums, BeginAnewInEachBody) {
  program.begin(Section::setup);
  begin(0);
  program.begin(Section::body);
  add(1);
  add(2);
  read();
  begin(-1);
  EXPECT_EQ(check(), "rank 0, body #2 '0P run': reads 'sum'; expects a sum "
                     "over all 3 micro-batches, got none of micro-batch 0");
}

TEST_F(Clobber, AcrossQueues) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  program.run(main, {}, {x});
  program.run(side, {}, {taker}).waits = {program.after(main)};
  program.run(main, {x}, {y}).waits = {program.after(side)};
  EXPECT_EQ(check(), "rank 0, body #2 '0P run': reads 'x'; expects bytes last "
                     "written through it, got what rank 0, body #1 '0P run' "
                     "wrote through 'taker'");
}

TEST_F(Clobber, MemoryMayBeTakenAndGivenBack) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  for (int i = 0; i < 2; ++i) {
    program.run(main, {}, {x});
    program.run(main, {x}, {y});
    program.run(main, {}, {taker});
    program.run(main, {taker}, {y});
  }
  EXPECT_EQ(check(), "");
}

// Right in the first body, wrong in the second.
TEST_F(Clobber, ABodyFindsWhatTheOneBeforeLeft) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  program.begin(Section::setup);
  program.run(main, {}, {x});
  program.begin(Section::body);
  program.run(main, {x}, {y});
  program.run(main, {}, {taker});
  EXPECT_EQ(check(), "rank 0, body #0 '0P run': reads 'x'; expects bytes last "
                     "written through it, got what rank 0, body #1 '0P run' "
                     "wrote through 'taker'");
}

// What one micro-batch may find of the body before, another may not.
TEST_F(Clobber, EachMicroBatchFindsWhatTheBodyBeforeLeft) {
  artifact.axis("mb", 2, ppx::AxisKind_time);
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  program.begin(Section::setup);
  program.run(main, {}, {x});
  program.begin(Section::body);
  program.run(main, {x}, {y}).micro_batch = 0;
  program.run(main, {x}, {y}).micro_batch = 1;
  program.run(main, {}, {x}).micro_batch = 0;
  EXPECT_EQ(check(), "rank 0, body #1 '0P1 run': reads 'x'; expects what is "
                     "written for its own micro-batch, got what rank 0, body "
                     "#2 '0P0 run' wrote");
}

TEST_F(Clobber, TheHostReadsParametersBetweenSections) {
  const uint32_t x = program.slot("x", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  artifact.hold(artifact.argument("x", ppx::Role_param, 4), x);
  program.run(main, {}, {taker});
  EXPECT_EQ(check(), "rank 0, after the body: the host reads 'x'; expects "
                     "bytes last written through it, got what rank 0, body #0 "
                     "'0P run' wrote through 'taker'");
}

TEST_F(Clobber, AParameterIsTheHostsUntilItIsWritten) {
  const uint32_t x = program.slot("x", 4), y = program.slot("y", 4);
  const uint32_t taker = program.slotAt(0, "taker", 1);
  artifact.hold(artifact.argument("x", ppx::Role_param, 4), x);
  program.run(main, {taker}, {y});
  EXPECT_EQ(check(), "rank 0, body #0 '0P run': reads 'taker'; expects bytes "
                     "last written through it, got what the host wrote through "
                     "'x'");
}
