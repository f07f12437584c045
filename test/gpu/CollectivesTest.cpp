//===- CollectivesTest.cpp - comm ops of GPUs, by NCCL --------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What the GPU engine has for comm ops, over the emulated libraries of libcuda
// and NCCL: the table that all transports are held to, by one process with all
// ranks and by one for each; orders that must not end; each call that fails
// once. A emulated library shows what it was made to show: none of this has run
// on a GPU.
//
//===----------------------------------------------------------------------===//
#include "Emulated.h"
#include "EmulatedProcess.h"
#include "pprt/World.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;
using namespace pprt::conformance;

namespace {

constexpr int kSeeds = 16;

class Collective : public emulated::Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    Nccl nccl;
    take(nccl, openNccl(driver.version), "ppEmulatorNccl");
  }
  void begin(uint32_t devices, const std::string &settings) {
    reset("devices " + std::to_string(devices) + "\n" + settings);
  }

  /// Whether it has failed: then all have, for the same cause, in these words.
  bool expectOneCause(const std::vector<Status> &ends,
                      const std::string &words) const {
    bool hasFailed = false;
    for (const Status &end : ends) {
      EXPECT_EQ(end.message(), ends[0].message());
      EXPECT_EQ(end.code(), ends[0].code());
      hasFailed |= !end.ok();
    }
    if (hasFailed) {
      EXPECT_EQ(ends[0].code(), ExitCode::device);
      EXPECT_NE(ends[0].message().find(words), std::string::npos)
          << ends[0].message();
    }
    EXPECT_EQ(allFaults(), "");
    EXPECT_STREQ(control->leaks(), "");
    return hasFailed;
  }
};

std::vector<Case> exact(std::vector<Case> cases) {
  for (Case &test : cases)
    test.isExact = true;
  return cases;
}

/// One of each kind among all of a world, and a message between neighbours.
std::vector<Case> someCases(uint32_t worldSize) {
  std::vector<Case> cases;
  for (const ppx::CollectiveKind kind : ppx::EnumValuesCollectiveKind()) {
    Case test;
    test.kind = kind;
    test.isExact = true;
    const uint64_t n = worldSize;
    test.operands = {{{3 * n, 2 * n}, 1, 0}};
    for (uint32_t rank = 0; rank < worldSize; ++rank) {
      test.ranks.push_back(rank);
      test.receivers.push_back((rank + 1) % worldSize);
    }
    cases.push_back(test);
  }
  for (uint32_t source = 0; source + 1 < worldSize; ++source) {
    Case test;
    test.isTransfer = true;
    test.element = ppx::ElementType_i1;
    test.operands = {{{1000}}};
    test.ranks = {source, source + 1};
    cases.push_back(test);
  }
  // Of some, in another order.
  Case test;
  test.isExact = true;
  test.operands = {{{100}}};
  for (uint32_t rank = worldSize; rank-- > 1;)
    test.ranks.push_back(rank);
  cases.push_back(test);
  return cases;
}

std::string seedOf(int seed) { return "seed " + std::to_string(seed) + "\n"; }

} // namespace

TEST_F(Collective, EveryOneOfEveryTypeAndGroup) {
  for (uint32_t worldSize : {1, 2, 3, 4}) {
    begin(worldSize, seedOf(int(worldSize)) + "errors 7\ndrivers 1\n");
    const std::vector<Case> cases = exact(conformance::smallCases(worldSize));
    const auto world = thisProcess();
    Failure failure;
    {
      Process process(*world, worldSize, cases, failure);
      const Status status = process.run(2);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    EXPECT_EQ(allFaults(), "");
    EXPECT_STREQ(control->leaks(), "");
  }
}

TEST_F(Collective, OfProcessesThatWaitForEachOther) {
  const std::vector<Case> cases = someCases(4);
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(4, seedOf(seed) + "drivers 4\n");
    for (const Status &status : runProcesses(4, cases, 3))
      EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
    EXPECT_STREQ(control->leaks(), "") << "seed " << seed;
  }
}

TEST_F(Collective, IsReplayedByGraphs) {
  const std::vector<Case> cases = someCases(2);
  const auto world = thisProcess();
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed) + "drivers 1\n");
    Failure failure;
    Process process(*world, 2, cases, failure);
    const Status opened = process.open();
    ASSERT_TRUE(opened.ok()) << opened.message();
    std::map<uint32_t, CUgraphExec> graphs;
    const auto forEachPart = [&](uint32_t rank, auto f) {
      for (size_t index = 0; index < cases.size(); ++index)
        for (uint32_t member = 0; member < cases[index].memberCount(); ++member)
          if (cases[index].ranks[member] == rank)
            f(cases[index], process.memberships.at({index, member}), index);
    };
    for (auto &entry : process.ranks) {
      const uint32_t rank = entry.first;
      Process::Rank &its = entry.second;
      const Driver &driver = its.gpu->driver;
      (void)its.gpu->makeCurrent();
      ASSERT_EQ(driver.cuStreamBeginCapture_v2(
                    its.streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                CUDA_SUCCESS);
      process.collectives->begin(rank);
      CUevent fork = nullptr, join = nullptr;
      driver.cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING);
      driver.cuEventCreate(&join, CU_EVENT_DISABLE_TIMING);
      driver.cuEventRecord(fork, its.streams[0]);
      driver.cuStreamWaitEvent(its.streams[1], fork, 0);
      forEachPart(rank, [&](const Case &, const Process::Membership &part,
                            size_t index) {
        const Status status =
            process.collectives->enqueue(part.ticket, its.streams[index % 2]);
        EXPECT_TRUE(status.ok()) << status.message();
      });
      driver.cuEventRecord(join, its.streams[1]);
      driver.cuStreamWaitEvent(its.streams[0], join, 0);
      CUgraph graph = nullptr;
      ASSERT_EQ(driver.cuStreamEndCapture(its.streams[0], &graph),
                CUDA_SUCCESS);
      ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&graphs[rank], graph, 0),
                CUDA_SUCCESS);
      process.collectives->begin(rank);
    }
    for (uint32_t round = 0; round < 3; ++round) {
      for (auto &entry : process.ranks) {
        const uint32_t rank = entry.first;
        Process::Rank &its = entry.second;
        (void)its.gpu->makeCurrent();
        forEachPart(rank, [&](const Case &test, const Process::Membership &part,
                              size_t) {
          EXPECT_TRUE(
              process.fill(round, test, part, *its.gpu, its.streams[0]).ok());
        });
        its.gpu->driver.cuGraphLaunch(graphs[rank], its.streams[0]);
      }
      EXPECT_TRUE(process.finish().ok());
      EXPECT_EQ(process.check(round), "");
    }
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// Who meets by the same communicator: messages all do.
static std::vector<uint32_t> communicatorOf(const Case &test) {
  const auto plan = planCommOp(test.moves(), test.memberCount(), 0);
  return plan->isCollective ? test.ranks : std::vector<uint32_t>();
}

// Two comm ops in one order at one rank and in the other one at another rank:
// of one communicator, or in one stream, they wait for each other; else they
// have lines.
TEST_F(Collective, IsToldOfInTheWrongOrder) {
  const uint32_t worldSize = 3;
  const std::vector<Case> cases = someCases(worldSize);
  const auto world = thisProcess();
  const auto isIn = [&](size_t index, uint32_t rank) {
    const auto &ranks = cases[index].ranks;
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  };
  int pairs = 0, apart = 0;
  for (size_t one = 0; one < cases.size(); ++one)
    for (size_t two = one + 1; two < cases.size(); ++two)
      for (int seed : {0, 1, 2}) {
        std::vector<uint32_t> both;
        for (uint32_t rank = 0; rank < worldSize; ++rank)
          if (isIn(one, rank) && isIn(two, rank))
            both.push_back(rank);
        if (both.size() < 2)
          continue;
        ++pairs;
        begin(worldSize, seedOf(seed) + "drivers 1\n");
        Failure failure;
        Process process(*world, worldSize, cases, failure);
        process.streamCount = 4;
        ASSERT_TRUE(process.open().ok());
        for (uint32_t rank = 0; rank < worldSize; ++rank) {
          std::vector<size_t> order;
          for (size_t index : {one, two})
            if (isIn(index, rank))
              order.push_back(index);
          if (rank == both[0])
            std::swap(order[0], order[1]);
          (void)process.start(rank, 0, order);
        }
        const Status status = process.finish();
        const bool shareStream = (two - one) % process.streamCount == 0;
        if (!shareStream &&
            communicatorOf(cases[one]) != communicatorOf(cases[two])) {
          ++apart;
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(allFaults(), "");
          continue;
        }
        EXPECT_FALSE(status.ok());
        ASSERT_FALSE(faults.empty());
        const std::string told = faults[0];
        EXPECT_TRUE(told.find("operations wait for each other for ever:") ==
                        0 ||
                    told.find(" asks for ") != std::string::npos)
            << told;
        process.abort(status);
      }
  EXPECT_GT(apart, 30);
  EXPECT_GT(pairs - apart, 30);
}

// A rank's part of a sum over one group, whose other member has not come yet,
// holds up neither a sum over another group nor a message, whatever streams
// take first. A third group shares the line of the first.
TEST_F(Collective, OfOneGroupHoldsUpNoneOfAnother) {
  std::vector<Case> cases;
  for (uint32_t other : {1, 2, 3, 4}) {
    Case test;
    test.isExact = true;
    test.operands = {{{100}}};
    test.ranks = {0, other};
    test.isTransfer = other == 3;
    cases.push_back(test);
  }
  const auto world = thisProcess();
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(5, seedOf(seed) + "drivers 1\n");
    Failure failure;
    Process process(*world, 5, cases, failure);
    process.streamCount = cases.size();
    ASSERT_TRUE(process.open().ok());
    const auto start = [&](uint32_t rank, const std::vector<size_t> &order) {
      const Status status = process.start(rank, 0, order);
      EXPECT_TRUE(status.ok()) << status.message();
    };
    start(0, {0, 1, 2, 3});
    for (uint32_t rank : {2, 3, 4})
      start(rank, {rank - 1});
    for (int asked = 0; asked < 1000; ++asked)
      if (process.hasEnded(3) && process.hasEnded(2))
        break;
    EXPECT_TRUE(process.hasEnded(2) && process.hasEnded(3)) << "seed " << seed;
    EXPECT_FALSE(process.hasEnded(4)) << "seed " << seed;
    start(1, {0});
    const Status status = process.finish();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(process.check(0), "");
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// Failures
//===----------------------------------------------------------------------===//

TEST_F(Collective, RefusesWhatNcclHasNot) {
  Case test;
  test.element = ppx::ElementType_i32;
  test.reduction = ppx::Reduction_and_;
  test.operands = {{{4}}};
  test.ranks = {0, 1};
  const auto plan = planCommOp(test.moves(), 2, 0);
  EXPECT_EQ(plan.status().code(), ExitCode::device);
  EXPECT_EQ(plan.status().message(),
            "NCCL has no `and` reduction for i32; run with --device=cpu");
  Move odd;
  odd.region.run = 1;
  odd.sources = {{0, 0, 0}, {1, 0, 0}};
  odd.targets = {{0, 0, 0}};
  EXPECT_EQ(planCommOp({odd}, 3, 0).status().code(), ExitCode::device);
  begin(1, "");
  auto driver = openDriver();
  const Status missing = Gpu::open(*driver, 1).status();
  EXPECT_EQ(missing.code(), ExitCode::device);
  EXPECT_EQ(missing.message().find("expects 2 NVIDIA GPUs, got 1 that "), 0u)
      << missing.message();
}

// Every call once, at several of its times: all processes end, with the same
// cause, and nothing is left.
TEST_F(Collective, EndsWithOneCauseWhicheverCallFails) {
  const uint32_t worldSize = 3;
  const std::vector<Case> cases = someCases(worldSize);
  int failed = 0;
  for (const char *call :
       {"ncclGetUniqueId", "ncclGroupStart", "ncclGroupEnd",
        "ncclCommInitRankConfig", "ncclCommSplit", "ncclCommGetAsyncError",
        "ncclAllReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend",
        "ncclRecv", "ncclCommFinalize", "ncclCommDestroy", "cuEventCreate",
        "cuEventRecord", "cuStreamWaitEvent", "cuMemcpy3DAsync_v2"})
    for (int number : {1, 2, 3, 5, 8, 13, 21, 34}) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(number));
      const bool isDriver = std::string(call).rfind("cu", 0) == 0;
      begin(worldSize, seedOf(number) + "fail " + call + ' ' +
                           std::to_string(number) +
                           (isDriver ? " 999\n" : " 2\n"));
      // The driver's names have a suffix, which programs do not write.
      const std::string name = call;
      failed += expectOneCause(runProcesses(worldSize, cases, 2),
                               name.substr(0, name.find("_v2")) + ": ");
    }
  // What a stream was given fails there, between the ranks.
  for (const char *call : {"ncclAllReduce", "ncclAllGather",
                           "ncclReduceScatter", "ncclSend", "ncclRecv"})
    for (int number : {1, 2, 3}) {
      SCOPED_TRACE(std::string(call) + " " + std::to_string(number));
      begin(worldSize, seedOf(number) + "fault " + call + ' ' +
                           std::to_string(number) + " 6\n");
      failed +=
          expectOneCause(runProcesses(worldSize, cases, 2), "NCCL's error 6, ");
    }
  EXPECT_GT(failed, 100);
}

namespace {
decltype(cuda::Nccl::ncclCommGetAsyncError) askNccl = nullptr;
bool isAlwaysInProgress = false;
} // namespace

// NCCL looks for ranks when they meet first, and does so for ever.
TEST_F(Collective, WaitsForOthersOnlyAsLongAsItMay) {
  const std::vector<Case> cases = someCases(2);
  const auto world = thisProcess();
  for (const bool isInterrupted : {false, true}) {
    begin(2, "");
    Failure failure;
    Process process(*world, 2, cases, failure);
    process.edit = [](cuda::Driver &, cuda::Nccl &nccl) {
      askNccl = nccl.ncclCommGetAsyncError;
      nccl.ncclCommGetAsyncError = [](ncclComm_t comm, ncclResult_t *state) {
        const ncclResult_t result = askNccl(comm, state);
        if (isAlwaysInProgress)
          *state = ncclInProgress;
        return result;
      };
    };
    ASSERT_TRUE(process.open().ok());
    process.collectives->limit(isInterrupted ? 0 : 0.1,
                               [&] { return isInterrupted; });
    isAlwaysInProgress = true;
    const Status status = process.start(0);
    isAlwaysInProgress = false;
    EXPECT_EQ(status.code(),
              isInterrupted ? ExitCode::interrupted : ExitCode::hang);
    EXPECT_NE(status.message().find(
                  isInterrupted
                      ? "interrupted while ranks of a communication operation "
                        "connected through NCCL"
                      : "connect through NCCL within 0 s (--hang-timeout)"),
              std::string::npos)
        << status.message();
    process.abort(status);
  }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

// Of many members: those of each pair are in the same group on both sides.
TEST(CommPlan, MeetsInGroupsThatAreNotTooLarge) {
  const uint32_t n = 100;
  Case test;
  test.kind = ppx::CollectiveKind_all_to_all;
  test.operands = {{{n, 3}, 1, 0}, {{n, 2}, 1, 0}};
  for (uint32_t rank = 0; rank < n; ++rank)
    test.ranks.push_back(rank);
  const std::vector<Move> moves = test.moves();
  std::map<std::pair<uint32_t, uint32_t>, std::vector<size_t>> sent, received;
  for (uint32_t member = 0; member < n; ++member) {
    const auto plan = planCommOp(moves, n, member);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_FALSE(plan->isCollective);
    for (size_t group = 0; group < plan->groups.size(); ++group) {
      EXPECT_LE(plan->groups[group].size(), kGroupCalls);
      for (const NcclCall &call : plan->groups[group])
        if (call.kind == NcclCall::send)
          sent[{member, call.peer}].push_back(group);
        else
          received[{call.peer, member}].push_back(group);
    }
  }
  EXPECT_EQ(sent.size(), n * (n - 1));
  EXPECT_TRUE(sent == received);
}

TEST(CommPlan, StagesOnlyWhatIsNotInOnePiece) {
  const auto staged = [](const Case &test) {
    return planCommOp(test.moves(), 2, 0)->stagingBytes;
  };
  Case test;
  test.ranks = {0, 1};
  test.kind = ppx::CollectiveKind_all_gather;
  test.operands = {{{6, 32}, 0}};
  EXPECT_EQ(staged(test), 0u);
  test.operands = {{{6, 32}, 1}};
  EXPECT_EQ(staged(test), 2 * 6 * 32 * 4u);
  test.kind = ppx::CollectiveKind_reduce_scatter;
  EXPECT_EQ(staged(test), 6 * 32 * 4u);
  test.operands = {{{6, 32}, 0}};
  EXPECT_EQ(staged(test), 0u);
  test.kind = ppx::CollectiveKind_all_reduce;
  EXPECT_EQ(staged(test), 0u);
}
