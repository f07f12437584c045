//===- ContractTest.cpp - what NCCL answers -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// A table of calls and of what they return, for any libnccl: the emulated
// library everywhere, the real library where there is one, which judges the
// table and with it the emulated library. Rows that need a GPU, of which one
// will do, are left out where none is.
//
//===----------------------------------------------------------------------===//
#include "Contract.h"

#include <cstring>

using namespace pprt::cuda;
using namespace pprt::cuda::contract;

namespace {

Nccl nccl;

constexpr int kOk = ncclSuccess;

/// What calls returned, and a communicator of one rank for some.
class Sequence {
public:
  ~Sequence() {
    if (comm)
      nccl.ncclCommAbort(comm);
    if (stream) {
      driver.cuStreamSynchronize(stream);
      driver.cuMemFree(memory);
      driver.cuStreamDestroy(stream);
    }
  }

  void operator()(ncclResult_t result) { results.push_back(result); }
  /// A value that is no result of a call.
  void value(int number) { results.push_back(number); }

  static ncclConfig_t config() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return config;
  }
  /// What comes of a call that may take a while.
  /// NCCL 2.28 says success of a split that goes on.
  void settled(ncclResult_t result) {
    if (comm && result == ncclSuccess)
      result = ncclInProgress;
    while (result == ncclInProgress)
      if (const ncclResult_t asked = nccl.ncclCommGetAsyncError(comm, &result))
        result = asked;
    (*this)(result);
  }
  void init() {
    ncclUniqueId id;
    ncclConfig_t its = config();
    (*this)(nccl.ncclGetUniqueId(&id));
    settled(nccl.ncclCommInitRankConfig(&comm, 1, id, 0, &its));
  }
  /// Eight floats, from 1 on, and room for as many.
  void fill() {
    driver.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0);
    driver.cuMemAlloc(&memory, 64);
    const float values[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    driver.cuMemcpyHtoDAsync(memory, values, sizeof(values), stream);
    driver.cuStreamSynchronize(stream);
  }
  void *at(uint64_t index) const {
    return reinterpret_cast<void *>(uintptr_t(memory + 4 * index));
  }
  /// The sum of all sixteen.
  void sum() {
    float values[16] = {};
    driver.cuMemcpyDtoHAsync(values, memory, sizeof(values), stream);
    driver.cuStreamSynchronize(stream);
    float sum = 0;
    for (const float value : values)
      sum += value;
    value(int(sum));
  }

  ncclComm_t comm = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  Results results;
};

// clang-format off
const Row<Sequence> rows[] = {
  {"words of results", [](Sequence &s) {
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclSuccess), "no error"));
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclSystemError), "unhandled system error (run with NCCL_DEBUG=INFO for details)"));
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclRemoteError), "remote process exited or there was a network error"));
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclInProgress), "NCCL operation in progress"));
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclNumResults), "unknown result code"));
     s.value(std::strcmp(nccl.ncclGetErrorString(ncclResult_t(77)), "unknown result code"));
   }, {0, 0, 0, 0, 0, 0}},
  // With a GPU.
  {"a communicator comes and goes", [](Sequence &s) {
     s.init(); s.settled(nccl.ncclCommFinalize(s.comm)); s(nccl.ncclCommDestroy(s.comm)); s.comm = nullptr;
   }, {kOk, kOk, kOk, kOk}, true},
  {"a sum of one", [](Sequence &s) {
     s.fill(); s.init(); s.settled(nccl.ncclAllReduce(s.at(0), s.at(8), 8, ncclFloat32, ncclSum, s.comm, s.stream)); s.sum();
   }, {kOk, kOk, kOk, 72}, true},
  {"in place, and of nothing", [](Sequence &s) {
     s.fill(); s.init(); s.settled(nccl.ncclAllReduce(s.at(0), s.at(0), 8, ncclFloat32, ncclMax, s.comm, s.stream));
     s.settled(nccl.ncclAllGather(s.at(0), s.at(8), 0, ncclFloat32, s.comm, s.stream)); s.sum();
   }, {kOk, kOk, kOk, kOk, 36}, true},
  {"parts of one", [](Sequence &s) {
     s.fill(); s.init(); s.settled(nccl.ncclAllGather(s.at(0), s.at(8), 4, ncclFloat32, s.comm, s.stream));
     s.settled(nccl.ncclReduceScatter(s.at(4), s.at(12), 4, ncclFloat32, ncclSum, s.comm, s.stream)); s.sum();
   }, {kOk, kOk, kOk, kOk, 72}, true},
  {"a message to oneself", [](Sequence &s) {
     s.fill(); s.init(); s(nccl.ncclGroupStart()); s(nccl.ncclSend(s.at(0), 8, ncclFloat32, 0, s.comm, s.stream));
     s(nccl.ncclRecv(s.at(8), 8, ncclFloat32, 0, s.comm, s.stream)); s.settled(nccl.ncclGroupEnd()); s.sum();
   }, {kOk, kOk, kOk, kOk, kOk, kOk, 72}, true},
  {"a split of one", [](Sequence &s) {
     s.init(); ncclComm_t child = nullptr, none = nullptr; ncclConfig_t config = s.config();
     s.settled(nccl.ncclCommSplit(s.comm, 3, 0, &child, &config)); s.value(child != nullptr); s(nccl.ncclCommAbort(child));
     s.settled(nccl.ncclCommSplit(s.comm, NCCL_SPLIT_NOCOLOR, 0, &none, &config)); s.value(none != nullptr);
   }, {kOk, kOk, kOk, 1, kOk, kOk, 0}, true},
};
// clang-format on

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  return runRows(nccl, openNccl(findVersion()), "ppEmulatorNccl", rows);
}
