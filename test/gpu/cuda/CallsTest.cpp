//===- CallsTest.cpp - each call of the stand-in of libcuda ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What every call reads and writes is held to an order; what it is told of
// handles that are gone, or of what is not modelled, is refused or ends by
// name; what a device says of itself is as its settings say.
//
//===----------------------------------------------------------------------===//
#include "TwoStreams.h"

#include <cstring>
#include <functional>

using namespace pprt::cuda;
using standin::seedOf;

namespace {

class Calls : public standin::TwoStreams {};

} // namespace

/// Each operation reads `from` or writes `to`; another stream writes either.
TEST_F(Calls, ReportsEveryOperationWithoutAnOrder) {
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
      {"bytes", false, true,
       [this](CUdeviceptr to, CUdeviceptr, void *) {
         driver.cuMemsetD8Async(to, 1, kBytes, two);
       }},
      {"words", false, true,
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
          driver.cuMemsetD8Async(from, 0, kBytes, one);
          driver.cuCtxSynchronize();
          driver.cuMemsetD8Async(isRead ? from : to, 2, kBytes, one);
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
TEST_F(Calls, ReportsEveryByteWithoutAnOrder) {
  const std::pair<uint64_t, uint64_t> parts[] = {
      {0, 64}, {128, 128}, {63, 1},  {128, 1}, {64, 64},   {64, 1}, {127, 1},
      {90, 8}, {63, 2},    {127, 2}, {0, 65},  {127, 129}, {0, 256}};
  for (const auto &[begin, size] : parts)
    for (const bool isRead : {true, false})
      for (const bool hasOther : {true, false})
        for (int seed = 0; seed < 4; ++seed) {
          this->begin(seedOf(seed));
          const CUdeviceptr a = allocate(256), b = allocate(256);
          driver.cuMemsetD8Async(a, 0, 256, one);
          // What is in order before may be in other parts.
          if (hasOther)
            driver.cuMemsetD8Async(a + 80, 0, 100, one);
          driver.cuCtxSynchronize();
          if (isRead)
            driver.cuMemcpyDtoDAsync(b, a + 64, 64, one);
          else
            driver.cuMemsetD8Async(a + 64, 1, 64, one);
          driver.cuMemsetD8Async(a + begin, 2, size, two);
          driver.cuCtxSynchronize();
          EXPECT_EQ(!faults.empty(), begin < 128 && begin + size > 64)
              << begin << " to " << begin + size << ", seed " << seed;
          // In order again.
          faults.clear();
          driver.cuMemsetD8Async(a, 3, 256, two);
          EXPECT_EQ(read(a, 64, two), std::vector<uint32_t>(64, 0x03030303));
          driver.cuMemFree(a);
          driver.cuMemFree(b);
          EXPECT_TRUE(faults.empty()) << allFaults();
        }
}

/// The last of a stream's reads counts, and one that is open when memory goes.
TEST_F(Calls, ReportsTheLastRead) {
  for (int seed = 0; seed < 4; ++seed) {
    begin(seedOf(seed));
    const CUdeviceptr a = allocate(64), b = allocate(64);
    driver.cuMemsetD8Async(a, 0, 64, one);
    driver.cuMemcpyDtoDAsync(b, a, 64, one);
    driver.cuEventRecord(first, one);
    driver.cuMemcpyDtoDAsync(b, a, 64, one);
    driver.cuStreamWaitEvent(two, first, 0);
    driver.cuMemsetD8Async(a, 1, 64, two);
    driver.cuCtxSynchronize();
    expectFault("nothing orders it with a ");
  }
  begin("seed 1\n");
  const CUdeviceptr a = allocate(64), b = allocate(64);
  driver.cuMemsetD8Async(a, 0, 64, one);
  driver.cuCtxSynchronize();
  driver.cuMemcpyDtoDAsync(b, a, 64, one);
  driver.cuMemFree(a);
  expectFault("the host frees byte 0 of 64 bytes of device memory, and a read");
}

TEST_F(Calls, ReportsWhatIsUnderWayWhenItsCodeOrStreamGoes) {
  begin("seed 0\n");
  const CUdeviceptr a = allocate(256);
  driver.cuMemsetD32Async(a, 1, 64, one);
  launchAdd(a, a, one);
  driver.cuModuleUnload(module);
  driver.cuStreamSynchronize(one);
  expectFault("runs, and its module is unloaded");
  // A stream may go before what it was given has ended.
  begin("seed 0\n");
  const CUdeviceptr b = allocate(256);
  driver.cuMemsetD32Async(b, 1, 64, one);
  driver.cuEventRecord(first, one);
  driver.cuStreamDestroy(one);
  EXPECT_EQ(driver.cuEventSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(read(b, 64, two), std::vector<uint32_t>(64, 1));
  EXPECT_TRUE(faults.empty()) << allFaults();
  driver.cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  driver.cuStreamDestroy(two);
  expectFault("destroys a stream that is in a capture");
}

TEST_F(Calls, ReportsCopiesThatOverlap) {
  const CUdeviceptr a = allocate(256);
  driver.cuMemsetD32Async(a, 1, 64, one);
  driver.cuMemcpyDtoDAsync(a + 128, a, 128, one);
  EXPECT_TRUE(faults.empty()) << allFaults();
  driver.cuMemcpyDtoDAsync(a + 127, a, 128, one);
  expectFault("ranges that overlap");
}

TEST_F(Calls, RefusesHandlesThatAreGone) {
  const CUdeviceptr a = allocate(256), b = allocate(256);
  uint32_t *host = allocateHost(64);
  CUgraph graph = nullptr;
  CUgraphExec execution = nullptr;
  launchAdd(a, a, nullptr); // loads it
  driver.cuStreamBeginCapture(two, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  driver.cuStreamEndCapture(two, &graph);
  EXPECT_EQ(driver.cuGraphInstantiate(&execution, graph, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy(one), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy(first), CUDA_SUCCESS);
  CUstreamCaptureStatus status;
  CUgraph other = nullptr;
  const CUDA_MEMCPY3D box = boxOf(a, b);
  const CUresult gone[] = {
      driver.cuStreamDestroy(one),
      driver.cuStreamSynchronize(one),
      driver.cuStreamQuery(one),
      driver.cuStreamWaitEvent(one, second, 0),
      driver.cuStreamWaitEvent(two, first, 0),
      driver.cuEventRecord(first, two),
      driver.cuEventRecord(second, one),
      driver.cuEventQuery(first),
      driver.cuEventSynchronize(first),
      driver.cuEventDestroy(first),
      driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      driver.cuStreamEndCapture(one, &other),
      driver.cuStreamIsCapturing(one, &status),
      driver.cuMemcpyHtoDAsync(a, host, 256, one),
      driver.cuMemcpyDtoHAsync(host, a, 256, one),
      driver.cuMemcpyDtoDAsync(b, a, 256, one),
      driver.cuMemcpy3DAsync(&box, one),
      driver.cuMemsetD8Async(a, 0, 256, one),
      driver.cuGraphLaunch(execution, one),
      launchAdd(a, a, one),
  };
  for (size_t i = 0; i < std::size(gone); ++i)
    EXPECT_EQ(gone[i], CUDA_ERROR_INVALID_HANDLE) << "call " << i;
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphExecDestroy(execution), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuModuleUnload(module), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree(a), CUDA_SUCCESS);
  const CUresult wrong[] = {
      driver.cuGraphDestroy(graph),
      driver.cuGraphInstantiate(&execution, graph, 0),
      driver.cuGraphExecDestroy(execution),
      driver.cuGraphLaunch(execution, two),
      driver.cuMemFree(a),
      driver.cuMemcpyHtoDAsync(a, host, 256, two),
      driver.cuMemcpyDtoHAsync(host, a, 256, two),
      driver.cuMemcpyDtoDAsync(b, a, 256, two),
      driver.cuMemcpyDtoDAsync(a, b, 256, two),
      driver.cuMemcpyDtoDAsync(b + 1, b, 256, two),
      driver.cuMemcpy3DAsync(&box, two),
      driver.cuMemsetD8Async(a, 0, 256, two),
      driver.cuMemHostAlloc(nullptr, 4, 0),
  };
  for (size_t i = 0; i < std::size(wrong); ++i)
    EXPECT_EQ(wrong[i], CUDA_ERROR_INVALID_VALUE) << "call " << i;
  for (const CUresult result :
       {driver.cuModuleUnload(module), launchAdd(b, b, two)})
    EXPECT_EQ(result, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_TRUE(faults.empty()) << allFaults();
}

TEST_F(Calls, TellsWhatADeviceIs) {
  begin("devices 2\ncapability 86\nmemory 1048576\nother 1\n");
  const std::pair<CUdevice_attribute, int> attributes[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 6},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
  };
  for (const auto &[attribute, expected] : attributes) {
    int value = -1;
    EXPECT_EQ(driver.cuDeviceGetAttribute(&value, attribute, 1), CUDA_SUCCESS);
    EXPECT_EQ(value, expected) << "attribute " << attribute;
  }
  CUdevice device = -1;
  EXPECT_EQ(driver.cuDeviceGet(&device, 1), CUDA_SUCCESS);
  EXPECT_EQ(device, 1);
  size_t bytes = 0;
  EXPECT_EQ(driver.cuDeviceTotalMem(&bytes, 1), CUDA_SUCCESS);
  EXPECT_EQ(bytes, 1048576u);
  char names[2][100] = {};
  CUuuid ids[2];
  for (int i = 0; i < 2; ++i) {
    std::memset(ids[i].bytes, 0x55 + i, sizeof(ids[i].bytes));
    EXPECT_EQ(driver.cuDeviceGetName(names[i], sizeof(names[i]), i),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDeviceGetUuid(&ids[i], i), CUDA_SUCCESS);
  }
  EXPECT_STRNE(names[0], names[1]);
  for (size_t i = 0; i < sizeof(ids[0].bytes); ++i)
    EXPECT_EQ(ids[0].bytes[i] == ids[1].bytes[i], i > 0);

  int value = 0;
  CUcontext context = nullptr;
  const CUresult missing[] = {
      driver.cuDeviceGet(&device, 2),
      driver.cuDeviceGetName(names[0], sizeof(names[0]), 2),
      driver.cuDeviceTotalMem(&bytes, 2),
      driver.cuDeviceGetUuid(ids, 2),
      driver.cuDeviceGetAttribute(
          &value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2),
      driver.cuDevicePrimaryCtxRetain(&context, 2),
      driver.cuDevicePrimaryCtxRelease(2),
  };
  for (size_t i = 0; i < std::size(missing); ++i)
    EXPECT_EQ(missing[i], CUDA_ERROR_INVALID_DEVICE) << "call " << i;
  EXPECT_EQ(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxSetCurrent(reinterpret_cast<CUcontext>(&context)),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxGetStreamPriorityRange(nullptr, nullptr), CUDA_SUCCESS);
  reset("devices 0\n");
  EXPECT_EQ(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

TEST_F(Calls, FailsNoMoreInAnotherContext) {
  begin("fault cuMemsetD8Async 1 700\n");
  driver.cuMemsetD8Async(allocate(64), 0, 64, one);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(Calls, EndsByNameWhatItIsNotTold) {
  control->takeFaults(nullptr);
  const CUdeviceptr a = allocate(256);
  std::vector<char> values(256);
  int value = 0;
  launchAdd(a, a, nullptr); // loads it
  CUDA_MEMCPY3D box = boxOf(a, a);
  box.srcY = 1;
  void *extra[] = {nullptr};
  EXPECT_DEATH(driver.cuStreamWaitEvent(one, first, 1), "WaitEvent with flags");
  EXPECT_DEATH(driver.cuMemcpy3DAsync(&box, one), "3DAsync with offsets");
  EXPECT_DEATH(driver.cuDeviceGetAttribute(&value, CUdevice_attribute(9999), 0),
               "the device attribute 9999");
  EXPECT_DEATH(
      driver.cuFuncGetAttribute(&value, CUfunction_attribute(9999), add),
      "the function attribute 9999");
  EXPECT_DEATH(driver.cuFuncSetAttribute(add, CUfunction_attribute(9999), 0),
               "the function attribute 9999");
  EXPECT_DEATH(
      driver.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, one, nullptr, extra),
      "extra parameters");
  EXPECT_DEATH(driver.cuMemcpyHtoDAsync(a, values.data(), 4, nullptr),
               "the legacy stream");
  EXPECT_DEATH(driver.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr,
                                     nullptr),
               "the legacy stream");
  driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CUgraph graph = nullptr;
  CUgraphExec execution = nullptr;
  driver.cuStreamEndCapture(one, &graph);
  EXPECT_DEATH(driver.cuGraphInstantiate(&execution, graph, 1),
               "cuGraphInstantiateWithFlags with flags");
  driver.cuGraphInstantiate(&execution, graph, 0);
  driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_DEATH(driver.cuGraphLaunch(execution, one),
               "cuGraphLaunch in a capture");
  EXPECT_DEATH(driver.cuMemcpyHtoDAsync(a, values.data(), 256, one),
               "from memory that is not pinned, captured");
  EXPECT_DEATH(driver.cuMemcpyDtoHAsync(values.data(), a, 256, one),
               "to memory that is not pinned, captured");
}
