//===- DeviceTest.cpp - the GPU engine over emulated libraries ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// The library that is shipped, opened as a session opens it. libcuda is the
// emulated library of test/gpu/cuda, which runs PTX on the processor: nothing
// here says what a GPU does.
//
//===----------------------------------------------------------------------===//
#include "../Runtime/WaitingStream.h"
#include "Emulated.h"
#include "backends/cuda/Plugin.h"
#include "pprt/World.h"

using namespace pprt;

namespace {

/// y[i] = x[i] + scalars[0] for 8 elements, unless the gate is shut.
constexpr char kShift[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry shift(
  .param .u64 shift_x, .param .u64 shift_y,
  .param .u64 shift_scalars, .param .u64 shift_gate)
{
  .reg .pred %p<3>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<10>;
  ld.param.u64 %rd4, [shift_gate];
  setp.eq.b64 %p1, %rd4, 0;
  @%p1 bra $OPEN;
  ld.global.b32 %r6, [%rd4];
  setp.ne.b32 %p2, %r6, 0;
  @%p2 bra $END;
$OPEN:
  ld.param.u64 %rd1, [shift_x];
  ld.param.u64 %rd2, [shift_y];
  ld.param.u64 %rd3, [shift_scalars];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.u32 %rd5, %r4, 4;
  add.s64 %rd6, %rd1, %rd5;
  add.s64 %rd7, %rd2, %rd5;
  ld.global.b32 %r5, [%rd6];
  ld.global.b32 %r6, [%rd3];
  add.s32 %r7, %r5, %r6;
  st.global.b32 [%rd7], %r7;
$END:
  ret;
}
)";

class GpuDevice : public emulated::Emulated {
protected:
  void SetUp() override {
    Emulated::SetUp();
    control->reset("");
  }
  void TearDown() override {
    stream.reset();
    memory.reset();
    device.reset();
    EXPECT_STREQ(control->leaks(), "");
    Emulated::TearDown();
  }

  void start() {
    auto opened = cuda::openDevices(*thisProcess(), 1);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = std::move(opened->front());
    auto allocated = device->allocate(1024);
    ASSERT_TRUE(allocated.ok()) << allocated.status().message();
    memory = std::move(*allocated);
    auto created = test::WaitingStream::make(*device, *memory, heap);
    ASSERT_TRUE(created.ok()) << created.status().message();
    stream = std::move(*created);
  }
  std::byte *at(uint64_t offset) const { return memory->address() + offset; }
  int32_t word(const std::byte *address) {
    int32_t result = -1;
    CUstream own = nullptr;
    driver.cuStreamCreateWithPriority(&own, CU_STREAM_NON_BLOCKING, 0);
    driver.cuMemcpyDtoHAsync(&result,
                             CUdeviceptr(reinterpret_cast<uintptr_t>(address)),
                             sizeof(result), own);
    driver.cuStreamSynchronize(own);
    driver.cuStreamDestroy(own);
    return result;
  }
  static ppx::ArtifactT artifact(const std::string &target) {
    ppx::ArtifactT result;
    result.processor = target;
    const std::string text = kShift;
    result.object.assign(text.begin(), text.end());
    return result;
  }
  static ppx::KernelT kernel(const char *symbol, uint32_t blocks) {
    ppx::CompiledKernelT body;
    body.symbol = symbol;
    body.grid = blocks;
    body.block = 4;
    ppx::KernelT result;
    result.name = "fused_1";
    result.body.Set(std::move(body));
    return result;
  }

  std::unique_ptr<enqueued::StreamDevice> device;
  std::unique_ptr<Memory> memory;
  AllocationCounter heap;
  std::unique_ptr<Stream> stream;
};

TEST_F(GpuDevice, CopiesAndLaunchesWithScalarsAndGate) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_TRUE(device->load(artifact("sm_80")).ok());
  auto made = device->prepare(kernel("shift", 2));
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::vector<int32_t> x = {1, 2, 3, 4, 5, 6, 7, 8};
  int64_t scalars = 100;
  int32_t gate = 1;
  ASSERT_TRUE(stream->write(at(0), x.data(), 32).ok());
  ASSERT_TRUE(stream->copy(at(64), at(0), 32).ok());
  ASSERT_TRUE(stream->write(at(128), &scalars, 8).ok());
  ASSERT_TRUE(stream->write(at(136), &gate, 4).ok());

  const auto open = device->bind({made->get(), {at(0), at(32)}, at(128)});
  const auto shut =
      device->bind({made->get(), {at(0), at(64)}, at(128), at(136)});
  const Status first = stream->launch(*open), second = stream->launch(*shut);
  ASSERT_TRUE(first.ok()) << first.message();
  ASSERT_TRUE(second.ok()) << second.message();
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(word(at(32) + 4 * i), 101 + i);
    EXPECT_EQ(word(at(64) + 4 * i), 1 + i);
  }
  gate = 0;
  ASSERT_TRUE(stream->write(at(136), &gate, 4).ok());
  ASSERT_TRUE(stream->launch(*shut).ok());
  EXPECT_EQ(word(at(64)), 101);
}

// A GPU may be one process's alone, and not of the one that asks.
TEST_F(GpuDevice, IsAskedForItsProcessorWithoutAContext) {
  control->reset("capability 80");
  const Expected<std::string> processor = cuda::processor();
  ASSERT_TRUE(processor.ok()) << processor.status().message();
  EXPECT_EQ(*processor, "sm_80");
  EXPECT_EQ(control->count("cuDevicePrimaryCtxRetain"), 0u);
  control->reset("capability 75");
  EXPECT_NE(cuda::processor().status().message().find("8.0 or newer"),
            std::string::npos);
}

// Only what the driver calls a lack of memory is told as one.
TEST_F(GpuDevice, TellsWhyThereIsNoMemory) {
  const auto expectFailure = [](const Status &status, const char *call) {
    EXPECT_EQ(status.code(), ExitCode::device) << status.message();
    EXPECT_EQ(status.message().rfind(std::string(call) + ": CUDA_ERROR", 0), 0u)
        << status.message();
  };
  control->reset("fail cuMemGetInfo_v2 1 719\nfail cuMemAlloc_v2 2 719\n"
                 "fail cuMemHostAlloc 1 719\nfail cuMemHostAlloc 2 2\n");
  ASSERT_NO_FATAL_FAILURE(start());
  expectFailure(device->pool().status(), "cuMemGetInfo");
  expectFailure(device->allocate(64).status(), "cuMemAlloc");
  expectFailure(device->hostMemory(64).status(), "cuMemHostAlloc");
  EXPECT_EQ(device->hostMemory(64).status().code(), ExitCode::outOfMemory);
}

// NCCL has one error for a lack and for all else.
TEST_F(GpuDevice, TellsALackOfMemoryForNccl) {
  control->reset("devices 2\nfail ncclMemAlloc 1 1");
  auto opened = cuda::openDevices(*thisProcess(), 2);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  device = std::move(opened->front());
  const Status broken = device->allocateArena(64).status();
  EXPECT_EQ(broken.code(), ExitCode::device);
  EXPECT_EQ(broken.message().rfind("ncclMemAlloc: NCCL's error 1", 0), 0u)
      << broken.message();
  const uint64_t free = device->pool()->capacity;
  const Status lack = device->allocateArena(free + (1 << 20)).status();
  EXPECT_EQ(lack.code(), ExitCode::outOfMemory);
  EXPECT_NE(
      lack.message().find("; " + std::to_string(free) + " bytes are free"),
      std::string::npos)
      << lack.message();
}

TEST_F(GpuDevice, RefusesWhatItCannotRun) {
  ASSERT_NO_FATAL_FAILURE(start());
  for (const char *target : {"", "x86-64-v3", "sm_100", "sm_", "sm_9x"}) {
    const Status status = device->load(artifact(target));
    EXPECT_EQ(status.code(), ExitCode::device) << target;
  }
  ppx::ArtifactT broken = artifact("sm_80");
  const std::string text = ".version 7.0\n.target sm_80\n.entry {";
  broken.object.assign(text.begin(), text.end());
  const Status refused = device->load(broken);
  EXPECT_EQ(refused.code(), ExitCode::device);
  EXPECT_EQ(refused.message().rfind("cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX"
                                    " (218), ",
                                    0),
            0u)
      << refused.message();
  EXPECT_NE(refused.message().find(": line 3"), std::string::npos)
      << refused.message();
  broken.object = {'n', 'o'};
  EXPECT_EQ(device->load(broken).code(), ExitCode::badArtifact);
  ASSERT_TRUE(device->load(artifact("sm_80")).ok());
  EXPECT_NE(device->prepare(kernel("nowhere", 1))
                .status()
                .message()
                .find("kernel 'fused_1': no symbol 'nowhere'"),
            std::string::npos);
  EXPECT_EQ(device->prepare(kernel("shift", 0)).status().code(),
            ExitCode::badArtifact);
  ppx::KernelT product;
  product.body.Set(ppx::ContractionT());
  EXPECT_EQ(device->prepare(product).status().code(), ExitCode::badArtifact);
  const auto pool = device->pool();
  ASSERT_TRUE(pool.ok()) << pool.status().message();
  EXPECT_EQ(device->allocate(pool->capacity + (1 << 20)).status().code(),
            ExitCode::outOfMemory);
}

} // namespace
