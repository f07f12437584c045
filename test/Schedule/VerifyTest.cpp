//===- VerifyTest.cpp - Wrong schedules are refused -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One mistake each, and the message it must give; then random mutants, judged
// by an independent replay.
//
//===----------------------------------------------------------------------===//
#include "pp/Schedule/Algorithms.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace pp::schedule;

/// The verifier's message on a schedule given as CSV; empty if it is accepted.
static std::string messageFor(const std::string &csv) {
  std::string error;
  std::optional<Schedule> schedule = parseCsv(csv, error);
  EXPECT_TRUE(schedule) << error;
  if (!schedule)
    return error;
  return verify(*schedule, error) ? "" : error;
}

TEST(Verify, AcceptsSeveralStagesPerRankAndSplitBackwards) {
  // Interleaved: stages 0 and 2 on rank 0.
  EXPECT_EQ(messageFor("0F0,2F0,2B0,0B0\n1F0,1B0\n"), "");
  EXPECT_EQ(messageFor("0F0,0I0,0W0\n"), "");
  // Split for one micro-batch only.
  EXPECT_EQ(messageFor("0F0,0F1,0B0,0I1,0W1\n"), "");
}

TEST(Verify, RefusesARepeatedAction) {
  EXPECT_EQ(messageFor("0F0,0B0\n1F0,1F0,1B0\n"),
            "stage 1, action 1: expects every action once, got a second 1F0\n"
            "stage 0 | 0F0  0B0\n"
            "stage 1 | 1F0 [1F0] 1B0\n");
}

TEST(Verify, TakesForwardWorkAlone) {
  EXPECT_EQ(messageFor("0F0,0F1\n1F0,1F1\n"), "");
  // All of it.
  EXPECT_NE(messageFor("0F0,0F1\n1F0\n"), "");
}

TEST(Verify, RefusesAMissingAction) {
  EXPECT_EQ(messageFor("0F0,0B0\n1F0\n"),
            "expects every stage to run forward and backward on every "
            "micro-batch, got no 1B0\n"
            "stage 0 | 0F0  0B0\n"
            "stage 1 | 1F0\n");
}

TEST(Verify, RefusesAStageOnTwoRanks) {
  EXPECT_EQ(
      messageFor("0F0,0B0\n0F1,0B1\n"),
      "position 1, action 0: expects stage 0 at position 0 only, got 0F1\n"
      "position 0 | 0F0  0B0\n"
      "position 1 |[0F1] 0B1\n");
}

TEST(Verify, RefusesBackwardBeforeForward) {
  EXPECT_EQ(messageFor("0B0,0F0\n"),
            "stage 0, action 0: expects 0F0 first, got 0B0\n"
            "stage 0 |[0B0] 0F0\n");
  EXPECT_EQ(messageFor("0F0,0W0,0B0\n"),
            "stage 0, action 1: expects 0B0 first, got 0W0\n"
            "stage 0 | 0F0 [0W0] 0B0\n");
}

TEST(Verify, ShowsTheCycleOfADeadlock) {
  EXPECT_EQ(messageFor("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n"),
            "stage 0, action 1: expects an order that can be run, got a "
            "deadlock: stage 0 at 0B0 waits for 1B0, stage 1 at 1F1 waits for "
            "0F1\n"
            "stage 0 | 0F0 [0B0] 0F1  0B1\n"
            "stage 1 | 1F0  1F1  1B0  1B1\n");
  // A rank can wait for itself: stages 0 and 1, the second one first.
  EXPECT_EQ(messageFor("1F0,1B0,0F0,0B0\n"),
            "position 0, action 0: expects an order that can be run, got a "
            "deadlock: position 0 at 1F0 waits for 0F0\n"
            "position 0 |[1F0] 1B0  0F0  0B0\n");
}

TEST(Verify, RefusesActionsOutOfRangeAndSizesOutOfBounds) {
  std::string error;
  Schedule schedule{
      "", 1, 1, {{{0, Kind::Forward, 0}, {1, Kind::Backward, 0}}}};
  EXPECT_FALSE(verify(schedule, error));
  EXPECT_EQ(error, "position 0, action 1: expects a stage below 1, got 1B0\n"
                   "position 0 | 0F0 [1B0]\n");
  schedule.ranks[0][1] = {0, Kind::Forward, 7};
  EXPECT_FALSE(verify(schedule, error));
  EXPECT_EQ(error, "stage 0, action 1: expects a micro-batch below 1, got 0F7\n"
                   "stage 0 | 0F0 [0F7]\n");
  EXPECT_FALSE(verify(Schedule(), error));
  EXPECT_EQ(error, "expects between 1 and 4096 stages, got 0");
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

/// Whether all ranks reach the end of their lists, found by trying every rank
/// again and again.
static bool runsToItsEnd(const Schedule &schedule) {
  std::set<std::string> done;
  std::vector<size_t> next(schedule.ranks.size(), 0);
  auto has = [&](unsigned stage, char kind, unsigned m) {
    return done.count(std::to_string(stage) + kind + std::to_string(m)) != 0;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t rank = 0; rank < next.size(); ++rank) {
      if (next[rank] == schedule.ranks[rank].size())
        continue;
      const Action &a = schedule.ranks[rank][next[rank]];
      bool ready = a.kind == Kind::Forward
                       ? a.stage == 0 || has(a.stage - 1, 'F', a.microBatch)
                   : a.kind == Kind::Weight
                       ? has(a.stage, 'B', a.microBatch)
                       : has(a.stage, 'F', a.microBatch) &&
                             (a.stage + 1 == schedule.stages ||
                              has(a.stage + 1, 'B', a.microBatch));
      if (!ready)
        continue;
      done.insert(print(a));
      ++next[rank];
      changed = true;
    }
  }
  for (size_t rank = 0; rank < next.size(); ++rank)
    if (next[rank] != schedule.ranks[rank].size())
      return false;
  return true;
}

TEST(Verify, AgreesWithAReplayOnSwappedActions) {
  std::mt19937 random(1);
  auto below = [&](size_t bound) {
    return static_cast<size_t>(random() % bound);
  };
  unsigned accepted = 0, refused = 0;
  for (unsigned trial = 0; trial < 2000; ++trial) {
    std::string error;
    ScheduleProblem problem{2 + unsigned(below(3)), 1 + unsigned(below(8)), 0};
    std::optional<Schedule> schedule =
        generate(algorithms()[below(algorithms().size())].name, problem, error);
    ASSERT_TRUE(schedule) << error;
    for (size_t swaps = 1 + below(3); swaps > 0; --swaps) {
      std::vector<Action> &actions = schedule->ranks[below(problem.ranks)];
      size_t i = below(actions.size() - 1);
      std::swap(actions[i], actions[i + 1]);
    }
    bool isValid = verify(*schedule, error);
    ASSERT_EQ(isValid, runsToItsEnd(*schedule)) << printGrid(*schedule);
    ++(isValid ? accepted : refused);
  }
  EXPECT_GT(accepted, 100u);
  EXPECT_GT(refused, 100u);
}

TEST(Verify, RefusesDroppedRepeatedAndMisplacedActions) {
  std::string error;
  Schedule original = *generate("1f1b", {3, 4, 1}, error);
  for (size_t rank = 0; rank < original.ranks.size(); ++rank) {
    for (size_t i = 0; i < original.ranks[rank].size(); ++i) {
      Action action = original.ranks[rank][i];
      Schedule dropped = original;
      dropped.ranks[rank].erase(dropped.ranks[rank].begin() + i);
      EXPECT_FALSE(verify(dropped, error));
      Schedule repeated = original;
      repeated.ranks[rank].push_back(action);
      EXPECT_FALSE(verify(repeated, error));
      Schedule misplaced = dropped;
      misplaced.ranks[(rank + 1) % 3].push_back(action);
      EXPECT_FALSE(verify(misplaced, error));
    }
  }
}
