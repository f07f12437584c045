//===- EmulatorTest.cpp - what the emulated library of NCCL reports
//----------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by name, as NCCL is, over the emulated library of libcuda with several
// devices. One thread gives the streams of all ranks their work, unless threads
// are what is tested, so that a seed is one order.
//
//===----------------------------------------------------------------------===//
#include "nccl/Ranks.h"

#include <thread>

using namespace pprt::cuda;
using namespace emulated::nccl;

TEST_F(NcclEmulator, AddsUpOverDevicesUnderAnySeed) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed));
    join();
    write(ranks[0], 0, {1, 2, 3, 4});
    write(ranks[1], 0, {10, 20, 30, 40});
    for (const Rank &rank : ranks)
      allReduce(rank, rank.one);
    for (const Rank &rank : ranks)
      EXPECT_EQ(read(rank, 1024, 4), (std::vector<float>{11, 22, 33, 44}));
    leave();
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

TEST_F(NcclEmulator, LetsThreadsWaitForEachOther) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(3, seedOf(seed) + "drivers 3\n");
    join();
    std::vector<std::thread> threads;
    for (Rank &rank : ranks)
      threads.emplace_back([&] {
        write(rank, 0, {1, 2, 3, 4});
        for (int round = 0; round < 5; ++round)
          allReduce(rank, rank.one);
        EXPECT_EQ(read(rank, 1024, 4), (std::vector<float>{3, 6, 9, 12}));
      });
    for (std::thread &thread : threads)
      thread.join();
    leave();
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

//===----------------------------------------------------------------------===//
// What waits for ever
//===----------------------------------------------------------------------===//

TEST_F(NcclEmulator, TellsOfMessagesInOppositeOrders) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed));
    join();
    for (int rank : {0, 1})
      write(ranks[rank], 0, {1, 2});
    // Each sends first, and nothing is buffered.
    for (int rank : {0, 1}) {
      const Rank &its = ranks[rank];
      nccl.ncclSend(at(its, 0), 2, ncclFloat32, 1 - rank, its.comm, its.one);
      settle(its.comm);
      nccl.ncclRecv(at(its, 64), 2, ncclFloat32, 1 - rank, its.comm, its.one);
      settle(its.comm);
    }
    driver.cuCtxSetCurrent(ranks[0].context);
    EXPECT_EQ(driver.cuStreamSynchronize(ranks[0].one),
              CUDA_ERROR_LAUNCH_FAILED);
    expectFault("operations wait for each other for ever:");
    expectFault("ncclSend of 2 f32 by rank 0 of communicator 0 in stream 0");
    expectFault(" waits for rank 1 of communicator 0 (ncclRecv of 2 f32 by ");
  }
}

TEST_F(NcclEmulator, LetsMessagesOfAGroupPass) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed));
    join();
    write(ranks[0], 0, {1, 2});
    write(ranks[1], 0, {3, 4});
    for (int rank : {0, 1}) {
      const Rank &its = ranks[rank];
      nccl.ncclGroupStart();
      nccl.ncclSend(at(its, 0), 2, ncclFloat32, 1 - rank, its.comm, its.one);
      nccl.ncclRecv(at(its, 64), 2, ncclFloat32, 1 - rank, its.comm, its.one);
      nccl.ncclGroupEnd();
      settle(its.comm);
    }
    EXPECT_EQ(read(ranks[0], 64, 2), (std::vector<float>{3, 4}));
    EXPECT_EQ(read(ranks[1], 64, 2), (std::vector<float>{1, 2}));
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

TEST_F(NcclEmulator, TellsOfCommunicatorsInOppositeOrders) {
  for (int seed = 0; seed < kSeeds; ++seed)
    for (int places : {1, 2}) {
      const std::vector<ncclComm_t> other = beginWithTwo(seed, places);
      for (int rank : {0, 1}) {
        const Rank &its = ranks[rank];
        Rank second = its;
        second.comm = other[rank];
        allReduce(rank == 0 ? its : second, its.one);
        allReduce(rank == 0 ? second : its, its.one);
      }
      driver.cuCtxSetCurrent(ranks[0].context);
      EXPECT_EQ(driver.cuStreamSynchronize(ranks[0].one),
                CUDA_ERROR_LAUNCH_FAILED);
      expectFault("operations wait for each other for ever:");
      expectFault("comes behind ncclAllReduce of 4 f32 (sum) by rank 1");
    }
}

TEST_F(NcclEmulator, TellsOfCommunicatorsInStreamsWithoutAnOrder) {
  for (int seed = 0; seed < kSeeds; ++seed)
    for (int places : {1, 2}) {
      const std::vector<ncclComm_t> other = beginWithTwo(seed, places);
      for (int rank : {0, 1}) {
        const Rank &its = ranks[rank];
        driver.cuStreamSynchronize(its.one);
        allReduce(its, its.one);
        nccl.ncclAllReduce(at(its, 0), at(its, 2048), 4, ncclFloat32, ncclSum,
                           other[rank], its.two);
        settle(other[rank]);
      }
      if (places == 2) {
        for (const Rank &rank : ranks)
          EXPECT_EQ(read(rank, 1024, 4), (std::vector<float>{2, 4, 6, 8}));
        EXPECT_EQ(allFaults(), "") << "seed " << seed;
      } else {
        faults.resize(1); // each rank's
        expectFault("nothing orders ncclAllReduce of 4 f32 (sum) by rank 0 of "
                    "communicator 1 in stream ");
        expectFault("device 0 has a place for one of them");
      }
    }
}

TEST_F(NcclEmulator, SeesThatAllThreadsWaitForWhatNobodyGives) {
  begin(2, "drivers 2\n");
  join();
  // Rank 1 ends without its part.
  std::thread other([&] { write(ranks[1], 0, {1, 2, 3, 4}); });
  std::thread waiting([&] {
    write(ranks[0], 0, {1, 2, 3, 4});
    allReduce(ranks[0], ranks[0].one);
    EXPECT_EQ(driver.cuStreamSynchronize(ranks[0].one),
              CUDA_ERROR_LAUNCH_FAILED);
  });
  other.join();
  waiting.join();
  expectFault("nothing can run any more, and all threads wait:");
  expectFault(
      "waits for rank 1 of communicator 0, of which no stream was given");
  // So does a rank that asks instead of waiting, here for one that never comes.
  begin(2, "drivers 1\n");
  ncclUniqueId id;
  ASSERT_EQ(nccl.ncclGetUniqueId(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  EXPECT_EQ(nccl.ncclCommInitRankConfig(&comm, 2, id, 0, &config),
            ncclInProgress);
  EXPECT_EQ(settle(comm), ncclSystemError);
  expectFault("a thread asks for all ranks of communicator 0");
  EXPECT_EQ(nccl.ncclCommAbort(comm), ncclSuccess);
}

TEST_F(NcclEmulator, LetsAllocationsWaitForWhatDevicesWereGiven) {
  const auto allocate = [&] {
    CUdeviceptr more = 0;
    driver.cuMemAlloc(&more, 64);
  };
  const auto allocateOfTheHost = [&] {
    void *more = nullptr;
    driver.cuMemHostAlloc(&more, 64, 0);
  };
  for (const std::function<void()> &call :
       {std::function<void()>(allocate),
        std::function<void()>(allocateOfTheHost)}) {
    begin(2, "drivers 1\n");
    join();
    for (Rank &rank : ranks)
      write(rank, 0, {1, 2, 3, 4});
    call();
    allReduce(ranks[0], ranks[0].one);
    EXPECT_TRUE(faults.empty());
    call(); // for which the other rank's part comes too late
    expectFault("nothing can run any more, and all threads wait:");
  }
}

//===----------------------------------------------------------------------===//
// What is wrong at once
//===----------------------------------------------------------------------===//

TEST_F(NcclEmulator, ReportsMissingWaitsAroundACollective) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed));
    join();
    for (const Rank &rank : ranks) {
      write(rank, 0, {1, 2, 3, 4});
      allReduce(rank, rank.two); // nothing orders it with the copy
    }
    for (const Rank &rank : ranks) {
      driver.cuCtxSetCurrent(rank.context);
      driver.cuCtxSynchronize();
    }
    EXPECT_NE(allFaults().find("and nothing orders it with"), std::string::npos)
        << "seed " << seed;
  }
}

TEST_F(NcclEmulator, ReportsAnEventBeforeALaunchIsThere) {
  begin(2, "seed 0\n");
  join();
  for (const Rank &rank : ranks)
    write(rank, 0, {1, 2, 3, 4});
  CUevent event = nullptr;
  driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
  const Rank &its = ranks[1];
  ASSERT_EQ(nccl.ncclAllReduce(at(its, 0), at(its, 1024), 4, ncclFloat32,
                               ncclSum, its.comm, its.one),
            ncclInProgress);
  driver.cuEventRecord(event, its.one); // too early
  driver.cuStreamWaitEvent(its.two, event, 0);
  driver.cuMemsetD32Async(its.memory + 1024, 0, 4, its.two);
  ASSERT_EQ(settle(its.comm), ncclSuccess);
  allReduce(ranks[0], ranks[0].one);
  driver.cuCtxSynchronize();
  expectFault("and nothing orders it with a write by ");
}

TEST_F(NcclEmulator, TellsOfMembersThatAskForOtherThings) {
  begin(2, "");
  join();
  for (const Rank &rank : ranks)
    write(rank, 0, {1, 2, 3, 4});
  allReduce(ranks[0], ranks[0].one, 4);
  allReduce(ranks[1], ranks[1].one, 3);
  expectFault("rank 1 of communicator 0 asks for ncclAllReduce of 3 f32 (sum), "
              "and rank 0 of communicator 0 for ncclAllReduce of 4 f32 (sum)");
  EXPECT_EQ(driver.cuStreamSynchronize(ranks[1].one),
            CUDA_ERROR_ILLEGAL_ADDRESS);
  begin(2, "");
  join();
  nccl.ncclAllReduce(at(ranks[0], 0), at(ranks[0], 8), 4, ncclFloat32, ncclSum,
                     ranks[0].comm, ranks[0].one);
  expectFault("writes over what it reads, and not in place");
  begin(2, "");
  join();
  EXPECT_EQ(nccl.ncclAllReduce(at(ranks[0], 0), at(ranks[0], 0), 4, ncclFloat32,
                               ncclSum, ranks[0].comm, ranks[1].one),
            ncclUnhandledCudaError);
  expectFault("is given a stream of device 1");
  EXPECT_EQ(
      nccl.ncclSend(nullptr, 4, ncclFloat32, 1, ranks[0].comm, ranks[0].one),
      ncclInvalidArgument);
}

//===----------------------------------------------------------------------===//
// Failures and aborts
//===----------------------------------------------------------------------===//

TEST_F(NcclEmulator, FailsBetweenRanksUntilItIsAborted) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed) + "fault ncclAllReduce 2 6\n");
    join();
    for (const Rank &rank : ranks) {
      write(rank, 0, {1, 2, 3, 4});
      nccl.ncclAllReduce(at(rank, 0), at(rank, 1024), 4, ncclFloat32, ncclSum,
                         rank.comm, rank.one);
      settle(rank.comm);
    }
    // The second one, of rank 1, never ends, and says so when it begins.
    driver.cuCtxSetCurrent(ranks[1].context);
    ncclResult_t state = ncclSuccess;
    for (int i = 0; i < 1000 && state == ncclSuccess; ++i)
      EXPECT_EQ(nccl.ncclCommGetAsyncError(ranks[1].comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclRemoteError);
    for (const Rank &rank : ranks)
      EXPECT_EQ(nccl.ncclCommAbort(rank.comm), ncclSuccess);
    for (const Rank &rank : ranks) {
      driver.cuCtxSetCurrent(rank.context);
      EXPECT_EQ(driver.cuStreamSynchronize(rank.one), CUDA_SUCCESS);
    }
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
    EXPECT_EQ(std::string(control->leaks()).find("communicator"),
              std::string::npos);
  }
}

TEST_F(NcclEmulator, TellsOfAbortsThatWaitForOthers) {
  begin(2, "");
  join();
  const ncclComm_t child = split({0, 0}, {0, 1})[0];
  const Rank &its = ranks[0];
  write(its, 0, {1, 2, 3, 4});
  nccl.ncclAllReduce(at(its, 0), at(its, 1024), 4, ncclFloat32, ncclSum, child,
                     its.one);
  settle(child);
  for (int i = 0; i < 1000; ++i)
    (void)emulated::queryStream(its.one);
  nccl.ncclCommAbort(its.comm);
  expectFault("is at work: abort them in one group");
}
