//===- ConformanceTest.cpp - what every transport must do -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One set of tests over every transport: each meeting of the table, over
// several rounds; meetings of several places at the same time, in any order,
// and of one place one after another; that nobody leaves before all have come;
// the end of all waits when one member fails. Alone it tests one process's
// ranks; under mpirun, with --launcher=mpi, those of all processes, which make
// the same tests in the same order. With --device=null nothing is to move, and
// what is counted is the answer.
//
//===----------------------------------------------------------------------===//
#include "ConformanceCases.h"

#include "backends/Backends.h"
#include "collectives/inprocess/Event.h"
#include "collectives/inprocess/ThreadTransport.h"
#include "collectives/mpi/Plugin.h"
#include "engine/Thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <unistd.h>

using namespace pprt;
using namespace pprt::conformance;

namespace {

/// Set by main().
std::unique_ptr<World> world;
std::vector<uint32_t> worldSizes;
std::string deviceName = "cpu";
bool stalls = false; ///< the member that does not come is long in coming

enum class Places { many, one };

/// The ranks of this process with the cases they take part in: case c is place
/// c, and the only meeting there; or meeting c of the one place.
class Members {
  // Wakers outlive the transport.
  std::map<uint32_t, std::unique_ptr<inprocess::Event>> events;

public:
  Members(std::vector<Case> cases, uint32_t worldSize,
          Places places = Places::many);

  /// Calls f(rank) on a thread of each rank here, and waits for all.
  void forEachRank(const std::function<void(uint32_t)> &f);
  std::vector<size_t> casesOf(uint32_t rank) const;
  /// Parts of a round of one of them.
  void start(uint32_t rank, size_t test, uint32_t round);
  bool isComplete(uint32_t rank, size_t test, uint32_t round);
  void await(uint32_t rank, size_t test, uint32_t round);
  void check(uint32_t rank, size_t test, uint32_t round);
  /// Of a device that counts: after all rounds of all cases.
  void checkCounts();
  /// Some help before they sleep, some do not.
  void sleep(uint32_t rank, uint32_t seen) {
    if (rank % 3 != 0)
      transport->help([&] { return count(rank) != seen; });
    events[rank]->wait(seen, 0);
  }
  uint32_t count(uint32_t rank) { return events[rank]->count(); }
  /// All rounds of these cases, each round of all at the same time.
  void run(uint32_t rank, const std::vector<size_t> &tests);

  const std::vector<Case> cases;
  std::unique_ptr<Device> device;
  std::unique_ptr<Transport> transport;
  Status failure; ///< of the transport, before it is connected
  /// What went wrong, of all threads.
  std::string faults();

private:
  struct Membership {
    uint32_t member;
    Ticket ticket;
    std::vector<std::vector<std::byte>> inputs, outputs;
    std::vector<std::byte> staging;
  };
  void fault(const std::string &text);
  void checkNothing(uint32_t rank, size_t test, uint32_t round);

  std::vector<uint32_t> here; ///< ranks
  std::map<std::pair<uint32_t, size_t>, Membership> memberships;
  std::mutex mutex;
  std::string found;
};

Members::Members(std::vector<Case> all, uint32_t worldSize, Places places)
    : cases(std::move(all)), device(std::move(*makeDevice(deviceName, {}))) {
  Expected<std::unique_ptr<Transport>> made =
      device->transport(*world, worldSize);
  if (!made) {
    fault((failure = made.status()).message());
    return;
  }
  transport = std::move(*made);
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    if (world->processOf(rank, worldSize) == world->process()) {
      here.push_back(rank);
      events[rank] = std::make_unique<inprocess::Event>();
    }
  for (size_t index = 0; index < cases.size(); ++index) {
    const Case &test = cases[index];
    const auto moves = std::make_shared<const std::vector<Move>>(test.moves());
    for (uint32_t member = 0; member < test.memberCount(); ++member) {
      const uint32_t rank = test.ranks[member];
      if (events.count(rank) == 0)
        continue;
      Membership &mine = memberships[{rank, index}];
      mine.member = member;
      Participation part;
      part.place = places == Places::many ? index : 0;
      part.meeting = places == Places::many ? 0 : uint32_t(index);
      part.section = Section::body;
      part.member = member;
      part.ranks = test.ranks;
      part.moves = moves;
      part.waker = events[rank].get();
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
  Membership &mine = memberships.at({rank, test});
  const Case &meeting = cases[test];
  for (size_t i = 0; i < meeting.operands.size(); ++i) {
    for (std::byte &value : mine.inputs[i])
      value = std::byte(0xff);
    if (meeting.inputBytes(mine.member, i) > 0)
      meeting.fillInput(round, mine.member, i, mine.inputs[i].data());
    if (!meeting.inPlace)
      std::memset(mine.outputs[i].data(), 0xff, mine.outputs[i].size());
  }
  transport->start(mine.ticket, round);
}

bool Members::isComplete(uint32_t rank, size_t test, uint32_t round) {
  const Ticket ticket = memberships.at({rank, test}).ticket;
  return transport->ready(ticket, round) &&
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
  const Membership &mine = memberships.at({rank, test});
  if (deviceName == "null")
    return checkNothing(rank, test, round);
  for (size_t i = 0; i < cases[test].operands.size(); ++i)
    if (cases[test].outputBytes(mine.member, i) > 0)
      fault(cases[test].findFault(
          round, mine.member, i,
          (cases[test].inPlace ? mine.inputs : mine.outputs)[i].data()));
}

/// Inputs are as they were, outputs as they were not written.
void Members::checkNothing(uint32_t rank, size_t test, uint32_t round) {
  const Membership &mine = memberships.at({rank, test});
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
  uint64_t meetings = 0, bytes = 0;
  for (const auto &[key, mine] : memberships) {
    const Case &test = cases[key.second];
    meetings += test.rounds;
    bytes += test.rounds * test.sentBytes(mine.member);
  }
  for (const NamedCount &count : device->counters()) {
    const uint64_t expected = count.name == "meetings" ? meetings
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

/// The cases that the rank is a member of.
std::vector<size_t> Members::casesOf(uint32_t rank) const {
  std::vector<size_t> mine;
  for (size_t test = 0; test < cases.size(); ++test)
    if (memberships.count({rank, test}) != 0)
      mine.push_back(test);
  return mine;
}

// Some at a time: one by one, it would be a test of how soon a busy machine
// wakes a thread.
TEST(Conformance, EveryCollectiveOfEveryTypeAndSize) {
  constexpr size_t together = 40;
  for (uint32_t worldSize : worldSizes) {
    Members members(smallCases(worldSize), worldSize);
    if (members.faults().empty())
      members.forEachRank([&](uint32_t rank) {
        // The same ones for all ranks: all rounds of them end before the next.
        std::map<size_t, std::vector<size_t>> batches;
        for (size_t test : members.casesOf(rank))
          batches[test / together].push_back(test);
        for (const auto &[number, tests] : batches)
          members.run(rank, tests);
      });
    members.checkCounts();
    EXPECT_EQ(members.faults(), "") << worldSize << " ranks";
  }
}

// One at a time, for the memory that they take.
TEST(Conformance, LargeOnes) {
  const auto isShared = [](uint32_t size) { return size > 1; };
  const auto found =
      std::find_if(worldSizes.begin(), worldSizes.end(), isShared);
  const uint32_t worldSize = found == worldSizes.end() ? 1 : *found;
  for (const Case &test : largeCases(worldSize)) {
    Members members({test}, worldSize);
    if (members.faults().empty())
      members.forEachRank([&](uint32_t rank) {
        for (size_t its : members.casesOf(rank))
          members.run(rank, {its});
      });
    EXPECT_EQ(members.faults(), "");
  }
}

// The k-th of each member meet, however far ahead of others one is.
TEST(Conformance, MeetingsOfAPlaceComeInOrder) {
  for (uint32_t worldSize : worldSizes) {
    std::vector<Case> cases;
    for (uint64_t size : {5, 0, 70'001, 5, 1}) {
      Case test;
      test.operands = {{{size}}};
      for (uint32_t rank = 0; rank < worldSize; ++rank)
        test.ranks.push_back(rank);
      cases.push_back(test);
      test.kind = ppx::CollectiveKind_all_gather;
      test.element = ppx::ElementType_i64;
      cases.push_back(test);
    }
    Members members(cases, worldSize, Places::one);
    if (members.faults().empty())
      members.forEachRank([&](uint32_t rank) {
        for (uint32_t round = 0; round < 3; ++round)
          for (size_t test : members.casesOf(rank)) {
            if ((test + rank + round) % 4 == 0)
              usleep(200); // late
            members.start(rank, test, round);
            members.await(rank, test, round);
            members.check(rank, test, round);
          }
      });
    members.checkCounts();
    EXPECT_EQ(members.faults(), "") << worldSize << " ranks";
  }
}

// Also whoever only sends, or needs nothing of the one that is late.
TEST(Conformance, NobodyLeavesBeforeAllHaveCome) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds late(60), margin(20);
  const uint32_t worldSize = worldSizes.back();
  if (worldSize < 2)
    GTEST_SKIP() << "one rank waits for nobody";
  for (ppx::CollectiveKind kind : ppx::EnumValuesCollectiveKind())
    for (uint64_t size : {uint64_t(1), uint64_t(40'000)}) {
      Case test;
      test.kind = kind;
      test.rounds = 1;
      test.operands = {{{size * worldSize, worldSize}, 0, 1}};
      for (uint32_t rank = 0; rank < worldSize; ++rank) {
        test.ranks.push_back(rank);
        test.receivers.push_back((rank + 1) % worldSize);
      }
      Case transfer = test;
      transfer.isTransfer = true;
      transfer.ranks = {0, worldSize - 1}; // the receiver comes late
      Members members({test, transfer}, worldSize);
      ASSERT_TRUE(world->agree({}, false).first.ok());
      const Clock::time_point begin = Clock::now();
      members.forEachRank([&](uint32_t rank) {
        if (rank == worldSize - 1)
          std::this_thread::sleep_until(begin + late);
        for (size_t its : members.casesOf(rank))
          members.start(rank, its, 0);
        for (size_t its : members.casesOf(rank)) {
          members.await(rank, its, 0);
          members.check(rank, its, 0);
        }
        // Of a permute the neighbours of the one that is late.
        if (kind != ppx::CollectiveKind_permute || rank == 0 ||
            rank + 2 >= worldSize)
          EXPECT_GE(Clock::now() - begin + margin, late)
              << "rank " << rank << ", " << test.name();
      });
      EXPECT_EQ(members.faults(), "");
    }
}

// Queues are independent: meetings of different places go on at the same time,
// whichever each member starts first.
TEST(Conformance, PlacesGoOnAtTheSameTimeInAnyOrder) {
  for (uint32_t worldSize : worldSizes) {
    Members members(smallCases(worldSize), worldSize);
    if (members.faults().empty())
      members.forEachRank([&](uint32_t rank) {
        std::vector<size_t> mine = members.casesOf(rank);
        std::shuffle(mine.begin(), mine.end(), std::mt19937_64(rank));
        members.run(rank, mine);
      });
    members.checkCounts();
    EXPECT_EQ(members.faults(), "") << worldSize << " ranks";
  }
}

TEST(Conformance, WhatProcessesShare) {
  const uint32_t me = world->process();
  for (size_t size : {size_t(0), size_t(1), size_t(50'011)}) {
    std::vector<std::byte> bytes(me == 0 ? size : 3, std::byte(me + 7));
    ASSERT_TRUE(world->broadcast(bytes).ok());
    EXPECT_EQ(bytes, std::vector<std::byte>(size, std::byte(7)));
    auto all =
        world->gather(std::vector<std::byte>(size + me, std::byte(me + 1)));
    ASSERT_TRUE(all.ok());
    if (me != 0) {
      EXPECT_TRUE(all->empty());
      continue;
    }
    ASSERT_EQ(all->size(), world->processCount());
    for (uint32_t p = 0; p < all->size(); ++p)
      EXPECT_EQ((*all)[p], std::vector<std::byte>(size + p, std::byte(p + 1)));
  }
}

TEST(Conformance, ProcessesAgreeOnTheFirstFailureAndOnInterruption) {
  const uint32_t me = world->process(), last = world->processCount() - 1;
  Verdict verdict = world->agree({}, false);
  EXPECT_TRUE(verdict.first.ok());
  EXPECT_FALSE(verdict.interrupted);
  verdict = world->agree({}, me == last);
  EXPECT_TRUE(verdict.first.ok());
  EXPECT_TRUE(verdict.interrupted);
  verdict = world->agree(
      me == 0 && last != 0
          ? Status()
          : Status(ExitCode::nonFinite, "of process " + std::to_string(me)),
      false);
  EXPECT_EQ(verdict.first.code(), ExitCode::nonFinite);
  EXPECT_EQ(verdict.first.message(),
            last == 0 ? "of process 0" : "of process 1");
}

TEST(Conformance, ASecondWorldIsRefusedAndLeavesTheFirstAlive) {
  if (world->processCount() == 1)
    return; // which may have none
  const Expected<std::unique_ptr<World>> second =
      mpi::openWorld(PP_MPI_LIBRARY, nullptr);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), ExitCode::usage);
  EXPECT_TRUE(world->agree({}, false).first.ok());
}

// Run by itself: afterwards messages are under way that nobody will receive.
TEST(Abort, EndsAllWaits) {
  const uint32_t worldSize = worldSizes.back();
  if (worldSize < 2)
    GTEST_SKIP() << "one rank waits for nobody";
  Case meeting;
  meeting.operands = {{{1'000'000}}};
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    meeting.ranks.push_back(rank);
  Members members({meeting}, worldSize);
  ASSERT_EQ(members.faults(), "");
  // The last rank never comes, and process 0 gives up for all.
  Thread aborter;
  if (world->process() == 0)
    ASSERT_TRUE(aborter.start([&] {
      usleep(stalls ? 60'000'000 : 100'000);
      members.transport->abort(Status(ExitCode::rankDied, "as the test wants"));
    }));
  members.forEachRank([&](uint32_t rank) {
    if (rank != worldSize - 1)
      members.start(rank, 0, 0);
    while (true) {
      const uint32_t seen = members.count(rank);
      if (!members.transport->poll().ok())
        break;
      EXPECT_FALSE(rank != worldSize - 1 && members.isComplete(rank, 0, 0));
      members.sleep(rank, seen);
    }
  });
  aborter.join();
  EXPECT_EQ(members.transport->poll().code(), ExitCode::rankDied);
  EXPECT_EQ(members.transport->poll().message(), "as the test wants");
}

/// Works until something fails, which is what the processes end with.
[[noreturn]] void runUntilFault() {
  const uint32_t worldSize = worldSizes.back();
  const auto agree = [](const Status &status) {
    if (const Verdict verdict = world->agree(status, false);
        !verdict.first.ok())
      world->abort(verdict.first);
  };
  while (true) {
    Members members(smallCases(worldSize), worldSize);
    agree(members.failure);
    members.forEachRank([&](uint32_t rank) {
      for (size_t test : members.casesOf(rank)) {
        members.start(rank, test, 0);
        while (members.transport->poll().ok() &&
               !members.isComplete(rank, test, 0))
          usleep(10);
      }
    });
    agree(members.transport->poll());
    std::vector<std::byte> bytes(100);
    agree(world->broadcast(bytes));
    agree(world->gather(bytes).status());
  }
}

} // namespace

#ifndef PP_MPI_LIBRARY
#define PP_MPI_LIBRARY ""
#endif

/// Of `--name=value`, the value.
static std::optional<std::string> option(const std::string &argument,
                                         const std::string &name) {
  const std::string start = "--" + name + "=";
  if (argument.compare(0, start.size(), start) != 0)
    return std::nullopt;
  return argument.substr(start.size());
}

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  std::string launcher = "threads";
  mpi::Limits limits;
  bool aborts = false, endsByFault = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (const auto value = option(argument, "launcher"))
      launcher = *value;
    else if (const auto value = option(argument, "device"))
      deviceName = *value;
    else if (const auto value = option(argument, "ranks"))
      worldSizes.push_back(uint32_t(std::stoul(*value)));
    else if (argument == "--small-messages")
      limits.messageBytes = 1000, limits.stagingBytes = 4096;
    else if (argument == "--abort")
      aborts = true;
    else if (argument == "--until-fault")
      endsByFault = true;
    else if (argument == "--stall")
      aborts = stalls = true;
    else {
      std::cerr << "unknown argument '" << argument << "'\n";
      return 2;
    }
  }
  if (launcher == "mpi") {
    Expected<std::unique_ptr<World>> opened =
        mpi::openWorld(PP_MPI_LIBRARY, &limits);
    if (!opened) {
      std::cerr << "PPConformanceTest: error: " << opened.status().message()
                << "\n";
      return int(opened.status().code());
    }
    world = std::move(*opened);
  } else {
    world = thisProcess();
  }
  if (worldSizes.empty())
    worldSizes = {1, 2, 3, 4, 8};
  if (const auto device = makeDevice(deviceName, {}); !device.ok()) {
    std::cerr << device.status().message() << "\n";
    return int(device.status().code());
  }
  if (endsByFault)
    runUntilFault();
  // An abort under MPI is a run of its own: messages stay under way.
  std::string &filter = testing::GTEST_FLAG(filter);
  if (aborts)
    filter = "Abort.*";
  else if (launcher == "mpi")
    filter += filter.find('-') == std::string::npos ? "-Abort.*" : ":Abort.*";
  // One voice, unless something fails.
  if (world->process() != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  const bool failed = RUN_ALL_TESTS() != 0;
  if (aborts && !failed)
    world->abort(Status(ExitCode::rankDied, "as the test wants"));
  const Verdict verdict = world->agree(
      failed ? Status(ExitCode::verifyDiffers, "tests failed") : Status(),
      false);
  world.reset();
  return verdict.first.ok() ? 0 : 1;
}
