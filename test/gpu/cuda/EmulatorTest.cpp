//===- EmulatorTest.cpp - what the emulated library of libcuda reports
//-------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by name, as the driver is. Programs that leave something out that the
// order needs are reported under every seed, whether or not the values came out
// right; programs that do not are right under every seed.
//
//===----------------------------------------------------------------------===//
#include "Code.h"
#include "Emulated.h"

#include <cstring>
#include <functional>

using namespace pprt::cuda;

namespace {

/// One device, two streams, and what a test needs of them.
class Emulator : public emulated::Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    begin("");
  }

  /// A new process, in which faults are only noted.
  void begin(const std::string &settings) {
    reset(settings);
    isLoaded = false;
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    CUcontext context;
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    for (CUstream *stream : {&one, &two})
      ASSERT_EQ(
          driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0),
          CUDA_SUCCESS);
    for (CUevent *event : {&first, &second})
      ASSERT_EQ(driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING),
                CUDA_SUCCESS);
  }
  CUdeviceptr allocate(size_t size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemAlloc(&address, size), CUDA_SUCCESS);
    return address;
  }
  void fill(CUdeviceptr to, char value, size_t bytes, CUstream stream) {
    const std::vector<char> values(bytes, value);
    driver.cuMemcpyHtoDAsync(to, values.data(), bytes, stream);
  }
  uint32_t *allocateHost(size_t words) {
    void *address = nullptr;
    EXPECT_EQ(driver.cuMemHostAlloc(&address, words * 4, 0), CUDA_SUCCESS);
    return static_cast<uint32_t *>(address);
  }
  std::vector<uint32_t> read(CUdeviceptr address, size_t words,
                             CUstream stream) {
    std::vector<uint32_t> values(words);
    EXPECT_EQ(
        driver.cuMemcpyDtoHAsync(values.data(), address, words * 4, stream),
        CUDA_SUCCESS);
    return values;
  }

  /// Rows of 64 bytes of 256.
  static CUDA_MEMCPY3D boxOf(CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D box = {};
    box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    box.srcDevice = from;
    box.dstDevice = to;
    box.srcPitch = box.dstPitch = box.WidthInBytes = 64;
    box.srcHeight = box.dstHeight = box.Height = 4;
    box.Depth = 1;
    return box;
  }
  /// Of 64 words; only loads it without a stream.
  CUresult launchAdd(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    if (!isLoaded) {
      isLoaded = true;
      driver.cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr);
      driver.cuModuleGetFunction(&add, module, "add");
    }
    uint32_t number = 64, addend = 5;
    void *parameters[] = {&to, &from, &number, &addend};
    return stream ? driver.cuLaunchKernel(add, 2, 1, 1, 32, 1, 1, 0, stream,
                                          parameters, nullptr)
                  : CUDA_SUCCESS;
  }

  CUstream one = nullptr, two = nullptr;
  CUevent first = nullptr, second = nullptr;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  bool isLoaded = false;
};

std::string seedOf(int seed) { return "seed " + std::to_string(seed) + "\n"; }

constexpr int kSeeds = 64;
} // namespace

TEST_F(Emulator, OrdersWhatEventsOrderUnderAnySeed) {
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

TEST_F(Emulator, ReportsAMissingWaitUnderAnySeed) {
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

/// Each operation reads `from` or writes `to`; another stream writes either.
TEST_F(Emulator, ReportsEveryOperationWithoutAnOrder) {
  constexpr size_t kBytes = 256;
  struct Operation {
    const char *name;
    bool reads, writes; ///< memory of the device
    std::function<void(CUdeviceptr to, CUdeviceptr from, void *host)> give;
  };
  const Operation operations[] = {
      {"from pinned memory", false, true,
       [this](CUdeviceptr to, CUdeviceptr, void *host) {
         driver.cuMemcpyHtoDAsync(to, host, kBytes, two);
       }},
      {"from memory of the host", false, true,
       [this](CUdeviceptr to, CUdeviceptr, void *) {
         const std::vector<char> values(kBytes);
         driver.cuMemcpyHtoDAsync(to, values.data(), kBytes, two);
       }},
      {"to pinned memory", true, false,
       [this](CUdeviceptr, CUdeviceptr from, void *host) {
         driver.cuMemcpyDtoHAsync(host, from, kBytes, two);
       }},
      {"to memory of the host", true, false,
       [this](CUdeviceptr, CUdeviceptr from, void *) {
         std::vector<char> values(kBytes);
         driver.cuMemcpyDtoHAsync(values.data(), from, kBytes, two);
       }},
      {"on the device", true, true,
       [this](CUdeviceptr to, CUdeviceptr from, void *) {
         driver.cuMemcpyDtoDAsync(to, from, kBytes, two);
       }},
      {"of a box", true, true,
       [this](CUdeviceptr to, CUdeviceptr from, void *) {
         const CUDA_MEMCPY3D box = boxOf(to, from);
         driver.cuMemcpy3DAsync(&box, two);
       }},
      {"a fill", false, true,
       [this](CUdeviceptr to, CUdeviceptr, void *) {
         driver.cuMemsetD32Async(to, 1, kBytes / 4, two);
       }},
      {"a kernel", true, true,
       [this](CUdeviceptr to, CUdeviceptr from, void *) {
         launchAdd(to, from, two);
       }},
  };
  for (const Operation &operation : operations)
    for (const bool isRead : {true, false})
      for (const bool hasWait : {true, false})
        for (int seed = 0; seed < 4; ++seed) {
          begin(seedOf(seed));
          const CUdeviceptr to = allocate(kBytes), from = allocate(kBytes);
          void *host = allocateHost(kBytes / 4);
          std::memset(host, 0, kBytes);
          driver.cuMemsetD32Async(from, 0, kBytes / 4, one);
          driver.cuCtxSynchronize();
          driver.cuMemsetD32Async(isRead ? from : to, 2, kBytes / 4, one);
          driver.cuEventRecord(first, one);
          if (hasWait)
            driver.cuStreamWaitEvent(two, first, 0);
          operation.give(to, from, host);
          driver.cuCtxSynchronize();
          const bool meets = isRead ? operation.reads : operation.writes;
          EXPECT_EQ(!faults.empty(), meets && !hasWait)
              << operation.name << ", seed " << seed << ": " << allFaults();
        }
}

/// Parts of what others write or read, up to its ends and beyond.
TEST_F(Emulator, ReportsEveryByteWithoutAnOrder) {
  const std::pair<uint64_t, uint64_t> parts[] = {
      {0, 64}, {128, 128}, {63, 1},  {128, 1}, {64, 64},   {64, 1}, {127, 1},
      {90, 8}, {63, 2},    {127, 2}, {0, 65},  {127, 129}, {0, 256}};
  for (const auto &[begin, size] : parts)
    for (const bool isRead : {true, false})
      for (const bool hasOther : {true, false})
        for (int seed = 0; seed < 4; ++seed) {
          this->begin(seedOf(seed));
          const CUdeviceptr a = allocate(256), b = allocate(256);
          fill(a, 0, 256, one);
          // What is in order before may be in other parts.
          if (hasOther)
            fill(a + 80, 0, 100, one);
          driver.cuCtxSynchronize();
          if (isRead)
            driver.cuMemcpyDtoDAsync(b, a + 64, 64, one);
          else
            fill(a + 64, 1, 64, one);
          fill(a + begin, 2, size, two);
          driver.cuCtxSynchronize();
          EXPECT_EQ(!faults.empty(), begin < 128 && begin + size > 64)
              << begin << " to " << begin + size << ", seed " << seed;
          // In order again.
          faults.clear();
          fill(a, 3, 256, two);
          EXPECT_EQ(read(a, 64, two), std::vector<uint32_t>(64, 0x03030303));
          driver.cuMemFree(a);
          driver.cuMemFree(b);
          EXPECT_TRUE(faults.empty()) << allFaults();
        }
}

/// The last of a stream's reads counts, and one that is open when memory goes.
TEST_F(Emulator, ReportsTheLastRead) {
  for (int seed = 0; seed < 4; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(64), b = allocate(64);
    fill(a, 0, 64, one);
    driver.cuMemcpyDtoDAsync(b, a, 64, one);
    driver.cuEventRecord(first, one);
    driver.cuMemcpyDtoDAsync(b, a, 64, one);
    driver.cuStreamWaitEvent(two, first, 0);
    fill(a, 1, 64, two);
    driver.cuCtxSynchronize();
    expectFault("nothing orders it with a ");
  }
  begin("seed 1\n");
  const CUdeviceptr a = allocate(64), b = allocate(64);
  fill(a, 0, 64, one);
  driver.cuCtxSynchronize();
  driver.cuMemcpyDtoDAsync(b, a, 64, one);
  driver.cuMemFree(a);
  expectFault("the host frees byte 0 of 64 bytes of device memory, and a read");
}

TEST_F(Emulator, OrdersNothingByRunningIt) {
  // A query that says "ended" orders; one that says "not yet" does not.
  begin("seed 0\n");
  const CUdeviceptr a = allocate(64);
  driver.cuMemsetD32Async(a, 1, 16, one);
  driver.cuEventRecord(first, one);
  while (driver.cuEventQuery(first) == CUDA_ERROR_NOT_READY) {
  }
  driver.cuMemsetD32Async(a, 2, 16, two);
  EXPECT_EQ(read(a, 16, two).front(), 2u);
  EXPECT_TRUE(faults.empty()) << allFaults();
}

TEST_F(Emulator, ReportsMemoryFreedTooEarly) {
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

TEST_F(Emulator, EndsAHostThatTouchesWhatIsNotItsOwn) {
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
  driver.cuStreamSynchronize(one);
  host[5] = 6;
  driver.cuMemcpyDtoHAsync(host, a, 2048, one);
  EXPECT_DEATH(host[6] = host[5] + 1, "the host reads byte 20");
  driver.cuStreamSynchronize(one);
  EXPECT_EQ(host[5], 5u);
}

TEST_F(Emulator, FailsTheCallThatItIsToldTo) {
  begin("fail cuMemAlloc_v2 2 2\nfault cuMemsetD32Async 1 700\n");
  const CUdeviceptr a = allocate(64);
  CUdeviceptr b = 0;
  EXPECT_EQ(driver.cuMemAlloc(&b, 64), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemsetD32Async(a, 0, 16, one), CUDA_SUCCESS);
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

TEST_F(Emulator, CountsWhatIsLeft) {
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

TEST_F(Emulator, ReportsKernelsOutsideOfTheirMemory) {
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

TEST_F(Emulator, ReplaysAGraphUnderAnySeed) {
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

TEST_F(Emulator, ReportsNodesWithoutAnOrderUnderAnySeed) {
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

TEST_F(Emulator, ObeysSettingsInFullOrNotAtAll) {
  const auto expectEnd = [&](const char *settings, const std::string &line) {
    EXPECT_EXIT(control->reset(settings), testing::ExitedWithCode(2),
                "^emulated libcuda: settings of a test:" + line + "\n$");
  };
  expectEnd("speed 2\n", "1: expects one of seed, devices, .*, got 'speed 2'");
  expectEnd("seed 1\n\nmemory 1.5\n",
            "3: expects 'memory N', N from 0 to [0-9]*, got 'memory 1.5'");
  expectEnd(
      "fail cuMemAlloc 1 2\n",
      "1: expects a call that the emulated libraries have, .*got 'cuMemAlloc'");
}
