//===- EmulatorTest.cpp - faults that the emulated driver reports ---------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of programs, most with a planted fault, for the emulated libcuda,
// which is found by name as the driver is. Each is reported in every order that
// CUDA leaves open, whether or not the values came out right.
// PPGpuMutantsTest plants the same faults in the engine's own calls.
//
//===----------------------------------------------------------------------===//
#include "Emulated.h"

#include <cstring>
#include <functional>

using namespace pprt::cuda;

namespace {

constexpr size_t kBytes = 256;

/// `add` writes to[i] = from[i] + addend for i < number.
constexpr char kAdd[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry add(
  .param .u64 add_to, .param .u64 add_from,
  .param .u32 add_number, .param .u32 add_addend)
{
  .reg .pred %p<2>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [add_to];
  ld.param.u64 %rd2, [add_from];
  ld.param.u32 %r1, [add_number];
  ld.param.u32 %r2, [add_addend];
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra $END;
  cvta.to.global.u64 %rd3, %rd1;
  cvta.to.global.u64 %rd4, %rd2;
  mul.wide.u32 %rd5, %r6, 4;
  add.s64 %rd6, %rd3, %rd5;
  add.s64 %rd7, %rd4, %rd5;
  ld.global.b32 %r7, [%rd7];
  add.s32 %r8, %r7, %r2;
  st.global.b32 [%rd6], %r8;
$END:
  ret;
}
)";

/// One device, two streams and two blocks of memory.
class Emulator : public emulated::Emulated {
protected:
  void begin(const std::string &settings) {
    reset(settings);
    driver.cuInit(0);
    CUcontext context;
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    for (CUstream *stream : {&one, &two})
      driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
    for (CUevent *event : {&first, &second})
      driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    for (CUdeviceptr *block : {&a, &b})
      ASSERT_EQ(driver.cuMemAlloc(block, kBytes), CUDA_SUCCESS);
    void *pinned = nullptr;
    driver.cuMemHostAlloc(&pinned, kBytes, 0);
    host = static_cast<uint32_t *>(pinned);
    std::memset(host, 0, kBytes);
  }
  void fill(CUdeviceptr to, CUstream stream, size_t words = kBytes / 4) {
    driver.cuMemsetD32Async(to, 7, words, stream);
  }
  void copy(CUdeviceptr to, CUdeviceptr from, CUstream stream) {
    driver.cuMemcpyDtoDAsync(to, from, kBytes, stream);
  }
  void order(CUstream before, CUstream after, CUevent event) {
    driver.cuEventRecord(event, before);
    driver.cuStreamWaitEvent(after, event, 0);
  }
  void launchAdd(CUdeviceptr to, CUdeviceptr from, uint32_t number) {
    CUmodule module = nullptr;
    CUfunction add = nullptr;
    driver.cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr);
    driver.cuModuleGetFunction(&add, module, "add");
    uint32_t addend = 5;
    void *parameters[] = {&to, &from, &number, &addend};
    driver.cuLaunchKernel(add, 4, 1, 1, 32, 1, 1, 0, two, parameters, nullptr);
  }
  /// Runs `calls` of both streams as a graph, twice.
  void play(const std::function<void()> &calls) {
    CUgraph graph = nullptr;
    CUgraphExec execution = nullptr;
    driver.cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    order(one, two, first);
    calls();
    order(two, one, second);
    ASSERT_EQ(driver.cuStreamEndCapture(one, &graph), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiate(&execution, graph, 0), CUDA_SUCCESS);
    driver.cuGraphDestroy(graph);
    for (int launch = 0; launch < 2; ++launch)
      driver.cuGraphLaunch(execution, one);
  }

  CUstream one = nullptr, two = nullptr;
  CUevent first = nullptr, second = nullptr;
  CUdeviceptr a = 0, b = 0;
  uint32_t *host = nullptr;
};

} // namespace

TEST_F(Emulator, ReportsPlantedFaultsUnderAnySeed) {
  struct Row {
    const char *fault; ///< empty: the program has none
    std::function<void()> run;
    int seeds = 8;
  };
  const char *const unordered = "nothing orders it with a ";
  const Row rows[] = {
      {"", [&] { fill(a, one), order(one, two, first), copy(b, a, two); }},
      {unordered, [&] { fill(a, one), copy(b, a, two); }},
      {unordered, [&] { copy(b, a, one), fill(a, two); }},
      {"", [&] { fill(a, one, 8), fill(a + 32, two, 8); }},
      {unordered, [&] { fill(a, one, 9), fill(a + 32, two, 8); }},
      {unordered, // the last of a stream's reads counts
       [&] {
         copy(b, a, one), order(one, two, first), copy(b, a, one);
         fill(a, two);
       }},
      {unordered,
       [&] {
         driver.cuMemcpyHtoDAsync(a, host, kBytes, one);
         copy(b, a, two);
       }},
      {unordered, [&] { fill(a, one), launchAdd(b, a, 64); }},
      {"", [&] { order(one, two, first), launchAdd(b, a, 64); }},
      {"the kernel 'add' in stream ", [&] { launchAdd(b, a, 65); }},
      {"bytes of device memory", [&] { fill(a, one), driver.cuMemFree(a); }, 2},
      {"", [&] { play([&] { copy(b, a, one), fill(host[0] ? a : b, one); }); }},
      {"replayed", [&] { play([&] { fill(b, one), fill(b, two); }); }},
  };
  for (const Row &row : rows)
    for (int seed = 0; seed < row.seeds; ++seed) {
      SCOPED_TRACE("row " + std::to_string(&row - rows) + ", seed " +
                   std::to_string(seed));
      begin("seed " + std::to_string(seed) + "\n");
      fill(a, one), fill(b, one);
      driver.cuCtxSynchronize();
      row.run();
      driver.cuCtxSynchronize();
      EXPECT_EQ(faults.empty(), !*row.fault) << allFaults();
      EXPECT_NE(allFaults().find(row.fault), std::string::npos) << allFaults();
    }
}

TEST_F(Emulator, EndsAHostThatTouchesWhatIsNotItsOwn) {
  begin("seed 0\n");
  EXPECT_DEATH(*reinterpret_cast<volatile uint32_t *>(a) = 1,
               "the host touches byte 0 of 256 bytes of device memory");
  driver.cuMemcpyHtoDAsync(a, host, kBytes / 2, one);
  driver.cuEventRecord(first, one);
  EXPECT_EQ(host[5], 0u); // it may read
  EXPECT_DEATH(host[5] = 6, "the host writes byte 20 of 256 bytes of pinned "
                            "memory, which cuMemcpyHtoDAsync in stream 0");
  driver.cuStreamSynchronize(one);
  driver.cuMemcpyDtoHAsync(host, a, kBytes / 2, one);
  EXPECT_DEATH(host[6] = host[5] + 1, "the host reads byte 20");
}

TEST_F(Emulator, CountsCallsAndWhatIsLeftAndFailsWhatItIsToldTo) {
  begin("fail cuMemAlloc_v2 3 2\nfault cuMemsetD32Async 1 700\n");
  CUdeviceptr more = 0;
  EXPECT_EQ(driver.cuMemAlloc(&more, 64), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(control->count("cuMemAlloc_v2"), 3u);
  EXPECT_STREQ(control->leaks(), "2 device memory, 1 pinned memory, 2 stream, "
                                 "2 event, 1 context");
  fill(a, one);
  EXPECT_EQ(driver.cuStreamSynchronize(one), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EXIT(control->reset("speed 2\n"), testing::ExitedWithCode(2),
              "settings of a test:1: expects a setting of .*, got 'speed 2'");
}
