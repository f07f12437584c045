//===- InstructionListTest.cpp - calls unfold, and must be sound ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Assumes that the reference writes lists out as the format says: the view must
// be the same for random routines. Then one wrong thing at a time in calls and
// copies.
//
//===----------------------------------------------------------------------===//
#include "Pipelines.h"
#include "ProgramBuilder.h"
#include "pprt/Checks.h"
#include "reference/FlatList.h"

#include "gtest/gtest.h"

#include <random>

using namespace pprt;
using namespace pprt::test;

/// Kernels that wait for the one before, in another queue.
static void addRoutine(ppx::ProgramT &program,
                       const std::vector<uint32_t> &slots) {
  program.routines.push_back(std::make_unique<ppx::RoutineT>());
  for (uint32_t slot : slots) {
    auto &list = program.routines.back()->instructions;
    list.push_back(std::make_unique<ppx::InstructionT>());
    list.back()->queue = uint32_t(list.size() - 1) % 2;
    list.back()->arguments = {slot};
    if (list.size() > 1)
      list.back()->waits.emplace_back(uint32_t(list.size()) % 2,
                                      uint32_t(list.size()) / 2);
  }
}

static ppx::CallT &addCall(ppx::ProgramT &program, uint32_t routine,
                           int32_t microBatch) {
  program.body.push_back(std::make_unique<ppx::CallT>());
  program.body.back()->routine = routine;
  program.body.back()->micro_batch = microBatch;
  return *program.body.back();
}

static ppx::ProgramT twoQueues(size_t slots) {
  ppx::ProgramT program;
  for (int queue = 0; queue < 2; ++queue)
    program.queues.push_back(std::make_unique<ppx::QueueT>());
  for (size_t slot = 0; slot < slots; ++slot)
    program.slots.push_back(std::make_unique<ppx::SlotT>());
  return program;
}

static std::string print(const InstructionList &list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    text += text.empty() ? "" : ", ";
    text += std::to_string(list[i].microBatch()) + ": " +
            std::to_string(list[i]->arguments[0]) + "." +
            std::to_string(list[i].copy(0));
    for (const ppx::Wait &wait : list.waits(i))
      text += " after " + std::to_string(wait.queue()) + " " +
              std::to_string(wait.count());
  }
  return text;
}

// The example of the header: x is slot 4, compute queue 0, send queue 1.
TEST(InstructionList, UnfoldsCalls) {
  ppx::ProgramT program = twoQueues(6);
  program.slots[4]->more = {64};
  addRoutine(program, {4, 4});
  addCall(program, 0, 0);
  addCall(program, 0, 1);
  EXPECT_EQ(print(InstructionList(program, Section::body)),
            "0: 4.0, 0: 4.0 after 0 1, 1: 4.1, 1: 4.1 after 0 2");
  addCall(program, 0, 2).waits.emplace_back(0, 1, 2);
  EXPECT_EQ(print(InstructionList(program, Section::body)),
            "0: 4.0, 0: 4.0 after 0 1, 1: 4.1, 1: 4.1 after 0 2, "
            "2: 4.0 after 1 2, 2: 4.0 after 0 3");
  EXPECT_TRUE(InstructionList(program, Section::setup).empty());
}

/// `flat` has one call, and its slots one copy.
static void expectSame(const InstructionList &view, const InstructionList &flat,
                       const ppx::ProgramT &written) {
  ASSERT_EQ(view.size(), flat.size());
  for (size_t i = 0; i < flat.size(); ++i) {
    SCOPED_TRACE("instruction " + std::to_string(i));
    EXPECT_EQ(view[i].microBatch(), flat[i]->micro_batch);
    const ppx::SlotT &slot = *written.slots[flat[i]->arguments[0]];
    EXPECT_EQ(view[i].offset(0), slot.offset);
    EXPECT_EQ(view[i].slot(0).name, slot.name);
    const std::vector<ppx::Wait> waits = view.waits(i);
    ASSERT_EQ(waits.size(), flat[i]->waits.size());
    for (size_t wait = 0; wait < waits.size(); ++wait) {
      EXPECT_EQ(waits[wait].queue(), flat[i]->waits[wait].queue());
      EXPECT_EQ(waits[wait].count(), flat[i]->waits[wait].count());
    }
  }
}

TEST(InstructionList, IsWhatTheReferenceWritesOut) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](size_t count) { return uint32_t(random() % count); };
    ppx::ProgramT program = twoQueues(12);
    for (const auto &slot : program.slots) {
      slot->offset = random();
      slot->name = std::to_string(slot->offset);
      slot->more.resize(pick(5));
      for (uint64_t &offset : slot->more)
        offset = random();
    }
    for (int routine = 0; routine < 3; ++routine) {
      std::vector<uint32_t> slots(pick(5));
      for (uint32_t &slot : slots)
        slot = pick(12);
      addRoutine(program, slots);
    }
    for (uint32_t call = 0; call < 12; ++call) {
      const uint32_t routine = pick(3);
      ppx::CallT &its = addCall(program, routine, int32_t(pick(9)) - 1);
      for (uint32_t i = 0; i < program.routines[routine]->instructions.size();
           ++i)
        if (pick(3) == 0)
          its.waits.emplace_back(i, pick(2), pick(9));
      auto &section = callsOf(program, kSections[pick(3)]);
      if (&section != &program.body) {
        section.push_back(std::move(program.body.back()));
        program.body.pop_back();
      }
    }
    for (uint32_t argument = 0; argument < 3; ++argument)
      program.argument_slots.push_back(int32_t(pick(13)) - 1);
    const ppx::ProgramT written = reference::writeOut(program);
    for (size_t argument = 0; argument < 3; ++argument) {
      const int32_t slot = program.argument_slots[argument],
                    now = written.argument_slots[argument];
      ASSERT_EQ(slot < 0, now < 0);
      if (slot >= 0)
        EXPECT_EQ(written.slots[size_t(now)]->offset,
                  program.slots[size_t(slot)]->offset);
    }
    for (Section section : kSections) {
      SCOPED_TRACE(std::to_string(seed) + ", " + sectionName(section));
      expectSame(InstructionList(program, section),
                 InstructionList(written, section), written);
    }
  }
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// Two micro-batches that take a slot in turn.
static ppx::ArtifactT twoCalls() {
  ArtifactBuilder artifact;
  artifact.axis("microbatch", 2, ppx::AxisKind_time);
  ProgramBuilder builder = artifact.program({0});
  const uint32_t main = builder.queue("main");
  const uint32_t x = builder.slot("x", 4);
  builder.get().arena_bytes = 80; // its other copy
  builder.begin(Section::body);
  builder.run(main, {}, {x});
  builder.run(main, {x}, {builder.slot("y", 4)});
  ppx::ProgramT &program = builder.get();
  program.slots[x]->more = {64};
  program.body[0]->micro_batch = 0;
  addCall(program, program.body[0]->routine, 1);
  addCall(program, uint32_t(program.routines.size()), -1);
  program.routines.push_back(std::make_unique<ppx::RoutineT>());
  auto step = std::make_unique<ppx::InstructionT>();
  step->opcode = ppx::Opcode_step;
  step->queue = main;
  program.routines.back()->instructions.push_back(std::move(step));
  return artifact.take();
}

TEST(Calls, MustBeSound) {
  EXPECT_EQ(checkArtifact(twoCalls()).status().message(), "");
  const std::pair<void (*)(ppx::ProgramT &), const char *> cases[] = {
      {[](auto &p) { p.body[1]->routine = 2; },
       "program 'program0', body, call 1 expects a routine below 2, got 2"},
      {[](auto &p) { p.routines[0]->instructions[0]->micro_batch = 0; },
       "program 'program0', body, call 0 expects instructions without "
       "micro-batches of their own in a routine that is called for one"},
      {[](auto &p) { p.body[1]->micro_batch = 2; },
       "rank 0, body #2 '0P2 run': expects a micro-batch below 2, got 2"},
      {[](auto &p) { p.body[1]->micro_batch = -2; },
       "program 'program0', body, call 1 expects a micro-batch or none (-1), "
       "got -2"},
      {[](auto &p) { p.body[0]->waits.emplace_back(2, 0, 1); },
       "program 'program0', body, call 0 expects waits by ascending "
       "instruction, numbered 0 to 1, got one of number 2"},
      {[](auto &p) {
         p.body[1]->waits = {ppx::CallWait(1, 0, 1), ppx::CallWait(0, 0, 1)};
       },
       "program 'program0', body, call 1 expects waits by ascending "
       "instruction, numbered 0 to 1, got one of number 0"},
      {[](auto &p) { p.body[1]->waits.emplace_back(0, 0, 6); },
       "rank 0, body #2 '0P1 run': expects to wait for one of the "
       "instructions of queue 'main' in this section, numbered 1 to 5, got "
       "number 6"},
      {[](auto &p) {
         p.routines[0]->instructions[1]->waits = {ppx::Wait(0, ~uint32_t(0))};
       },
       "rank 0, body #1 '0P0 run': expects to wait for one of the "
       "instructions of queue 'main' in this routine, numbered 1 to 2, got "
       "number 4294967295"},
      // The section has five.
      {[](auto &p) {
         p.routines[0]->instructions[0]->waits = {ppx::Wait(0, 3)};
       },
       "rank 0, body #0 '0P0 run': expects to wait for one of the "
       "instructions of queue 'main' in this routine, numbered 1 to 2, got "
       "number 3"},
      {[](auto &p) { p.routines.push_back(std::make_unique<ppx::RoutineT>()); },
       "program 'program0' expects calls of routine 2, got none"},
      {[](auto &p) { p.slots[0]->more = {32}; },
       "program 'program0', slot 0 'x' expects an offset aligned to 64, got "
       "32"},
      {[](auto &p) { p.slots[0]->more = {64, 1024}; },
       "program 'program0', slot 0 'x' expects to end within the arena of 144 "
       "bytes, got offset 1024 and 16 bytes"},
      // The second call would overwrite what it reads.
      {[](auto &p) { p.slots[0]->more = {p.slots[1]->offset}; },
       "rank 0, body #3 '0P1 run': expects what it writes apart from its "
       "other slots, got 'x' and 'y'"},
  };
  for (const auto &[change, message] : cases) {
    ppx::ArtifactT artifact = twoCalls();
    change(*artifact.programs[0]);
    const std::string found = checkStructure(artifact).status().message();
    EXPECT_EQ(found.substr(0, found.find('\n')), message);
  }
}

/// A routine of 2^16 instructions, each changed, that is called 2^10 times.
template <typename Change> static std::string longList(Change change) {
  ppx::ArtifactT artifact = twoCalls();
  ppx::ProgramT &program = *artifact.programs[0];
  addRoutine(program, std::vector<uint32_t>(1 << 16, 0));
  for (auto &instruction : program.routines.back()->instructions)
    instruction->waits.clear();
  for (int i = 0; i < 1 << 10; ++i)
    addCall(program, 2, -1);
  change(program);
  const std::string found = checkStructure(artifact).status().message();
  return found.substr(0, found.find('\n'));
}

// A small file may list more than memory holds, or time suffices for.
TEST(Calls, MayNotListTooMuch) {
  const auto tooLong = [](int call) {
    return "program 'program0', body, call " + std::to_string(call) +
           " expects calls of all programs to list at most 134217728 "
           "instructions, slots, waits and queues, got more";
  };
  const auto forEach = [](ppx::ProgramT &program, auto change) {
    for (auto &instruction : program.routines.back()->instructions)
      change(*instruction);
  };
  EXPECT_EQ(longList([&](ppx::ProgramT &program) {
              forEach(program, [](auto &its) { its.arguments.resize(7); });
            }),
            tooLong(258));
  EXPECT_EQ(longList([&](ppx::ProgramT &program) {
              forEach(program, [](auto &its) { its.waits.resize(14); });
            }),
            tooLong(130));
  EXPECT_EQ(longList([&](ppx::ProgramT &program) {
              while (program.queues.size() < 1 << 8)
                program.queues.push_back(std::make_unique<ppx::QueueT>());
              uint32_t queue = 0;
              forEach(program,
                      [&](auto &its) { its.queue = queue++ % (1 << 8); });
            }),
            "program 'program0', body, call 34 expects what is listed, times "
            "the queues in use, to be at most 1073741824 in all programs, got "
            "more");
}

// A sum would have a micro-batch twice.
TEST(Calls, AreOncePerMicroBatch) {
  ppx::ArtifactT artifact = twoCalls();
  artifact.programs[0]->body[0]->micro_batch = 1;
  EXPECT_EQ(checkStructure(artifact).status().message(),
            "program 'program0', body, call 1 expects one call of routine 0 "
            "for micro-batch 1, got another");
  // Sections do not count each other's.
  artifact = twoCalls();
  artifact.programs[0]->setup.push_back(
      std::make_unique<ppx::CallT>(*artifact.programs[0]->body[0]));
  EXPECT_EQ(checkArtifact(artifact).status().message(), "");
  artifact = twoCalls();
  artifact.programs[0]->routines[1]->instructions[0]->micro_batch = 0;
  addCall(*artifact.programs[0], 1, -1);
  EXPECT_EQ(checkStructure(artifact).status().message(),
            "program 'program0', body, call 3 expects one call of routine 1, "
            "which has micro-batches of its own, got another");
}
