//===- CountingMalloc.cpp - malloc and its relatives, counted -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Replaces the allocation functions of the program that links it, libraries
// included. Each takes memory of the calling thread's Lending if possible, else
// forwards to glibc's own and tells the thread's counter, if it has one, how
// many bytes the heap really handed out.
//
//===----------------------------------------------------------------------===//
#include "pprt/AllocationCounter.h"
#include "pprt/Lending.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <malloc.h>

extern "C" {
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

extern const char pprtCountingMalloc;
const char pprtCountingMalloc = 1;
}

/// Returns the counter of the calling thread if `bytes` count there.
static pprt::AllocationCounter *counterOf(uint64_t bytes) {
  const pprt::Lending *lending = pprt::Lending::current();
  return lending && lending->isNote(bytes) ? nullptr
                                           : pprt::attributedAllocations();
}

static void *counted(void *memory) {
  if (!memory)
    return memory;
  const uint64_t bytes = malloc_usable_size(memory);
  if (pprt::AllocationCounter *counter = counterOf(bytes))
    counter->add(int64_t(bytes));
  return memory;
}

static void discounted(void *memory) {
  if (!memory)
    return;
  const uint64_t bytes = malloc_usable_size(memory);
  if (pprt::AllocationCounter *counter = counterOf(bytes))
    counter->add(-int64_t(bytes));
}

static void *lent(size_t alignment, size_t bytes) {
  pprt::Lending *lending = pprt::Lending::current();
  return lending ? lending->allocate(alignment, bytes) : nullptr;
}

static bool isLent(void *memory) {
  const pprt::Lending *lending = pprt::Lending::current();
  return lending && lending->owns(memory);
}

static void *aligned(size_t alignment, size_t bytes) {
  if (void *memory = lent(alignment, bytes))
    return memory;
  return counted(__libc_memalign(alignment, bytes));
}

extern "C" {

void *malloc(size_t bytes) {
  if (void *memory = lent(alignof(max_align_t), bytes))
    return memory;
  return counted(__libc_malloc(bytes));
}

// Not lent: libraries never ask for zeros in a call.
void *calloc(size_t count, size_t bytes) {
  return counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes) {
  if (isLent(memory)) {
    pprt::Lending *lending = pprt::Lending::current();
    const size_t known = lending->bytesBehind(memory);
    void *moved = malloc(bytes);
    if (moved) {
      std::memmove(moved, memory, known < bytes ? known : bytes);
      lending->free();
    }
    return moved;
  }
  discounted(memory);
  return counted(__libc_realloc(memory, bytes));
}

void *memalign(size_t alignment, size_t bytes) {
  return aligned(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return aligned(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
  void *memory = aligned(alignment, bytes);
  if (!memory)
    return ENOMEM;
  *result = memory;
  return 0;
}

void free(void *memory) {
  if (isLent(memory))
    return pprt::Lending::current()->free();
  discounted(memory);
  __libc_free(memory);
}
}
