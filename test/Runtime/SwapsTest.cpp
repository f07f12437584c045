//===- SwapsTest.cpp - the checks against the reference executor ----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Swaps two instructions of valid programs at random and asks both sides. The
// checks must reject for matching or deadlock exactly what stalls or meets a
// stranger when executed, and for a race exactly what the executor's detector
// reports; what they accept must end with the same bits in 20 interleavings.
//
//===----------------------------------------------------------------------===//
#include "ExecutionModel.h"
#include "Pipelines.h"
#include "pprt/Checks.h"

#include <gtest/gtest.h>

using namespace pprt;
using namespace pprt::test;

namespace {

constexpr int kSwaps = 1000;
constexpr int kInterleavings = 20;

/// What becomes of the waits when two instructions change places.
enum class Waits {
  move,    ///< each instruction takes its own along
  stay,    ///< each place keeps its own
  renumber ///< as move, and waits for the two count up to their new places
};

class Mutator {
public:
  Mutator(ppx::ArtifactT &artifact, std::mt19937_64 &random)
      : artifact(artifact), random(random) {}

  /// Swaps two instructions in one section of one rank.
  void swap();

private:
  size_t pick(size_t count) { return size_t(random() % count); }
  void renumber(InstructionList &list, size_t i, size_t j);

  ppx::ArtifactT &artifact;
  std::mt19937_64 &random;
};

} // namespace

/// Makes waits that end at i or j, which share a queue, end at the other.
void Mutator::renumber(InstructionList &list, size_t i, size_t j) {
  auto countUpTo = [&](size_t end) {
    uint32_t count = 0;
    for (size_t k = 0; k <= end; ++k)
      count += list[k]->queue == list[i]->queue;
    return count;
  };
  const uint32_t first = countUpTo(i), second = countUpTo(j);
  for (const auto &instruction : list)
    for (ppx::Wait &wait : instruction->waits)
      if (wait.queue() == list[i]->queue &&
          (wait.count() == first || wait.count() == second))
        wait = ppx::Wait(wait.queue(), first + second - wait.count());
}

void Mutator::swap() {
  uint32_t ranks = 0;
  for (const auto &program : artifact.programs)
    ranks += uint32_t(program->ranks.size());
  ppx::ProgramT &program =
      *artifact.programs[makePrivateProgram(artifact, uint32_t(pick(ranks)))];
  const bool inBody = pick(8) != 0;
  InstructionList &list = inBody         ? program.body
                          : pick(2) == 0 ? program.prologue
                                         : program.epilogue;
  // A step stays where it is: a body without it at its end has no structure.
  const size_t count = list.size() - (inBody ? 1 : 0);
  if (count < 2)
    return;
  const size_t i = pick(count);
  std::vector<size_t> others;
  const bool sameQueue = pick(4) != 0, adjacent = pick(2) == 0;
  for (size_t k = i + 1; k < count; ++k)
    if (!sameQueue || list[k]->queue == list[i]->queue)
      others.push_back(k);
  if (others.empty())
    return;
  const size_t j = adjacent ? others.front() : others[pick(others.size())];
  const Waits waits = Waits(pick(3));
  if (waits == Waits::renumber && list[i]->queue == list[j]->queue)
    renumber(list, i, j);
  std::swap(list[i], list[j]);
  if (waits == Waits::stay)
    std::swap(list[i]->waits, list[j]->waits);
}

namespace {

struct Counts {
  int accepted = 0, race = 0, mismatch = 0, deadlock = 0, raceAndBlocked = 0;
};

} // namespace

TEST(Swaps, TheChecksAndTheExecutorAgree) {
  std::mt19937_64 random(20240601);
  Counts counts;
  for (int i = 0; i < kSwaps; ++i) {
    SCOPED_TRACE("swap " + std::to_string(i));
    ppx::ArtifactT artifact = makePipeline(randomShape(random));
    const CheckResult valid = checkArtifact(artifact);
    ASSERT_TRUE(valid.ok()) << valid.status().message();
    Mutator(artifact, random).swap();

    const CheckResult checked = checkArtifact(artifact);
    ASSERT_FALSE(checked.has(FindingKind::structure))
        << checked.status().message();
    const bool race = checked.has(FindingKind::race);
    const bool mismatch = checked.has(FindingKind::mismatch);
    const bool deadlock = checked.has(FindingKind::deadlock);
    counts.accepted += checked.ok();
    counts.race += race && !mismatch && !deadlock;
    counts.raceAndBlocked += race && (mismatch || deadlock);
    counts.mismatch += mismatch;
    counts.deadlock += deadlock;

    reference::Result first;
    for (int seed = 0; seed < kInterleavings; ++seed) {
      // Detection costs most of the time, and does not depend on the seed.
      const bool detect = seed < 3;
      reference::Result run =
          reference::execute(artifact, hashingOptions(seed, detect));
      const bool blocked = run.end != reference::End::finished;
      ASSERT_EQ(blocked, mismatch || deadlock)
          << checked.status().message() << '\n'
          << run.reason;
      // A run that stops early sees the races before that point only.
      if (detect && !blocked) {
        ASSERT_EQ(!run.races.empty(), race)
            << checked.status().message() << '\n'
            << (run.races.empty() ? "" : run.races.front());
      } else if (!run.races.empty()) {
        ASSERT_TRUE(race) << run.races.front();
      }
      if (seed == 0)
        first = std::move(run);
      else if (checked.ok())
        ASSERT_TRUE(run.arenas == first.arenas && run.emitted == first.emitted);
      // One that is rejected says the same again.
      if (!checked.ok() && seed >= 3)
        break;
    }
  }
  std::printf("%d swaps: %d accepted, %d races, %d mismatches, %d deadlocks "
              "(%d of them also with a race)\n",
              kSwaps, counts.accepted, counts.race, counts.mismatch,
              counts.deadlock, counts.raceAndBlocked);
  for (int count :
       {counts.accepted, counts.race, counts.mismatch, counts.deadlock})
    EXPECT_GE(count, 50);
}
