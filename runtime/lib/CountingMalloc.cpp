//===- CountingMalloc.cpp - malloc and its relatives, counted -------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Replaces the allocation functions of the program that links it, libraries
// included. Each forwards to glibc's own and tells the calling thread's
// counter, if it has one, how many bytes the heap really handed out.
//
//===----------------------------------------------------------------------===//
#include "pprt/AllocationCounter.h"

#include <cerrno>
#include <cstddef>
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

static void *counted(void *memory) {
  pprt::AllocationCounter *counter = pprt::attributedAllocations();
  if (counter && memory)
    counter->add(int64_t(malloc_usable_size(memory)));
  return memory;
}

static void discounted(void *memory) {
  pprt::AllocationCounter *counter = pprt::attributedAllocations();
  if (counter && memory)
    counter->add(-int64_t(malloc_usable_size(memory)));
}

extern "C" {

void *malloc(size_t bytes) { return counted(__libc_malloc(bytes)); }

void *calloc(size_t count, size_t bytes) {
  return counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes) {
  discounted(memory);
  return counted(__libc_realloc(memory, bytes));
}

void *memalign(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  return counted(__libc_memalign(alignment, bytes));
}

int posix_memalign(void **result, size_t alignment, size_t bytes) {
  void *memory = counted(__libc_memalign(alignment, bytes));
  if (!memory)
    return ENOMEM;
  *result = memory;
  return 0;
}

void free(void *memory) {
  discounted(memory);
  __libc_free(memory);
}
}
