//===- CommandsTest.cpp - commands for streams, and their waits -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// For pipelines of many shapes, with one rank per device and with all on one:
// streams and events together enforce every order that the programs require,
// and no event could be left out.
//
//===----------------------------------------------------------------------===//
#include "engine/enqueued/Commands.h"
#include "Pipelines.h"
#include "pprt/CommOps.h"
#include "pprt/Program.h"

#include <gtest/gtest.h>

#include <map>

using namespace pprt;
using namespace pprt::test;
using enqueued::Command;
using enqueued::Commands;

namespace {

using Set = std::vector<bool>;

/// By command, those that have ended before it begins; ignores the wait of
/// `stream` at `without`, if that is one.
std::vector<Set> ancestorsOf(const Commands &commands, uint32_t at = 0,
                             uint32_t without = 0) {
  const size_t count = commands.list.size();
  std::vector<Set> result(count, Set(count));
  std::map<uint32_t, uint32_t> last;
  for (uint32_t c = 0; c < count; ++c) {
    std::vector<uint32_t> direct;
    for (uint32_t other : commands.list[c].waits)
      if (c != at || other != without)
        direct.push_back(other);
    if (const auto found = last.find(commands.list[c].stream);
        found != last.end())
      direct.push_back(found->second);
    for (uint32_t other : direct) {
      result[c][other] = true;
      for (size_t i = 0; i < count; ++i)
        result[c][i] = result[c][i] || result[other][i];
    }
    last[commands.list[c].stream] = c;
  }
  return result;
}

/// The orders that programs require: pairs of commands, the first one earlier.
std::vector<std::pair<uint32_t, uint32_t>> ordersOf(const Ranks &ranks,
                                                    RankRange range,
                                                    Section section,
                                                    const Commands &commands) {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> commandOf;
  for (uint32_t c = 0; c < commands.list.size(); ++c)
    for (const InstructionRef &part : commands.list[c].parts)
      EXPECT_TRUE(commandOf.insert({{part.rank, part.index}, c}).second);
  std::vector<std::pair<uint32_t, uint32_t>> result;
  const uint32_t end = uint32_t(commands.list.size()) - 1;
  for (uint32_t rank = range.begin; rank < range.end; ++rank) {
    std::map<uint32_t, std::vector<uint32_t>> queues;
    const InstructionList &list = ranks.instructions(rank, section);
    for (uint32_t i = 0; i < list.size(); ++i)
      queues[list[i]->queue].push_back(i);
    for (uint32_t i = 0; i < list.size(); ++i) {
      const uint32_t mine = commandOf.at({rank, i});
      result.emplace_back(0, mine);
      result.emplace_back(mine, end);
      for (const ppx::Wait &wait : list.waits(i))
        for (uint32_t k = 0; k < wait.count(); ++k)
          result.emplace_back(commandOf.at({rank, queues[wait.queue()][k]}),
                              mine);
      for (uint32_t other : queues[list[i]->queue])
        if (other < i)
          result.emplace_back(commandOf.at({rank, other}), mine);
    }
  }
  return result;
}

/// `met` counts commands in streams that go first.
void check(const Ranks &ranks, RankRange range, Section section, int &met) {
  const Commands commands(ranks, range, section);
  const std::vector<Set> ancestors = ancestorsOf(commands);
  const auto orders = ordersOf(ranks, range, section, commands);
  for (const auto &[first, second] : orders)
    ASSERT_TRUE(ancestors[second][first]) << first << " before " << second;
  Set isAwaited(commands.list.size());
  for (uint32_t c = 0; c < commands.list.size(); ++c)
    for (uint32_t other : commands.list[c].waits) {
      isAwaited[other] = true;
      const std::vector<Set> fewer = ancestorsOf(commands, c, other);
      ASSERT_FALSE(fewer[c][other])
          << c << " need not wait for " << other << " by an event";
    }
  for (uint32_t c = 0; c < commands.list.size(); ++c) {
    EXPECT_EQ(commands.list[c].isAwaited, isAwaited[c]);
    ASSERT_LT(commands.list[c].stream, commands.meets.size());
    // Commands that ranks elsewhere may wait for, in streams that go first.
    if (commands.list[c].parts.empty())
      continue;
    const ppx::Opcode opcode =
        ranks.instruction(commands.list[c].parts.front())->opcode;
    EXPECT_TRUE(!commands.meets[commands.list[c].stream] ||
                opcode == ppx::Opcode_send || opcode == ppx::Opcode_recv ||
                opcode == ppx::Opcode_collective);
    met += commands.meets[commands.list[c].stream];
  }
}

TEST(Commands, HoldTheOrderAndNoMoreEventsThanThatTakes) {
  int met = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const ppx::ArtifactT artifact = makePipeline(randomShape(random));
    const Expected<Mesh> mesh = Mesh::create(artifact.axes);
    const Ranks ranks(artifact, *mesh);
    for (Section section : kSections)
      ASSERT_NO_FATAL_FAILURE(check(ranks, {0, 1}, section, met));
    if (mesh->worldSize() <= 4)
      for (Section section : kSections)
        ASSERT_NO_FATAL_FAILURE(
            check(ranks, {0, mesh->worldSize()}, section, met));
  }
  EXPECT_GT(met, 100);
}

/// Instructions that meet are one command, given once for all members.
TEST(Commands, TellsACommOpOnce) {
  PipelineShape shape;
  shape.replicas = 2;
  shape.stages = 1;
  const ppx::ArtifactT artifact = makePipeline(shape);
  const Expected<Mesh> mesh = Mesh::create(artifact.axes);
  const Ranks ranks(artifact, *mesh);
  const Commands commands(ranks, {0, 2}, Section::body);
  bool isThere = false;
  for (const Command &command : commands.list) {
    if (command.parts.size() < 2)
      continue;
    isThere = true;
    for (const InstructionRef &part : command.parts)
      EXPECT_EQ(ranks.instruction(part)->opcode, ppx::Opcode_collective);
  }
  EXPECT_TRUE(isThere);
  EXPECT_TRUE(commands.list.front().parts.empty());
  EXPECT_TRUE(commands.list.back().parts.empty());
}

} // namespace
