//===- OpenBlas.cpp - OpenBLAS, loaded when it is needed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OpenBlas.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace pprt;
using namespace pprt::cpu;

namespace {

Expected<OpenBlas> load() {
  constexpr const char *threads = "OPENBLAS_NUM_THREADS";
  const bool isSet = std::getenv(threads) != nullptr;
  if (!isSet)
    setenv(threads, "1", /*overwrite=*/1);
  void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!isSet)
    unsetenv(threads);
  if (!library)
    return Status(ExitCode::io,
                  std::string("expects the library OpenBLAS, got: ") +
                      dlerror());
  OpenBlas functions;
  functions.sgemm = reinterpret_cast<decltype(functions.sgemm)>(
      dlsym(library, "cblas_sgemm"));
  functions.dgemm = reinterpret_cast<decltype(functions.dgemm)>(
      dlsym(library, "cblas_dgemm"));
  const auto setThreads = reinterpret_cast<decltype(&openblas_set_num_threads)>(
      dlsym(library, "openblas_set_num_threads"));
  if (!functions.sgemm || !functions.dgemm || !setThreads)
    return Status(ExitCode::io, std::string("expects OpenBLAS with a C "
                                            "interface, got: ") +
                                    dlerror());
  // Whatever the user's environment says: a team makes several calls at a time.
  setThreads(1);
  return functions;
}

} // namespace

const Expected<OpenBlas> &cpu::openBlas() {
  static const Expected<OpenBlas> library = load();
  return library;
}
