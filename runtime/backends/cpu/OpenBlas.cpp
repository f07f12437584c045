//===- OpenBlas.cpp - OpenBLAS, loaded when it is needed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OpenBlas.h"

#include <dlfcn.h>
#include <sched.h>

using namespace pprt;
using namespace pprt::cpu;

namespace {

constexpr const char *kName = "libopenblas.so.0";

/// The calling thread, and no other, on the core that it is on. Whoever counts
/// cores in it finds one.
class OneCore {
public:
  OneCore() {
    const int core = sched_getcpu();
    if (core < 0 || sched_getaffinity(0, sizeof(before), &before) != 0)
      return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(unsigned(core), &one);
    isSet = sched_setaffinity(0, sizeof(one), &one) == 0;
  }
  ~OneCore() {
    if (isSet)
      sched_setaffinity(0, sizeof(before), &before);
  }
  OneCore(const OneCore &) = delete;
  OneCore &operator=(const OneCore &) = delete;

private:
  cpu_set_t before;
  bool isSet = false;
};

/// As the program around has it, or else started with no thread of its own: the
/// environment could say so, too, but other threads may be reading it.
void *openLibrary() {
  if (void *library = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    return library;
  const OneCore alone;
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

Expected<OpenBlas> load() {
  void *library = openLibrary();
  if (!library)
    return Status(ExitCode::io,
                  std::string("expects the library OpenBLAS, got: ") +
                      dlerror());
  OpenBlas functions;
  functions.sgemm = reinterpret_cast<decltype(functions.sgemm)>(
      dlsym(library, "cblas_sgemm"));
  functions.dgemm = reinterpret_cast<decltype(functions.dgemm)>(
      dlsym(library, "cblas_dgemm"));
  const auto threads = reinterpret_cast<decltype(&openblas_get_num_threads)>(
      dlsym(library, "openblas_get_num_threads"));
  const auto setThreads = reinterpret_cast<decltype(&openblas_set_num_threads)>(
      dlsym(library, "openblas_set_num_threads"));
  if (!functions.sgemm || !functions.dgemm || !threads || !setThreads)
    return Status(ExitCode::io, std::string("expects OpenBLAS with a C "
                                            "interface, got: ") +
                                    dlerror());
  // Whatever the program around has set: a team makes several calls at a time,
  // each of which leaves the same bits.
  if (threads() != 1)
    setThreads(1);
  return functions;
}

} // namespace

const Expected<OpenBlas> &cpu::openBlas() {
  static const Expected<OpenBlas> library = load();
  return library;
}
