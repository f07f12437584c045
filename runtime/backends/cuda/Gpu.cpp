//===- Gpu.cpp - one GPU of NVIDIA ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "Gpu.h"

#include <algorithm>

using namespace pprt;
using namespace pprt::cuda;

Expected<std::vector<SeenGpu>> Gpu::see(const Driver &driver) {
  const auto check = [&](CUresult result, const char *call) {
    return driver.check(result, call);
  };
  int count = 0;
  // A driver without a GPU fails at once.
  const CUresult begun = driver.cuInit(0);
  Status status;
  if (begun == CUDA_SUCCESS)
    status = check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  else if (begun != CUDA_ERROR_NO_DEVICE)
    status = check(begun, "cuInit");
  if (status.ok() && count == 0)
    status = Status(ExitCode::device,
                    driver.file + " sees no NVIDIA GPU (look at nvidia-smi "
                                  "and CUDA_VISIBLE_DEVICES)");
  std::vector<SeenGpu> seen;
  for (int number = 0; status.ok() && number < count; ++number) {
    CUdevice device = 0;
    char name[256] = "";
    CUuuid id = {};
    int major = 0, minor = 0;
    status = check(driver.cuDeviceGet(&device, number), "cuDeviceGet");
    if (status.ok())
      status = check(driver.cuDeviceGetName(name, sizeof(name) - 1, device),
                     "cuDeviceGetName");
    if (status.ok())
      status = check(driver.cuDeviceGetUuid(&id, device), "cuDeviceGetUuid");
    for (const auto &[attribute, value] :
         {std::pair(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major),
          {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor}})
      if (status.ok())
        status = check(driver.cuDeviceGetAttribute(value, attribute, device),
                       "cuDeviceGetAttribute");
    seen.push_back(
        {std::string(id.bytes, sizeof(id.bytes)), name, 10 * major + minor});
  }
  if (!status.ok())
    return status;
  return seen;
}

Expected<std::shared_ptr<Gpu>> Gpu::open(Driver driver, int ordinal) {
  auto gpu = std::make_shared<Gpu>();
  gpu->driver = std::move(driver);
  const Expected<std::vector<SeenGpu>> seen = see(gpu->driver);
  if (!seen)
    return seen.status();
  if (size_t(ordinal) >= seen->size())
    return Status(ExitCode::device,
                  "expects " + std::to_string(ordinal + 1) +
                      " NVIDIA GPUs, got " + std::to_string(seen->size()) +
                      " that " + gpu->driver.file +
                      " sees (look at nvidia-smi and CUDA_VISIBLE_DEVICES)");
  gpu->seen = (*seen)[ordinal];
  if (Status status = gpu->seen.check(); !status.ok())
    return status;
  PP_TRY(*gpu, cuDeviceGet, &gpu->device, ordinal);
  PP_TRY(*gpu, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device);
  if (Status status = gpu->makeCurrent(); !status.ok())
    return status;
  PP_TRY(*gpu, cuStreamCreateWithPriority, &gpu->copies, CU_STREAM_NON_BLOCKING,
         0);
  return gpu;
}

Gpu::~Gpu() {
  if (!context)
    return;
  if (copies && makeCurrent().ok())
    driver.cuStreamDestroy(copies);
  driver.cuDevicePrimaryCtxRelease(device);
}

Status Gpu::makeCurrent() const {
  PP_TRY(*this, cuCtxSetCurrent, context);
  return {};
}

Expected<CUdeviceptr> Gpu::allocate(uint64_t bytes) const {
  // The driver refuses to allocate 0 bytes.
  CUdeviceptr place = 0;
  const Status given = check(
      driver.cuMemAlloc(&place, std::max<uint64_t>(bytes, 1)), "cuMemAlloc");
  size_t free = 0, total = 0;
  if (given.code() != ExitCode::outOfMemory ||
      driver.cuMemGetInfo(&free, &total) != CUDA_SUCCESS)
    return given.ok() ? Expected(place) : given;
  return Status(given.code(), given.message() + "; " + std::to_string(free) +
                                  " bytes are free");
}

Expected<int> Gpu::multiprocessors() const {
  int count = 0;
  PP_TRY(*this, cuDeviceGetAttribute, &count,
         CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  return count;
}

Status Gpu::read(void *to, const std::byte *from, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  if (Status status = makeCurrent(); !status.ok())
    return status;
  PP_TRY(*this, cuMemcpyDtoHAsync, to, pointer(from), bytes, copies);
  return finish();
}

Status Gpu::write(std::byte *to, const void *from, uint64_t bytes) const {
  if (bytes == 0)
    return {};
  if (Status status = makeCurrent(); !status.ok())
    return status;
  PP_TRY(*this, cuMemcpyHtoDAsync, pointer(to), from, bytes, copies);
  return finish();
}

Status Gpu::finish() const {
  Status status =
      check(driver.cuStreamSynchronize(copies), "cuStreamSynchronize");
  // The failed call is unknown: memory that is still copied may be freed next.
  if (!status.ok())
    driver.cuCtxSynchronize();
  return status;
}
