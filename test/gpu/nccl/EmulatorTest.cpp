//===- EmulatorTest.cpp - faults that the emulated NCCL reports -----------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of programs of two ranks, most with a planted fault, for the emulated
// NCCL over the emulated libcuda with a device for each rank. One thread gives
// the streams of both ranks their work, so that a seed is one order.
// PPCudaCollectivesTest checks values, threads and failing calls.
//
//===----------------------------------------------------------------------===//
#include "Emulated.h"

#include <functional>

using namespace pprt::cuda;

namespace {

struct Rank {
  CUcontext context = nullptr;
  CUstream one = nullptr, two = nullptr;
  CUdeviceptr memory = 0;
  ncclComm_t comm = nullptr, other = nullptr;
};

class NcclEmulator : public emulated::Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    take(nccl, openNccl(driver.version), "ppEmulatorNccl");
  }
  ncclResult_t settle(ncclComm_t comm) {
    ncclResult_t result = ncclInProgress;
    while (result == ncclInProgress)
      if (const ncclResult_t failed = nccl.ncclCommGetAsyncError(comm, &result))
        return failed;
    return result;
  }
  /// Two ranks with memory that was written, in two communicators.
  void begin(const std::string &settings) {
    reset("devices 2\n" + settings);
    driver.cuInit(0);
    ncclUniqueId id;
    nccl.ncclGetUniqueId(&id);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    nccl.ncclGroupStart();
    for (int i : {0, 1}) {
      Rank &rank = ranks[i];
      driver.cuDevicePrimaryCtxRetain(&rank.context, i);
      driver.cuCtxSetCurrent(rank.context);
      for (CUstream *stream : {&rank.one, &rank.two})
        driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
      driver.cuMemAlloc(&rank.memory, 4096);
      driver.cuMemsetD32Async(rank.memory, 0x3f800000, 1024, rank.one);
      driver.cuStreamSynchronize(rank.one);
      nccl.ncclCommInitRankConfig(&rank.comm, 2, id, i, &config);
    }
    nccl.ncclGroupEnd();
    for (const Rank &rank : ranks)
      ASSERT_EQ(settle(rank.comm), ncclSuccess);
    for (int i : {0, 1})
      nccl.ncclCommSplit(ranks[i].comm, 0, i, &ranks[i].other, nullptr);
    for (const Rank &rank : ranks)
      settle(rank.comm), settle(rank.other);
  }
  void *at(int rank, uint64_t offset) {
    return reinterpret_cast<void *>(uintptr_t(ranks[rank].memory + offset));
  }
  void add(int rank, ncclComm_t comm, CUstream stream, uint64_t to = 1024,
           size_t count = 4) {
    driver.cuCtxSetCurrent(ranks[rank].context);
    nccl.ncclAllReduce(at(rank, 0), at(rank, to), count, ncclFloat32, ncclSum,
                       comm, stream);
    settle(comm);
  }
  /// A sum as a graph; made before anything waits for another rank.
  CUgraphExec record(int rank) {
    CUgraph graph = nullptr;
    CUgraphExec execution = nullptr;
    const CUstream stream = ranks[rank].one;
    driver.cuCtxSetCurrent(ranks[rank].context);
    driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    add(rank, ranks[rank].comm, stream);
    driver.cuStreamEndCapture(stream, &graph);
    driver.cuGraphInstantiateWithFlags(&execution, graph, 0);
    driver.cuGraphDestroy(graph);
    return execution;
  }
  void play(int rank, CUgraphExec graph) {
    driver.cuCtxSetCurrent(ranks[rank].context);
    driver.cuGraphLaunch(graph, ranks[rank].one);
  }
  void exchange(bool inGroup) {
    for (int i : {0, 1}) {
      const Rank &rank = ranks[i];
      driver.cuCtxSetCurrent(rank.context);
      if (inGroup)
        nccl.ncclGroupStart();
      nccl.ncclSend(at(i, 0), 2, ncclFloat32, 1 - i, rank.comm, rank.one);
      if (!inGroup)
        settle(rank.comm);
      nccl.ncclRecv(at(i, 64), 2, ncclFloat32, 1 - i, rank.comm, rank.one);
      if (inGroup)
        nccl.ncclGroupEnd();
      settle(rank.comm);
    }
  }

  Nccl nccl;
  Rank ranks[2];
};

} // namespace

TEST_F(NcclEmulator, ReportsPlantedFaultsUnderAnySeed) {
  Rank &zero = ranks[0], &one = ranks[1];
  const char *const forEver = "operations wait for each other for ever:";
  struct Row {
    const char *fault, *settings; ///< no fault: the program is right
    std::function<void()> run;
  };
  const Row rows[] = {
      {"", "", [&] { add(0, zero.comm, zero.one), add(1, one.comm, one.one); }},
      {"", "",
       [&] {
         const CUgraphExec graphs[] = {record(0), record(1)};
         play(0, graphs[0]), play(1, graphs[1]);
       }},
      {"", "", [&] { exchange(true); }},
      {forEver, "", [&] { exchange(false); }},
      {forEver, "",
       [&] {
         add(0, zero.comm, zero.one), add(0, zero.other, zero.one);
         add(1, one.other, one.one), add(1, one.comm, one.one);
       }},
      {"", "places 2\n",
       [&] {
         add(0, zero.comm, zero.one), add(0, zero.other, zero.two, 2048);
         add(1, one.comm, one.one), add(1, one.other, one.two, 2048);
       }},
      {"device 0 has a place for one of them", "places 1\n",
       [&] {
         add(0, zero.comm, zero.one), add(0, zero.other, zero.two, 2048);
         add(1, one.comm, one.one), add(1, one.other, one.two, 2048);
       }},
      {"nothing orders it with a ", "",
       [&] {
         driver.cuCtxSetCurrent(zero.context);
         driver.cuMemsetD32Async(zero.memory, 0, 4, zero.two);
         add(0, zero.comm, zero.one), add(1, one.comm, one.one);
       }},
      {"asks for ncclAllReduce of 3 f32 (sum), and rank 0", "",
       [&] {
         add(0, zero.comm, zero.one), add(1, one.comm, one.one, 1024, 3);
       }},
      {"writes over what it reads, and not in place", "",
       [&] { add(0, zero.comm, zero.one, 8); }},
      {"is given a stream of device 1", "",
       [&] { add(0, zero.comm, one.one); }},
      {"and all threads wait:", "drivers 1\n",
       [&] { add(0, zero.comm, zero.one); }},
      {"recorded as number 1", "",
       [&] { play(0, record(0)), add(1, one.comm, one.one); }},
      {"a graph holds calls of it", "",
       [&] { record(0), nccl.ncclCommAbort(zero.comm); }},
  };
  for (const Row &row : rows)
    for (int seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE("row " + std::to_string(&row - rows) + ", seed " +
                   std::to_string(seed));
      begin("seed " + std::to_string(seed) + "\n" + row.settings);
      row.run();
      for (const Rank &rank : ranks)
        for (CUstream stream : {rank.one, rank.two})
          if (faults.empty()) { // what waits for ever has been reported
            driver.cuCtxSetCurrent(rank.context);
            driver.cuStreamSynchronize(stream);
          }
      EXPECT_EQ(faults.empty(), !*row.fault) << allFaults();
      EXPECT_NE(allFaults().find(row.fault), std::string::npos) << allFaults();
    }
}
