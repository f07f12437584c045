//===- Gpu.cpp - one GPU of NVIDIA ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Gpu.h"

using namespace pprt;
using namespace pprt::cuda;

Expected<std::shared_ptr<Gpu>> Gpu::open(Driver driver, int ordinal) {
  auto gpu = std::make_shared<Gpu>();
  gpu->driver = std::move(driver);
  int count = 0;
  // A driver without a GPU fails at once.
  const CUresult begun = gpu->driver.cuInit(0);
  if (begun == CUDA_SUCCESS)
    PP_TRY(*gpu, cuDeviceGetCount, &count);
  if (begun == CUDA_ERROR_NO_DEVICE || (begun == CUDA_SUCCESS && count == 0))
    return Status(ExitCode::device,
                  "expects a GPU of NVIDIA, got none that " + gpu->driver.file +
                      " sees (look at nvidia-smi and CUDA_VISIBLE_DEVICES)");
  if (begun != CUDA_SUCCESS)
    return gpu->check(begun, "cuInit");
  if (ordinal >= count)
    return Status(ExitCode::device,
                  "expects " + std::to_string(ordinal + 1) +
                      " GPUs of NVIDIA, got " + std::to_string(count) +
                      " that " + gpu->driver.file +
                      " sees (look at nvidia-smi and CUDA_VISIBLE_DEVICES)");
  PP_TRY(*gpu, cuDeviceGet, &gpu->device, ordinal);
  char name[256] = "";
  PP_TRY(*gpu, cuDeviceGetName, name, sizeof(name) - 1, gpu->device);
  gpu->name = name;
  CUuuid id = {};
  PP_TRY(*gpu, cuDeviceGetUuid, &id, gpu->device);
  gpu->id.assign(id.bytes, sizeof(id.bytes));
  int major = 0, minor = 0;
  PP_TRY(*gpu, cuDeviceGetAttribute, &major,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->device);
  PP_TRY(*gpu, cuDeviceGetAttribute, &minor,
         CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu->device);
  gpu->capability = 10 * major + minor;
  if (gpu->capability < 80)
    return Status(ExitCode::device,
                  "expects a GPU of compute capability 8.0 or newer, got '" +
                      gpu->name + "' of " + std::to_string(major) + '.' +
                      std::to_string(minor) +
                      " (choose another with CUDA_VISIBLE_DEVICES, or give "
                      "--device=cpu)");
  PP_TRY(*gpu, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device);
  if (Status status = gpu->enter(); !status.ok())
    return status;
  PP_TRY(*gpu, cuStreamCreateWithPriority, &gpu->copies, CU_STREAM_NON_BLOCKING,
         0);
  return gpu;
}

Gpu::~Gpu() {
  if (!context)
    return;
  if (copies && enter().ok())
    driver.cuStreamDestroy(copies);
  driver.cuDevicePrimaryCtxRelease(device);
}

Status Gpu::enter() const {
  PP_TRY(*this, cuCtxSetCurrent, context);
  return {};
}

Status Gpu::read(void *to, const std::byte *from, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  if (Status status = enter(); !status.ok())
    return status;
  PP_TRY(*this, cuMemcpyDtoHAsync, to, pointer(from), bytes, copies);
  return finishCopy();
}

Status Gpu::write(std::byte *to, const void *from, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  if (Status status = enter(); !status.ok())
    return status;
  PP_TRY(*this, cuMemcpyHtoDAsync, pointer(to), from, bytes, copies);
  return finishCopy();
}

Status Gpu::finishCopy() const {
  Status status =
      check(driver.cuStreamSynchronize(copies), "cuStreamSynchronize");
  // Nobody knows what it was that failed: what is copied may be freed next.
  if (!status.ok())
    driver.cuCtxSynchronize();
  return status;
}
