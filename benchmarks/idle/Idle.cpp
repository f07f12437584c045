//===- Idle.cpp - a driver and a cuBLAS that do nothing -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Found by the names of NVIDIA's libraries. Every call succeeds at once: it
// returns numbers for the objects that it should make, does no work, and events
// have always come. So a step takes only the time to issue it. Device addresses
// have no memory behind them.
//
//===----------------------------------------------------------------------===//
#include <cublasLt.h>
#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

// Marks an emulated library, although no test talks to it.
extern "C" {
extern const char ppEmulator;
const char ppEmulator = 0;
/// Waits of streams for events.
uint64_t ppIdleWaits = 0;
}

static uint64_t next = 4096;
template <typename Handle> static void make(Handle *handle) {
  *handle = reinterpret_cast<Handle>(uintptr_t(next += 4096));
}

CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  std::strncpy(name, "a GPU that does nothing", size_t(size));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice) {
  *value = attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  make(context);
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  *free = *total = size_t(1) << 40;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t size) {
  *address = next = (next + 4095) / 4096 * 4096;
  next += size;
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned) {
  *address = std::calloc(1, size);
  return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) {
  std::free(address);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *code, const void *, unsigned,
                            CUjit_option *, void **) {
  make(code);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule, const char *) {
  make(function);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned, int) {
  make(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) {
  ++ppIdleWaits;
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned) {
  make(event);
  return CUDA_SUCCESS;
}

#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent) {
  *milliseconds = 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream, CUgraph *graph) {
  make(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *graph, CUgraph,
                                     unsigned long long) {
  make(graph);
  return CUDA_SUCCESS;
}

size_t cublasLtGetVersion() { return 130100; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  make(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *made,
                                        cublasComputeType_t, cudaDataType) {
  make(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *made,
                                          cudaDataType, uint64_t, uint64_t,
                                          int64_t) {
  make(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *made) {
  make(made);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t, int, cublasLtMatmulHeuristicResult_t *results,
    int *found) {
  *results = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}
