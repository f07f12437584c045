//===- Ranks.h - ranks that meet by an emulated library of NCCL ----------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A fixture: NCCL's emulated library, found by name as NCCL is, over that of
// libcuda with a device for each rank. One thread gives the streams of all
// ranks their work, unless threads are what is tested, so that a seed is one
// order.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_NCCL_RANKS_H
#define PP_TEST_GPU_NCCL_RANKS_H

#include "Emulated.h"

namespace emulated::nccl {

constexpr int kSeeds = 16;

inline std::string seedOf(int seed) {
  return "seed " + std::to_string(seed) + "\n";
}

/// A device with two streams, memory and, once joined, a communicator.
struct Rank {
  CUcontext context = nullptr;
  CUstream one = nullptr, two = nullptr;
  CUdeviceptr memory = 0;
  ncclComm_t comm = nullptr;
};

class NcclEmulator : public Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    take(nccl, pprt::cuda::openNccl(driver.version), "ppEmulatorNccl");
  }

  /// A new process, in which faults are only noted.
  void begin(uint32_t size, const std::string &settings) {
    reset("devices " + std::to_string(size) + "\n" + settings);
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    ranks.assign(size, {});
    for (uint32_t rank = 0; rank < size; ++rank) {
      Rank &its = ranks[rank];
      ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&its.context, int(rank)),
                CUDA_SUCCESS);
      ASSERT_EQ(driver.cuCtxSetCurrent(its.context), CUDA_SUCCESS);
      for (CUstream *stream : {&its.one, &its.two})
        ASSERT_EQ(driver.cuStreamCreateWithPriority(stream,
                                                    CU_STREAM_NON_BLOCKING, 0),
                  CUDA_SUCCESS);
      ASSERT_EQ(driver.cuMemAlloc(&its.memory, 4096), CUDA_SUCCESS);
    }
  }
  ncclResult_t settle(ncclComm_t comm) {
    ncclResult_t result = ncclInProgress;
    while (result == ncclInProgress)
      if (const ncclResult_t failed = nccl.ncclCommGetAsyncError(comm, &result))
        return failed;
    return result;
  }
  /// Of all ranks by one thread.
  void join() {
    ncclUniqueId id;
    ASSERT_EQ(nccl.ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ASSERT_EQ(nccl.ncclGroupStart(), ncclSuccess);
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      driver.cuCtxSetCurrent(ranks[rank].context);
      ASSERT_EQ(nccl.ncclCommInitRankConfig(&ranks[rank].comm,
                                            int(ranks.size()), id, int(rank),
                                            &config),
                ncclSuccess);
    }
    ASSERT_EQ(nccl.ncclGroupEnd(), ncclInProgress);
    for (const Rank &rank : ranks)
      ASSERT_EQ(settle(rank.comm), ncclSuccess);
  }
  /// Two ranks with data, in a second communicator, too, on devices with room
  /// for so many collectives.
  std::vector<ncclComm_t> beginWithTwo(int seed, int places) {
    begin(2, seedOf(seed) + "places " + std::to_string(places) + "\n");
    join();
    for (const Rank &rank : ranks)
      write(rank, 0, {1, 2, 3, 4});
    return split({0, 0}, {0, 1});
  }
  void write(const Rank &rank, uint64_t offset,
             const std::vector<float> &data) {
    driver.cuCtxSetCurrent(rank.context);
    driver.cuMemcpyHtoDAsync(rank.memory + offset, data.data(), data.size() * 4,
                             rank.one);
  }
  std::vector<float> read(const Rank &rank, uint64_t offset, size_t count) {
    std::vector<float> data(count);
    driver.cuCtxSetCurrent(rank.context);
    driver.cuMemcpyDtoHAsync(data.data(), rank.memory + offset, count * 4,
                             rank.one);
    return data;
  }
  static void *at(const Rank &rank, uint64_t offset) {
    return reinterpret_cast<void *>(uintptr_t(rank.memory + offset));
  }
  void allReduce(const Rank &rank, CUstream stream, size_t count = 4) {
    const ncclResult_t result =
        nccl.ncclAllReduce(at(rank, 0), at(rank, 1024), count, ncclFloat32,
                           ncclSum, rank.comm, stream);
    ASSERT_TRUE(result == ncclSuccess || result == ncclInProgress) << result;
    ASSERT_EQ(settle(rank.comm), ncclSuccess);
  }
  /// A call of the rank's in a graph of its own.
  CUgraphExec recorded(const Rank &rank) {
    CUgraph graph = nullptr;
    CUgraphExec execution = nullptr;
    driver.cuCtxSetCurrent(rank.context);
    driver.cuStreamBeginCapture_v2(rank.one,
                                   CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    allReduce(rank, rank.one);
    EXPECT_EQ(driver.cuStreamEndCapture(rank.one, &graph), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&execution, graph, 0),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
    return execution;
  }
  void leave() {
    for (Rank &rank : ranks) {
      EXPECT_EQ(nccl.ncclCommFinalize(rank.comm), ncclInProgress);
      EXPECT_EQ(settle(rank.comm), ncclSuccess);
      EXPECT_EQ(nccl.ncclCommDestroy(rank.comm), ncclSuccess);
    }
  }
  /// By colors and keys of all ranks.
  std::vector<ncclComm_t> split(const std::vector<int> &colors,
                                const std::vector<int> &keys) {
    std::vector<ncclComm_t> parts(ranks.size());
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      EXPECT_EQ(nccl.ncclCommSplit(ranks[rank].comm, colors[rank], keys[rank],
                                   &parts[rank], nullptr),
                ncclInProgress);
    for (const Rank &rank : ranks)
      EXPECT_EQ(settle(rank.comm), ncclSuccess);
    for (ncclComm_t part : parts) {
      if (part) {
        EXPECT_EQ(settle(part), ncclSuccess);
      }
    }
    return parts;
  }

  pprt::cuda::Nccl nccl;
  std::vector<Rank> ranks;
};

} // namespace emulated::nccl

#endif // PP_TEST_GPU_NCCL_RANKS_H
