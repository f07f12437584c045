//===- GraphsTest.cpp - calls of NCCL that graphs hold ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// That they meet as often as they are played, and what is reported of those
// that would wait for ever on a GPU.
//
//===----------------------------------------------------------------------===//
#include "nccl/Ranks.h"

using namespace emulated::nccl;

TEST_F(NcclEmulator, IsReplayedByGraphs) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(2, seedOf(seed));
    join();
    CUgraphExec graphs[2];
    for (int rank : {0, 1}) {
      const Rank &its = ranks[rank];
      write(its, 1024, {1, 2, 3, 4});
      driver.cuStreamSynchronize(its.one);
      ASSERT_EQ(driver.cuStreamBeginCapture_v2(
                    its.one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                CUDA_SUCCESS);
      driver.cuMemcpyDtoDAsync(its.memory, its.memory + 1024, 16, its.one);
      allReduce(its, its.one);
      CUgraph graph = nullptr;
      ASSERT_EQ(driver.cuStreamEndCapture(its.one, &graph), CUDA_SUCCESS);
      ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&graphs[rank], graph, 0),
                CUDA_SUCCESS);
    }
    for (int step = 0; step < 3; ++step)
      for (int rank : {0, 1}) {
        driver.cuCtxSetCurrent(ranks[rank].context);
        EXPECT_EQ(driver.cuGraphLaunch(graphs[rank], ranks[rank].one),
                  CUDA_SUCCESS);
      }
    for (const Rank &rank : ranks)
      EXPECT_EQ(read(rank, 1024, 4), (std::vector<float>{8, 16, 24, 32}));
    EXPECT_EQ(allFaults(), "") << "seed " << seed;
  }
}

TEST_F(NcclEmulator, TellsOfAbortsThatWaitForRecordings) {
  begin(2, "");
  join();
  const Rank &its = ranks[0];
  CUgraph graph;
  driver.cuStreamBeginCapture_v2(its.one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  allReduce(its, its.one, 4);
  ASSERT_EQ(driver.cuStreamEndCapture(its.one, &graph), CUDA_SUCCESS);
  nccl.ncclCommAbort(its.comm);
  expectFault("waits for ever: a graph holds calls of it");
}

TEST_F(NcclEmulator, TellsOfMemoryThatIsFreedBeforeACommunicatorEnds) {
  for (const bool isEarly : {false, true}) {
    begin(1, "");
    join();
    Rank &rank = ranks[0];
    void *place = nullptr;
    ASSERT_EQ(nccl.ncclMemAlloc(&place, 4096), ncclSuccess);
    rank.memory = CUdeviceptr(uintptr_t(place));
    driver.cuGraphExecDestroy(recorded(rank));
    if (!isEarly)
      leave();
    EXPECT_EQ(nccl.ncclMemFree(place), ncclSuccess);
    EXPECT_EQ(faults.empty(), !isEarly);
    if (isEarly)
      expectFault("has registered for a graph, before its end");
  }
}

TEST_F(NcclEmulator, TellsOfCallsThatNotAllRecord) {
  begin(2, "");
  join();
  const CUgraphExec graph = recorded(ranks[0]);
  driver.cuGraphLaunch(graph, ranks[0].one);
  allReduce(ranks[1], ranks[1].one);
  for (const Rank &rank : ranks)
    driver.cuStreamSynchronize(rank.one);
  expectFault("rank 0 of communicator 0 for ncclAllReduce of 4 f32 (sum), "
              "recorded as number 1");
}

TEST_F(NcclEmulator, TellsOfRecordingsThatAreNotEachOthers) {
  begin(2, "");
  join();
  CUgraphExec graphs[2][2];
  for (const int which : {0, 1})
    for (const int rank : {0, 1})
      graphs[which][rank] = recorded(ranks[size_t(rank)]);
  driver.cuGraphLaunch(graphs[0][0], ranks[0].one);
  driver.cuGraphLaunch(graphs[1][1], ranks[1].one);
  for (const Rank &rank : ranks)
    driver.cuStreamSynchronize(rank.one);
  expectFault("recorded as number 2");
}
