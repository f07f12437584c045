//===- ConformanceTest.cpp - what every transport must do -----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One set of tests for every transport: each comm op of the table, over several
// rounds; comm ops of several places at the same time, in any order, and of one
// place one after another; that no member completes before all have come; that
// all waits end when one member fails. Alone it tests one process's ranks;
// under mpirun, with --launcher=mpi, those of all processes, which make the
// same tests in the same order. With --device=null no data moves, and the
// counters are checked.
//
//===----------------------------------------------------------------------===//
#include "ConformanceMembers.h"

#include "collectives/inprocess/ThreadTransport.h"
#include "collectives/mpi/Plugin.h"
#include "engine/Thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <map>
#include <random>
#include <thread>
#include <unistd.h>

#ifndef PP_MPI_LIBRARY
#define PP_MPI_LIBRARY ""
#endif

using namespace pprt;
using namespace pprt::conformance;

namespace {

/// Set by main().
std::vector<uint32_t> worldSizes;
bool isLate = false; ///< process 0, after a failure
bool isBusy = false; ///< all, after a failure
bool stalls = false; ///< process 0 gives up only after a minute

// Some at a time: one by one, this would test how soon a busy machine wakes a
// thread.
TEST(Conformance, EveryCollectiveOfEveryTypeAndSize) {
  constexpr size_t together = 40;
  for (uint32_t worldSize : worldSizes) {
    Members members(smallCases(worldSize), worldSize);
    if (members.faults().empty())
      members.forEachRank([&](uint32_t rank) {
        // The same ones for all ranks: all their rounds end before the next.
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

// One at a time, because of their memory.
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

// So many small messages that, where copies are slow, one turn of the driving
// thread takes seconds. Other processes hear of it meanwhile.
TEST(Conformance, LongWorkIsNoSilence) {
  const uint32_t worldSize = worldSizes.back();
  Case test;
  test.kind = ppx::CollectiveKind_all_gather;
  test.rounds = 1;
  test.operands = {{{60'000}}};
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    test.ranks.push_back(rank);
  Members members({test}, worldSize);
  members.forEachRank(
      [&](uint32_t rank) { members.run(rank, members.casesOf(rank)); });
  EXPECT_EQ(members.faults(), "");
}

// The k-th of each member meet, however far one is ahead of others.
TEST(Conformance, CommOpsOfAPlaceComeInOrder) {
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

// Also a member that only sends, or needs nothing of the late one.
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
      ASSERT_TRUE(world->agree({}).first.ok());
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
        // In a permute, only the neighbours of the late one.
        if (kind != ppx::CollectiveKind_permute || rank == 0 ||
            rank + 2 >= worldSize)
          EXPECT_GE(Clock::now() - begin + margin, late)
              << "rank " << rank << ", " << test.name();
      });
      EXPECT_EQ(members.faults(), "");
    }
}

// After a second a waiting rank takes less than a twentieth of a core.
TEST(Conformance, WhoeverWaitsLeavesTheCores) {
  using Clock = std::chrono::steady_clock;
  const uint32_t worldSize = worldSizes.back();
  if (worldSize < 2)
    GTEST_SKIP() << "one rank waits for nobody";
  Case test;
  test.operands = {{{40'000}}};
  test.rounds = 1;
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    test.ranks.push_back(rank);
  Members members({test}, worldSize);
  ASSERT_TRUE(world->agree({}).first.ok());
  const Clock::time_point begin = Clock::now();
  const auto usedUntil = [&](double seconds) {
    std::this_thread::sleep_until(begin +
                                  std::chrono::duration<double>(seconds));
    timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return double(used.tv_sec) + 1e-9 * double(used.tv_nsec);
  };
  double used = 0;
  Thread watch;
  ASSERT_TRUE(watch.start([&] {
    const double before = usedUntil(1);
    used = usedUntil(2) - before;
  }));
  members.forEachRank([&](uint32_t rank) {
    if (rank == worldSize - 1)
      usedUntil(2.2); // late
    members.start(rank, 0, 0);
    members.await(rank, 0, 0);
    members.check(rank, 0, 0);
  });
  watch.join();
  EXPECT_LT(used, 0.05 * world->ranksOf(world->process(), worldSize).size());
  EXPECT_EQ(members.faults(), "");
}

// Queues are independent: comm ops of different places go on at the same time,
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

TEST(Conformance, ProcessesAgreeOnTheFirstFailureAndAddVotes) {
  const uint32_t me = world->process(), last = world->processCount() - 1;
  Verdict verdict = world->agree({});
  EXPECT_TRUE(verdict.first.ok());
  EXPECT_EQ(verdict.votes, 0u);
  verdict = world->agree({}, (me == last ? 4 : 0) | (me == 0 ? 1 : 0));
  EXPECT_TRUE(verdict.first.ok());
  EXPECT_EQ(verdict.votes, 5u);
  verdict = world->agree(
      me == 0 && last != 0
          ? Status()
          : Status(ExitCode::nonFinite, "of process " + std::to_string(me)));
  EXPECT_EQ(verdict.first.code(), ExitCode::nonFinite);
  EXPECT_EQ(verdict.first.message(),
            last == 0 ? "of process 0" : "of process 1");
}

TEST(Conformance, ASecondWorldIsRefusedAndLeavesTheFirstAlive) {
  if (world->processCount() == 1)
    return; // MPI may not be installed
  const Expected<std::unique_ptr<World>> second =
      mpi::openWorld(PP_MPI_LIBRARY, nullptr);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.status().code(), ExitCode::usage);
  EXPECT_TRUE(world->agree({}).first.ok());
}

// Run by itself: afterwards messages without a receiver are in transit.
TEST(Abort, EndsAllWaits) {
  const uint32_t worldSize = worldSizes.back();
  if (worldSize < 2)
    GTEST_SKIP() << "one rank waits for nobody";
  Case commOp;
  commOp.operands = {{{1'000'000}}};
  for (uint32_t rank = 0; rank < worldSize; ++rank)
    commOp.ranks.push_back(rank);
  std::optional<Members> present(std::in_place, std::vector{commOp}, worldSize);
  Members &members = *present;
  ASSERT_EQ(members.faults(), "");
  // The last rank never comes, and process 0 gives up for all: once all others
  // have begun, because a process that has not has sent nothing.
  const uint32_t here =
      uint32_t(world->ranksOf(world->process(), worldSize).size());
  std::atomic<uint32_t> begun{0};
  std::atomic<bool> allBegun{false};
  Thread aborter;
  if (world->process() == 0)
    ASSERT_TRUE(aborter.start([&] {
      while (!allBegun)
        usleep(1000);
      usleep(stalls ? 60'000'000 : 100'000);
      members.transport->abort(Status(ExitCode::rankDied, "as the test wants"));
    }));
  members.forEachRank([&](uint32_t rank) {
    if (rank != worldSize - 1)
      members.start(rank, 0, 0);
    if (++begun == here)
      allBegun = world->agree({}).first.ok();
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
  EXPECT_EQ(world->agree(members.transport->poll()).first.message(),
            "as the test wants");
  // A message without a receiver keeps its memory, whatever else is destroyed.
  const uint32_t first = world->ranksOf(world->process(), worldSize).begin;
  const std::weak_ptr<const void> memory = members.memory(first);
  present.reset();
  EXPECT_EQ(memory.expired(), world->processCount() == 1);
  // All processes know of the failure: it sets no deadline any more.
  if (world->process() == 0 && isLate)
    sleep(6);
  const Status after = world->agree({}).first;
  EXPECT_TRUE(after.ok()) << after.message();
}

// An old failure sets no deadline: a waiting process gives the others time from
// then on.
TEST(Abort, WhoWasBusyAfterAFailureWaits) {
  if (!isBusy)
    GTEST_SKIP() << "takes six seconds";
  Expected<std::unique_ptr<PolledTransport>> transport =
      world->transport(worldSizes.back());
  ASSERT_TRUE(transport.ok()) << transport.status().message();
  if (world->process() == 1)
    (*transport)->abort(Status(ExitCode::rankDied, "early"));
  sleep(world->process() == 1 ? 5 : 6);
  EXPECT_EQ(world->agree((*transport)->poll()).first.message(), "early");
}

/// Works until a call fails, which ends the processes.
[[noreturn]] void runUntilFault() {
  const uint32_t worldSize = worldSizes.back();
  const auto agree = [](const Status &status) {
    if (const Verdict verdict = world->agree(status); !verdict.first.ok())
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

/// Returns the value in `--name=value`.
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
    else if (argument == "--late")
      aborts = isLate = true;
    else if (argument == "--busy")
      aborts = isBusy = true;
    else if (const auto value = option(argument, "silence"))
      limits.silenceSeconds = std::stoul(*value);
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
  if (const Status known = checkDeviceName(deviceName); !known.ok()) {
    std::cerr << known.message() << "\n";
    return int(known.code());
  }
  if (endsByFault)
    runUntilFault();
  // An abort under MPI is a run of its own: messages stay in transit.
  std::string &filter = testing::GTEST_FLAG(filter);
  if (aborts)
    filter = "Abort.*";
  else if (launcher == "mpi")
    filter += filter.find('-') == std::string::npos ? "-Abort.*" : ":Abort.*";
  // Only process 0 prints, unless something fails.
  if (world->process() != 0)
    delete testing::UnitTest::GetInstance()->listeners().Release(
        testing::UnitTest::GetInstance()->listeners().default_result_printer());
  const bool failed = RUN_ALL_TESTS() != 0;
  if (aborts && !failed)
    world->abort(Status(ExitCode::io, "the last word"));
  const Verdict verdict = world->agree(
      failed ? Status(ExitCode::verifyDiffers, "tests failed") : Status());
  // A transport may outlive its world, for example if its session is stuck.
  Expected<std::unique_ptr<PolledTransport>> last =
      world->transport(worldSizes.back());
  world.reset();
  if (const Status status = last ? (*last)->poll() : last.status();
      !status.ok()) {
    std::cerr << "PPConformanceTest: error: " << status.message() << "\n";
    return 1;
  }
  return verdict.first.ok() ? 0 : 1;
}
