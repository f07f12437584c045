//===- OpenBlas.cpp - OpenBLAS, loaded when it is needed ------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//
#include "OpenBlas.h"
#include "pprt/Lack.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <sched.h>
#include <vector>

using namespace pprt;
using namespace pprt::cpu;

namespace {

constexpr const char *kName = "libopenblas.so.0";
/// Upper bounds of what the library and each of its buffers map, with a margin
/// for the rest of the process.
constexpr uint64_t kLibraryBytes = 64 << 20, kBufferBytes = 144 << 20;

/// The library's own allocator, usually called only by itself.
struct Allocator {
  void *(*allocate)(int) = nullptr;
  void (*free)(void *) = nullptr;
};
std::atomic<bool> hasAllocator{false};
Allocator allocator; ///< set if hasAllocator

/// Products that may be computed at a time: half of the buffers that the
/// library was built with, as it has two for each thread it was built for.
unsigned turns = 32;
/// Whether there may be more products than turns. Products that began before it
/// was set use the other half.
std::atomic<bool> isCrowded{false};

/// Counts products that are computed while `isCrowded`.
struct Turns {
  std::mutex mutex;
  std::condition_variable left;
  unsigned taken = 0;
};
Turns &counted() {
  static Turns all;
  return all;
}

/// Counts the products that may be computed at a time.
struct Reserved {
  std::mutex mutex;
  unsigned wanted = 0, mapped = 0;
};
Reserved &reserved() {
  static Reserved all;
  return all;
}

/// Confines the calling thread to its current core. Code that counts cores
/// meanwhile finds one.
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

/// Opens the copy that the program has, or else starts it without threads: the
/// environment could say so, too, but other threads may be reading it.
void *openAlone() {
  if (void *library = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD))
    return library;
  const OneCore alone;
  return dlopen(kName, RTLD_NOW | RTLD_LOCAL);
}

Expected<OpenBlas> loadOpenBlas() {
  void *library = openAlone();
  if (!library)
    return findLack(
        "OpenBLAS", kLibraryBytes,
        Status(ExitCode::io,
               std::string("expects the library OpenBLAS, got: ") + dlerror()));
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
  // Overrides the program's number: a team makes several calls at a time, each
  // of which leaves the same bits.
  if (threads() != 1)
    setThreads(1);
  const auto config = reinterpret_cast<decltype(&openblas_get_config)>(
      dlsym(library, "openblas_get_config"));
  constexpr const char *key = "MAX_THREADS=";
  if (const char *found = config ? std::strstr(config(), key) : nullptr)
    turns = unsigned(std::max(1, std::atoi(found + std::strlen(key))));
  allocator = {
      reinterpret_cast<void *(*)(int)>(dlsym(library, "blas_memory_alloc")),
      reinterpret_cast<void (*)(void *)>(dlsym(library, "blas_memory_free"))};
  hasAllocator = allocator.allocate && allocator.free;
  return functions;
}

} // namespace

const Expected<OpenBlas> &cpu::openBlas() {
  static const Expected<OpenBlas> library = loadOpenBlas();
  return library;
}

/// Makes the library map as many buffers as are wanted.
static Status mapBuffers(Reserved &all) {
  const unsigned needed = std::min(all.wanted, turns);
  std::vector<void *> buffers;
  Status status;
  while (buffers.size() < needed && status.ok()) {
    // A buffer that it has need not be mapped.
    if (buffers.size() >= all.mapped && !hasRoom(kBufferBytes))
      status = Status(ExitCode::outOfMemory,
                      "the system refuses OpenBLAS 128 MiB for each of " +
                          std::to_string(needed) +
                          " threads that compute products (ulimit -v)");
    else
      buffers.push_back(allocator.allocate(0));
  }
  for (void *buffer : buffers)
    allocator.free(buffer);
  if (status.ok())
    all.mapped = needed;
  return status;
}

Expected<std::shared_ptr<const void>> cpu::reserveBuffers(unsigned products) {
  if (!hasAllocator)
    return std::shared_ptr<const void>();
  Reserved &all = reserved();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.wanted += products;
  if (all.wanted > turns)
    isCrowded = true;
  if (std::min(all.wanted, turns) > all.mapped)
    if (Status status = mapBuffers(all); !status.ok()) {
      all.wanted -= products;
      return status;
    }
  return std::shared_ptr<const void>(&all, [products](const void *) {
    std::lock_guard<std::mutex> lock(reserved().mutex);
    reserved().wanted -= products;
  });
}

ProductTurn::ProductTurn()
    : isCounted(isCrowded.load(std::memory_order_relaxed)) {
  if (!isCounted)
    return;
  std::unique_lock<std::mutex> lock(counted().mutex);
  counted().left.wait(lock, [] { return counted().taken < turns; });
  ++counted().taken;
}

ProductTurn::~ProductTurn() {
  if (!isCounted)
    return;
  {
    std::lock_guard<std::mutex> lock(counted().mutex);
    --counted().taken;
  }
  counted().left.notify_one();
}
