//===- TwoStreams.h - a played device with two streams ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What tests of the stand-in of libcuda have: a device, two streams, two
// events, memory, a kernel, and the faults that were reported.
//
//===----------------------------------------------------------------------===//
#ifndef PP_TEST_GPU_CUDA_TWOSTREAMS_H
#define PP_TEST_GPU_CUDA_TWOSTREAMS_H

#include "Code.h"
#include "Played.h"

namespace standin {

/// One device, two streams, and what a test needs of them.
class TwoStreams : public Played {
protected:
  void SetUp() override {
    Played::SetUp();
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

inline std::string seedOf(int seed) {
  return "seed " + std::to_string(seed) + "\n";
}

} // namespace standin

#endif // PP_TEST_GPU_CUDA_TWOSTREAMS_H
