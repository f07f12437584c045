//===- ConformanceMembers.cpp - the ranks of a process, as members --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "ConformanceMembers.h"

#include "engine/Thread.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace pprt;
using namespace pprt::conformance;

std::unique_ptr<World> conformance::world;
std::string conformance::deviceName = "cpu";

Members::Members(std::vector<Case> all, uint32_t worldSize, Places places)
    : cases(std::move(all)),
      devices(*findBackend(deviceName)->open({}, *thisProcess(), 1)),
      device(dynamic_cast<PolledDevice &>(devices->device(0))),
      hasValues((*device.allocate(64))->host()) {
  Expected<std::unique_ptr<PolledTransport>> made =
      device.transport(*world, worldSize);
  if (!made) {
    fault((failure = made.status()).message());
    return;
  }
  transport = std::move(*made);
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    if (world->processOf(rank, worldSize) == world->process()) {
      here.push_back(rank);
      events[rank] = std::make_shared<inprocess::Event>();
    }
  for (size_t index = 0; index < cases.size(); ++index) {
    const Case &test = cases[index];
    const auto moves = std::make_shared<const std::vector<Move>>(test.moves());
    for (uint32_t member = 0; member < test.memberCount(); ++member) {
      const uint32_t rank = test.ranks[member];
      if (events.count(rank) == 0)
        continue;
      const auto membership = std::make_shared<Membership>();
      memberships[{rank, index}] = membership;
      Membership &mine = *membership;
      mine.member = member;
      Participant part;
      part.place = places == Places::many ? index : 0;
      part.commOp = places == Places::many ? 0 : uint32_t(index);
      part.section = Section::body;
      part.member = member;
      part.ranks = test.ranks;
      part.moves = moves;
      part.waker = events[rank];
      part.memory = membership;
      for (size_t i = 0; i < test.operands.size(); ++i) {
        mine.inputs.emplace_back(test.inputBytes(member, i));
        if (!test.inPlace)
          mine.outputs.emplace_back(test.outputBytes(member, i));
        part.inputs.push_back(mine.inputs.back().data());
        part.outputs.push_back(test.inPlace ? part.inputs.back()
                                            : mine.outputs.back().data());
      }
      if (const TransportModel model = transport->model(); model.stagingBytes)
        mine.staging.resize(model.stagingBytes(*moves, test.ranks, member));
      part.staging = mine.staging.data();
      Expected<Ticket> ticket = transport->prepare(std::move(part));
      if (!ticket) {
        fault((failure = ticket.status()).message());
        return;
      }
      mine.ticket = *ticket;
    }
  }
  if (failure = transport->connect(); !failure.ok())
    fault(failure.message());
}

void Members::fault(const std::string &text) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!text.empty() && found.size() < 10'000)
    found += text + "\n";
}

std::string Members::faults() {
  if (transport)
    if (Status status = transport->poll(); !status.ok())
      fault(status.message());
  return found;
}

void Members::forEachRank(const std::function<void(uint32_t)> &f) {
  std::vector<Thread> threads(here.size());
  for (size_t i = 0; i < here.size(); ++i)
    ASSERT_TRUE(threads[i].start([&f, rank = here[i]] { f(rank); }));
}

void Members::start(uint32_t rank, size_t test, uint32_t round) {
  Membership &mine = *memberships.at({rank, test});
  const Case &commOp = cases[test];
  for (size_t i = 0; i < commOp.operands.size(); ++i) {
    std::fill(mine.inputs[i].begin(), mine.inputs[i].end(), std::byte(0xff));
    if (commOp.inputBytes(mine.member, i) > 0)
      commOp.fillInput(round, mine.member, i, mine.inputs[i].data());
    if (!commOp.inPlace)
      std::fill(mine.outputs[i].begin(), mine.outputs[i].end(),
                std::byte(0xff));
  }
  transport->start(mine.ticket, round);
}

bool Members::isComplete(uint32_t rank, size_t test, uint32_t round) {
  const Ticket ticket = memberships.at({rank, test})->ticket;
  // Calling ready() first is allowed, and cheaper.
  return (round % 2 == 1 || transport->ready(ticket, round)) &&
         transport->test(ticket, round) == Progress::complete;
}

void Members::await(uint32_t rank, size_t test, uint32_t round) {
  while (true) {
    const uint32_t seen = count(rank);
    if (isComplete(rank, test, round))
      return;
    sleep(rank, seen);
  }
}

void Members::check(uint32_t rank, size_t test, uint32_t round) {
  const Membership &mine = *memberships.at({rank, test});
  if (!hasValues)
    return checkNothing(rank, test, round);
  for (size_t i = 0; i < cases[test].operands.size(); ++i)
    if (cases[test].outputBytes(mine.member, i) > 0)
      fault(cases[test].findFault(
          round, mine.member, i,
          (cases[test].inPlace ? mine.inputs : mine.outputs)[i].data()));
}

/// Inputs must be unchanged, outputs unwritten.
void Members::checkNothing(uint32_t rank, size_t test, uint32_t round) {
  const Membership &mine = *memberships.at({rank, test});
  for (size_t i = 0; i < mine.outputs.size(); ++i)
    for (std::byte value : mine.outputs[i])
      if (value != std::byte(0xff))
        return fault(cases[test].name() + ": expects no output");
  for (size_t i = 0; i < mine.inputs.size(); ++i) {
    std::vector<std::byte> expected(mine.inputs[i].size(), std::byte(0xff));
    if (cases[test].inputBytes(mine.member, i) > 0)
      cases[test].fillInput(round, mine.member, i, expected.data());
    if (expected != mine.inputs[i])
      return fault(cases[test].name() + ": expects its input unchanged");
  }
}

void Members::checkCounts() {
  uint64_t commOps = 0, bytes = 0;
  for (const auto &[key, mine] : memberships) {
    const Case &test = cases[key.second];
    commOps += test.rounds;
    bytes += test.rounds * test.sentBytes(mine->member);
  }
  for (const NamedCount &count : device.counters()) {
    const uint64_t expected = count.name == "comm ops" ? commOps
                              : count.name == "bytes"  ? bytes
                                                       : 0;
    if (count.value != expected)
      fault(count.name + " expects " + std::to_string(expected) + ", got " +
            std::to_string(count.value));
  }
}

void Members::run(uint32_t rank, const std::vector<size_t> &tests) {
  uint32_t rounds = 0;
  for (size_t test : tests)
    rounds = std::max(rounds, cases[test].rounds);
  for (uint32_t round = 0; round < rounds; ++round) {
    for (size_t test : tests)
      start(rank, test, round);
    std::vector<size_t> open = tests;
    while (!open.empty()) {
      const uint32_t seen = count(rank);
      std::vector<size_t> still;
      for (size_t test : open)
        if (isComplete(rank, test, round))
          check(rank, test, round);
        else
          still.push_back(test);
      if (still.size() == open.size())
        sleep(rank, seen);
      open.swap(still);
    }
  }
}

/// Returns the cases that the rank is a member of.
std::vector<size_t> Members::casesOf(uint32_t rank) const {
  std::vector<size_t> mine;
  for (size_t test = 0; test < cases.size(); ++test)
    if (memberships.count({rank, test}) != 0)
      mine.push_back(test);
  return mine;
}
