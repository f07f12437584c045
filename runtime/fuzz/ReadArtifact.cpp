//===- ReadArtifact.cpp - fuzz target: reading and checking a .ppx --------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Built with PP_FUZZ=ON. In: any bytes, whose checksums are made to fit. They
// go the whole way of test/Runtime/Fuzzing.h, and also fail if that takes more
// than 64 MiB over the size of the file. MakeCorpus writes the initial corpus.
//   ReadArtifact -runs=1000000 -rss_limit_mb=4096 CORPUS
//
//===----------------------------------------------------------------------===//
#include "Fuzzing.h"

#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace pprt::test;

static int64_t live, peak; // of the heap, while an input is tried; one thread

static void countAllocation(const volatile void *, size_t bytes) {
  live += int64_t(bytes);
  peak = std::max(peak, live);
}

static void countRelease(const volatile void *memory) {
  if (memory)
    live -= int64_t(
        __sanitizer_get_allocated_size(const_cast<const void *>(memory)));
}

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  return !__sanitizer_install_malloc_and_free_hooks(countAllocation,
                                                    countRelease);
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);

/// Moving bytes breaks all offsets behind them: most mutations do not move any.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size,
                                          size_t room, unsigned seed) {
  std::mt19937_64 random(seed);
  if (random() % 4 == 0)
    return LLVMFuzzerMutate(bytes, size, room);
  (random() % 2 ? damage : damageTogether)(bytes, size, random);
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  live = peak = 0;
  const FuzzVerdict verdict = tryContent(bytes, size);
  if (!verdict.fault.empty()) {
    std::fprintf(stderr, "%s\n", verdict.fault.c_str());
    std::abort();
  }
  // The reader's own copy of the file counts as the file.
  if (peak > int64_t(2 * size) + (64 << 20)) {
    std::fprintf(stderr, "took %lld bytes for a file of %zu\n",
                 static_cast<long long>(peak), size);
    std::abort();
  }
  return 0;
}
