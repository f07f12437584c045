//===- Library.h - NVIDIA's libraries, opened by name -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One binary runs where there is a GPU and where there is none, so nothing of
// NVIDIA's is linked: each library is a table of the calls that the engine
// makes
// (*Calls.def), looked up by the names that the library exports. What is
// missing is named: the library, the call, or the version that it takes. Calls
// have the types of CUDA's headers, and are spelled as in any program:
// driver.cuMemAlloc(...) is the member cuMemAlloc_v2, by the header's macro.
//
// An opened library stays: it has threads, and work to do when the process
// ends.
//
//===----------------------------------------------------------------------===//
#ifndef PPRT_BACKENDS_CUDA_LIBRARY_H
#define PPRT_BACKENDS_CUDA_LIBRARY_H

#include "pprt/Status.h"

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <string>
#include <vector>

namespace pprt::cuda {

#define PP_CALL(name) decltype(&::name) name = nullptr;
#define PP_CALL_AS(name, type) std::add_pointer_t<type> name = nullptr;

/// The driver.
struct Driver {
#include "DriverCalls.def"
  std::string file; ///< what answers
  int version = 0;  ///< of CUDA, at most: 12080 is 12.8
  /// Whether an emulated library answers, that runs kernels on the processor.
  bool isEmulated = false;

  /// Success, or what `call` says of itself: exit code 4 for memory, else 15.
  Status check(CUresult result, const char *call) const;
  /// Fails (device) if the module is of a later version of PTX than it reads.
  Status checkPtx(const std::string &module) const;
};

#define PP_CALL(name) decltype(&::name) name = nullptr;

/// Products of matrices.
struct Blas {
#include "BlasCalls.def"
  std::string file;
  size_t version = 0; ///< 130100 is 13.1
};

#define PP_CALL(name) decltype(&::name) name = nullptr;

/// Collectives and messages.
struct Nccl {
#include "NcclCalls.def"
  std::string file;
  int version = 0; ///< 22809 is 2.28.9

  /// Success, which ncclInProgress is not, or what `call` says of itself.
  Status check(ncclResult_t result, const char *call) const;
};

/// 12.8 of 12080.
std::string printVersion(int version);

/// What cuBLAS's file may be called that works on a driver of that version of
/// CUDA, the best first.
std::vector<std::string> blasFiles(int cuda);

/// The first of `names` that is there, with all its calls, or what is missing
/// (exit code 15). `cuda`: the driver's version, which what is installed is to
/// fit.
Expected<Driver> openDriver(const std::vector<std::string> &names = {
                                "libcuda.so.1"});
Expected<Blas> openBlas(int cuda, const std::vector<std::string> &names);
inline Expected<Blas> openBlas(int cuda) {
  return openBlas(cuda, blasFiles(cuda));
}
Expected<Nccl> openNccl(int cuda, const std::vector<std::string> &names = {
                                      "libnccl.so.2"});

} // namespace pprt::cuda

#endif // PPRT_BACKENDS_CUDA_LIBRARY_H
