//===- StandInTest.cpp - what the stand-in of libcuda reports -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by name, as the driver is. Programs that leave something out that the
// order needs are reported under every seed, whether or not the values came out
// right; programs that do not are right under every seed.
//
//===----------------------------------------------------------------------===//
#include "TwoStreams.h"

#include <thread>

using namespace pprt::cuda;
using standin::seedOf;

namespace {

class StandIn : public standin::TwoStreams {};

constexpr int kSeeds = 64;
} // namespace

TEST_F(StandIn, OrdersWhatEventsOrderUnderAnySeed) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(4096), b = allocate(4096);
    driver.cuMemsetD32Async(a, 7, 1024, one);
    driver.cuEventRecord(first, one);
    driver.cuStreamWaitEvent(two, first, 0);
    driver.cuMemcpyDtoDAsync(b, a, 4096, two);
    EXPECT_EQ(read(b, 1024, two), std::vector<uint32_t>(1024, 7));
    // `two` has ended, so the host knows that `one` has, up to its event.
    driver.cuMemsetD32Async(a, 8, 1024, one);
    EXPECT_EQ(read(a, 1024, one), std::vector<uint32_t>(1024, 8));
    EXPECT_EQ(driver.cuMemFree(a), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree(b), CUDA_SUCCESS);
    EXPECT_TRUE(faults.empty()) << "seed " << seed << ": " << allFaults();
  }
}

TEST_F(StandIn, ReportsAMissingWaitUnderAnySeed) {
  int wrong = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(64), b = allocate(64);
    driver.cuMemsetD32Async(a, 7, 16, one);
    driver.cuMemcpyDtoDAsync(b, a, 64, two);
    wrong += read(b, 16, two) != std::vector<uint32_t>(16, 7);
    driver.cuCtxSynchronize();
    expectFault("nothing orders it with a ");
  }
  // Both orders were run.
  EXPECT_GT(wrong, 0);
  EXPECT_LT(wrong, kSeeds);
}

TEST_F(StandIn, RunsPiecesOfCopiesBetweenOthers) {
  int mixed = 0;
  for (int seed = 2; seed < kSeeds; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(4096), b = allocate(4096);
    driver.cuMemsetD32Async(a, 0, 1024, one);
    driver.cuStreamSynchronize(one);
    driver.cuMemcpyDtoDAsync(b, a, 4096, one);
    driver.cuMemsetD32Async(a, 9, 1024, two);
    const std::vector<uint32_t> values = read(b, 1024, one);
    mixed += values.front() != values.back();
    driver.cuCtxSynchronize();
    EXPECT_FALSE(faults.empty());
  }
  EXPECT_GT(mixed, 0);
}

TEST_F(StandIn, OrdersNothingByRunningIt) {
  // A query that says "ended" orders; one that says "not yet" does not.
  begin("seed 0\n");
  const CUdeviceptr a = allocate(64);
  driver.cuMemsetD32Async(a, 1, 16, one);
  while (driver.cuStreamQuery(one) == CUDA_ERROR_NOT_READY) {
  }
  driver.cuMemsetD32Async(a, 2, 16, two);
  EXPECT_EQ(read(a, 16, two).front(), 2u);
  EXPECT_TRUE(faults.empty()) << allFaults();
}

TEST_F(StandIn, ReportsMemoryFreedTooEarly) {
  begin("seed 1\n");
  const CUdeviceptr a = allocate(64);
  driver.cuMemsetD32Async(a, 1, 16, one);
  driver.cuMemFree(a);
  expectFault("the host frees byte 0 of 64 bytes of device memory, and a write "
              "by cuMemsetD32Async in stream 0");
  begin("seed 0\n");
  const CUdeviceptr b = allocate(64);
  driver.cuMemsetD32Async(b, 1, 16, one);
  driver.cuMemFree(b);
  EXPECT_EQ(driver.cuStreamSynchronize(one), CUDA_ERROR_ILLEGAL_ADDRESS);
  expectFault("uses byte 0 of 64 bytes of device memory that was freed");
}

TEST_F(StandIn, EndsAHostThatTouchesWhatIsNotItsOwn) {
  begin("seed 0\n");
  const CUdeviceptr a = allocate(4096);
  EXPECT_DEATH(*reinterpret_cast<volatile uint32_t *>(a) = 1,
               "the host touches byte 0 of 4096 bytes of device memory");
  uint32_t *host = allocateHost(1024);
  host[5] = 5;
  driver.cuMemcpyHtoDAsync(a, host, 2048, one);
  driver.cuEventRecord(first, one);
  EXPECT_EQ(host[5], 5u); // it may read
  EXPECT_DEATH(host[5] = 6, "the host writes byte 20 of 4096 bytes of pinned "
                            "memory, which cuMemcpyHtoDAsync in stream 0");
  host[1000] = 3; // and write what is not copied
  driver.cuEventSynchronize(first);
  host[5] = 6;
  driver.cuMemcpyDtoHAsync(host, a, 2048, one);
  EXPECT_DEATH(host[6] = host[5] + 1, "the host reads byte 20");
  driver.cuStreamSynchronize(one);
  EXPECT_EQ(host[5], 5u);
}

TEST_F(StandIn, FailsTheCallThatItIsToldTo) {
  begin("fail cuMemAlloc_v2 2 2\nfault cuMemsetD8Async 1 700\n");
  const CUdeviceptr a = allocate(64);
  CUdeviceptr b = 0;
  EXPECT_EQ(driver.cuMemAlloc(&b, 64), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemsetD8Async(a, 0, 64, one), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(one), CUDA_ERROR_ILLEGAL_ADDRESS);
  // Every call says so from then on.
  EXPECT_EQ(driver.cuMemAlloc(&b, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(control->count("cuMemAlloc_v2"), 3u);
  const pprt::Status status =
      driver.check(CUDA_ERROR_ILLEGAL_ADDRESS, "cuMemAlloc");
  EXPECT_EQ(status.code(), pprt::ExitCode::device);
  EXPECT_EQ(status.message(),
            "cuMemAlloc: CUDA_ERROR_ILLEGAL_ADDRESS (700), illegal address");
  EXPECT_EQ(driver.check(CUDA_ERROR_OUT_OF_MEMORY, "").code(),
            pprt::ExitCode::outOfMemory);
}

TEST_F(StandIn, CountsWhatIsLeft) {
  const CUdeviceptr a = allocate(64);
  EXPECT_STREQ(control->leaks(),
               "1 device memory, 2 stream, 2 event, 1 context");
  launchAdd(a, a, nullptr); // loads it
  void *host = allocateHost(1);
  CUgraph graph = nullptr;
  CUgraphExec execution = nullptr;
  driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  driver.cuStreamEndCapture(one, &graph);
  driver.cuGraphInstantiate(&execution, graph, 0);
  EXPECT_STREQ(control->leaks(),
               "1 device memory, 1 pinned memory, 2 stream, 2 event, 1 module, "
               "1 graph, 1 executable graph, 1 context");
  driver.cuGraphExecDestroy(execution);
  driver.cuGraphDestroy(graph);
  driver.cuMemFreeHost(host);
  driver.cuModuleUnload(module);
  driver.cuMemFree(a);
  driver.cuStreamDestroy(one);
  driver.cuStreamDestroy(two);
  driver.cuEventDestroy(first);
  driver.cuEventDestroy(second);
  driver.cuDevicePrimaryCtxRelease(0);
  EXPECT_STREQ(control->leaks(), "");
}

TEST_F(StandIn, EndsByNameWhatItDoesNotDo) {
  control->takeFaults(nullptr);
  void *handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto *unknown =
      reinterpret_cast<void (*)()>(dlsym(handle, "cuMemAllocManaged"));
  ASSERT_TRUE(unknown);
  EXPECT_DEATH(unknown(), "not modelled: cuMemAllocManaged");
  EXPECT_DEATH(driver.cuStreamSynchronize(nullptr), "the legacy stream");
}

TEST_F(StandIn, HoldsKernelsAgainstOtherOperations) {
  for (int seed = 0; seed < kSeeds; ++seed)
    for (const bool hasWait : {true, false}) {
      begin(seedOf(seed));
      CUdeviceptr a = allocate(256), b = allocate(256);
      CUmodule module = nullptr;
      CUfunction add = nullptr;
      ASSERT_EQ(driver.cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr),
                CUDA_SUCCESS);
      ASSERT_EQ(driver.cuModuleGetFunction(&add, module, "add"), CUDA_SUCCESS);
      uint32_t number = 64, addend = 5;
      void *parameters[] = {&b, &a, &number, &addend};
      driver.cuMemsetD32Async(a, 1, 64, one);
      driver.cuEventRecord(first, one);
      if (hasWait)
        driver.cuStreamWaitEvent(two, first, 0);
      ASSERT_EQ(driver.cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, two,
                                      parameters, nullptr),
                CUDA_SUCCESS);
      const std::vector<uint32_t> values = read(b, 64, two);
      driver.cuCtxSynchronize();
      if (hasWait) {
        EXPECT_EQ(values, std::vector<uint32_t>(64, 6));
        EXPECT_TRUE(faults.empty()) << allFaults();
      } else { // a fill of 256 bytes has four pieces
        ASSERT_FALSE(faults.empty());
        EXPECT_NE(faults[0].find("nothing orders it with a "),
                  std::string::npos)
            << faults[0];
      }
    }
}

TEST_F(StandIn, ReportsKernelsOutsideOfTheirMemory) {
  CUdeviceptr a = allocate(256), b = allocate(128);
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  driver.cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr);
  driver.cuModuleGetFunction(&add, module, "add");
  uint32_t number = 64, addend = 5;
  void *parameters[] = {&b, &a, &number, &addend};
  driver.cuMemsetD32Async(a, 1, 64, one);
  driver.cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, one, parameters, nullptr);
  EXPECT_EQ(driver.cuStreamSynchronize(one), CUDA_ERROR_LAUNCH_FAILED);
  expectFault("the kernel 'add' in stream 0");
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

TEST_F(StandIn, ReplaysAGraphUnderAnySeed) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(256), b = allocate(256), c = allocate(256);
    uint32_t *host = allocateHost(64);
    std::fill_n(host, 64, 3);
    driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    driver.cuMemcpyHtoDAsync(a, host, 256, one);
    driver.cuEventRecord(first, one);
    driver.cuStreamWaitEvent(two, first, 0); // a fork
    driver.cuMemcpyDtoDAsync(b, a, 256, two);
    driver.cuEventRecord(second, two);
    driver.cuMemcpyDtoDAsync(c, a, 256, one);
    driver.cuStreamWaitEvent(one, second, 0); // a join
    CUgraph graph = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    CUgraphExec execution = nullptr;
    ASSERT_EQ(driver.cuGraphInstantiate(&execution, graph, 0), CUDA_SUCCESS);
    driver.cuGraphDestroy(graph);
    EXPECT_EQ(host[0], 3u); // nothing has run
    for (uint32_t step = 4; step < 8; ++step) {
      std::fill_n(host, 64, step);
      driver.cuGraphLaunch(execution, one);
      EXPECT_EQ(read(b, 64, one), std::vector<uint32_t>(64, step));
      EXPECT_EQ(read(c, 64, one), std::vector<uint32_t>(64, step));
    }
    driver.cuGraphLaunch(execution, one);
    driver.cuGraphLaunch(execution, two); // after the other one
    driver.cuCtxSynchronize();
    driver.cuGraphExecDestroy(execution);
    EXPECT_TRUE(faults.empty()) << "seed " << seed << ": " << allFaults();
  }
}

TEST_F(StandIn, ReportsNodesWithoutAnOrderUnderAnySeed) {
  for (int seed = 0; seed < kSeeds; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(64);
    driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    driver.cuEventRecord(first, one);
    driver.cuStreamWaitEvent(two, first, 0);
    driver.cuMemsetD32Async(a, 1, 16, one);
    driver.cuMemsetD32Async(a, 2, 16, two);
    driver.cuEventRecord(second, two);
    driver.cuStreamWaitEvent(one, second, 0);
    CUgraph graph = nullptr;
    ASSERT_EQ(driver.cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    CUgraphExec execution = nullptr;
    ASSERT_EQ(driver.cuGraphInstantiate(&execution, graph, 0), CUDA_SUCCESS);
    driver.cuGraphLaunch(execution, one);
    driver.cuStreamSynchronize(one);
    expectFault("replayed");
  }
}
