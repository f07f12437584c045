//===- Library.h - NVIDIA's libraries, opened by name -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0
//
// One binary runs with and without a GPU, so no library of NVIDIA's is linked:
// each is a table of the calls that the engine makes (*Calls.def), looked up by
// the names that the library exports. Failures name the missing library, the
// missing call, or the version that is needed. Calls have the types of CUDA's
// headers, and are spelled as in any program: driver.cuMemAlloc(...) is the
// member cuMemAlloc_v2, by the header's macro.
//
// An opened library is never closed: it has threads, and work to do when the
// process ends.
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
  std::string file; ///< that was opened
  int version = 0;  ///< newest CUDA that it supports: 12080 is 12.8
  /// Whether it is an emulated library, which runs kernels on the processor.
  bool isEmulated = false;

  /// Returns success or the error of `call`: exit code 4 for memory, else 15.
  Status check(CUresult result, const char *call) const;
  /// Fails (device) if the module needs a later version of PTX than it reads.
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

  /// Returns success, which excludes ncclInProgress, or the error of `call`.
  Status check(ncclResult_t result, const char *call) const;
};

/// Prints 12.8 for 12080.
std::string printVersion(int version);

/// Returns possible file names of a cuBLAS that works on a driver of that CUDA
/// version, the best first.
std::vector<std::string> blasFiles(int cuda);

/// Opens the first of `names` that exists, with all its calls, or fails (exit
/// code 15) with what is missing. `cuda`: the driver's version, which the
/// installed library must fit.
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
