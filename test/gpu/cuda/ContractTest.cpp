//===- ContractTest.cpp - what a driver answers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of sequences of calls and of what they return, for any libcuda.so.1:
// the emulated library everywhere, a real driver where there is one, which
// judges the table and with it the emulated library. Nothing here depends on
// time.
//
//===----------------------------------------------------------------------===//
#include "Contract.h"
#include "Code.h"

#include <cstring>
#include <thread>

using namespace pprt::cuda;
using namespace pprt::cuda::contract;

namespace {

/// What a sequence of calls has, and what they returned.
class Sequence {
public:
  Sequence() {
    for (CUstream *stream : {&one, &two})
      driver.cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, 0);
    for (CUevent *event : {&first, &second})
      driver.cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    driver.cuMemAlloc(&a, kBytes);
    driver.cuMemAlloc(&b, kBytes);
    driver.cuMemHostAlloc(reinterpret_cast<void **>(&host), kBytes, 0);
    driver.cuModuleLoadDataEx(&module, kAdd, 0, nullptr, nullptr);
    driver.cuModuleGetFunction(&add, module, "add");
  }
  /// Ends what a capture may have left.
  ~Sequence() {
    for (CUstream stream : {one, two}) {
      CUgraph left = nullptr;
      if (driver.cuStreamEndCapture(stream, &left) == CUDA_SUCCESS)
        driver.cuGraphDestroy(left);
    }
    driver.cuCtxSetCurrent(context);
    driver.cuCtxSynchronize();
    driver.cuModuleUnload(module);
    driver.cuMemFreeHost(host);
    driver.cuMemFree(a);
    driver.cuMemFree(b);
    for (CUevent event : {first, second})
      driver.cuEventDestroy(event);
    for (CUstream stream : {one, two})
      driver.cuStreamDestroy(stream);
  }

  void operator()(CUresult result) { results.push_back(result); }
  /// A value that is no result of a call.
  void value(int number) { results.push_back(number); }

  CUresult launchAdd(CUdeviceptr to, CUdeviceptr from, uint32_t number,
                     uint32_t addend, CUstream stream) {
    void *parameters[] = {&to, &from, &number, &addend};
    const CUresult result = driver.cuLaunchKernel(add, 8, 1, 1, 128, 1, 1, 0,
                                                  stream, parameters, nullptr);
    // The values were taken.
    to = from = number = addend = 0;
    return result;
  }
  CUresult end(CUstream stream) {
    driver.cuGraphDestroy(graph);
    return driver.cuStreamEndCapture(stream, &graph);
  }
  uint32_t word(CUdeviceptr address, size_t index) {
    uint32_t result = 0;
    driver.cuMemcpyDtoHAsync(&result, address + index * 4, 4, one);
    driver.cuStreamSynchronize(one);
    return result;
  }

  static constexpr size_t kWords = 1024, kBytes = kWords * 4;
  CUstream one = nullptr, two = nullptr;
  CUevent first = nullptr, second = nullptr;
  CUdeviceptr a = 0, b = 0;
  uint32_t *host = nullptr;
  CUmodule module = nullptr;
  CUfunction add = nullptr;
  CUgraph graph = nullptr;
  Results results;
};

constexpr CUstreamCaptureMode kLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr int kOk = CUDA_SUCCESS, kValue = CUDA_ERROR_INVALID_VALUE,
              kHandle = CUDA_ERROR_INVALID_HANDLE,
              kUnsupported = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
              kInvalidated = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;

// clang-format off
const Row<Sequence> rows[] = {
  // Devices and contexts.
  {"another thread has no context", [](Sequence &s) {
     std::thread([&] { CUdeviceptr p; s(driver.cuMemAlloc(&p, 4)); }).join();
   }, {CUDA_ERROR_INVALID_CONTEXT}},
  {"words of errors", [](Sequence &s) {
     const char *name = nullptr;
     s(driver.cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
     s.value(std::strcmp(name, "CUDA_ERROR_OUT_OF_MEMORY"));
     s(driver.cuGetErrorName(CUresult(12345), &name)); s.value(name == nullptr);
   }, {kOk, 0, kValue, 1}},
  {"priorities", [](Sequence &s) {
     int least = -1, greatest = 1;
     s(driver.cuCtxGetStreamPriorityRange(&least, &greatest)); s.value(greatest <= least);
   }, {kOk, 1}},
  // Memory.
  {"more than there is", [](Sequence &s) {
     CUdeviceptr p; size_t free = 0, total = 0;
     s(driver.cuMemGetInfo(&free, &total)); s.value(free <= total); s(driver.cuMemAlloc(&p, total + 1));
   }, {kOk, 1, CUDA_ERROR_OUT_OF_MEMORY}},
  {"aligned", [](Sequence &s) { s.value(s.a % 256); s.value(s.b % 256); }, {0, 0}},
  {"fills", [](Sequence &s) {
     s(driver.cuMemsetD32Async(s.a, 0x01020304, s.kWords, s.one));
     s.value(int(s.word(s.a, 0))); s.value(int(s.word(s.a, s.kWords - 1)));
   }, {kOk, 0x01020304, 0x01020304}},
  {"a fill of nothing", [](Sequence &s) { s(driver.cuMemsetD32Async(s.a, 0, 0, s.one)); }, {kOk}},
  {"a copy of nothing", [](Sequence &s) { s(driver.cuMemcpyDtoDAsync(s.a, s.b, 0, s.one)); }, {kOk}},
  {"copies there and back", [](Sequence &s) {
     for (size_t i = 0; i < s.kWords; ++i) s.host[i] = uint32_t(i);
     s(driver.cuMemcpyHtoDAsync(s.a, s.host, s.kBytes, s.one));
     s(driver.cuMemcpyDtoDAsync(s.b, s.a, s.kBytes, s.one));
     s(driver.cuStreamSynchronize(s.one));
     s.host[7] = 0;
     s(driver.cuMemcpyDtoHAsync(s.host, s.b, s.kBytes, s.one));
     s(driver.cuStreamSynchronize(s.one)); s.value(int(s.host[7])); s.value(int(s.host[1023]));
   }, {kOk, kOk, kOk, kOk, kOk, 7, 1023}},
  {"a copy to memory that is not pinned ends first", [](Sequence &s) {
     std::vector<uint32_t> values(s.kWords);
     s(driver.cuMemsetD32Async(s.a, 5, s.kWords, s.one));
     s(driver.cuMemcpyDtoHAsync(values.data(), s.a, s.kBytes, s.one)); s.value(int(values[1000]));
   }, {kOk, kOk, 5}},
  {"a copy from memory that is not pinned, small, is taken at once", [](Sequence &s) {
     uint32_t value = 6;
     s(driver.cuMemcpyHtoDAsync(s.a, &value, 4, s.one)); value = 7; s.value(int(s.word(s.a, 0)));
   }, {kOk, 6}},
  // Code.
  {"text that is no PTX", [](Sequence &s) {
     CUmodule module;
     s(driver.cuModuleLoadDataEx(&module, ".version 7.0\n.target sm_80\n.address_size 64\nnonsense\n", 0, nullptr, nullptr));
   }, {CUDA_ERROR_INVALID_PTX}},
  {"PTX of another age", [](Sequence &s) {
     CUmodule module;
     s(driver.cuModuleLoadDataEx(&module, ".version 99.0\n.target sm_80\n.address_size 64\n", 0, nullptr, nullptr));
   }, {CUDA_ERROR_UNSUPPORTED_PTX_VERSION}},
  {"a launch", [](Sequence &s) {
     driver.cuMemsetD32Async(s.a, 40, s.kWords, s.one);
     s(s.launchAdd(s.b, s.a, 1000, 2, s.one)); s.value(int(s.word(s.b, 0))); s.value(int(s.word(s.b, 999)));
   }, {kOk, 42, 42}},
  // Streams and events.
  {"an event that was not recorded", [](Sequence &s) {
     s(driver.cuEventQuery(s.first)); s(driver.cuStreamWaitEvent(s.one, s.first, 0));
   }, {kOk, kOk}},
  {"an event is what was recorded last", [](Sequence &s) {
     driver.cuMemsetD32Async(s.a, 1, s.kWords, s.one);
     s(driver.cuEventRecord(s.first, s.one)); s(driver.cuStreamWaitEvent(s.two, s.first, 0));
     driver.cuMemcpyDtoDAsync(s.b, s.a, s.kBytes, s.two);
     s(driver.cuEventRecord(s.first, s.two)); s(driver.cuStreamSynchronize(s.two)); s(driver.cuEventQuery(s.first));
     s.value(int(s.word(s.b, 1023)));
   }, {kOk, kOk, kOk, kOk, kOk, 1}},
  {"time between events that take none", [](Sequence &s) {
     float time;
     driver.cuEventRecord(s.first, s.one); driver.cuEventRecord(s.second, s.one); driver.cuStreamSynchronize(s.one);
     s(driver.cuEventElapsedTime(&time, s.first, s.second));
   }, {kHandle}},
  {"time between events", [](Sequence &s) {
     float time = -1; CUevent begin, end;
     s(driver.cuEventCreate(&begin, CU_EVENT_DEFAULT)); s(driver.cuEventCreate(&end, CU_EVENT_DEFAULT));
     s(driver.cuEventElapsedTime(&time, begin, end));
     driver.cuEventRecord(begin, s.one); driver.cuEventRecord(end, s.one); driver.cuStreamSynchronize(s.one);
     s(driver.cuEventElapsedTime(&time, begin, end)); s.value(time >= 0);
     driver.cuEventDestroy(begin); driver.cuEventDestroy(end);
   }, {kOk, kOk, kHandle, kOk, 1}},
  // Captures.
  {"a fork and a join", [](Sequence &s) {
     s(driver.cuStreamBeginCapture(s.one, kLocal)); s(driver.cuEventRecord(s.first, s.one));
     s(driver.cuStreamWaitEvent(s.two, s.first, 0));
     s(s.launchAdd(s.b, s.a, 8, 1, s.two)); s(driver.cuEventRecord(s.second, s.two));
     s(driver.cuStreamWaitEvent(s.one, s.second, 0)); s(s.end(s.one)); s.value(s.graph != nullptr);
   }, {kOk, kOk, kOk, kOk, kOk, kOk, kOk, 1}},
  {"a fork without a join", [](Sequence &s) {
     s(driver.cuStreamBeginCapture(s.one, kLocal)); s(driver.cuEventRecord(s.first, s.one));
     s(driver.cuStreamWaitEvent(s.two, s.first, 0)); s(s.launchAdd(s.b, s.a, 8, 1, s.two)); s(s.end(s.one));
     s.value(s.graph != nullptr);
   }, {kOk, kOk, kOk, kOk, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 0}},
  {"a wait for what is outside", [](Sequence &s) {
     s(driver.cuEventRecord(s.first, s.two)); s(driver.cuStreamBeginCapture(s.one, kLocal));
     s(driver.cuStreamWaitEvent(s.one, s.first, 0)); s(s.end(s.one));
   }, {kOk, kOk, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, kInvalidated}},
  {"memory while the thread captures", [](Sequence &s) {
     CUdeviceptr p;
     s(driver.cuStreamBeginCapture(s.one, kLocal)); s(driver.cuMemAlloc(&p, 4)); s(s.end(s.one));
   }, {kOk, kUnsupported, kInvalidated}},
  {"memory while another thread captures for itself", [](Sequence &s) {
     s(driver.cuStreamBeginCapture(s.one, kLocal));
     std::thread([&] { CUdeviceptr p; driver.cuCtxSetCurrent(context); s(driver.cuMemAlloc(&p, 4)); driver.cuMemFree(p); }).join();
     s(s.end(s.one));
   }, {kOk, kOk, kOk}},
  // Graphs.
  {"a graph of nothing", [](Sequence &s) {
     CUgraphExec execution = nullptr;
     driver.cuStreamBeginCapture(s.one, kLocal); s.end(s.one);
     s(driver.cuGraphInstantiate(&execution, s.graph, 0)); s(driver.cuGraphLaunch(execution, s.one));
     s(driver.cuStreamSynchronize(s.one)); s(driver.cuGraphExecDestroy(execution));
   }, {kOk, kOk, kOk, kOk}},
  {"a graph reads memory when it runs, and values as they were", [](Sequence &s) {
     CUgraphExec execution = nullptr;
     driver.cuStreamBeginCapture(s.one, kLocal);
     s(driver.cuMemcpyHtoDAsync(s.a, s.host, s.kBytes, s.one)); s(s.launchAdd(s.b, s.a, 1024, 100, s.one)); s(s.end(s.one));
     s(driver.cuGraphInstantiate(&execution, s.graph, 0)); s(driver.cuGraphDestroy(s.graph)); s.graph = nullptr;
     for (uint32_t step = 1; step < 3; ++step) {
       for (size_t i = 0; i < s.kWords; ++i) s.host[i] = step;
       s(driver.cuGraphLaunch(execution, s.one)); s(driver.cuStreamSynchronize(s.one)); s.value(int(s.word(s.b, 1023)));
     }
     driver.cuGraphExecDestroy(execution);
   }, {kOk, kOk, kOk, kOk, kOk, kOk, kOk, 101, kOk, kOk, 102}},
  {"launches of a graph come one after the other", [](Sequence &s) {
     CUgraphExec execution = nullptr;
     driver.cuMemsetD32Async(s.a, 0, s.kWords, s.one); driver.cuStreamSynchronize(s.one);
     driver.cuStreamBeginCapture(s.one, kLocal); s.launchAdd(s.a, s.a, 1024, 1, s.one); s(s.end(s.one));
     driver.cuGraphInstantiate(&execution, s.graph, 0);
     s(driver.cuGraphLaunch(execution, s.one)); s(driver.cuGraphLaunch(execution, s.two)); s(driver.cuGraphLaunch(execution, s.one));
     s(driver.cuCtxSynchronize()); s.value(int(s.word(s.a, 5)));
     driver.cuGraphExecDestroy(execution);
   }, {kOk, kOk, kOk, kOk, kOk, 3}},
};
// clang-format on

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  auto opened = openDriver();
  int number = 0;
  if (!opened.ok()) {
    std::printf("skipped: %s\n", opened.status().message().c_str());
    return 0;
  }
  driver = *opened;
  // What comes before the begin.
  const bool isRefused =
      driver.cuDeviceGetCount(&number) == CUDA_ERROR_NOT_INITIALIZED;
  if (!enterDevice()) {
    std::printf("skipped: no device\n");
    return 0;
  }
  char name[100];
  driver.cuDeviceGetName(name, sizeof(name), 0);
  std::printf("%s, CUDA %d%s\n", name, driver.version,
              driver.isEmulated ? " (emulated)" : "");
  const int failures = runRows(rows);
  if (!isRefused)
    std::printf("expects cuDeviceGetCount to be refused before cuInit\n");
  return failures || !isRefused;
}
